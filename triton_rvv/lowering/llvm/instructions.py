"""Writes instructions of LLVM IR as text, and keeps what is known of their results."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from triton_rvv.lowering.llvm.abilities import NO_ABILITIES, Abilities
from triton_rvv.lowering.llvm.rules import Choices
from triton_rvv.lowering.llvm.value_ranges import Intervals
from triton_rvv.lowering.llvm.values import (
    FALSE,
    TRUE,
    Val,
    float_constant,
    folded,
    integer,
    resized,
    type_suffix,
    vector_type,
)

__all__ = ["Instructions"]

# The comparison that holds of what each gives and the other operand.
_EXTREMES = {"llvm.smin": "sle", "llvm.smax": "sge"}


class Instructions:
    """Appends instructions to a function; every value gets a fresh name.

    Args:
        abilities: what the target has instructions for.
        choices: by which rules the function is written; by all where it is not given.

    Attributes:
        intervals: what is known of scalar integers before the kernel runs.
        mark: what instructions end with from now on, to say where in the source they come from.
    """

    def __init__(self, abilities: Abilities = NO_ABILITIES, choices: Choices | None = None) -> None:
        self.abilities = abilities
        self.choices = choices or Choices()
        self.intervals = Intervals()
        self.mark = ""
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.constants: list[str] = []
        self._names = 0
        self._multiples: dict[str, int] = {}
        self._repeated: dict[str, Val] = {}
        self._definitions: dict[str, tuple[str, Sequence[Val]]] = {}

    def emit(self, type_: str, text: str) -> Val:
        """Append an instruction that has a result of `type_`."""
        name = f"%v{self._fresh()}"
        self.lines.append(f"  {name} = {text}{self.mark}")
        return Val(type_, name)

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}{self.mark}")

    def binary(self, name: str, left: Val, right: Val, flags: str = "") -> Val:
        """`left name right` on two values of one type; integer constants are folded."""
        if (known := folded(name, left, right)) is not None:
            return known
        result = self.emit(left.type, f"{name} {flags}{left.type} {left.ref}, {right.ref}")
        if name == "mul":
            self._note_multiple(result, self.multiple(left) * self.multiple(right))
        elif name in ("add", "sub"):
            self._note_multiple(result, min(self.multiple(left), self.multiple(right)))
        self._note_result(name, result, (left, right))
        return result

    def _note_result(self, name: str, result: Val, operands: Sequence[Val]) -> None:
        self.define(result, name, operands)
        self.intervals.note_result(name, result, operands)

    def define(self, value: Val, name: str, operands: Sequence[Val]) -> None:
        """Say what a value is, for `definition`."""
        self._definitions[value.ref] = name, operands

    def definition(self, value: Val) -> tuple[str, Sequence[Val]]:
        """LLVM's name of the instruction that computes a value, and its operands, where known.

        For several instructions it may be the name of what they compute, such as "exp".
        """
        return self._definitions.get(value.ref, ("", ()))

    def multiple(self, value: Val) -> int:
        """A power of two that divides an integer, as far as is known; a sum that wraps keeps it."""
        if (number := value.constant) is not None:
            return number & -number or 1 << 63
        return max(self._multiples.get(value.ref, 1), self.intervals.multiple(value))

    def _note_multiple(self, value: Val, factor: int) -> None:
        if factor > 1:
            self._multiples[value.ref] = factor

    def add(self, left: Val, right: Val) -> Val:
        """Integer sum."""
        return self.binary("add", left, right)

    def mul(self, left: Val, right: Val) -> Val:
        """Integer product."""
        return self.binary("mul", left, right)

    def split(self, position: Val, size: int) -> tuple[Val, Val]:
        """A position as the nearest multiple of `size` (a power of two) below it, and the rest."""
        if (number := position.constant) is not None:
            return integer(number // size * size), integer(number % size)
        if self.multiple(position) >= size:
            return position, integer(0, position.type)
        rest = self.binary("and", position, integer(size - 1))
        return self.binary("and", position, integer(-size)), rest

    def shift_right(self, value: Val, bits: int) -> Val:
        """An integer that is not negative divided by a power of two."""
        if bits == 0 or (number := value.constant) is None:
            return value if bits == 0 else self.binary("lshr", value, integer(bits, value.type))
        return integer(number >> bits, value.type)

    def conjunction(self, left: Val, right: Val) -> Val:
        """`left and right` of truth values, a scalar one being spread over a vector's lanes."""
        if left.truth is True:
            return right
        if right.truth is True:
            return left
        if "false" in (left.ref, right.ref):
            return FALSE
        width = max(left.width, right.width)
        return self.binary("and", self.splat(left, width), self.splat(right, width))

    def negation(self, condition: Val) -> Val:
        """Whether a truth value, or each of a vector of them, does not hold."""
        return self.binary("xor", condition, self.splat(TRUE, condition.width))

    def compare(self, predicate: str, left: Val, right: Val) -> Val:
        """A comparison of integers, addresses or floats, lane by lane.

        It is "true" or "false" where sizes and grid decide it.
        """
        if (holds := self.intervals.decided(predicate, left, right)) is not None:
            return TRUE if holds else FALSE
        name = "icmp" if left.element[0] in "ip" else "fcmp"
        type_ = vector_type("i1", left.width)
        result = self.emit(type_, f"{name} {predicate} {left}, {right.ref}")
        self.define(result, f"{name} {predicate}", (left, right))
        return result

    def select(self, condition: Val, then: Val, otherwise: Val) -> Val:
        """`then` where the condition holds; a scalar condition chooses whole vectors."""
        if condition.truth is not None:
            return then if condition.truth is True else otherwise
        result = self.emit(then.type, f"select {condition}, {then}, {otherwise}")
        self.define(result, "select", (condition, then, otherwise))
        self.intervals.note_result("select", result, (then, otherwise))
        return result

    def cast(self, name: str, value: Val, element: str) -> Val:
        """A conversion such as "sext" or "fptrunc" to vectors or scalars of `element`."""
        type_ = vector_type(element, value.width)
        if name in ("sext", "zext", "trunc") and (number := value.constant) is not None:
            return integer(resized(name, number, value.element, element), type_)
        if name == "uitofp" and value.truth is not None:
            return float_constant(element, float(value.truth is True))
        result = self.emit(type_, f"{name} {value} to {type_}")
        if name in ("sext", "zext", "trunc"):
            self._note_multiple(result, self.multiple(value))
            self._note_result(name, result, (value,))
        return result

    def reinterpret(self, value: Val, type_: str) -> Val:
        """The same bits as a type with as many, whatever its lanes."""
        return self.emit(type_, f"bitcast {value} to {type_}")

    def resize(self, value: Val, element: str, signed: bool = True) -> Val:
        """An integer with the width of `element`."""
        source, target = int(value.element[1:]), int(element[1:])
        if source == target:
            return value
        widen = "sext" if signed else "zext"
        return self.cast("trunc" if target < source else widen, value, element)

    def call(self, type_: str, name: str, arguments: Sequence[Val]) -> Val:
        """Call a function or intrinsic, which is declared by its arguments' types."""
        self.declarations.add(f"declare {type_} @{name}({', '.join(a.type for a in arguments)})")
        return self.emit(type_, f"call {type_} @{name}({', '.join(map(str, arguments))})")

    def intrinsic(self, name: str, operands: Sequence[Val]) -> Val:
        """Call an LLVM intrinsic that is overloaded on its only type."""
        if name in _EXTREMES:
            for one, other in itertools.permutations(operands):
                if self.intervals.decided(_EXTREMES[name], one, other):
                    return one
        result = self.call(operands[0].type, f"{name}.{type_suffix(operands[0])}", operands)
        self._note_result(name, result, operands)
        return result

    def smin(self, first: Val, *others: Val) -> Val:
        """The least of some integers with a sign."""
        return functools.reduce(lambda *two: self.intrinsic("llvm.smin", two), others, first)

    def smax(self, first: Val, *others: Val) -> Val:
        """The greatest of some integers with a sign."""
        return functools.reduce(lambda *two: self.intrinsic("llvm.smax", two), others, first)

    def call_void(self, name: str, arguments: Sequence[Val]) -> None:
        """Call a function that returns nothing."""
        self.declarations.add(f"declare void @{name}({', '.join(a.type for a in arguments)})")
        self.do(f"call void @{name}({', '.join(map(str, arguments))})")

    def text(self, content: str) -> Val:
        """The address of a constant string, which ends in NUL."""
        name, content_bytes = f"@text{self._fresh()}", content.encode() + b"\0"
        escaped = "".join(f"\\{byte:02X}" for byte in content_bytes)
        array = f"[{len(content_bytes)} x i8]"
        self.constants.append(f'{name} = private unnamed_addr constant {array} c"{escaped}"')
        return Val("ptr", name)

    def splat(self, value: Val, width: int) -> Val:
        """`value` in every lane."""
        if value.width == width:
            return value
        type_ = vector_type(value.type, width)
        if not value.ref.startswith("%"):
            result = Val(type_, f"splat ({value})")
        else:
            first = self.emit(type_, f"insertelement {type_} poison, {value}, i64 0")
            zeros = f"<{width} x i32> zeroinitializer"
            result = self.emit(type_, f"shufflevector {first}, {type_} poison, {zeros}")
        self._repeated[result.ref] = value
        return result

    def repeated(self, value: Val) -> Val | None:
        """The scalar that is in every lane, where `splat` made the vector."""
        return self._repeated.get(value.ref)

    def _fresh(self) -> int:
        self._names += 1
        return self._names
