"""Which program of the grid a call of the kernel runs, where they do not run with x fastest."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.ttir.grid_order import GRID_ORDER
from triton_rvv.lowering.ttir.kernel import Kernel

__all__ = ["ids_in_order"]


def ids_in_order(builder: Builder, ids: Sequence[Val], kernel: Kernel) -> tuple[Val, ...]:
    """The program ids along x, y and z of the program that is run for those that are passed.

    All programs of the grid are run once each, by calls for all of them.
    """
    order = kernel.function.integers(GRID_ORDER)
    if not order or kernel.grid is None:
        return tuple(ids)
    sizes = [integer(size, "i32") for size in kernel.grid]
    rows = builder.add(builder.mul(ids[2], sizes[1]), ids[1])
    number = builder.add(builder.mul(rows, sizes[0]), ids[0])
    found = {}
    for axis in order[:-1]:
        size = sizes[axis]
        found[axis] = builder.binary("urem", number, size)
        number = builder.binary("udiv", number, size)
    found[order[-1]] = number
    return tuple(found[axis] for axis in range(3))
