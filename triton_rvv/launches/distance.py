"""How far the sizes of two launches of a kernel are from each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

__all__ = ["FARTHEST", "is_far", "size_distance"]

# An order of magnitude. Where there is that much less to do, a block that suited a task leaves most
# of its lanes, or most cores, without work; where there is that much more, it may be far too small.
FARTHEST = 3.0  # doublings of any one size


def size_distance(one: Sequence[int], other: Sequence[int]) -> float:
    """How many doublings lie between two lists of sizes, all added up."""
    return sum(_doublings(one, other))


def is_far(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether any two sizes are more than `FARTHEST` doublings apart."""
    return max(_doublings(one, other), default=0.0) > FARTHEST


def _doublings(one: Sequence[int], other: Sequence[int]) -> Iterator[float]:
    for a, b in zip(one, other, strict=False):
        yield abs(math.log2((abs(a) + 1) / (abs(b) + 1)))
