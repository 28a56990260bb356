"""Computes the masks of stores before the products that need no more than these masks let through.

    for ...:                              mask = rows < M
        total = dot(a, b, total)          for ...:
    mask = rows < M                           total = dot(a, b, total)
    store(c, total, mask)                 store(c, total, mask)

So a product knows how many of its rows and columns count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.lowering.ttir.demanded_elements import DemandedElements
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import blocks_inside

__all__ = ["hoist_masks"]

# Operations without side effects on integers and truth values, besides those of arith.
_PURE = frozenset(["tt.splat", "tt.make_range", "tt.expand_dims", "tt.broadcast"])


def hoist_masks(kernel: Kernel) -> int:
    """Computes the masks of stores before the products that they let through in part."""
    if not kernel.has_product:
        return 0
    moved = 0
    for block in blocks_inside(kernel.module):
        for operation in [*block.operations]:
            masks = {
                mask: None
                for product in operation.walk()
                if product.name in ("tt.dot", "tt.dot_scaled")
                for mask in _masks_of(product, kernel.demanded)
            }
            if masks:
                moved += _move_before(block, operation, masks)
    return moved


def _masks_of(product: Operation, demanded: DemandedElements) -> Iterator[Value]:
    for axis in range(len(product.result.shape)):
        for mask, _ in sorted(
            demanded.masks(product.result, axis), key=lambda each: (each[0].name, each[1])
        ):
            yield mask


def _move_before(block: Block, place: Operation, masks: Mapping[Value, None]) -> int:
    """Move what computes masks behind an operation of a block before it, where that may be."""
    behind = block.operations[block.operations.index(place) :]
    makers = {result: operation for operation in behind for result in operation.results}
    needed: dict[Operation, None] = {}
    for mask in masks:
        chain: dict[Operation, None] = {}
        if mask in makers and _may_move(mask, makers, chain):
            needed.update(chain)
    if needed:
        before = block.operations[: -len(behind)]
        rest = [operation for operation in behind if operation not in needed]
        block.operations = [*before, *needed, *rest]
    return len(needed)


def _may_move(
    value: Value, makers: Mapping[Value, Operation], chain: dict[Operation, None]
) -> bool:
    """Whether a value can be computed earlier; `chain` gets what computes it, in order."""
    maker = makers.get(value)
    if maker is None or maker in chain:
        return True
    is_pure = maker.name in _PURE or maker.name.startswith("arith.")
    if not is_pure or not all(_may_move(operand, makers, chain) for operand in maker.operands):
        return False
    chain[maker] = None
    return True
