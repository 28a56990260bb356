"""Stores: blocks of addresses, scalars, and what a store would change too early."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from triton_rvv.lowering import paths, sinks
from triton_rvv.lowering.affine import Affine, as_addresses
from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.masks import Mask
from triton_rvv.lowering.memory import (
    WRITE,
    Load,
    as_mask,
    condition_at,
    optional_operands,
    prefetch_ahead,
    run_address,
)
from triton_rvv.lowering.ranges import UNKNOWN
from triton_rvv.lowering.registry import Handler
from triton_rvv.lowering.tensors import Point, Tensor
from triton_rvv.lowering.values import Val, type_suffix
from triton_rvv.ttir import Operation, Value
from triton_rvv.types import TensorType

__all__ = ["HANDLERS"]


def _store(context: Context, operation: Operation) -> None:
    pointers, value, mask = optional_operands(context, operation, 3)
    if isinstance(pointers, Val):
        assert isinstance(value, Val)
        sinks.settle_loads(context)
        element = operation.operands[1].type
        assert not isinstance(element, TensorType)
        condition = mask if isinstance(mask, Val) else Val("i1", "true")
        _store_scalar(context.builder, pointers, value, condition, element.size_bytes)
        return
    assert isinstance(pointers, Tensor)
    assert isinstance(value, Tensor)
    addresses, where = as_addresses(pointers), as_mask(mask)
    sources = [value, addresses, *([] if where is None else [where])]
    endangered = _prepare_store(context, operation.operands[0], addresses, sources)
    builder = context.builder

    def evaluate(point: Point) -> tuple[Val, Val | None]:
        # Where addresses may meet, nothing is left to load when the first run is stored.
        early = None if point.path.fits else condition_at(builder, where, point)
        return value.at(builder, point), early

    def commit(point: Point, outcome: tuple[Val, Val | None]) -> None:
        elements, early = outcome
        condition = condition_at(builder, where, point) if early is None else early
        _store_run(builder, addresses, elements, condition, point)

    def write() -> None:
        wrapped = functools.partial(_store_wrapped, context, addresses, value, where)
        sinks.for_each_run(context, sources, evaluate, commit, wrapped)

    def copy_and_write() -> None:
        with context.region():
            for load in endangered:
                sinks.materialise(context, load)
            write()

    guards = [load.survives_store(builder, addresses) for load in endangered]
    safe = UNKNOWN if UNKNOWN in guards else paths.all_of(context, guards)
    builder.branches(safe, write, copy_and_write)


def _store_wrapped(context: Context, addresses: Affine, value: Tensor, where: Mask | None) -> None:
    """Store one element after another, once all of them have been computed."""
    builder = context.builder
    elements = sinks.copied_exactly(context, value)
    wanted = None if where is None else sinks.copied_exactly(context, where)
    for point in sinks.each_element(context, value.shape):
        condition = Val("i1", "true") if wanted is None else wanted.at(builder, point)
        _store_run(builder, addresses, elements.at(builder, point), condition, point)


def _prepare_store(
    context: Context, target: Value, addresses: Affine, sources: Sequence[Tensor]
) -> list[Load]:
    """Carry out the loads of which a store's first runs could change what later runs read.

    Returns:
        Those of which they could where two arguments of the kernel lead to the same memory.
    """
    aliases = context.aliases
    loads = [load for load in context.pending_loads if isinstance(load, Load)]
    for load in loads:
        overlaps = aliases.may_overlap(load.source, target)
        if overlaps and not load.is_each_element_of(addresses):
            sinks.materialise(context, load)
    sinks.prepare(context, sources, changes_memory=True)
    on_the_way = [load for load in loads if load.settled is None]
    endangered = [load for load in on_the_way if not aliases.may_overlap(load.source, target)]
    if not aliases.arguments_are_disjoint:
        return endangered
    for load in endangered:
        aliases.rely_on_apart(load.source, target, load.is_parallel_to(addresses))
    return []


def _store_scalar(
    builder: Builder, address: Val, value: Val, condition: Val, size_bytes: int
) -> None:
    def write() -> None:
        stored = builder.cast("zext", value, "i8") if value.type == "i1" else value
        builder.store(stored, address, size_bytes)

    builder.branches(condition, write)


def _store_run(
    builder: Builder, pointers: Affine, value: Val, condition: Val, point: Point
) -> None:
    if value.element == "i1":
        value = builder.cast("zext", value, "i8")
    size_bytes = pointers.pointee.size_bytes
    pointers = pointers.on(point.path)
    stride = pointers.last_stride(builder, point.path.linear)
    contiguous = point.width == 1 or (stride is not None and stride.constant == 1)
    if contiguous and condition.width == 1:
        address = (
            pointers.at(builder, point)
            if point.width == 1
            else run_address(builder, pointers, point)
        )
        builder.branches(condition, lambda: builder.store(value, address, size_bytes))
        if point.path.unmasked and point.width > 1:
            prefetch_ahead(builder, pointers, point, address, WRITE)
        return
    address = run_address(builder, pointers, point) if contiguous else pointers.at(builder, point)
    name = "llvm.masked.store" if contiguous else "llvm.masked.scatter"
    suffix = f"{type_suffix(value)}.{type_suffix(address)}"
    aligned = Val(f"{address.type} align {size_bytes}", address.ref)
    builder.call_void(f"{name}.{suffix}", [value, aligned, builder.splat(condition, point.width)])


HANDLERS: Mapping[str, Handler] = {"tt.store": _store}
