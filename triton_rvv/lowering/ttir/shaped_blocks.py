"""Finds the blocks that no operation gives another shape."""

from __future__ import annotations

from collections.abc import Collection

from triton_rvv.frontend.ttir import Operation, Value

__all__ = ["shaped_blocks"]

# Operations that leave every element where it is, by the beginning of their names.
_ELEMENT_BY_ELEMENT = ("arith.", "math.", "tt.addptr", "tt.bitcast", "tt.fp_to_fp")
# Their results are no longer made of the addresses that they take.
_MEMORY = ("tt.load", "tt.store", "tt.atomic_")


def shaped_blocks(functions: Collection[Operation]) -> frozenset[Value]:
    """The values of which something is made that has another shape, or is carried by a loop."""
    shaped: set[Value] = set()
    for function in functions:
        for operation in reversed(list(function.walk())):
            if operation.name.startswith(_MEMORY):
                continue
            if not operation.name.startswith(_ELEMENT_BY_ELEMENT) or not shaped.isdisjoint(
                operation.results
            ):
                shaped.update(operation.operands)
    return frozenset(shaped)
