"""Shapes of problems: the size of each dimension, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping

__all__ = ["Shape", "as_shape", "distance", "shape_text"]

Shape = Mapping[str, int]


def as_shape(value: object) -> Shape | None:
    """A shape that was read from a file or a storage; None if it is none."""
    if not isinstance(value, Mapping):
        return None
    sizes = value.values()
    is_one = all(isinstance(name, str) for name in value) and all(
        isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in sizes
    )
    return dict(value) if is_one else None


def shape_text(shape: Shape) -> str:
    """A shape as users write it: "M=256,N=512"."""
    return ",".join(f"{name}={size}" for name, size in shape.items())


def distance(one: Shape, other: Shape) -> float:
    """How far apart two shapes with the same dimensions are, in doublings of one dimension."""
    return sum(abs(math.log2(size / other[name])) for name, size in one.items())
