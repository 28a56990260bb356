"""Writes arithmetic on vectors with Python's operators, so that formulas read as formulas."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import Choices
from triton_rvv.lowering.llvm.values import Val, float_constant, integer, signed
from triton_rvv.lowering.llvm.vectors import concatenated

__all__ = [
    "SCALED_LANES",
    "Emit",
    "Lanes",
    "absolute",
    "call",
    "copysign",
    "emitter",
    "fma",
    "high_product",
    "in_double",
    "looked_up",
    "maximum",
    "minimum",
    "polynomial",
    "round_half_even",
    "scaled_by_powers",
    "sqrt",
    "up_to",
    "where",
]

Emit = Callable[[Builder, Sequence[Val]], Val]

_FLOAT_TYPES = {"i16": "half", "i32": "float", "i64": "double", "i128": "fp128"}
_BITS_TYPES = {float_: bits for bits, float_ in _FLOAT_TYPES.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """A vector or a scalar of which expressions are made; every operator writes an instruction.

    Numbers on the other side of an operator become constants of this type. Integers are signed,
    and no product is fused with a sum except by `fma`.
    """

    builder: Builder
    value: Val

    @property
    def choices(self) -> Choices:
        """By which rules code is written."""
        return self.builder.choices

    # -- arithmetic ----------------------------------------------------------------------------

    def __add__(self, other: Lanes | float) -> Lanes:
        return self._binary("add", other)

    def __radd__(self, other: float) -> Lanes:
        return self.constant(other) + self

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self._binary("sub", other)

    def __rsub__(self, other: float) -> Lanes:
        return self.constant(other) - self

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self._binary("mul", other)

    def __truediv__(self, other: Lanes | float) -> Lanes:
        return self._binary("div", other)

    def __rtruediv__(self, other: float) -> Lanes:
        return self.constant(other) / self

    def __neg__(self) -> Lanes:
        if not self.is_float:
            return 0 - self
        return self.of(self.builder.emit(self.value.type, f"fneg {self.value}"))

    # -- bits ----------------------------------------------------------------------------------

    def __and__(self, other: Lanes | int) -> Lanes:
        return self._plain("and", other)

    def __or__(self, other: Lanes | int) -> Lanes:
        return self._plain("or", other)

    def __xor__(self, other: Lanes | int) -> Lanes:
        return self._plain("xor", other)

    def __invert__(self) -> Lanes:
        return self ^ -1

    def __lshift__(self, other: Lanes | int) -> Lanes:
        return self._plain("shl", other)

    def __rshift__(self, other: Lanes | int) -> Lanes:
        """Shift right, with the sign."""
        return self._plain("ashr", other)

    def shift_in_zeros(self, count: Lanes | int) -> Lanes:
        """Shift right, with zeros from the left."""
        return self._plain("lshr", count)

    def bits(self) -> Lanes:
        """A float's representation as an integer."""
        return self.of(self.builder.cast("bitcast", self.value, _BITS_TYPES[self.value.element]))

    def as_float(self) -> Lanes:
        """The float that an integer represents."""
        return self.of(self.builder.cast("bitcast", self.value, _FLOAT_TYPES[self.value.element]))

    # -- comparisons ---------------------------------------------------------------------------

    def __lt__(self, other: Lanes | float) -> Lanes:
        return self._compare("olt", "slt", other)

    def __le__(self, other: Lanes | float) -> Lanes:
        return self._compare("ole", "sle", other)

    def __gt__(self, other: Lanes | float) -> Lanes:
        return self._compare("ogt", "sgt", other)

    def __ge__(self, other: Lanes | float) -> Lanes:
        return self._compare("oge", "sge", other)

    def equals(self, other: Lanes | float) -> Lanes:
        """Where both are equal; NaN is not even equal to itself."""
        return self._compare("oeq", "eq", other)

    def differs(self, other: Lanes | float) -> Lanes:
        """Where both differ; NaN differs from everything."""
        return self._compare("une", "ne", other)

    def below_unsigned(self, other: Lanes | int) -> Lanes:
        """Where an integer is less, both without a sign."""
        return self._compare("", "ult", other)

    # -- conversions ---------------------------------------------------------------------------

    def to(self, element: str, signed: bool = True) -> Lanes:
        """The same numbers as floats, or as integers, of another width.

        A float does not become an integer: QEMU 7.2 aborts at the instruction.
        """
        if self.value.element == element:
            return self
        if not self.is_float and not element.startswith("i"):
            return self.of(self.builder.cast("sitofp" if signed else "uitofp", self.value, element))
        if not self.is_float:
            return self.of(self.builder.resize(self.value, element, signed))
        by_width = list(_BITS_TYPES)
        is_wider = by_width.index(element) > by_width.index(self.value.element)
        return self.of(self.builder.cast("fpext" if is_wider else "fptrunc", self.value, element))

    # -- inside --------------------------------------------------------------------------------

    @property
    def is_float(self) -> bool:
        """Whether the lanes hold floating-point numbers."""
        return not self.value.element.startswith("i")

    def of(self, value: Val) -> Lanes:
        """Lanes of another value of the same function."""
        return Lanes(self.builder, value)

    def constant(self, number: Lanes | float) -> Lanes:
        """A number in every lane, as this type."""
        if isinstance(number, Lanes):
            return number
        element = self.value.element
        if self.is_float:
            scalar = float_constant(element, number)
        else:
            bits = int(element[1:])
            scalar = integer(signed(int(number), bits), element)
        return self.of(self.builder.splat(scalar, self.value.width))

    def _binary(self, name: str, other: Lanes | float) -> Lanes:
        return self._plain(f"f{name}" if self.is_float else name, other)

    def _plain(self, name: str, other: Lanes | float) -> Lanes:
        return self.of(self.builder.binary(name, self.value, self.constant(other).value))

    def _compare(self, of_floats: str, of_integers: str, other: Lanes | float) -> Lanes:
        predicate = of_floats if self.is_float else of_integers
        return self.of(self.builder.compare(predicate, self.value, self.constant(other).value))


# -- functions -----------------------------------------------------------------------------------


def where(condition: Lanes, then: Lanes | float, otherwise: Lanes | float) -> Lanes:
    """`then` where the condition holds; at least one of the two is no plain number."""
    like = then if isinstance(then, Lanes) else otherwise
    assert isinstance(like, Lanes)
    chosen = (like.constant(side).value for side in (then, otherwise))
    return like.of(condition.builder.select(condition.value, *chosen))


def call(name: str, *operands: Lanes) -> Lanes:
    """An LLVM intrinsic that is overloaded on the type of its operands."""
    first = operands[0]
    return first.of(first.builder.intrinsic(name, [operand.value for operand in operands]))


def fma(a: Lanes, b: Lanes | float, c: Lanes | float) -> Lanes:
    """a * b + c, rounded once."""
    return call("llvm.fma", a, a.constant(b), a.constant(c))


def sqrt(x: Lanes) -> Lanes:
    """The square root, rounded to nearest."""
    return call("llvm.sqrt", x)


def absolute(x: Lanes) -> Lanes:
    """A float without its sign."""
    return call("llvm.fabs", x)


def copysign(size: Lanes, sign: Lanes) -> Lanes:
    """`size` with the sign of `sign`."""
    return call("llvm.copysign", size, sign)


def minimum(a: Lanes, b: Lanes | float) -> Lanes:
    """The smaller one; `b` where `a` is NaN."""
    return call("llvm.minnum", a, a.constant(b))


def maximum(a: Lanes, b: Lanes | float) -> Lanes:
    """The larger one; `b` where `a` is NaN."""
    return call("llvm.maxnum", a, a.constant(b))


def up_to(x: Lanes, limit: float) -> Lanes:
    """The smaller of a number and a limit; either where the number is NaN."""
    if x.builder.abilities.has_one_nan:
        return minimum(x, limit)
    return where(x > limit, limit, x)


def round_half_even(x: Lanes) -> Lanes:
    """The nearest integer as a float, ties to even.

    That is the mode in which all code runs; on RISC-V, to ask for it would cost a change of it.
    """
    return call("llvm.rint" if x.builder.abilities.has_one_nan else "llvm.roundeven", x)


def polynomial(x: Lanes, coefficients: Sequence[float], keeps_x: bool = False) -> Lanes:
    """The value of a polynomial by Horner's rule; coefficients with the highest power first.

    RVV's multiply-add by a number overwrites the vector. To keep it takes two instructions' time,
    where a product and a sum take one more than a multiply-add. So where x is wanted afterwards
    and the highest term counts for little, that is written.
    """
    highest, second, *others = coefficients
    if keeps_x and x.builder.abilities.has_one_nan:
        total = x * highest + second
    else:
        total = fma(x.constant(highest), x, second)
    for coefficient in others:
        total = fma(total, x, coefficient)
    return total


def high_product(a: Lanes, b: Lanes, signed: bool = False) -> Lanes:
    """The upper half of the product of two integers."""
    bits = int(a.value.element[1:])
    wide = f"i{2 * bits}"
    product = a.to(wide, signed) * b.to(wide, signed)
    return product.shift_in_zeros(bits).to(a.value.element)


# AVX-512's instruction on whole registers of floats, rounded as all arithmetic is.
SCALED_LANES = 16
_SCALE, _AS_USUAL = "llvm.x86.avx512.mask.scalef.ps.512", integer(4, "i32")


def scaled_by_powers(x: Lanes, n: Lanes) -> Lanes:
    """x * 2^n for whole numbers n, rounded once, where the target's builder `scales_floats`.

    Args:
        x: floats, a multiple of SCALED_LANES.
        n: floats, too.
    """
    builder, parts = x.builder, []
    for first in range(0, x.value.width, SCALED_LANES):
        low, exponents = (builder.lanes(v.value, first, SCALED_LANES) for v in (x, n))
        operands = [low, exponents, low, integer(-1, "i16"), _AS_USUAL]
        parts.append(builder.call(low.type, _SCALE, operands))
    return x.of(concatenated(builder, parts))


def looked_up(array: Val, place: Lanes, element: str) -> Lanes:
    """What an array holds `place` bytes from its start on, which is not negative."""
    builder = place.builder
    addresses = builder.element_pointer("i8", array, place.to("i64", signed=False).value)
    return place.of(builder.gather(element, addresses, 4))


def emitter(function: Callable[..., Lanes]) -> Emit:
    """A function of lanes as what the lowering of operations takes."""

    def emit(builder: Builder, operands: Sequence[Val]) -> Val:
        return function(*(Lanes(builder, operand) for operand in operands)).value

    return emit


def in_double(function: Callable[..., Lanes]) -> Callable[..., Lanes]:
    """A function of doubles as one of floats, rounded once at the end.

    Vectors are taken in halves, since doubles need twice the registers.
    """

    @functools.wraps(function)
    def of_floats(*operands: Lanes) -> Lanes:
        first = operands[0]
        width = first.value.width
        if width == 1:
            return function(*(operand.to("double") for operand in operands)).to("float")
        builder, half = first.builder, width // 2
        parts = []
        for start in (0, half):
            values = (builder.lanes(operand.value, start, half) for operand in operands)
            doubles = (Lanes(builder, value).to("double") for value in values)
            parts.append(function(*doubles).to("float").value)
        return first.of(concatenated(builder, parts))

    return of_floats
