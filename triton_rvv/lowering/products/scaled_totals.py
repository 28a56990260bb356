"""Totals to which each turn of a loop adds a product, times factors of its rows and columns.

    total += dot(a, b).to(float32) * of_rows[:, None] * of_columns[None, :]

A matrix unit's tile does all of that with the sums in registers, and in that order, which decides
how floats are rounded and which of them are infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.views import Broadcast, ExpandDims
from triton_rvv.lowering.products.loop_updates import LoopUpdate

__all__ = ["ScaledTotal", "scaled_total"]


@dataclass(frozen=True)
class ScaledTotal:
    """What a turn does with a product.

    Args:
        array: the total, before and after.
        rows, columns: the factors, as floats.
    """

    array: Buffer
    rows: Buffer
    columns: Buffer


def scaled_total(context: Context, product: Operation, update: LoopUpdate) -> ScaledTotal | None:
    """The update as one of a scaled total; None for others.

    Args:
        context: where the code goes: before the product.
        update: planned for it, so what it is made of is known.
    """
    value, factors, array = product.result, dict[int, Buffer](), update.array
    names = [str(each.element) for each in (update.product, array)]
    if names != ["i32", "f32"]:
        return None
    for operation in _users(context, product):
        others = [each for each in operation.operands if each is not value]
        if operation.name == "arith.mulf" and len(others) == 1:
            factor = _factor(context.tensor(others[0]))
            if factor is None or factor[0] != (0 if factors else 1):
                return None
            factors.update([factor])
        elif operation.name == "arith.addf" and len(others) == 1 and len(factors) == 2:
            total = context.tensor(others[0])
            is_total = isinstance(total, Buffer) and total.pointer.ref == array.pointer.ref
            return ScaledTotal(array, factors[1], factors[0]) if is_total else None
        elif operation.name != "arith.sitofp" or value is not product.result:
            return None
        value = operation.result
    return None


def _users(context: Context, product: Operation) -> list[Operation]:
    """What uses the product alone, and what alone uses that, and so on."""
    found, value = list[Operation](), product.result
    for operation in context.operations_behind(product):
        if value in operation.operands:
            found.append(operation)
            value = operation.result
    return found


def _factor(tensor: Tensor) -> tuple[int, Buffer] | None:
    """The dimension along which a vector is repeated, and its array; None for other blocks."""
    if not isinstance(tensor, Broadcast) or not isinstance(tensor.operands[0], ExpandDims):
        return None
    expanded = tensor.operands[0]
    line = expanded.operands[0].materialised or expanded.operands[0]
    if not isinstance(line, Buffer) or str(line.element) != "f32" or len(line.shape) != 1:
        return None
    return expanded.axis, line
