"""`tl.map_elementwise`: a function of scalars on every element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.errors import CompileError
from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.combination import Combination
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.registry import Handler
from triton_rvv.lowering.tensors import EXPENSIVE, Point, Tensor
from triton_rvv.lowering.values import Val
from triton_rvv.ttir import Operation
from triton_rvv.types import TensorType

__all__ = ["HANDLERS"]


class _Mapped(Tensor):
    """One result of a function; LLVM drops what only the others need.

    Args:
        type_: of the result.
        function: what is done to each element.
        operands: its arguments.
        number: which of its results this is.
    """

    def __init__(
        self, type_: TensorType, function: Combination, operands: Sequence[Tensor], number: int
    ) -> None:
        super().__init__(type_, operands, cost=EXPENSIVE)
        self._function = function
        self._number = number

    def evaluate(self, builder: Builder, point: Point) -> Val:
        arguments = [operand.at(builder, point) for operand in self.operands]
        return self._function.emit(arguments)[self._number]


def _map(context: Context, operation: Operation) -> None:
    if operation.integer("pack") != 1:
        raise CompileError("tl.map_elementwise is only supported with pack=1", operation.line)
    operands = [context.tensor(value) for value in operation.operands]
    function = Combination(context, operation)
    for operand in operands:
        operand.uses += len(operation.results) - 1  # each result is made from it on its own
    for number, value in enumerate(operation.results):
        assert isinstance(value.type, TensorType)
        context.bind(value, _Mapped(value.type, function, operands, number))


HANDLERS: Mapping[str, Handler] = {"tt.map_elementwise": _map}
