"""Vectors put together of others: one after another, or their lanes in turn."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, vector_type

__all__ = ["concatenated", "in_turn", "transposed"]


def concatenated(builder: Builder, parts: Sequence[Val]) -> Val:
    """Vectors or scalars of one type, one after another; as many as a power of 2."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    first, second = (concatenated(builder, some) for some in (parts[:half], parts[half:]))
    if first.width == 1:
        return _pair(builder, first, second)
    return builder.shuffle(first, range(2 * first.width), second)


def in_turn(builder: Builder, parts: Sequence[Val]) -> Val:
    """A lane of each part, then the next lane of each; as many parts as a power of 2, or three.

    LLVM makes a segment store of a single shuffle of up to four parts.
    """
    if len(parts) == 1:
        return parts[0]
    if len(parts) in (3, 4) and parts[0].width > 1:
        return _few_in_turn(builder, parts)
    even, odd = in_turn(builder, parts[::2]), in_turn(builder, parts[1::2])
    if even.width == 1:
        return _pair(builder, even, odd)
    lanes = [lane for place in range(even.width) for lane in (place, place + even.width)]
    return builder.shuffle(even, lanes, odd)


def _few_in_turn(builder: Builder, parts: Sequence[Val]) -> Val:
    """Three or four vectors, by one shuffle of all lanes."""
    width = parts[0].width
    first, *others = concatenated(builder, parts[:2]), *parts[2:]
    # Both sides of a shuffle have as many lanes.
    second = builder.shuffle(others[0], range(2 * width), others[-1])
    lanes = [place + part * width for place in range(width) for part in range(len(parts))]
    return builder.shuffle(first, lanes, second)


def transposed(builder: Builder, rows: Sequence[Val]) -> list[Val]:
    """The columns of a square of lanes whose side is a power of 2.

    Blocks off the diagonal change places, from halves of the square down to single lanes (J. O.
    Eklundh, "A Fast Computer Method for Matrix Transposing", 1972).
    """
    side, rows = len(rows), list(rows)
    distance = side // 2
    while distance:
        for first in [row for row in range(side) if not row & distance]:
            upper, lower = rows[first], rows[first + distance]
            left = [n + (side - distance if n & distance else 0) for n in range(side)]
            right = [n + (side if n & distance else distance) for n in range(side)]
            rows[first] = builder.shuffle(upper, left, lower)
            rows[first + distance] = builder.shuffle(upper, right, lower)
        distance //= 2
    return rows


def _pair(builder: Builder, first: Val, second: Val) -> Val:
    """Two scalars as a vector."""
    type_ = vector_type(first.type, 2)
    half = builder.emit(type_, f"insertelement {type_} poison, {first}, i64 0")
    return builder.emit(type_, f"insertelement {half}, {second}, i64 1")
