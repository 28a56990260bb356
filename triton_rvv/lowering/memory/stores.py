"""Stores: blocks of addresses, scalars, and what a store would change too early."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.as_affine import as_addresses
from triton_rvv.lowering.addresses.clamped import is_limited
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.addresses.memory_overlap import UNKNOWN, are_apart, lanes_are_apart
from triton_rvv.lowering.blocks.buffer import stored
from triton_rvv.lowering.blocks.context import Context, Handler, Pairs, WaitingStore
from triton_rvv.lowering.blocks.tensors import Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import Extents, VectorIndex
from triton_rvv.lowering.llvm.builder import WRITE, Builder
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.llvm.vp_memory import (
    first_lanes,
    masked_store,
    store_first,
    store_first_by_stride,
)
from triton_rvv.lowering.loops import index_loops, loop_nests, loop_versioning, materialise
from triton_rvv.lowering.memory.accesses import condition_at, note_access
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.memory.loads import as_mask, optional_operands
from triton_rvv.lowering.memory.prefetches import prefetch_ahead, run_address
from triton_rvv.lowering.memory.segment_stores import are_in_turn, rows_are_apart, store_in_turn
from triton_rvv.lowering.memory.store_order import (
    StorePart,
    endangered_loads,
    materialise_overlapping,
    may_change,
    read_on_the_way,
    targets_are_apart,
)
from triton_rvv.lowering.ttir.interleaved_stores import MAY_WAIT

__all__ = ["HANDLERS", "store_run"]


def _store(context: Context, operation: Operation) -> None:
    done = context.stored_already.pop(operation, None)
    if done is None:
        _store_now(context, operation, MAY_WAIT in operation.attributes)
        return

    def not_done() -> None:
        with context.region():
            _store_now(context, operation, may_wait=False)

    context.builder.branches(done, lambda: None, not_done, likely=True)


def _store_now(context: Context, operation: Operation, may_wait: bool) -> None:
    pointers, value, mask = optional_operands(context, operation, 3)
    if isinstance(pointers, Val):
        assert isinstance(value, Val)
        condition = mask if isinstance(mask, Val) else TRUE
        _store_scalar(context, operation, pointers, value, condition)
        return
    if any(operation in earlier for earlier in context.interleaved_stores.values()):
        return  # done together with the last one of its group
    where = as_mask(mask)
    earlier = context.interleaved_stores.get(operation, ())
    parts = [_part(context, each) for each in (*earlier, operation)]
    if earlier:
        _store_group(context, parts, where)
        return
    write = functools.partial(_store_parts, context, parts, where)
    if may_wait:
        context.waiting_store = WaitingStore(_sources(parts, where), write)
    else:
        write()


def _store_group(context: Context, parts: Sequence[StorePart], where: Mask | None) -> None:
    """Store some parts after one another, as many of them in one walk as may be."""
    while parts:
        sizes = range(len(parts), 1, -1)
        in_turn = next((size for size in sizes if are_in_turn(parts[:size])), 1)
        apart = next((size for size in sizes if targets_are_apart(context, parts[:size])), 1)
        together = max(in_turn, apart)
        _store_parts(context, parts[:together], where, in_turn=in_turn > 1)
        parts = parts[together:]


def _part(context: Context, operation: Operation) -> StorePart:
    pointers, value, _ = optional_operands(context, operation, 3)
    assert isinstance(pointers, Tensor)
    assert isinstance(value, Tensor)
    access = context.kernel.accesses.get(operation)
    return StorePart(operation.operands[0], as_addresses(pointers), value, access)


def _store_parts(
    context: Context,
    parts: Sequence[StorePart],
    where: Mask | None,
    others: Pairs = (),
    in_turn: bool = False,
) -> None:
    """One store, or several that are apart, or `in_turn`.

    Whether rows of the latter meet is found out at run time. With one store, `others` are written
    to their arrays in the same walk.
    """
    loads = [load for load in context.pending_loads if isinstance(load, Load)]
    at_once, builder = not in_turn, context.builder
    left = [
        (load, part)
        for part in parts
        for load in materialise_overlapping(context, loads, part, parts if at_once else ())
    ]
    if at_once:
        for one, other in itertools.combinations(parts, 2):
            context.aliases.rely_on_apart(one.target, other.target, False)

    def write() -> None:
        if at_once:
            _write(context, parts, where, others)
            return
        builder.branches(
            rows_are_apart(context, parts[0].addresses, len(parts)),
            lambda: _write(context, parts, where, in_turn=True),
            one_by_one,
        )

    def one_by_one() -> None:
        for part in parts:
            _write(context, [part], where)

    def changes(load: Tensor) -> bool:
        return any(may_change(context, part.target, load) for part in parts)

    sources = [*_sources(parts, where), *(tensor for tensor, _ in others)]
    with materialise.walking(context, sources, changes):
        _with_endangered_copied(context, loads, left, parts, where, at_once, write)


def _sources(parts: Sequence[StorePart], where: Mask | None) -> list[Tensor]:
    """The recipes that some stores with one mask read."""
    sources: list[Tensor] = [each for part in parts for each in (part.value, part.addresses)]
    return sources if where is None else [*sources, where]


def _with_endangered_copied(
    context: Context,
    loads: Sequence[Load],
    left: Sequence[tuple[Load, StorePart]],
    parts: Sequence[StorePart],
    where: Mask | None,
    at_once: bool,
    write: Callable[[], None],
) -> None:
    """Write the stores; first copy what they may change, unless at run time they do not.

    Args:
        left: loads of the walk and stores that are only apart if run time says so.
    """
    builder, guards, endangered = context.builder, list[Val](), dict[Load, None]()
    for load, part in left:
        if load.materialised is None:
            endangered[load] = None
            guards.append(are_apart(builder, (load.pointers, load.mask), (part.addresses, where)))
    for part in parts:
        for load in endangered_loads(context, loads, part, at_once):
            endangered[load] = None
            guards.append(load.survives_store(builder, part.addresses, where, at_once))
        for load in read_on_the_way(context, loads, part) if at_once else ():
            endangered[load] = None
            guards.append(lanes_are_apart(builder, part.addresses))

    def copy_and_write() -> None:
        with context.region():
            for load in endangered:
                materialise.materialise(context, load)
            write()

    safe = UNKNOWN if UNKNOWN in guards else loop_versioning.all_of(context, guards)
    builder.branches(safe, write, copy_and_write)


def _write(
    context: Context,
    parts: Sequence[StorePart],
    where: Mask | None,
    others: Pairs = (),
    in_turn: bool = False,
) -> None:
    """Walk once over the blocks of stores that are apart, or whose elements lie in turn."""
    builder = context.builder
    sources = [*_sources(parts, where), *(each for pair in others for each in pair)]

    def evaluate(point: VectorIndex) -> tuple[list[Val], list[Val], Val | None]:
        # Where addresses may meet, nothing is left to load when the first run is stored.
        early = None if point.version.fits else condition_at(builder, where, point)
        values = [stored(builder, part.value.at(builder, point)) for part in parts]
        return values, [tensor.at(builder, point) for tensor, _ in others], early

    def commit(point: VectorIndex, outcome: tuple[list[Val], list[Val], Val | None]) -> None:
        values, kept, early = outcome
        condition = condition_at(builder, where, point) if early is None else early
        if point.lanes is not None and (in_turn or condition.width > 1):
            wanted = first_lanes(builder, point.lanes, point.width)
            condition = builder.conjunction(condition, wanted)
        if in_turn and point.version.fits and point.width > 1:
            store_in_turn(context, parts[0].addresses, values, condition, point)
            return
        for part, elements in zip(parts, values, strict=True):
            store_run(builder, part.addresses, elements, condition, point)
        for (_, array), elements in zip(others, kept, strict=True):
            array.write(builder, point, elements)

    def wrapped() -> None:
        kept = [materialise.copied_exactly(context, tensor) for tensor, _ in others]
        _store_wrapped(context, parts, where)
        for (_, array), elements in zip(others, kept, strict=True):
            materialise.copy(context, elements, array)

    within = None if others or where is None else _extents(builder, where)
    if any(map(_is_for_all, recipes_under(sources))):
        within = None
    loop_nests.for_each_run(context, sources, evaluate, commit, wrapped, within=within)


def _is_for_all(tensor: Tensor) -> bool:
    """Whether more than what is stored is wanted of a block.

    A load without a mask reads a whole block, so that one beyond an array is found as it is on
    other targets. Limits keep columns inside.
    """
    is_whole = isinstance(tensor, Load) and tensor.mask is None and not is_limited(tensor.pointers)
    return tensor.filling is not None or is_whole


def _extents(builder: Builder, where: Mask) -> Extents | None:
    """How far along each dimension anything is stored; None where that is not known, or all."""
    extents = [
        None if where.holds_along(builder, axis) else where.false_from(builder, axis)
        for axis in range(len(where.shape))
    ]
    return extents if any(end is not None for end in extents) else None


def _store_wrapped(context: Context, parts: Sequence[StorePart], where: Mask | None) -> None:
    """Store one element after another, once all of them have been computed."""
    builder = context.builder
    copies = [materialise.copied_exactly(context, part.value) for part in parts]
    wanted = None if where is None else materialise.copied_exactly(context, where)
    for part, elements in zip(parts, copies, strict=True):
        for point in index_loops.each_element(context, part.value.shape):
            condition = TRUE if wanted is None else wanted.at(builder, point)
            value = stored(builder, elements.at(builder, point))
            store_run(builder, part.addresses, value, condition, point)


def _store_scalar(
    context: Context, operation: Operation, address: Val, value: Val, condition: Val
) -> None:
    target, builder = operation.operands[0], context.builder
    materialise.materialise_loads(context, functools.partial(may_change, context, target))
    for load in context.pending_loads:
        assert isinstance(load, Load)
        context.aliases.rely_on_apart(load.source, target, False)
    element = operation.operands[1].type
    assert not isinstance(element, TensorType)
    kept = stored(builder, value)
    builder.branches(condition, lambda: builder.store(kept, address, element.size_bytes))


def store_run(
    builder: Builder, pointers: Affine, value: Val, condition: Val, point: VectorIndex
) -> None:
    """Store a run of elements as memory has them, where a condition holds."""
    size_bytes = pointers.pointee.size_bytes
    pointers = pointers.on(point.version).in_run(builder, point)
    stride = pointers.last_stride(builder, point.version.linear)
    note_access(builder, "stores", stride, condition, point)
    contiguous = point.width == 1 or (stride is not None and stride.constant == 1)
    if contiguous and condition.width == 1:
        address = (
            pointers.at(builder, point)
            if point.width == 1
            else run_address(builder, pointers, point)
        )
        if point.lanes is not None and point.width > 1:
            lanes = point.lanes
            builder.branches(
                condition, lambda: store_first(builder, value, address, lanes, size_bytes)
            )
            return
        builder.branches(condition, lambda: builder.store(value, address, size_bytes))
        if point.version.unmasked and point.width > 1:
            prefetch_ahead(builder, pointers, point, address, WRITE)
        return
    lengths = builder.abilities.has_vector_lengths and value.element != "ptr"
    if lengths and stride is not None and point.lanes is not None and condition.truth is True:
        start = pointers.at(builder, replace(point, width=1, memo={}))
        distance_bytes = builder.mul(builder.resize(stride, "i64"), integer(size_bytes))
        store_first_by_stride(builder, value, start, distance_bytes, point.lanes, size_bytes)
        return
    address = run_address(builder, pointers, point) if contiguous else pointers.at(builder, point)
    if point.lanes is not None and condition.width == 1:
        wanted = first_lanes(builder, point.lanes, point.width)
        condition = builder.conjunction(condition, wanted)
    masked_store(builder, value, address, builder.splat(condition, point.width), size_bytes)


HANDLERS: Mapping[str, Handler] = {"tt.store": _store}
