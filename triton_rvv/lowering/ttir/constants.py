"""The numbers that constants are, or that fill them."""

from __future__ import annotations

from triton_rvv.frontend.attributes import DenseAttribute
from triton_rvv.frontend.ttir import Operation

__all__ = ["one_integer", "one_number"]


def one_number(maker: Operation | None) -> float | int | None:
    """The number that a constant is, or that fills it; None for anything else."""
    if maker is None or maker.name != "arith.constant":
        return None
    value = maker.attributes.get("value")
    if isinstance(value, DenseAttribute):
        value = value.elements[0] if len(value.elements) == 1 else None
    return value if isinstance(value, int | float) else None


def one_integer(maker: Operation | None) -> int | None:
    """The same of integers alone."""
    number = one_number(maker)
    return number if isinstance(number, int) else None
