"""A micro-kernel: a loop of one kind of instruction, with a result that shows that it ran."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = [
    "BUFFER_BYTES",
    "COPIES",
    "PARAMETERS",
    "UNTOUCHED",
    "MicroKernel",
    "elements_of",
    "group_bytes",
    "input_bytes",
]

COPIES = 128  # of the instruction in the loop, so that the loop itself hardly counts
BUFFER_BYTES = 16384  # of input and of output: holds eight registers of 4096 bits four times
UNTOUCHED = 0xEE  # what the output holds before
PARAMETERS = ("iterations", "count", "stride", "jump")  # in a1, a2, a3 and a4

_EIGHTHS = {"mf8": 1, "mf4": 2, "mf2": 4, "m1": 8, "m2": 16, "m4": 32, "m8": 64}  # of a register

Expected = Callable[[int, Mapping[str, int]], bytes]


@dataclass(frozen=True)
class MicroKernel:
    """One micro-kernel.

    It is called with the program's number in a0, the numbers of PARAMETERS in a1 to a4, the input
    in a5 and the output in a6.

    Args:
        name: tells it from all others.
        setup: before the loop; for vectors it ends with the type that the loop runs under.
        body: in the loop, once each time.
        finish: after the loop: stores the result.
        expected: the beginning of the output, of the vector length in bits and the parameters.
        copies: of what is timed, in one time of the loop.
        parameters: those that the kernel runs with, but for iterations.
        elements: that one copy goes through, of a core with registers of as many bits.
        lasts: how many times as many iterations as usual it needs.
    """

    name: str
    setup: str
    body: str
    finish: str
    expected: Expected
    copies: int = COPIES
    parameters: Mapping[str, int] = field(default_factory=dict)
    elements: Callable[[int], int] = lambda _: 1
    lasts: float = 1.0


def elements_of(vlen_bits: int, sew: int, lmul: str) -> int:
    """VLMAX: the elements of `sew` bits in a group of registers."""
    return vlen_bits * _EIGHTHS[lmul] // (8 * sew)


def group_bytes(vlen_bits: int, lmul: str) -> int:
    """Bytes in a group of registers, or in the used part of one."""
    return math.ceil(vlen_bits * _EIGHTHS[lmul] / 64)


def input_bytes() -> npt.NDArray[np.uint8]:
    """What every micro-kernel finds in its input: no two places are alike for long."""
    places = np.arange(BUFFER_BYTES, dtype=np.uint64)
    return ((places * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(56)).astype(np.uint8)


def unrolled(lines: Sequence[str], copies: int = COPIES) -> str:
    """The lines in turn, `copies` in all, as an assembler repeats them."""
    assert copies % len(lines) == 0
    return "\n".join([f".rept {copies // len(lines)}", *lines, ".endr"])
