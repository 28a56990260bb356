"""What is measured of a core, in which order; sizes follow from what was found before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rvv_runner.calibration.access_kernels import access_kernels, whole_register_kernels
from rvv_runner.calibration.bench import Bench
from rvv_runner.calibration.memory_fit import fit_memory
from rvv_runner.calibration.memory_kernels import (
    ARENA_BYTES,
    HIT,
    LINE_BYTES,
    MOST_STREAMS,
    PAGE_BYTES,
    WAY_STRIDE,
    chase,
    memory_kernels,
    random_line,
)
from rvv_runner.calibration.micro_kernel import MicroKernel
from rvv_runner.calibration.scalar_kernels import link_kernels, scalar_kernels
from rvv_runner.calibration.vector_kernels import move_kernels, vector_kernels

__all__ = [
    "all_kernels",
    "instruction_count",
    "largest_array",
    "measure_everything",
    "measure_memory",
]

_KIB, _MIB = 1 << 10, 1 << 20
_L1D_SIZES = [k * _KIB for k in (4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)]
_WAYS = range(2, 21)
_PAGES = (16, 24, 32, 48, 64, 96, 128, 192, 256)
_LONG = 20  # times the usual iterations, so that it does not matter what is cold at the start
_IN_L2 = 8  # times the size of L1D
_HALVINGS = 4  # of the interval in which a capacity lies
_MODEL_LARGEST = 32 * _MIB  # emulated cores have no third level


def _instruction_kernels() -> Iterator[MicroKernel]:
    """All kernels of single instructions."""
    for latency in (False, True):
        yield from (found[-1] for found in vector_kernels(latency))
        yield from (found[-1] for found in move_kernels(latency))
    yield from (found[-1] for found in access_kernels())
    yield from (found[-1] for found in whole_register_kernels())
    yield from (found[-1] for found in scalar_kernels())
    yield from (found[-1] for found in link_kernels())


def instruction_count() -> int:
    """How many kernels of single instructions there are, which are measured first."""
    return sum(1 for _ in _instruction_kernels())


def all_kernels(vlen_bits: int) -> list[MicroKernel]:
    """All kernels, those of memory at the end."""
    return [*_instruction_kernels(), *memory_kernels(vlen_bits)]


def measure_everything(bench: Bench, largest_bytes: int) -> None:
    """Measure all that is known how to.

    Args:
        bench: with `all_kernels`.
        largest_bytes: of the arrays.

    Raises:
        BoardError: if the board fails.
    """
    for kernel in _instruction_kernels():
        bench.measure(kernel.name)
    measure_memory(bench, largest_bytes)


def measure_memory(bench: Bench, largest_bytes: int) -> None:
    """Measure caches, TLB, streams, DRAM, branches and the order of issue.

    Args:
        bench: with the kernels of memory.
        largest_bytes: of the arrays, at most `ARENA_BYTES`.

    Raises:
        BoardError: if the board fails.
    """
    l1d_bytes = _capacity(
        lambda size: bench.measure("chase", chase(size // LINE_BYTES, LINE_BYTES), _LONG),
        _L1D_SIZES,
        LINE_BYTES,
    )
    _up_to_first_miss(lambda ways: bench.measure("chase", chase(ways, WAY_STRIDE)), _WAYS)
    pages = [count for count in _PAGES if count * LINE_BYTES <= l1d_bytes // 2]
    _capacity(lambda count: bench.measure("chase", chase(count, PAGE_BYTES), _LONG), pages)
    size = 4 * _KIB
    while size <= largest_bytes:
        bench.measure("random loads", random_line(size), _LONG)
        size *= 2
    in_l2 = _in_l2(bench, l1d_bytes)
    bench.measure("random loads and stores", random_line(in_l2), _LONG)
    for size in (4 * _KIB, in_l2):
        bench.measure("random stores", random_line(size), _LONG)
    for bits in (0, -1, 1):
        bench.measure("branches", {**random_line(4 * _KIB), "jump": bits}, 12)
    bench.measure("adds behind a division")
    bench.measure("vector load behind a store")
    _measure_streams(bench, _pages(l1d_bytes // 2), in_l2, largest_bytes)


def _in_l2(bench: Bench, l1d_bytes: int) -> int:
    """The size of an array, a power of two, of which L1D holds little and L2 all: at most half of
    L2, as far as its size is known by now, since pages collide in it."""
    size = _IN_L2 * l1d_bytes
    l2_bytes = fit_memory(bench.readings, bench.vlen_bits).l2_bytes
    if l2_bytes is not None:
        size = min(size, l2_bytes // 2)
    return 1 << (size.bit_length() - 1)


def _measure_streams(bench: Bench, in_l1d: int, in_l2: int, largest_bytes: int) -> None:
    """Streams in L1D, in L2 and in DRAM, each read or written several times."""
    for name in ("read stream", "write stream"):
        for size, scale in (
            (in_l1d, 4),
            (in_l2, 0.05),
            (largest_bytes // 2, 0),
            (largest_bytes, 0),
        ):
            bench.measure(name, {"count": size // LINE_BYTES}, scale)
    for streams in range(1, MOST_STREAMS + 1):
        part = _pages(in_l2 // streams)
        apart = {"count": part // LINE_BYTES, "stride": part + LINE_BYTES}
        bench.measure(f"{streams} read streams", apart, 0.03)
    for size, scale in ((in_l1d, 2), (in_l2, 0.03)):
        bench.measure("scalar stream", {"count": size // LINE_BYTES}, scale)
        half = _pages(size // 2)
        both = {"count": half // LINE_BYTES, "stride": half + LINE_BYTES}
        bench.measure("2 scalar streams", both, scale)


def largest_array(deterministic: bool) -> int:
    """The largest array in bytes: of a model, one that is certainly in DRAM is enough."""
    return _MODEL_LARGEST if deterministic else ARENA_BYTES


def _pages(size_bytes: int) -> int:
    """The size in whole pages, as kernels of streams need it."""
    return max(size_bytes // PAGE_BYTES, 1) * PAGE_BYTES


def _capacity(measure: Callable[[int], float | None], sizes: Sequence[int], unit: int = 1) -> int:
    """The largest size that still hits, to a sixteenth of the step between two sizes.

    Args:
        measure: cycles at a size.
        sizes: to try first, rising.
        unit: what a size is a multiple of.
    """
    found = {size: measure(size) for size in sizes}
    known = [cycles for cycles in found.values() if cycles is not None]
    limit = HIT * min(known, default=0.0)
    missed = [size for size, cycles in found.items() if cycles is None or cycles > limit]
    high = min(missed, default=sizes[-1])
    low = max((size for size in sizes if size < high), default=sizes[0])
    for _ in range(_HALVINGS):
        middle = (low + high) // 2 // unit * unit
        if middle <= low or middle >= high:
            break
        cycles = measure(middle)
        if cycles is not None and cycles <= limit:
            low = middle
        else:
            high = middle
    return low


def _up_to_first_miss(measure: Callable[[int], float | None], counts: Sequence[int]) -> None:
    first = measure(counts[0])
    for count in counts[1:]:
        cycles = measure(count)
        if first is None or cycles is None or cycles > HIT * first:
            return
