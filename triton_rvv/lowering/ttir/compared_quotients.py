"""Marks comparisons of quotients that nothing else reads: these need no division.

cloudy = (infrared / red > 0.88) & (infrared / red < 1.12)
"""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.llvm.predicates import predicate_of
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number

__all__ = ["OF_QUOTIENT", "compare_quotients"]

# The attribute of such a comparison, with the sign of the numbers; and of the quotient.
OF_QUOTIENT = "triton_rvv.of_quotient"

_PREDICATES = ("ogt", "oge", "olt", "ole")
# What a quotient is compared with: neither it nor products with it are near the ends of float32.
_SMALLEST, _LARGEST = 2.0**-60, 2.0**60


def compare_quotients(kernel: Kernel) -> int:
    """Finds quotients that are only compared with numbers, by which their divisor is multiplied."""
    operations = list(kernel.module.walk())
    makers = {result: operation for operation in operations for result in operation.results}
    readers = dict[Value, list[Operation]]()
    for operation in operations:
        for operand in operation.operands:
            readers.setdefault(operand, []).append(operation)
    fired = 0
    for operation in operations:
        if operation.name != "arith.divf" or not _is_of_floats(operation.result):
            continue
        found = readers.get(operation.result, [])
        signs = [_sign(each, operation.result, makers) for each in found]
        if not all(signs):
            continue
        for each, sign in zip((operation, *found), (1, *signs), strict=True):
            each.attributes[OF_QUOTIENT] = sign
        fired += len(found)
    return fired


def _is_of_floats(value: Value) -> bool:
    return isinstance(value.type, TensorType) and str(value.type.element) == "f32"


def _sign(operation: Operation, quotient: Value, makers: Mapping[Value, Operation]) -> int:
    """That of the known numbers with which an operation compares the quotient; 0 for any other."""
    if operation.name != "arith.cmpf" or predicate_of(operation) not in _PREDICATES:
        return 0
    others = [makers.get(each) for each in operation.operands if each is not quotient]
    if len(others) != 1:
        return 0
    if others[0] is not None and others[0].name == "arith.select":
        others = [makers.get(each) for each in others[0].operands[1:]]
    numbers = [_number(each, makers) for each in others]
    return next((s for s in (1, -1) if all(_is_ordinary(s * each) for each in numbers)), 0)


def _is_ordinary(number: float) -> bool:
    return _SMALLEST <= number <= _LARGEST


def _number(maker: Operation | None, makers: Mapping[Value, Operation]) -> float:
    """The number that all elements are; 0 where it is not known."""
    if maker is not None and maker.name == "tt.splat":
        maker = makers.get(maker.operands[0])
    number = one_number(maker)
    return 0.0 if number is None else float(number)
