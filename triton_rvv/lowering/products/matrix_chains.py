"""Products that add to one another, as one product with more steps along K.

    low = dot(a, b)
    dot(c, d, low)

is the product of [a c] and [b; d]: a matrix unit writes and reads no sums in between. Kernels with
weights of four bits multiply the low halves of bytes first, and the high ones then.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, TensorType, element_type
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.products.matrix_dot import fits_matrix_unit
from triton_rvv.lowering.ttir.operation_kinds import WITHOUT_MEMORY

__all__ = ["products_behind"]

# What may lie between, and is lowered ahead: it changes no memory.
_AHEAD = (*WITHOUT_MEMORY, "tt.trans", "tt.load")


def products_behind(context: Context, product: Operation) -> list[Operation]:
    """The products behind one that the unit computes; each alone takes the sums before it.

    Their operands are lowered ahead, and so, for the context, are the products: the caller has to
    compute them.
    """
    found: list[Operation] = []
    while _is_part(context, last := (found or [product])[-1]):
        behind = context.operations_behind(last)
        place = next((n for n, each in enumerate(behind) if last.result in each.operands), None)
        if place is None or not _adds_to(context, behind[place], last):
            break
        between = [each for each in behind[:place] if each not in found]
        if not all(map(_may_be_ahead, between)):
            break
        _lower_operands(context, behind[place], between)
        context.done_ahead(behind[place])
        found.append(behind[place])
    return found


def _may_be_ahead(operation: Operation) -> bool:
    """Whether an operation may be lowered ahead: not a volatile load, which keeps its place."""
    return operation.name.startswith(_AHEAD) and not operation.attributes.get("isVolatile")


def _adds_to(context: Context, operation: Operation, before: Operation) -> bool:
    is_last_use = before.result.uses == 1 and operation.name == "tt.dot"
    return is_last_use and operation.operands[2] is before.result and _is_part(context, operation)


def _is_part(context: Context, product: Operation) -> bool:
    """Whether the unit computes it in whole turns of a tile's loop, all of whose steps count."""
    unit, (left, right, start) = context.target.matrix_unit, (v.type for v in product.operands)
    if unit is None or not (isinstance(left, TensorType) and isinstance(right, TensorType)):
        return False
    sum_type = element_type(start)
    assert isinstance(sum_type, ScalarType)
    depth, most = left.shape[-1], 2 * context.target.machine.unroll_k
    is_short = depth <= most and depth % unit.turn_depth == 0 and len(left.shape) == 2
    return is_short and fits_matrix_unit(context.target, left, right, sum_type)


def _lower_operands(context: Context, product: Operation, between: Sequence[Operation]) -> None:
    needed, wanted = list[Operation](), set(product.operands[:2])
    for operation in reversed(between):
        if not wanted.isdisjoint(operation.results):
            needed.append(operation)
            wanted.update(operation.operands)
    for operation in reversed(needed):
        context.lower_ahead(operation)
