"""The micro-kernels of a full check: walks over the lines of a large array, and what they do there.

On the first eight, the models of the family differ: lines that no stream of a hardware prefetcher
foresees, with software prefetches or without. The others tell what the emulated boards lack
measurements of: how many streams a core follows, and what stores cost beyond L1D.
"""

from __future__ import annotations

from dataclasses import dataclass

from rvv_runner.calibration.memory_kernels import LINE_BYTES, ZEROS_READY
from rvv_runner.calibration.micro_kernel import MicroKernel, unrolled
from rvv_runner.calibration.probe import Probe

__all__ = [
    "ASKED_4",
    "ASKED_32",
    "DECIDING",
    "FAR",
    "L2_HALF",
    "L2_SMALL",
    "L2_TWICE",
    "PAGES",
    "PAGES_ASKED",
    "PROBES",
]

FAR, ASKED_4 = "far lines", "far lines, asked for 4 ahead"
ASKED_32, PAGES = "far lines, asked for 32 ahead", "a line of each page"
PAGES_ASKED = "a line of each page, asked for 32 ahead"
L2_SMALL, L2_HALF, L2_TWICE = "128 KiB again", "512 KiB again", "1 MiB again"

_COPIES = 16
_FAR_BYTES, _NEAR_BYTES = 16 << 20, 128 << 10
# In bytes: odd numbers of lines, so that a walk over a power of two of lines meets each of them.
_STEP, _PAGE_STEP = 5 * LINE_BYTES, 65 * LINE_BYTES
# From one stream to the next: at other places of their pages.
_STREAM_BYTES = (1 << 20) + 5 * LINE_BYTES

# The offset is t1 and its mask t5, the array a7; s0 is how far ahead of it a prefetch asks. Between
# two lines there is work that a prefetch can hide.
_SETUP = f".option arch, +zicbop\n{ZEROS_READY}{{start}}slli s0, a4, {{ahead}}\nli t2, 0\n"
_ANYWHERE = "slli t1, t4, 6\n"  # of each run another place, which no cache holds
_WALK = "add t1, t1, a4\nand t6, t1, t5\nadd t6, t6, a7\n"
_ASK = "add t3, t1, s0\nand t3, t3, t5\nadd t3, t3, a7\nprefetch.r 0(t3)\n"
_USE = "ld t3, (t6)\nadd t2, t2, t3\n" + "add t2, t2, x0\n" * 24

# Stores of zeros to one line: how vectors are set up, and the store at t6. Registers of 128 bits
# hold as much.
_BYTES = "li t3, 64\nvsetvli x0, t3, e8, m4, ta, ma\nvmv.v.i v8, 0\n"
_WORDS = "vsetivli x0, 8, e32, m2, ta, ma\nvmv.v.i v8, 0\nvmv.v.i v10, 0\nli s1, 8\n"
_STORES = {
    "stores of whole lines": (_BYTES, "vse8.v v8, (t6)"),
    "stores of 64 bytes, one byte off": (_BYTES, "addi t6, t6, 1\nvse8.v v8, (t6)"),
    "segment stores of whole lines": (_WORDS, "vsseg2e32.v v8, (t6)"),
    "strided stores to 8 words of a line": (_WORDS, "vsse32.v v8, (t6), s1"),
}
_STREAMS = (4, 6, 8, 12)


@dataclass(frozen=True)
class _Walk:
    """A walk over the lines of an array.

    Args:
        name: as the file has it.
        size_bytes: of the array; a power of two.
        step: bytes from one line to the next.
        setup: behind the usual one.
        body: of the lines in turn.
        copies: of lines in one time of the loop.
        ahead: the logarithm of how many lines ahead it asks for one; 0 if it does not ask.
        again: whether each run goes over the same lines.
    """

    name: str
    size_bytes: int
    step: int = _STEP
    setup: str = ""
    body: tuple[str, ...] = (_WALK + _USE,)
    copies: int = _COPIES
    ahead: int = 0
    again: bool = False

    @property
    def probe(self) -> Probe:
        """The walk as a micro-kernel with its parameters."""
        start = "li t1, 0\n" if self.again else _ANYWHERE
        kernel = MicroKernel(
            self.name,
            _SETUP.format(start=start, ahead=self.ahead) + self.setup,
            unrolled(self.body, self.copies),
            "sd t2, (a6)",
            lambda vlen_bits, parameters: bytes(8),  # the lines hold zeros
            copies=self.copies,
            parameters={
                "count": self.size_bytes // LINE_BYTES,
                "stride": LINE_BYTES,
                "jump": self.step,
            },
        )
        return Probe(kernel)


def _asking(name: str, step: int, ahead: int) -> Probe:
    return _Walk(name, _FAR_BYTES, step, body=(_WALK + _ASK + _USE,), ahead=ahead).probe


def _streams(count: int) -> Probe:
    """Loads of one line of each of several streams in turn."""
    starts = "".join(f"li s{n}, {n * _STREAM_BYTES}\n" for n in range(count))
    load = "add t3, t1, s{n}\nand t3, t3, t5\nadd t3, t3, a7\nld t3, (t3)\nadd t2, t2, t3\n"
    lines = [load.format(n=n) for n in range(count)]
    lines[-1] += "add t1, t1, a4\n"
    copies = count * max(_COPIES // count, 1)
    name, body = f"{count} streams", tuple(lines)
    return _Walk(name, _FAR_BYTES, LINE_BYTES, setup=starts, body=body, copies=copies).probe


def _stores(name: str, again: bool) -> Probe:
    setup, store = _STORES[name]
    size_bytes, where = (_NEAR_BYTES, "in L2") if again else (_FAR_BYTES, "in DRAM")
    body = (f"{_WALK}{store}\n",)
    name = f"{name} {where}"
    return _Walk(name, size_bytes, LINE_BYTES, setup=setup, body=body, again=again).probe


DECIDING = (  # on which the models of the family differ
    _Walk(FAR, _FAR_BYTES).probe,
    _asking(ASKED_4, _STEP, 2),
    _asking(ASKED_32, _STEP, 5),
    _Walk(PAGES, _FAR_BYTES, _PAGE_STEP).probe,
    _asking(PAGES_ASKED, _PAGE_STEP, 5),
    _Walk(L2_SMALL, _NEAR_BYTES, again=True).probe,
    _Walk(L2_HALF, 512 << 10, again=True).probe,
    _Walk(L2_TWICE, 1 << 20, again=True).probe,
)
PROBES = (
    *DECIDING,
    *(_streams(count) for count in _STREAMS),
    *(_stores(name, again) for name in _STORES for again in (True, False)),
)
