"""Blocks of every so many elements of other blocks along a dimension."""

from __future__ import annotations

from triton_rvv.frontend.attributes import Attribute, DenseAttribute
from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.granules import axis_before
from triton_rvv.lowering.ttir.rewriter import Rewriter

__all__ = ["EverySoMany"]


class EverySoMany:
    """Computes the elements 0, `step`, 2 `step`, ... of blocks from the same of their operands.

    Args:
        axis: the dimension.
        step: a divisor of its size.
        rewriter: of the module.
        line: of the source, for new operations.

    Attributes:
        operations: what was made, in order; the caller puts it somewhere.
    """

    def __init__(self, axis: int, step: int, rewriter: Rewriter, line: str) -> None:
        self._axis, self._step = axis, step
        self._rewriter, self._line = rewriter, line
        self._made: dict[tuple[Value, int], Value] = {}
        self.operations: list[Operation] = []

    def of(self, value: Value) -> Value:
        """The elements of a block that is made of ranges and numbers."""
        return self._along(value, self._axis)

    def _along(self, value: Value, axis: int) -> Value:
        if not isinstance(value.type, TensorType) or value.type.shape[axis] == 1:
            return value
        if (value, axis) not in self._made:
            self._made[value, axis] = self._shorter(self._rewriter.makers[value], axis)
        return self._made[value, axis]

    def _shorter(self, maker: Operation, axis: int) -> Value:
        type_ = maker.result.type
        assert isinstance(type_, TensorType)
        shape = (*type_.shape[:axis], type_.shape[axis] // self._step, *type_.shape[axis + 1 :])
        few = TensorType(shape, type_.element)
        if maker.name == "tt.make_range":
            return self._range(maker, few)
        attributes = dict(maker.attributes)
        if maker.name == "arith.constant":
            value = attributes["value"]
            assert isinstance(value, DenseAttribute)
            attributes["value"] = DenseAttribute(few, value.elements)
        is_view = maker.name in ("tt.expand_dims", "tt.broadcast")
        before = axis_before(maker, axis) if is_view else axis
        operands = [self._along(operand, before) for operand in maker.operands]
        return self._add(maker.name, operands, maker.result, few, attributes)

    def _range(self, maker: Operation, few: TensorType) -> Value:
        """`start + step * (0, 1, 2, ...)`."""
        (size,) = few.shape

        def number(value: int) -> Value:
            filled: dict[str, Attribute] = {"value": DenseAttribute(few, (value,))}
            return self._add("arith.constant", [], maker.result, few, filled)

        lanes = self._add("tt.make_range", [], maker.result, few, {"start": 0, "end": size})
        far = self._add("arith.muli", [lanes, number(self._step)], maker.result, few, {})
        start = maker.integer("start")
        return (
            self._add("arith.addi", [far, number(start)], maker.result, few, {}) if start else far
        )

    def _add(
        self,
        name: str,
        operands: list[Value],
        like: Value,
        type_: TensorType,
        attributes: dict[str, Attribute],
    ) -> Value:
        result = self._rewriter.value(like, type_)
        self.operations.append(
            self._rewriter.operation(name, operands, [result], attributes, self._line)
        )
        return result
