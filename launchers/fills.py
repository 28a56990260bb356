"""What an output that the kernel only writes holds before a run: two fills, neither correct."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from launchers.arguments import STORAGE_TYPES, Argument

__all__ = ["fill"]

# Bits of infinity, or of the largest number in a type without it, and of a quiet NaN.
_FLOATS = {
    "fp16": (0x7C00, 0x7E00),
    "bf16": (0x7F80, 0x7FC0),
    "fp32": (0x7F800000, 0x7FC00000),
    "fp64": (0x7FF0000000000000, 0x7FF8000000000000),
    "fp8e4nv": (0x7E, 0x7F),
    "fp8e5": (0x7C, 0x7E),
}


def fill(argument: Argument, data_set: int) -> npt.NDArray[np.generic]:
    """Contents for an output without a value, none of which pass as the expected ones.

    A kernel that reads its output is wrong with one of them at least: a minimum or a maximum with
    what the output holds is right with one fill, and wrong with the other.

    Args:
        argument: the output.
        data_set: 0 for the check before the timed runs: infinity, or the largest number of a type
            without it; integers with the highest bit inverted. 1 for the timed runs: the same with
            the opposite sign; integers on the other side of what is expected.
    """
    assert argument.expected is not None
    expected = np.ascontiguousarray(argument.expected).reshape(-1)
    kind = argument.element_type
    bits = expected.view(np.dtype(f"u{expected.dtype.itemsize}"))
    filled = _floats(kind, bits, data_set) if kind in _FLOATS else _integers(kind, bits, data_set)
    return filled.view(expected.dtype)


def _floats(kind: str, expected: npt.NDArray[Any], data_set: int) -> npt.NDArray[Any]:
    largest, nan = (expected.dtype.type(bits) for bits in _FLOATS[kind])
    sign = expected.dtype.type(1 << 8 * expected.dtype.itemsize - 1)
    size = expected & ~sign
    # Where that would pass, NaN does not.
    is_close = (size >= largest - (largest >> expected.dtype.type(3))) & (size <= largest)
    filled: npt.NDArray[Any] = np.where(is_close, nan, largest | sign if data_set else largest)
    return filled


def _integers(kind: str, bits: npt.NDArray[Any], data_set: int) -> npt.NDArray[Any]:
    top = bits.dtype.type(1 << 8 * bits.dtype.itemsize - 1)
    inverted: npt.NDArray[Any] = bits ^ top
    if data_set == 0:
        return inverted
    stored = np.dtype(STORAGE_TYPES[kind])
    limits = np.iinfo(stored)
    is_above = inverted.view(stored) > bits.view(stored)
    other = np.where(is_above, stored.type(limits.min), stored.type(limits.max)).view(bits.dtype)
    filled: npt.NDArray[Any] = np.where(other == bits, inverted, other)
    return filled
