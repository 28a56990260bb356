"""Stores: blocks of addresses, scalars, and what a store would change too early."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from triton_rvv.lowering import paths, sinks
from triton_rvv.lowering.affine import Affine, as_addresses
from triton_rvv.lowering.builder import WRITE, Builder
from triton_rvv.lowering.context import Context, Pairs, WaitingStore
from triton_rvv.lowering.masks import Mask
from triton_rvv.lowering.memory import (
    Load,
    as_mask,
    condition_at,
    optional_operands,
    prefetch_ahead,
    run_address,
)
from triton_rvv.lowering.ranges import UNKNOWN
from triton_rvv.lowering.registry import Handler
from triton_rvv.lowering.stored import stored
from triton_rvv.lowering.tensors import Point, Tensor, memory_type
from triton_rvv.lowering.values import Val, integer, type_suffix
from triton_rvv.lowering.vectors import in_turn
from triton_rvv.ttir import Operation, Value
from triton_rvv.types import TensorType

__all__ = ["HANDLERS"]


@dataclass(frozen=True)
class _Part:
    """What one store does: `value` goes to `addresses`, which come from the pointers `target`."""

    target: Value
    addresses: Affine
    value: Tensor


def _store(context: Context, operation: Operation) -> None:
    pointers, value, mask = optional_operands(context, operation, 3)
    if isinstance(pointers, Val):
        assert isinstance(value, Val)
        condition = mask if isinstance(mask, Val) else Val("i1", "true")
        _store_scalar(context, operation, pointers, value, condition)
        return
    if operation in context.store_pairs.values():
        return  # done together with the one after it
    part, where = _part(context, operation), as_mask(mask)
    earlier = context.store_pairs.get(operation)
    if earlier is None:
        write = functools.partial(_store_parts, context, [part], where)
        if _may_wait(context, operation):
            sources: list[Tensor] = [part.value, part.addresses]
            if where is not None:
                sources.append(where)
            context.waiting_store = WaitingStore(sources, write)
        else:
            write()
        return
    pair = [_part(context, earlier), part]
    if _are_alternate(*pair):
        _store_parts(context, pair, where)
    else:
        for part in pair:
            _store_parts(context, [part], where)


def _may_wait(context: Context, operation: Operation) -> bool:
    is_second = operation in context.store_pairs
    is_last = operation in context.last_stores and not is_second
    return is_last and context.aliases.arguments_are_disjoint


def _part(context: Context, operation: Operation) -> _Part:
    pointers, value, _ = optional_operands(context, operation, 3)
    assert isinstance(pointers, Tensor)
    assert isinstance(value, Tensor)
    return _Part(operation.operands[0], as_addresses(pointers), value)


def _are_alternate(first: _Part, second: _Part) -> bool:
    """Whether both go to every second element of a row, from wherever it starts."""
    ours, theirs = first.addresses, second.addresses
    last = ours.components[-1]
    every_second = last.stride is not None and last.stride.constant == 2 and last.has_rule
    explained = ours.extra is None and theirs.extra is None
    return explained and every_second and ours.components == theirs.components


def _store_parts(
    context: Context, parts: Sequence[_Part], where: Mask | None, others: Pairs = ()
) -> None:
    """One store, or two whose elements may lie in turn, which is found out at run time.

    With one store, `others` are written to their arrays in the same walk.
    """
    sources: list[Tensor] = [each for part in parts for each in (part.value, part.addresses)]
    sources += [tensor for tensor, _ in others]
    if where is not None:
        sources.append(where)
    loads = [load for load in context.pending_loads if isinstance(load, Load)]
    alone, builder = len(parts) == 1, context.builder
    for part in parts:
        _settle_overlapping(context, loads, part, alone)

    def write() -> None:
        if alone:
            _write(context, parts, where, others)
            return
        first, second = (part.addresses for part in parts)
        follows = builder.element_pointer(memory_type(first.pointee), first.base, integer(1))
        in_turn = builder.conjunction(
            builder.compare("eq", second.base, follows), _rows_never_meet(context, first)
        )
        builder.branches(in_turn, lambda: _write(context, parts, where), one_by_one)

    def one_by_one() -> None:
        for part in parts:
            _write(context, [part], where)

    def changes(load: Tensor) -> bool:
        return any(_may_change(context, part.target, load) for part in parts)

    with sinks.walking(context, sources, changes):
        guards: list[Val] = []
        endangered: dict[Load, None] = {}
        for part in parts:
            for load in _endangered(context, loads, part, alone):
                endangered[load] = None
                guards.append(load.survives_store(builder, part.addresses, alone))

        def copy_and_write() -> None:
            with context.region():
                for load in endangered:
                    sinks.materialise(context, load)
                write()

        safe = UNKNOWN if UNKNOWN in guards else paths.all_of(context, guards)
        builder.branches(safe, write, copy_and_write)


def _rows_never_meet(context: Context, addresses: Affine) -> Val:
    """Whether no row's odd elements are even ones of another row, as both are stored row by row.

    That is certain where rows are an even number of elements apart.
    """
    builder, guards = context.builder, list[Val]()
    for part, size in zip(addresses.components[:-1], addresses.shape[:-1], strict=True):
        factors = [part.stride, *(scale for _, scale in part.looked_up)] if size > 1 else []
        for factor in factors:
            if factor is not None and builder.multiple(factor) < 2:
                guards.append(builder.compare("eq", builder.split(factor, 2)[1], integer(0)))
    return paths.all_of(context, guards)


def _write(
    context: Context, parts: Sequence[_Part], where: Mask | None, others: Pairs = ()
) -> None:
    """Walk over one store's block, or over both of two whose elements lie in turn."""
    builder = context.builder
    sources: list[Tensor] = [each for part in parts for each in (part.value, part.addresses)]
    sources += [each for pair in others for each in pair]
    if where is not None:
        sources.append(where)

    def evaluate(point: Point) -> tuple[list[Val], list[Val], Val | None]:
        # Where addresses may meet, nothing is left to load when the first run is stored.
        early = None if point.path.fits else condition_at(builder, where, point)
        values = [stored(builder, part.value.at(builder, point)) for part in parts]
        return values, [tensor.at(builder, point) for tensor, _ in others], early

    def commit(point: Point, outcome: tuple[list[Val], list[Val], Val | None]) -> None:
        values, kept, early = outcome
        condition = condition_at(builder, where, point) if early is None else early
        if len(parts) > 1 and point.path.fits and point.width > 1:
            _store_in_turn(builder, parts[0].addresses, values, condition, point)
            return
        for part, elements in zip(parts, values, strict=True):
            _store_run(builder, part.addresses, elements, condition, point)
        for (_, array), elements in zip(others, kept, strict=True):
            array.write(builder, point, elements)

    def wrapped() -> None:
        kept = [sinks.copied_exactly(context, tensor) for tensor, _ in others]
        for part in parts:
            _store_wrapped(context, part, where)
        for (_, array), elements in zip(others, kept, strict=True):
            sinks.copy(context, elements, array)

    sinks.for_each_run(context, sources, evaluate, commit, wrapped)


def _store_in_turn(
    builder: Builder, pointers: Affine, values: Sequence[Val], condition: Val, point: Point
) -> None:
    """Store an element of each of two runs, then the next one of each, to neighbours."""
    both = in_turn(builder, values)
    address = pointers.on(point.path).at(builder, replace(point, width=1))
    size_bytes = pointers.pointee.size_bytes
    if condition.width == 1:
        builder.branches(condition, lambda: builder.store(both, address, size_bytes))
        return
    wanted = in_turn(builder, [condition, condition])
    _masked(builder, "llvm.masked.store", both, address, wanted, size_bytes)


def _store_wrapped(context: Context, part: _Part, where: Mask | None) -> None:
    """Store one element after another, once all of them have been computed."""
    builder = context.builder
    elements = sinks.copied_exactly(context, part.value)
    wanted = None if where is None else sinks.copied_exactly(context, where)
    for point in sinks.each_element(context, part.value.shape):
        condition = Val("i1", "true") if wanted is None else wanted.at(builder, point)
        value = stored(builder, elements.at(builder, point))
        _store_run(builder, part.addresses, value, condition, point)


def _settle_overlapping(context: Context, loads: Sequence[Load], part: _Part, alone: bool) -> None:
    """Carry out the loads of which a store would change what is read later.

    What it reads and changes element by element is not among them, if the store is `alone`: after
    the first of two stores, the second one may read it again.
    """
    for load in loads:
        on_the_way = alone and load.is_each_element_of(part.addresses)
        if context.aliases.may_overlap(load.source, part.target) and not on_the_way:
            sinks.materialise(context, load)


def _may_change(context: Context, target: Value, load: Tensor) -> bool:
    """Whether what a load reads may be different after a store."""
    aliases = context.aliases
    if not aliases.arguments_are_disjoint or not isinstance(load, Load):
        return True
    return aliases.may_overlap(load.source, target)


def _endangered(context: Context, loads: Sequence[Load], part: _Part, alone: bool) -> list[Load]:
    """The loads that are carried out while or after a store changes memory.

    Returns:
        Those that are wrong where two arguments of the kernel lead to the same memory; none where
        the code relies on that they do not.
    """
    aliases = context.aliases
    put_off = [load for load in loads if load.settled is None]
    endangered = [load for load in put_off if not aliases.may_overlap(load.source, part.target)]
    if not aliases.arguments_are_disjoint:
        return endangered
    for load in endangered:
        on_the_way = alone and load not in context.pending_loads
        parallel = load.is_parallel_to(part.addresses)
        aliases.rely_on_apart(load.source, part.target, on_the_way and parallel)
    return []


def _store_scalar(
    context: Context, operation: Operation, address: Val, value: Val, condition: Val
) -> None:
    target, builder = operation.operands[0], context.builder
    sinks.settle_loads(context, functools.partial(_may_change, context, target))
    for load in context.pending_loads:
        assert isinstance(load, Load)
        context.aliases.rely_on_apart(load.source, target, False)
    element = operation.operands[1].type
    assert not isinstance(element, TensorType)
    kept = stored(builder, value)
    builder.branches(condition, lambda: builder.store(kept, address, element.size_bytes))


def _store_run(
    builder: Builder, pointers: Affine, value: Val, condition: Val, point: Point
) -> None:
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
    _masked(builder, name, value, address, builder.splat(condition, point.width), size_bytes)


def _masked(
    builder: Builder, name: str, value: Val, address: Val, mask: Val, size_bytes: int
) -> None:
    suffix = f"{type_suffix(value)}.{type_suffix(address)}"
    aligned = Val(f"{address.type} align {size_bytes}", address.ref)
    builder.call_void(f"{name}.{suffix}", [value, aligned, mask])


HANDLERS: Mapping[str, Handler] = {"tt.store": _store}
