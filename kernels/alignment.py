"""What a GPU's compiler cannot know of sizes that are no multiples of 16, and a kernel tells it."""

from __future__ import annotations

import math

import triton
import triton.language as tl

from foundation.config import Config
from kernels.spec import Problem

__all__ = ["alignment", "known_multiple"]

# Triton knows of an argument only whether 16 divides it; 8 elements of two bytes are the longest
# load of one thread.
_KNOWN, _MOST = 16, 8


def alignment(problem: Problem, config: Config, *sizes: int) -> int:
    """The largest power of two, up to 8, that divides all of a GPU kernel's sizes and strides.

    1 where nothing is to be told: where 16 divides all, and on processors, whose kernels may be
    called with other strides.

    Args:
        problem: the kernel at one shape.
        config: one with options of a GPU's compiler is for a GPU.
        sizes: which are also the strides.
    """
    if not problem.launch_options(config) or all(size % _KNOWN == 0 for size in sizes):
        return 1
    return math.gcd(_MOST, *sizes)


@triton.jit
def known_multiple(size, ALIGNED: tl.constexpr):
    """The size, of which the compiler now knows that ALIGNED divides it, as it does."""
    return size // ALIGNED * ALIGNED if ALIGNED > 1 else size
