"""Moves lanes of a register, and fills those behind them with numbers that change nothing."""

from __future__ import annotations

from triton_rvv.frontend.types import ScalarType
from triton_rvv.lowering.elementwise.arith import constant
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, element_bits, vector_type
from triton_rvv.lowering.reductions.reduction import Reduction
from triton_rvv.lowering.ttir.combining import COMBINING

__all__ = ["moved", "neutral_numbers"]

# The longest elements that an instruction moves by one place.
_LONGEST_BITS = 64


@rule("fill-moved-lanes", nothing)
def neutral_numbers(reduction: Reduction) -> list[Val] | None:
    """For each operand, a number that changes no other one; None where not all have one known."""
    names = reduction.combination.operation_of_each
    pairs = zip(names, reduction.sources, strict=False)
    numbers = [_neutral(name, source.element) for name, source in pairs]
    known = [number for number in numbers if number is not None]
    return known if known and len(known) == len(numbers) else None


def _neutral(name: str, element: object) -> Val | None:
    if not isinstance(element, ScalarType) or element.bits < 8:
        return None
    if name in ("arith.maxsi", "arith.minsi"):
        least = -(1 << element.bits - 1)
        return constant(element, least if name == "arith.maxsi" else -1 - least)
    known = COMBINING.get(name)
    return None if known is None or known.exact is None else constant(element, known.exact)


def moved(builder: Builder, value: Val, number: Val | None, distance: int, is_reverse: bool) -> Val:
    """In each lane, what is `distance` lanes before it.

    Args:
        number: what is in lanes without one before them; None for anything.
        distance: a power of two, less than there are lanes.
        is_reverse: whether the last lane is the first one.
    """
    if number is None:
        shifted = builder.shuffle(value, _lanes_before(value.width, distance, is_reverse, None))
        return builder.emit(shifted.type, f"freeze {shifted}")
    together = element_bits(value.element) * distance
    if distance == 1 or together > _LONGEST_BITS:
        before = _lanes_before(value.width, distance, is_reverse, value.width)
        return builder.shuffle(value, before, builder.splat(number, value.width))
    # Neighbours move together by one place, into which one instruction puts a number.
    long = builder.reinterpret(value, vector_type(f"i{together}", value.width // distance))
    numbers = builder.reinterpret(builder.splat(number, distance), long.element)
    return builder.reinterpret(moved(builder, long, numbers, 1, is_reverse), value.type)


def _lanes_before(
    width: int, distance: int, is_reverse: bool, otherwise: int | None
) -> list[int | None]:
    back = distance if is_reverse else -distance
    lanes = range(back, back + width)
    return [lane if 0 <= lane < width else otherwise for lane in lanes]
