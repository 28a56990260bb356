"""Loops and conditionals, and the values that they carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import TensorType, Type
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context, Handler, Lowered, Pairs
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.sharing import at_same_places
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor
from triton_rvv.lowering.blocks.views import Broadcast, ExpandDims
from triton_rvv.lowering.control.loop_carried import (
    ArraySlot,
    ScalarSlot,
    Slot,
    UnfilledSlot,
    loop_slot,
)
from triton_rvv.lowering.llvm.rules import no, rule
from triton_rvv.lowering.llvm.values import TRUE, Val
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.loops.wrapping import guard_widening
from triton_rvv.lowering.products import pack
from triton_rvv.lowering.products.epilogue_stores import EpilogueStore, plan_epilogue_store
from triton_rvv.lowering.ttir.carried_offsets import CARRIES_BASE_OF
from triton_rvv.lowering.ttir.epilogues import STARTS_IN_PRODUCT

__all__ = ["HANDLERS", "read_slots", "result_slot", "update_slots"]

# Nodes of metadata for loops are numbered from here on, those for source lines from 0.
_FIRST_LOOP = 1 << 20


def update_slots(context: Context, slots: Sequence[Slot], values: Sequence[Lowered]) -> None:
    """Give every slot its next value; all are computed before any is changed."""
    changing = frozenset().union(*(slot.arrays for slot in slots))
    others: list[tuple[Slot, Lowered]] = []
    in_place: list[tuple[Tensor, Buffer]] = []
    for slot, value in zip(slots, values, strict=True):
        if isinstance(slot, ArraySlot) and _goes_in_place(value, slot, changing):
            in_place.append((value, slot.array))
        else:
            others.append((slot, value))
    if any(_loads(context, value) for _, value in others):
        _with_waiting_store(context, [])
    staged = [(slot, slot.stage(context, value, changing)) for slot, value in others]
    alone = _with_waiting_store(context, in_place)
    for shape in dict.fromkeys(value.shape for value, _ in alone):
        materialise.copy_together(context, [each for each in alone if each[0].shape == shape])
    for slot, value in staged:
        slot.commit(context, value)


def _with_waiting_store(context: Context, pairs: Pairs) -> Pairs:
    """Write a store that waits, and of the pairs all that fit in its walk; the others are left."""
    waiting, context.waiting_store = context.waiting_store, None
    if waiting is None:
        return pairs
    shape = waiting.sources[0].shape
    leaves = at_same_places(waiting.sources)
    elsewhere = frozenset[str]().union(
        *(leaf.buffers() for leaf in leaves if not isinstance(leaf, Elementwise | Buffer))
    )
    fit = [
        pair
        for pair in pairs
        if (1,) * (len(shape) - len(pair[0].shape)) + pair[0].shape == shape
        and not pair[1].buffers() & elsewhere
    ]
    waiting.write([(_as_rows(tensor, shape), array.with_rows(shape)) for tensor, array in fit])
    return [pair for pair in pairs if pair not in fit]


def _loads(context: Context, value: Lowered) -> bool:
    """Whether a value has yet to read memory, which it would do once it is staged."""
    return isinstance(value, Tensor) and not set(context.pending_loads).isdisjoint(value.walk())


def _as_rows(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A tensor with dimensions of size 1 before its own."""
    while tensor.shape != shape:
        tensor = ExpandDims(TensorType((1, *tensor.shape), tensor.element), tensor, 0)
    return tensor


def _goes_in_place(value: Lowered, slot: ArraySlot, changing: frozenset[str]) -> TypeGuard[Tensor]:
    """Whether each element of a new value needs only the same element of what is replaced."""
    assert isinstance(value, Tensor)
    if isinstance(value, Buffer) or value.buffers() & changing != slot.arrays:
        return False
    leaves = [each for each in at_same_places([value]) if not isinstance(each, Elementwise)]
    return all(isinstance(leaf, Buffer) or not leaf.buffers() & slot.arrays for leaf in leaves)


def _before_regions(context: Context, operation: Operation) -> None:
    """Compute what the regions would otherwise compute again and again, or after a change."""
    materialise.materialise_loads(context)
    is_loop = operation.name != "scf.if"
    joined_cost = EXPENSIVE // 2 if is_loop else EXPENSIVE
    inside: set[Value] = set()
    for inner in (inner for region in operation.regions for inner in _walk(region.blocks)):
        inside.update(inner.results)
        if inner.name in ("tt.dot", "tt.dot_scaled"):
            pack.prepare_demanded(context, inner)
        for value in inner.operands:
            if value not in inside and context.knows(value):
                lowered = context.lowered(value)
                if isinstance(lowered, Tensor):
                    _compute_once(context, lowered, joined_cost)
                if inner.name in ("tt.addptr", "arith.extsi") and is_loop:
                    guard_widening(context, lowered)


def _compute_once(context: Context, tensor: Tensor, joined_cost: int) -> None:
    """Keep what is costly in an array; for a product, of a line that is repeated only the line.

    Loads of such kernels list its conditions again; others are faster with all of a mask at hand.

    Args:
        joined_cost: from which cost on a block is kept that is made of several arrays, unless it is
            a line that is repeated, which always is.
    """
    if tensor.materialised is not None:
        return
    is_costly, is_view = tensor.cost >= EXPENSIVE, isinstance(tensor, Broadcast | ExpandDims)
    by_part = context.has_products and (is_view or isinstance(tensor, Mask))
    if by_part if is_costly else is_view:
        for part in tensor.operands:
            _compute_once(context, part, 0 if is_view else EXPENSIVE)
    elif is_costly or (tensor.cost >= joined_cost and _joins_arrays(context, tensor)):
        materialise.materialise(context, tensor)


@rule("keep-joined", no)
def _joins_arrays(_context: Context, tensor: Tensor) -> bool:
    """Whether it takes one array to keep what is computed of several."""
    return isinstance(tensor, Elementwise) and len(tensor.buffers()) > 1


def _walk(blocks: Sequence[Block]) -> list[Operation]:
    return [inner for block in blocks for op in block.operations for inner in op.walk()]


def _for(context: Context, operation: Operation) -> None:
    _before_regions(context, operation)
    begun = _begun_slots(context, operation)
    store = plan_epilogue_store(context, operation, {n: slot.array for n, slot in begun.items()})
    if store is not None:
        begun[store.number].store = store
    initial = [context.lowered(value) for value in operation.operands[3:]]
    by_base = operation.integers(CARRIES_BASE_OF)
    slots: list[Slot] = [
        begun[number] if number in begun else loop_slot(context, value, number in by_base)
        for number, value in enumerate(initial)
    ]
    _loop(context, operation, slots, initial, store)
    total = None if store is None else operation.results[store.number]
    read = [pair for pair in zip(operation.results, slots, strict=True) if pair[0] is not total]
    read_slots(context, [value for value, _ in read], [slot for _, slot in read])


def _begun_slots(context: Context, loop: Operation) -> dict[int, UnfilledSlot]:
    """Those of the carried blocks with which only a product begins, by their number."""
    slots = {}
    for number in loop.integers(STARTS_IN_PRODUCT):
        initial = context.lowered(loop.operands[3 + number])
        assert isinstance(initial, Splat)
        slots[number] = UnfilledSlot(context, initial)
    return slots


def _loop(
    context: Context,
    operation: Operation,
    slots: Sequence[Slot],
    initial: Sequence[Lowered],
    store: EpilogueStore | None,
) -> None:
    builder, signed = context.builder, "unsignedCmp" not in operation.attributes
    bounds = [context.scalar(value) for value in operation.operands[:3]]
    type_ = bounds[0].type
    # Counted with 64 bits, the step beyond the end does not wrap.
    start, end, step = (builder.resize(bound, "i64", signed) for bound in bounds)
    begun = [slot for slot in slots if isinstance(slot, UnfilledSlot)]
    others = [pair for pair in zip(slots, initial, strict=True) if pair[0] not in begun]
    update_slots(context, [slot for slot, _ in others], [value for _, value in others])
    less = "slt" if signed else "ult"
    has_turns = _has_turns(context, begun, start, end, less)
    block, mark = operation.regions[0].block, _loop_mark(context, operation)
    with builder.loop(start, end, step, mark, signed) as index, context.region():
        context.bind(block.arguments[0], builder.resize(index, type_))
        for slot in begun:
            slot.is_first = builder.compare("eq", index, start)
        if store is not None:
            left = builder.binary("sub", end, index)
            store.is_last = builder.compare("ule", left, step)
        read_slots(context, block.arguments[1:], slots)
        yielded = context.lower_block(block)
        update_slots(context, slots, [context.lowered(value) for value in yielded])
        context.pending_loads.clear()
    for slot in begun:
        slot.is_first = None
    if store is not None and store.is_taken:
        context.stored_already[store.store] = builder.conjunction(has_turns, store.is_done)


def _has_turns(
    context: Context, begun: Sequence[UnfilledSlot], start: Val, end: Val, less: str
) -> Val:
    """Whether a loop has turns, as i1; if not, write the arrays that its first turn would."""
    first, last = start.constant, end.constant
    if not begun or (first is not None and last is not None and 0 <= first < last):
        return TRUE

    def fill() -> None:
        for slot in begun:
            slot.fill(context)

    has_turns = context.builder.compare(less, start, end)
    context.builder.branches(has_turns, lambda: None, fill, likely=True)
    return has_turns


def _loop_mark(context: Context, operation: Operation) -> str:
    """What a loop's branch back ends with; Triton's only annotation is `disable_licm`."""
    if "llvm.loop_annotation" not in operation.attributes:
        return ""
    metadata = context.builder.metadata
    node = _FIRST_LOOP + len(metadata)
    metadata.append(f'!{node} = distinct !{{!{node}, !{{!"llvm.licm.disable"}}}}')
    return f", !llvm.loop !{node}"


def _if(context: Context, operation: Operation) -> None:
    _before_regions(context, operation)
    slots: list[Slot] = [result_slot(context, value.type) for value in operation.results]

    def side(index: int) -> None:
        if index < len(operation.regions) and operation.regions[index].blocks:
            with context.region():
                yielded = context.lower_block(operation.regions[index].block)
                update_slots(context, slots, [context.lowered(value) for value in yielded])
                context.pending_loads.clear()

    condition = context.scalar(operation.operands[0])
    context.builder.branches(condition, lambda: side(0), lambda: side(1))
    read_slots(context, operation.results, slots)


def result_slot(context: Context, type_: Type) -> Slot:
    """Where a value lives that comes from several places; of a block, all elements."""
    if isinstance(type_, TensorType):
        return ArraySlot(context, type_)
    return ScalarSlot(context, type_.llvm)


def _while(context: Context, operation: Operation) -> None:
    """while (before(carried) yields a condition and values) carried = after(values)."""
    _before_regions(context, operation)
    before, after = (region.block for region in operation.regions)
    initial = [context.lowered(value) for value in operation.operands]
    carried: list[Slot] = [result_slot(context, value.type) for value in operation.operands]
    passed: list[Slot] = [result_slot(context, value.type) for value in operation.results]
    update_slots(context, carried, initial)
    builder = context.builder
    test, body, done = (builder.fresh_label(hint) for hint in ("test", "turn", "over"))
    builder.branch(test)
    builder.label(test)
    with context.region():
        read_slots(context, before.arguments, carried)
        condition, *values = context.lower_block(before)
        update_slots(context, passed, [context.lowered(value) for value in values])
        context.pending_loads.clear()
        builder.branch_if(context.scalar(condition), body, done)
    builder.label(body)
    with context.region():
        read_slots(context, after.arguments, passed)
        yielded = context.lower_block(after)
        update_slots(context, carried, [context.lowered(value) for value in yielded])
        context.pending_loads.clear()
        builder.branch(test, _loop_mark(context, operation))
    builder.label(done)
    read_slots(context, operation.results, passed)


def read_slots(context: Context, values: Sequence[Value], slots: Sequence[Slot]) -> None:
    """Bind each value to what is in its slot now."""
    for value, slot in zip(values, slots, strict=True):
        context.bind(value, slot.read(context))


HANDLERS: Mapping[str, Handler] = {"scf.for": _for, "scf.if": _if, "scf.while": _while}
