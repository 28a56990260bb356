"""Instructions of RVV on groups of registers, as operations on vectors of a fixed length.

Of multiply-adds, LLVM takes the one that overwrites a factor where both end there, and copies the
sum back to its register in every turn of a loop. Told to keep what is behind the last lane of the
sum, it cannot. It makes shifts of products with powers of two, which take twice as long on an X60.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import (
    Val,
    element_bits,
    integer,
    signed,
    type_suffix,
    vector_type,
)

__all__ = [
    "ANY_TAIL",
    "DOWN",
    "DYNAMIC_ROUNDING",
    "KEPT_TAIL",
    "TO_NEAREST_EVEN",
    "TO_NEAREST_UP",
    "clipped",
    "first_readable",
    "fits_group",
    "fits_integers",
    "group_call",
    "multiply_add",
    "nearest",
    "product",
    "scaled_and_added",
    "shifted",
    "upper_product",
]

# An element of LLVM's types for groups stands for 64 bits of a register; a group has 8 at most.
_UNIT_BITS, _LARGEST_GROUP = 64, 8
_ELEMENTS = ("i32", "float", "double")
DYNAMIC_ROUNDING = integer(7)
# How LLVM numbers the rounding modes of fixed-point instructions.
TO_NEAREST_UP, TO_NEAREST_EVEN, DOWN = integer(0), integer(1), integer(2)
# What is behind the last lane of a result that overwrites an operand.
KEPT_TAIL, ANY_TAIL = integer(0), integer(3)


def fits_group(builder: Builder, value: Val) -> bool:
    """Whether there are instructions of RVV for a vector of this type."""
    return value.element in _ELEMENTS and _fits(builder, value)


def fits_integers(builder: Builder, value: Val) -> bool:
    """The same of integers of any type."""
    return value.element[0] == "i" and _fits(builder, value)


def _fits(builder: Builder, value: Val) -> bool:
    of_all = value.width * element_bits(value.element)
    return 0 < of_all <= _LARGEST_GROUP * builder.abilities.rvv_bits and value.width > 1


def group_call(
    builder: Builder,
    name: str,
    operands: Sequence[Val | None],
    tail: Sequence[Val] = (),
    element: str = "",
) -> Val:
    """The result of an instruction, a vector with as many lanes as its vectors have.

    Args:
        name: of LLVM's intrinsic, with "{}" where the type of the result's group goes, and then
            that of the first vector's.
        operands: vectors that fit a group, scalars, and None for what may be anything. The number
            of lanes follows them.
        tail: what follows that.
        element: of the result; that of the first vector where it is not given.
    """
    first = next(each for each in operands if each is not None and each.width > 1)
    element, width = element or first.element, first.width
    count = max(1, width * _UNIT_BITS // builder.abilities.rvv_bits)

    def group(kind: str) -> tuple[str, str]:
        return f"<vscale x {count} x {kind}>", f"nxv{count}{type_suffix(Val(kind, ''))}"

    (total, to), start = group(element), integer(0)

    def grouped(operand: Val | None) -> Val:
        if operand is None or operand.width == 1:
            return operand or Val(total, "poison")
        whole, suffix = group(operand.element)
        parts = [Val(whole, "poison"), operand, start]
        return builder.call(whole, f"llvm.vector.insert.{suffix}.{type_suffix(operand)}", parts)

    arguments = [*map(grouped, operands), integer(width), *tail]
    name = name.format(to, group(first.element)[1])
    result = builder.call(total, f"llvm.riscv.{name}.i64", arguments)
    type_ = vector_type(element, width)
    extract = f"llvm.vector.extract.{type_suffix(Val(type_, ''))}.{to}"
    return builder.call(type_, extract, [result, start])


def first_readable(builder: Builder, element: str, address: Val, count: int, condition: Val) -> Val:
    """Registers with the elements from an address on, up to `count` or where memory ends.

    None is read unless the condition is true; the first one has to be there then. What is behind
    the last one may be anything.
    """
    bits = element_bits(element)
    registers = max(1, (1 << (count - 1).bit_length()) * bits // builder.abilities.rvv_bits)
    lanes = registers * builder.abilities.rvv_bits // bits
    each = registers * _UNIT_BITS // bits
    whole, name = f"<vscale x {each} x {element}>", f"nxv{each}{type_suffix(Val(element, ''))}"
    length = builder.select(condition, integer(count), integer(0))
    operands = [Val(whole, "poison"), address, length]
    read = builder.call(f"{{ {whole}, i64 }}", f"llvm.riscv.vleff.{name}.i64", operands)
    register, type_ = builder.emit(whole, f"extractvalue {read}, 0"), vector_type(element, lanes)
    extract = f"llvm.vector.extract.{type_suffix(Val(type_, ''))}.{name}"
    return builder.call(type_, extract, [register, integer(0)])


def nearest(builder: Builder, value: Val, element: str) -> Val:
    """The i16 or i32 nearest to each float32 of a vector that fits a group, ties to even.

    What is too large becomes the integer that comes closest, and NaN the largest.
    """
    name = "vfcvt.x.f.v.{}.{}" if element == "i32" else "vfncvt.x.f.w.{}.{}"
    return group_call(builder, name, [None, value, DYNAMIC_ROUNDING], element=element)


def clipped(
    builder: Builder, value: Val, shift: int, signed: bool = True, rounding: Val = DOWN
) -> Val:
    """Integers of half the bits: shifted right, rounded, and the closest that they can be."""
    element, name = f"i{int(value.element[1:]) // 2}", "vnclip" if signed else "vnclipu"
    operands = [None, value, integer(shift), rounding]
    return group_call(builder, f"{name}.{{}}.{{}}.i64", operands, element=element)


def shifted(builder: Builder, value: Val, shift: int, signed: bool) -> Val:
    """Integers shifted right, to the nearest, a half upwards."""
    name = "vssra" if signed else "vssrl"
    operands = [None, value, integer(shift), TO_NEAREST_UP]
    return group_call(builder, f"{name}.{{0}}.i64.i64", operands)


def multiply_add(builder: Builder, total: Val, value: Val) -> Val | None:
    """total + value in one instruction, where the value is a product of two vectors."""
    name, factors = builder.definition(value)
    bits = builder.abilities.rvv_bits
    # Less than a register would take an element of LLVM's types that stands for more.
    if name != "fmul" or not fits_group(builder, value) or value.width * 64 < bits:
        return None
    if any(map(builder.repeated, factors)):
        return None
    operands = [total, *factors, DYNAMIC_ROUNDING]
    return group_call(builder, "vfmacc.{0}.{0}", operands, [KEPT_TAIL])


def scaled_and_added(builder: Builder, total: Val, value: Val, factor: int) -> Val:
    """total + value * factor of integers of 32 bits that fit a group.

    By a power of two it takes half the time of a shift.
    """
    operands = [total, integer(signed(factor, 32), "i32"), value]
    return group_call(builder, "vmacc.{}.i32", operands, [ANY_TAIL])


def product(builder: Builder, value: Val, factor: int) -> Val:
    """value * factor of integers of 32 bits that fit a group, where LLVM would write a shift."""
    return group_call(builder, "vmul.{}.i32", [None, value, integer(factor, "i32")])


def upper_product(builder: Builder, value: Val, factor: int, is_signed: bool) -> Val:
    """The upper half of value * factor of integers of 32 bits that fit a group.

    By a power of two it shifts right, in half the time of a shift.
    """
    name = "vmulh" if is_signed else "vmulhu"
    return group_call(builder, f"{name}.{{}}.i32", [None, value, integer(factor, "i32")])
