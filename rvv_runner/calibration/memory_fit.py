"""From readings to the constants of caches, TLB and DRAM, each with how well it fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from rvv_runner.calibration.memory_kernels import (
    HIT,
    LINE_BYTES,
    MOST_STREAMS,
    PAGE_BYTES,
    WAY_STRIDE,
    whole_lines,
)
from rvv_runner.calibration.readings import Readings

__all__ = ["Constant", "MemoryFit", "fit_memory"]

_LINES_IN_A_PAGE = PAGE_BYTES // LINE_BYTES
_MISPREDICTED = 0.5  # of random branches
_SEEN = 1.1  # times as long as with all data in L1D it has to take so that a level is seen
_BEYOND_TLB = 1.4  # times as many pages as it holds
_ADD_CYCLES = 1.0  # from one random load to the next
_USUAL_SIZES = [size << k for k in range(12, 26) for size in (2, 3)]  # of caches, from 8 KiB
_LIKE_L2 = (0.75, 1.5)  # times L2's, a size is like it
_USUAL_ERROR = 0.02  # of a reading
_LARGEST_JUMP = 0.5  # of an unforeseen miss, that still is none


@dataclass(frozen=True)
class Constant:
    """A constant of a core.

    Args:
        value: in cycles, or pieces, as its name says.
        how: what it was read from.
        residual: the largest relative error of the readings that it was fitted to; None where it
            is read from one or two.
    """

    value: float
    how: str
    residual: float | None = None


Constants = dict[str, Constant]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _RandomFit:
    """Random loads explained by an L2 of that size: cycles of misses, and how well they fit."""

    l2_bytes: int
    l2_random: float
    dram_random: float
    cost: float
    residual: float


@dataclass(frozen=True)
class MemoryFit:
    """What the readings say of a core's memory.

    Args:
        l1d_bytes, l2_bytes: sizes of the caches; None if not told.
        l1d_ways: None if not told.
        constants: entries of the cost table's [memory], [pipeline] and [branches], by part and
            name; what could not be told is absent.
    """

    l1d_bytes: int | None
    l2_bytes: int | None
    l1d_ways: int | None
    constants: Mapping[str, Mapping[str, Constant]]


def fit_memory(readings: Readings, vlen_bits: int) -> MemoryFit:
    """Everything that the readings tell of memory; less if some are missing.

    Args:
        readings: of the kernels of memory.
        vlen_bits: of the core.
    """
    lines = readings.curve("chase", "count", stride=LINE_BYTES)
    l1d_lines = _last_hit(lines)
    memory = _tlb(readings)
    l1d_bytes, l2_bytes = None, None
    if l1d_lines is not None:
        l1d_bytes = _usual_size(l1d_lines * LINE_BYTES)
        l2_bytes, misses = _random_loads(readings, l1d_bytes, min(lines.values()), memory)
        memory |= misses
        memory |= dict(_dirty_lines(readings, l1d_bytes, memory))
        memory |= dict(_streams(readings, memory))
        memory |= dict(_most_streams(readings, memory, vlen_bits))
    return MemoryFit(
        l1d_bytes,
        l2_bytes,
        _last_hit(readings.curve("chase", "count", stride=WAY_STRIDE)),
        {
            "memory": memory,
            "pipeline": dict(_pipeline(readings, vlen_bits)),
            "branches": dict(_branches(readings)),
        },
    )


def _last_hit(curve: Mapping[int, float]) -> int | None:
    """The largest size below all that miss; None if none misses, or nothing was measured."""
    limit = HIT * min(curve.values(), default=0.0)
    missed = [size for size, cycles in curve.items() if cycles > limit]
    return max((size for size in curve if size < min(missed)), default=None) if missed else None


def _usual_size(size_bytes: float) -> int:
    """The nearest size that caches have."""
    return min(_USUAL_SIZES, key=lambda usual: abs(usual / size_bytes - 1))


def _tlb(readings: Readings) -> Constants:
    """The chase has one line in each page; beyond the TLB each step walks."""
    curve = readings.curve("chase", "count", stride=PAGE_BYTES)
    entries = _last_hit(curve)
    if entries is None:
        return {}
    beyond = [cycles for count, cycles in curve.items() if count >= _BEYOND_TLB * entries]
    if not beyond:
        return {"tlb_ways": Constant(entries, "chase through pages")}
    walk = float(np.median(beyond)) - min(curve.values())
    spread = max(abs(cycles - min(curve.values()) - walk) for cycles in beyond) / walk
    return {
        "tlb_ways": Constant(entries, "chase through pages"),
        "tlb_miss": Constant(walk, "chase through more pages than the TLB holds", spread),
    }


def _random_loads(
    readings: Readings, l1d_bytes: int, hit_cycles: float, tlb: Constants
) -> tuple[int | None, Constants]:
    """The size of L2, and misses that nothing foresees: random loads that wait for each other.

    Of random lines of an array, each level holds its size's share, however it replaces.
    """
    curve = readings.curve("random loads", "count")
    sizes = np.array([n * LINE_BYTES for n in curve if n * LINE_BYTES >= 4 * l1d_bytes], float)
    cycles = np.array([curve[int(size) // LINE_BYTES] for size in sizes])
    if sizes.size < 4:
        return None, {}
    missed = cycles - hit_cycles - _ADD_CYCLES - _walks(sizes, tlb)

    def fit(l2_bytes: int) -> _RandomFit:
        of_dram = _share_beyond(sizes, l2_bytes)
        of_l2 = _share_beyond(sizes, l1d_bytes) - of_dram
        found = least_squares(
            lambda v: (of_l2 * v[0] + of_dram * v[1] - missed) / cycles,
            np.maximum((missed[0], missed[-1]), 0.0),
            bounds=(0, np.inf),
            loss="soft_l1",  # at the size of L2, pages that collide are no part of the curve
            f_scale=_USUAL_ERROR,
        )
        elsewhere = (sizes < _LIKE_L2[0] * l2_bytes) | (sizes > _LIKE_L2[1] * l2_bytes)
        residual = np.abs(found.fun[elsewhere]).max(initial=0.0)
        return _RandomFit(l2_bytes, *map(float, (*found.x, found.cost, residual)))

    usual = [size for size in _USUAL_SIZES if 2 * l1d_bytes < size <= sizes[-2]]
    best = min((fit(size) for size in usual), key=lambda found: found.cost)
    how = "random loads, but for sizes like L2's"
    constants = {"l2_random": Constant(best.l2_random, how, best.residual)}
    if best.dram_random < _SEEN * best.l2_random:
        return None, constants
    constants["dram_random"] = Constant(best.dram_random, how, best.residual)
    return best.l2_bytes, constants


def _walks(sizes: Floats, tlb: Constants) -> Floats:
    """Cycles of page walks, on average, of random accesses to arrays of these sizes."""
    held_bytes = _value(tlb, "tlb_ways") * PAGE_BYTES
    return _share_beyond(sizes, held_bytes) * _value(tlb, "tlb_miss")


def _share_beyond(sizes: Floats, held: float) -> Floats:
    """The share of random accesses to arrays of these sizes that what holds so much misses."""
    return np.maximum(1 - held / sizes, 0.0)


def _value(constants: Constants, name: str) -> float:
    """A constant's value; 0 if it is not known."""
    return constants[name].value if name in constants else 0.0


def _dirty_lines(
    readings: Readings, l1d_bytes: int, memory: Constants
) -> Iterator[tuple[str, Constant]]:
    """What it costs that a line has to be written back, and how many stores miss at a time."""
    both = readings.curve("random loads and stores", "count")
    loads, stores = (
        readings.curve("random loads", "count"),
        readings.curve("random stores", "count"),
    )
    count = max(both, default=0)
    if count not in loads or "l2_random" not in memory:
        return
    share = 1 - l1d_bytes / (count * LINE_BYTES)
    dirty = max((both[count] - loads[count]) / share, 0.0)
    yield "dirty_eviction", Constant(dirty, "random loads and stores against loads")
    if len(stores) > 1 and count in stores and stores[count] > _SEEN * min(stores.values()):
        (walks,) = _walks(np.array([count * LINE_BYTES], float), memory)
        if stores[count] > walks:
            at_once = share * (memory["l2_random"].value + dirty) / (stores[count] - walks)
            yield "store_misses", Constant(max(round(at_once), 1), "random stores against loads")


def _streams(readings: Readings, memory: Constants) -> Iterator[tuple[str, Constant]]:
    """Cycles a line: of vectors and of scalars, from L2 and DRAM."""
    reads, writes = (_by_line(readings, f"{kind} stream") for kind in ("read", "write"))
    walk = _value(memory, "tlb_miss") / _LINES_IN_A_PAGE
    held_lines = _value(memory, "tlb_ways") * _LINES_IN_A_PAGE

    def more(lines: Mapping[int, float]) -> float:
        """Cycles that a line from the second size takes longer than one from the first."""
        (_, first), (count, second), *_ = lines.items()
        return second - first - (walk if count > held_lines else 0)

    if len(reads) >= 3:
        if more(reads) > 0:
            yield "l2_streamed", Constant(more(reads), "reading an array in L2, in L1D")
        yield from _beyond_caches(reads, "dram_read", "reading two large arrays")
    if len(writes) >= 3:
        (_, first), (_, second), *_ = writes.items()
        if second > _SEEN * first:
            yield "l2_written", Constant(second, "writing an array in L2")
        yield from _beyond_caches(writes, "dram_write", "writing two large arrays")
    scalars = {n: cycles / 2 for n, cycles in _by_line(readings, "2 scalar streams").items()}
    if len(scalars) == 2 and more(scalars) > 0:
        yield "l2_streamed_scalar", Constant(more(scalars), "two streams of scalars in L2, in L1D")


def _by_line(readings: Readings, kernel: str) -> dict[int, float]:
    return {n: cycles / n for n, cycles in readings.curve(kernel, "count").items()}


def _beyond_caches(
    lines: Mapping[int, float], name: str, how: str
) -> Iterator[tuple[str, Constant]]:
    """The cycles of each line that only the largest array has, if that level shows at all.

    L2 may keep a part of both arrays, of which these lines are then free.
    """
    (count, cycles), (larger_count, larger_cycles) = list(lines.items())[-2:]
    each = (larger_count * larger_cycles - count * cycles) / (larger_count - count)
    if each > _SEEN * next(iter(lines.values())):
        yield name, Constant(each, how)


def _most_streams(
    readings: Readings, memory: Constants, vlen_bits: int
) -> Iterator[tuple[str, Constant]]:
    """As many as can be read at once before the first line of each access comes as if nothing
    foresaw it."""
    lines = whole_lines(vlen_bits)[1] // LINE_BYTES
    each = {}
    for streams in range(1, MOST_STREAMS + 1):
        for cycles in _by_line(readings, f"{streams} read streams").values():
            each[streams] = cycles / streams
    if not each or "l2_random" not in memory:
        return
    limit = min(each.values()) + _LARGEST_JUMP * memory["l2_random"].value / lines
    beyond = [streams for streams, cycles in each.items() if cycles > limit]
    if beyond and min(beyond) > 1:
        yield "streams", Constant(min(beyond) - 1, "several arrays in L2 at a time")


def _pipeline(readings: Readings, vlen_bits: int) -> Iterator[tuple[str, Constant]]:
    lmul, group = whole_lines(vlen_bits)
    pair = readings.cycles("vector load behind a store")
    store, load = (readings.cycles(f"throughput {c} e8 {lmul}") for c in ("v_store", "v_load"))
    if pair is not None and store is not None and load is not None:
        drain = (pair - store - load) / (group // LINE_BYTES)
        yield "store_drain", Constant(max(drain, 0.0), "a vector load behind a store")


def _branches(readings: Readings) -> Iterator[tuple[str, Constant]]:
    taken, not_taken, random = (readings.cycles("branches", jump=bits) for bits in (0, -1, 1))
    if taken is not None and not_taken is not None and random is not None:
        cycles = max((random - (taken + not_taken) / 2) / _MISPREDICTED, 0.0)
        yield "mispredict", Constant(cycles, "branches on random bits against the same on zeros")
