"""Runs whose addresses fall by one element from lane to lane, such as `p + n - 1 - at`."""

from __future__ import annotations

from collections.abc import Callable

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import memory_type
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vp_memory import masked_load
from triton_rvv.lowering.memory.accesses import wanted_lanes

__all__ = ["reversed_run"]


@rule("load-reversed", nothing)
def reversed_run(
    builder: Builder,
    pointers: Affine,
    mask: Mask | None,
    point: VectorIndex,
    fill: Callable[[], Val],
) -> Val | None:
    """A run that is loaded from its last lane on as neighbours, and turned around in registers.

    None where lanes are no neighbours in this order.

    Args:
        pointers: the addresses, in the form that is right on the path of `point`.
        fill: gives what the lanes hold that are not loaded.
    """
    address = _last_address(builder, pointers, point)
    if address is None:
        return None
    element, size_bytes = memory_type(pointers.pointee), pointers.pointee.size_bytes
    width = point.width
    condition, lanes = wanted_lanes(builder, mask, point)
    lanes = lanes.turned(builder, width)
    wanted = lanes.where(builder, _turned(builder, condition), width)
    if wanted.truth is True:
        run = builder.load(vector_type(element, width), address, size_bytes)
    else:
        others = _turned(builder, fill())
        run = masked_load(builder, address, builder.splat(wanted, width), others, size_bytes)
    return _turned(builder, run)


def _last_address(builder: Builder, pointers: Affine, point: VectorIndex) -> Val | None:
    """Where the last lane of a run lies, if the others follow in this order."""
    stride = pointers.last_stride(builder, point.version.linear)
    if stride is None or stride.constant != -1:
        return None
    last = builder.binary("sub", integer(1 - point.width), point.start)
    row = pointers.row_base(builder, point)
    return builder.element_pointer(memory_type(pointers.pointee), row, last)


def _turned(builder: Builder, run: Val) -> Val:
    """The same lanes, the last one first."""
    if run.width == 1 or builder.repeated(run) is not None:
        return run
    return builder.shuffle(run, range(run.width - 1, -1, -1))
