"""Access functions: integers and addresses as sums of scalars and of positions in a block.

%at = "tt.make_range"() {start = 0, end = 512}              i0
%row = "arith.muli"(%pid, %c512)                            512*%pid
%p = "tt.addptr"(%xs, %sum)                                 %x + 512*%pid + i0

Sums of 32 bits wrap, and addresses take them with their sign. Of blocks, code finds out at run time
whether any sum wraps, and does not use what is found here where one does. Of scalars, a sum that
becomes an address is kept as it is unless it is known not to wrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import PointerType, ScalarType, TensorType, element_type
from triton_rvv.lowering.ttir.carried_offsets import CARRIES_BASE_OF
from triton_rvv.lowering.ttir.known_integers import KnownIntegers, one_integer
from triton_rvv.lowering.ttir.operation_kinds import ELEMENTWISE
from triton_rvv.lowering.ttir.polynomials import Atom, Extended, Polynomial, Position, Unknown

__all__ = ["AccessFunctions"]

# Smaller ones may wrap where their sums are widened.
_FOLLOWED = ("i32", "i64", "index")
_DIVISIONS = {"arith.divsi": "//", "arith.remsi": "%", "arith.shrsi": ">>", "arith.andi": "&"}
# With more of them in one another, a quotient has the name of its value.
_MAX_QUOTIENTS = 6
# Results vary only along the dimensions along which an operand does.
_POINTWISE = (*ELEMENTWISE, "tt.load")


class AccessFunctions:
    """The sums of a function's integers and addresses.

    Args:
        function: a `tt.func`, of whose loops is known which blocks they move.
    """

    def __init__(self, function: Operation, known: KnownIntegers) -> None:
        self._known = known
        self._sums: dict[Value, Polynomial] = {}
        # Of blocks of floats and truth values, the dimensions along which they vary.
        self._axes: dict[Value, tuple[int, ...]] = {}
        for argument in function.regions[0].blocks[0].arguments:
            self._sums[argument] = Polynomial.of(argument)
        for operation in function.walk():
            if operation.name == "scf.for":
                self._read_loop(operation)
            for result in operation.results:
                if not _is_followed(result):
                    self._axes[result] = self._axes_of_result(operation, result)
                elif result not in self._sums:
                    found = self._computed(operation)
                    if found is None or found.is_large:
                        found = self._unknown(operation, result)
                    self._sums[result] = found

    def of(self, value: Value) -> Polynomial:
        """The sum that a value is; of a block, that of the element at each position."""
        if value not in self._sums:
            atom: Atom = value
            if isinstance(value.type, TensorType):
                axes = self._axes[value] if value in self._axes else _varying(value)
                atom = Unknown(value, axes, value.name)
            self._sums[value] = Polynomial.of(atom)
        return self._sums[value]

    def number(self, value: Polynomial) -> int | None:
        """The integer that is the same in every run, where it is one."""
        total = 0
        for product, factor in value.terms:
            numbers = [self._known.of(atom) for atom in product if isinstance(atom, Value)]
            known = [number for number in numbers if number is not None]
            if len(known) < len(product):
                return None
            total += factor * math.prod(known)
        return total

    def _read_loop(self, loop: Operation) -> None:
        """What a loop carries: of a block of which it moves only the base, the start and that."""
        arguments = loop.regions[0].block.arguments[1:]
        for number, (argument, result) in enumerate(zip(arguments, loop.results, strict=True)):
            for value in argument, result:
                moved = Polynomial.of(Unknown(value, (), f"moved({value.name})"))
                if number in loop.integers(CARRIES_BASE_OF):
                    self._sums[value] = self.of(loop.operands[3 + number]) + moved

    def _computed(self, operation: Operation) -> Polynomial | None:
        rule = _RULES.get(operation.name)
        return None if rule is None else rule(self, operation)

    def _unknown(self, operation: Operation, result: Value) -> Polynomial:
        if not isinstance(result.type, TensorType):
            return Polynomial.of(result)
        axes = self._axes_of_result(operation, result)
        if operation.name in _DIVISIONS:
            operands = tuple(map(self.of, operation.operands))
            shown = Unknown(result, axes, _DIVISIONS[operation.name], operands, is_quotient=True)
            if shown.quotients > _MAX_QUOTIENTS:
                shown = Unknown(result, axes, result.name, is_quotient=True)
            return Polynomial.of(shown)
        return Polynomial.of(Unknown(result, axes, result.name))

    def _axes_of_result(self, operation: Operation, result: Value) -> tuple[int, ...]:
        if not isinstance(result.type, TensorType):
            return ()
        if not operation.operands or not operation.name.startswith(_POINTWISE):
            return _varying(result)
        axes = (
            self._axes[each] if each in self._axes else self.of(each).axes
            for each in operation.operands
        )
        return tuple(sorted(frozenset[int]().union(*axes)))

    def _as_offset(self, value: Value) -> Polynomial:
        """An integer with 64 bits."""
        total = self.of(value)
        is_wide = element_type(value.type) != ScalarType("i32")
        if is_wide or isinstance(value.type, TensorType) or total.number is not None:
            return total
        rest, constant = total.split_constant()
        if not 0 <= constant < self._multiple(rest):
            rest, constant = total, 0
        is_one = len(rest.terms) == 1 and rest.terms[0][1] == 1 and len(rest.terms[0][0]) == 1
        wide = rest if is_one else Polynomial.of(Extended(rest))
        return wide + Polynomial.of(constant)

    def _multiple(self, total: Polynomial) -> int:
        """A power of two that divides a sum, as far as is known."""
        factors = [1 << 62]
        for product, factor in total.terms:
            known = (self._known.of(atom) for atom in product if isinstance(atom, Value))
            number = factor * math.prod(1 if each is None else each for each in known)
            factors.append(number & -number or 1 << 62)
        return min(factors)

    # -- rules ---------------------------------------------------------------------------------

    def _constant(self, operation: Operation) -> Polynomial | None:
        number = one_integer(operation)
        return None if number is None else Polynomial.of(number)

    def _add(self, operation: Operation) -> Polynomial:
        left, right = map(self.of, operation.operands)
        return left + right

    def _subtract(self, operation: Operation) -> Polynomial:
        left, right = map(self.of, operation.operands)
        return left - right

    def _multiply(self, operation: Operation) -> Polynomial:
        left, right = map(self.of, operation.operands)
        return left * right

    def _move(self, operation: Operation) -> Polynomial:
        pointer, offset = operation.operands
        return self.of(pointer) + self._as_offset(offset)

    def _extend(self, operation: Operation) -> Polynomial | None:
        operand = operation.operands[0]
        return self._as_offset(operand) if _is_followed(operand) else None

    def _same(self, operation: Operation) -> Polynomial:
        return self.of(operation.operands[0])

    def _cast(self, operation: Operation) -> Polynomial | None:
        operand, result = operation.operands[0], operation.result
        sizes = [_pointee_bytes(value) for value in (operand, result)]
        return self.of(operand) if sizes[0] == sizes[1] and sizes[0] else None

    def _range(self, operation: Operation) -> Polynomial:
        start, end = (operation.integer(name) for name in ("start", "end"))
        first = Polynomial.of(start)
        return first + Polynomial.of(Position(0)) if end - start > 1 else first

    def _expand(self, operation: Operation) -> Polynomial:
        axis = operation.integer("axis")
        return self._same(operation).on_axes(lambda own: own + (own >= axis))

    def _transpose(self, operation: Operation) -> Polynomial:
        return self._same(operation).on_axes(operation.integers("order").index)


_RULES: Mapping[str, Callable[[AccessFunctions, Operation], Polynomial | None]] = {
    "arith.constant": AccessFunctions._constant,
    "arith.addi": AccessFunctions._add,
    "arith.subi": AccessFunctions._subtract,
    "arith.muli": AccessFunctions._multiply,
    "arith.extsi": AccessFunctions._extend,
    "tt.addptr": AccessFunctions._move,
    "tt.bitcast": AccessFunctions._cast,
    "tt.make_range": AccessFunctions._range,
    "tt.splat": AccessFunctions._same,
    "tt.broadcast": AccessFunctions._same,
    "tt.expand_dims": AccessFunctions._expand,
    "tt.trans": AccessFunctions._transpose,
}


def _is_followed(value: Value) -> bool:
    element = element_type(value.type)
    return isinstance(element, PointerType) or str(element) in _FOLLOWED


def _varying(block: Value) -> tuple[int, ...]:
    """The dimensions along which elements of a block may differ."""
    return tuple(axis for axis, size in enumerate(block.shape) if size > 1)


def _pointee_bytes(value: Value) -> int:
    """Bytes of what an address leads to; 0 for other values."""
    element = element_type(value.type)
    if not isinstance(element, PointerType) or isinstance(element.pointee, TensorType):
        return 0
    return element.pointee.size_bytes
