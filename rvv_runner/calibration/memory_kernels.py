"""Micro-kernels of caches, TLB, streams and DRAM, in a large array of their own.

The array is made ready in the untimed first run, which leaves the caches as the timed run wants
them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

from rvv_runner.calibration.micro_kernel import COPIES, MicroKernel, group_bytes, unrolled

__all__ = [
    "ADDS_BEHIND",
    "ARENA_BYTES",
    "HIT",
    "LINE_BYTES",
    "MOST_STREAMS",
    "PAGE_BYTES",
    "WAY_STRIDE",
    "ZEROS_READY",
    "chase",
    "memory_kernels",
    "random_line",
    "whole_lines",
]

ARENA_BYTES = 64 << 20
LINE_BYTES = 64
PAGE_BYTES = 4096
WAY_STRIDE = 64 << 10  # more than one way of any L1D
HIT = 1.08  # times as long as the fastest may take what still hits
MOST_STREAMS = 12

_MULTIPLIER, _INCREMENT = 6364136223846793005, 1442695040888963407  # Knuth's MMIX generator
_RANDOM_SHIFT = 24
ADDS_BEHIND = 20
_DIVISIONS = 8
_VALUE = 0x5D  # of each byte, in streams

# Skips what follows, up to the label 7, in all runs but the first.
_ONCE = """la t0, arena_ready
lbu t1, (t0)
bnez t1, 7f
li t1, 1
sb t1, (t0)
"""

# Positions 0 to count - 1, each `stride` bytes apart and, where the stride is a page, in another
# line of it, so that not all are in one set: t1 in, address out in t2; t0 is the arena.
_PLACE = f"""mul t2, t1, a3
add t2, t2, t0
li t3, {PAGE_BYTES}
bne t3, a3, 8f
srli t3, t1, 1
andi t3, t3, 63
slli t3, t3, 6
add t2, t2, t3
8:
"""
# Each position holds the address of the one `jump` further on.
_CHASE_READY = f"""{_ONCE}la t0, arena
li t4, 0
1:
add t1, t4, a4
remu t1, t1, a2
{_PLACE}mv t5, t2
mv t1, t4
{_PLACE}sd t5, (t2)
addi t4, t4, 1
bltu t4, a2, 1b
7:
la t0, arena
li t1, 0
{_PLACE}mv t6, t2
"""
# Where the chase has ended, from the start of the array.
_CHASE_FINISH = "la t0, arena\nsub t6, t6, t0\nsd t6, (a6)"

# All lines hold zeros that were written, so that each page is there. In t4 there is a distance,
# another for each run, so that a run does not find the lines of the one before in the caches.
ZEROS_READY = f"""{_ONCE}la t0, arena
mul t1, a2, a3
add t1, t1, t0
1:
sd x0, (t0)
add t0, t0, a3
bltu t0, t1, 1b
7:
la a7, arena
la t0, arena_runs
ld t4, (t0)
addi t3, t4, 1
sd t3, (t0)
li t3, {_MULTIPLIER}
mul t4, t4, t3
srli t4, t4, {_RANDOM_SHIFT}
li t0, {_MULTIPLIER}
li t1, {_INCREMENT}
li t2, 1
li t3, 0
addi t5, a2, -1
slli t5, t5, 6
"""
_DRAW = "mul t2, t2, t0\nadd t2, t2, t1\n"
_LINE = "srli t6, t2, {shift}\nadd t6, t6, t4\nand t6, t6, t5\nadd t6, t6, a7\n"
_NEXT = _DRAW + _LINE.format(shift=_RANDOM_SHIFT)
# With how many lines each number gives. Stores go to several, so that the generator, in which each
# number waits for the multiplication before it, does not hide how fast they miss.
_STORES = "".join(f"{_LINE.format(shift=_RANDOM_SHIFT + 5 * n)}sd x0, (t6)\n" for n in range(4))
_RANDOM: Mapping[str, tuple[str, int]] = {
    "random loads": (f"{_NEXT}add t6, t6, t3\nld t3, (t6)\n", 1),
    "random loads and stores": (f"{_NEXT}add t6, t6, t3\nld t3, (t6)\nsd x0, (t6)\n", 1),
    "random stores": (f"{_DRAW}{_STORES}", 4),
}
# Each bit of a random number decides a branch over nothing; a4 chooses the bit, or none.
_BRANCH = """mul t2, t2, t0
add t2, t2, t1
srli t6, t2, 40
and t6, t6, a4
beqz t6, 9f
addi t3, t3, 0
9:
"""


def memory_kernels(vlen_bits: int) -> Iterator[MicroKernel]:
    """All of them; they are run with several sizes.

    Args:
        vlen_bits: bits in a vector register, which decides how many go together.
    """
    yield MicroKernel("chase", _CHASE_READY, unrolled(["ld t6, (t6)"]), _CHASE_FINISH, _chased)
    for name, (text, lines) in _RANDOM.items():
        yield MicroKernel(
            name, ZEROS_READY, unrolled([text], 16), "sd t2, (a6)", _drawn, copies=16 * lines
        )
    yield MicroKernel(
        "branches", ZEROS_READY, unrolled([_BRANCH], 16), "sd t2, (a6)", _drawn, copies=16
    )
    yield from _streams(vlen_bits)
    yield _store_then_load(vlen_bits)
    yield _behind_a_division()


def chase(count: int, stride: int) -> dict[str, int]:
    """Parameters of a chase through `count` places, each `stride` bytes from the next.

    It goes on by about a golden section of them, so that no two steps in a row are near.
    """
    jump = max(round(count * 0.382), 1)
    while math.gcd(jump, count) != 1:
        jump += 1
    return {"count": count, "stride": stride, "jump": jump}


def random_line(size_bytes: int) -> dict[str, int]:
    """Parameters of random accesses to the lines of an array of a power of two of bytes."""
    return {"count": size_bytes // LINE_BYTES, "stride": LINE_BYTES, "jump": 0}


def _chased(vlen_bits: int, parameters: Mapping[str, int]) -> bytes:
    count, stride = parameters["count"], parameters["stride"]
    place = COPIES * parameters["iterations"] * parameters["jump"] % count
    extra = (place // 2 % 64) * LINE_BYTES if stride == PAGE_BYTES else 0
    return (place * stride + extra).to_bytes(8, "little")


def _drawn(vlen_bits: int, parameters: Mapping[str, int]) -> bytes:
    """The random number after so many: the generator's steps, squared and multiplied."""
    steps, value = 16 * parameters["iterations"], 1
    factor, term = _MULTIPLIER, _INCREMENT
    while steps:
        if steps & 1:
            value = (value * factor + term) % 2**64
        term = (factor + 1) * term % 2**64
        factor = factor * factor % 2**64
        steps >>= 1
    return value.to_bytes(8, "little")


# `streams` streams of a2 lines each, which begin a3 bytes apart.
_STREAM_READY = """la s0, arena
li t0, {others}
mul t0, t0, a3
slli a2, a2, 6
add t0, t0, a2
add t1, t0, s0
li t3, {value}
vsetvli t2, x0, e8, m8, ta, ma
vmv.v.x v16, t3
vsetvli t2, x0, e64, m8, ta, ma
slli t2, t2, 3
lbu t0, arena_ready
bnez t0, 7f
mv t0, s0
1:
vse64.v v16, (t0)
add t0, t0, t2
bltu t0, t1, 1b
la t0, arena_ready
sb t3, (t0)
7:
vsetvli t2, x0, e64, {lmul}, ta, ma
add t1, s0, a2
"""
# The last element of the first stream, and where that stream has ended.
_STREAM_FINISH = """addi t0, s0, -8
ld t1, (t0)
sd t1, (a6)
la t0, arena
sub t0, s0, t0
sd t0, 8(a6)
"""


def _streams(vlen_bits: int) -> Iterator[MicroKernel]:
    lmul, group = whole_lines(vlen_bits)
    yield _stream("read stream", "vle64.v v24, ({p})", "m8", vlen_bits)
    yield _stream("write stream", "vse64.v v16, ({p})", "m8", vlen_bits)
    for streams in range(1, MOST_STREAMS + 1):
        yield _stream(f"{streams} read streams", "vle64.v v24, ({p})", lmul, group, streams)
    # Each load's address needs what the last one got, whose bits are then removed.
    alone = "ld t0, ({p})\nandi t0, t0, 0\nadd {p}, {p}, t0"
    in_turn = "ld t0, ({p})\nandi t0, t0, 0\nadd {q}, {q}, t0"
    yield _stream("scalar stream", alone, "m1", LINE_BYTES)
    yield _stream("2 scalar streams", in_turn, "m1", LINE_BYTES, 2)


def _stream(name: str, access: str, lmul: str, step: int, streams: int = 1) -> MicroKernel:
    """Streams that are each accessed once in turn.

    Args:
        name: of the kernel.
        access: an access at {p}; {q} is where the next stream is.
        lmul: what it accesses of elements of 64 bits.
        step: bytes from one access to the next.
        streams: how many.
    """
    pointers = [f"s{number}" for number in range(streams)]
    turns = zip(pointers, [*pointers[1:], pointers[0]], strict=True)
    lines = [f"{access.format(p=p, q=q)}\naddi {p}, {p}, {step}" for p, q in turns]
    starts = [f"add {q}, {p}, a3" for p, q in itertools.pairwise(pointers)]

    def expected(vlen_bits: int, parameters: Mapping[str, int]) -> bytes:
        size = parameters["count"] * LINE_BYTES
        return bytes([_VALUE]) * 8 + size.to_bytes(8, "little")

    return MicroKernel(
        name=name,
        setup=_STREAM_READY.format(others=streams - 1, value=_VALUE, lmul=lmul),
        body="\n".join(["la s0, arena", *starts, "3:", *lines, "bltu s0, t1, 3b"]),
        finish=_STREAM_FINISH,
        expected=expected,
        copies=1,
    )


def whole_lines(vlen_bits: int) -> tuple[str, int]:
    """The smallest group that is at least a line, and its bytes."""
    return next(
        (lmul, group_bytes(vlen_bits, lmul))
        for lmul in ("m1", "m2", "m4", "m8")
        if group_bytes(vlen_bits, lmul) >= LINE_BYTES
    )


def _store_then_load(vlen_bits: int) -> MicroKernel:
    """A vector load behind each vector store, both in L1D."""
    lmul, group = whole_lines(vlen_bits)
    pairs = ["vse8.v v16, (t0)\nvle8.v v24, (a5)\nvse8.v v16, (a6)\nvle8.v v24, (a5)"]
    stored = bytes([_VALUE]) * (2 * group)
    return MicroKernel(
        name="vector load behind a store",
        setup=f"li t3, {_VALUE}\nvsetvli t2, x0, e8, {lmul}, ta, ma\nvmv.v.x v16, t3\n"
        f"addi t0, a6, {group}",
        body=unrolled(pairs, COPIES // 2),
        finish="",
        expected=lambda vlen_bits, parameters: stored,
    )


def _behind_a_division() -> MicroKernel:
    """Adds behind one that waits for a division; they overlap it only out of order."""
    adds = "\n".join(["addi t3, t3, 1"] * ADDS_BEHIND)
    return MicroKernel(
        name="adds behind a division",
        setup="li t1, 3\nli t6, 99999\nli t3, 0",
        body=unrolled([f"div t1, t6, t1\nadd t4, t1, x0\n{adds}"], _DIVISIONS),
        finish="sd t3, (a6)",
        expected=lambda vlen_bits, parameters: (
            parameters["iterations"] * _DIVISIONS * ADDS_BEHIND
        ).to_bytes(8, "little"),
        copies=_DIVISIONS,
    )
