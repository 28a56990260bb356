"""Loops and conditionals, and the values that they carry.

A carried scalar lives in a stack slot, which LLVM turns into a register. Of a block of integers
or addresses only the base changes from one turn to the next in nearly every kernel, so only the
base is carried; any other block lives in an array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeGuard

from triton_rvv.lowering import parts, sinks
from triton_rvv.lowering.affine import Affine, as_affine
from triton_rvv.lowering.buffer import Buffer
from triton_rvv.lowering.context import Context, Lowered, Pairs
from triton_rvv.lowering.registry import Handler
from triton_rvv.lowering.sharing import at_same_places
from triton_rvv.lowering.tensors import EXPENSIVE, Elementwise, Tensor
from triton_rvv.lowering.values import Val
from triton_rvv.lowering.views import ExpandDims
from triton_rvv.lowering.wrapping import guard_widening
from triton_rvv.ttir import Block, Operation, Value
from triton_rvv.types import TensorType, Type

__all__ = ["HANDLERS", "Slot", "read_slots", "result_slot", "update_slots"]

# Nodes of metadata for loops are numbered from here on, those for source lines from 0.
_FIRST_LOOP = 1 << 20


class Slot(Protocol):
    """Where a value lives that changes along the control flow."""

    def read(self, context: Context) -> Lowered:
        """The value at this point of the program."""
        ...

    def stage(self, context: Context, value: Lowered, changing: frozenset[str]) -> Lowered:
        """The next value, made safe from a change of the arrays named in `changing`."""
        ...

    def commit(self, context: Context, value: Lowered) -> None:
        """Make a staged value the current one."""
        ...

    @property
    def arrays(self) -> frozenset[str]:
        """The names of the arrays that a change of this slot writes to."""
        ...


class _ScalarSlot:
    """A number or an address."""

    def __init__(self, context: Context, type_: str) -> None:
        self._type = type_
        self._pointer = context.builder.alloca(type_, 1)

    def read(self, context: Context) -> Val:
        return context.builder.load(self._type, self._pointer, 8)

    def stage(self, context: Context, value: Lowered, changing: frozenset[str]) -> Lowered:
        return value

    def commit(self, context: Context, value: Lowered) -> None:
        assert isinstance(value, Val)
        context.builder.store(value, self._pointer, 8)

    @property
    def arrays(self) -> frozenset[str]:
        return frozenset()


class _BaseSlot:
    """A block of integers or addresses of which only the base changes.

    Attributes:
        advance: how far addresses move from one turn of the loop to the next, in elements.
    """

    def __init__(self, context: Context, initial: Affine) -> None:
        self._initial = initial
        self._base = _ScalarSlot(context, initial.base.type)
        self.advance: Val | None = None

    def read(self, context: Context) -> Affine:
        initial = self._initial
        base = self._base.read(context)
        extra, wrapped = initial.extra, initial.wrapped
        return Affine(initial.type, base, initial.components, extra, self.advance, wrapped)

    def stage(self, context: Context, value: Lowered, changing: frozenset[str]) -> Lowered:
        affine = value if isinstance(value, Affine) else as_affine(value)
        if affine is None or _all_but_base(affine) != _all_but_base(self._initial):
            raise _ShapeOfOffsetsChangedError(self)
        return affine.base

    def commit(self, context: Context, value: Lowered) -> None:
        self._base.commit(context, value)

    @property
    def arrays(self) -> frozenset[str]:
        return frozenset()


def _all_but_base(block: Affine) -> tuple[object, ...]:
    """All but the base, of which nothing may change in a loop that carries only the base."""
    return block.components, block.extra, block.wrapped


class _ArraySlot:
    """A block of any values, in `array`."""

    def __init__(self, context: Context, type_: TensorType) -> None:
        self.array = context.buffer(type_)

    def read(self, context: Context) -> Tensor:
        return self.array.alias()

    def stage(self, context: Context, value: Lowered, changing: frozenset[str]) -> Lowered:
        assert isinstance(value, Tensor)
        sinks.prepare(context, [value])
        if isinstance(value, Buffer) and value.buffers() == self.arrays:
            return value
        if not value.buffers() & changing:
            return value
        # Another slot's array is no safe place either: a, b = b, a needs both in full.
        staged = context.buffer(value.type)
        sinks.copy(context, value, staged)
        return staged

    def commit(self, context: Context, value: Lowered) -> None:
        assert isinstance(value, Tensor)
        if not (isinstance(value, Buffer) and value.buffers() == self.arrays):
            sinks.copy(context, value, self.array)

    @property
    def arrays(self) -> frozenset[str]:
        return self.array.buffers()


class _ShapeOfOffsetsChangedError(Exception):
    """A block of which more than the base changes; the loop is lowered again with an array."""

    def __init__(self, slot: _BaseSlot) -> None:
        super().__init__()
        self.slot = slot


def _slot(context: Context, initial: Lowered, as_array: bool) -> Slot:
    """The kind of slot that suits a loop's initial value."""
    if isinstance(initial, Val):
        return _ScalarSlot(context, initial.type)
    affine = initial if isinstance(initial, Affine) else as_affine(initial)
    if affine is not None and not as_array:
        return _BaseSlot(context, affine)
    return _ArraySlot(context, initial.type)


def update_slots(context: Context, slots: Sequence[Slot], values: Sequence[Lowered]) -> None:
    """Give every slot its next value; all are computed before any is changed."""
    changing = frozenset().union(*(slot.arrays for slot in slots))
    others: list[tuple[Slot, Lowered]] = []
    in_place: list[tuple[Tensor, Buffer]] = []
    for slot, value in zip(slots, values, strict=True):
        if isinstance(slot, _ArraySlot) and _goes_in_place(value, slot, changing):
            in_place.append((value, slot.array))
        else:
            others.append((slot, value))
    if any(_loads(context, value) for _, value in others):
        _with_waiting_store(context, [])
    staged = [(slot, slot.stage(context, value, changing)) for slot, value in others]
    alone = _with_waiting_store(context, in_place)
    for shape in dict.fromkeys(value.shape for value, _ in alone):
        sinks.copy_together(context, [each for each in alone if each[0].shape == shape])
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


def _goes_in_place(value: Lowered, slot: _ArraySlot, changing: frozenset[str]) -> TypeGuard[Tensor]:
    """Whether each element of a new value needs only the same element of what is replaced."""
    assert isinstance(value, Tensor)
    if isinstance(value, Buffer) or value.buffers() & changing != slot.arrays:
        return False
    leaves = [each for each in at_same_places([value]) if not isinstance(each, Elementwise)]
    return all(isinstance(leaf, Buffer) or not leaf.buffers() & slot.arrays for leaf in leaves)


def _before_regions(context: Context, operation: Operation) -> None:
    """Compute what the regions would otherwise compute again and again, or after a change."""
    sinks.settle_loads(context)
    inside: set[Value] = set()
    for inner in (inner for region in operation.regions for inner in _walk(region.blocks)):
        inside.update(inner.results)
        if inner.name in ("tt.dot", "tt.dot_scaled"):
            parts.prepare_wanted(context, inner)
        for value in inner.operands:
            if value not in inside and context.knows(value):
                lowered = context.lowered(value)
                if isinstance(lowered, Tensor) and lowered.cost >= EXPENSIVE:
                    sinks.materialise(context, lowered)
                if inner.name in ("tt.addptr", "arith.extsi") and operation.name != "scf.if":
                    guard_widening(context, lowered)


def _walk(blocks: Sequence[Block]) -> list[Operation]:
    return [inner for block in blocks for op in block.operations for inner in op.walk()]


def _for(context: Context, operation: Operation) -> None:
    _before_regions(context, operation)
    count = len(operation.results)
    as_array = [False] * count
    while True:
        snapshot = context.snapshot()
        initial = [context.lowered(value) for value in operation.operands[3:]]
        slots = [_slot(context, *pair) for pair in zip(initial, as_array, strict=True)]
        try:
            _loop(context, operation, slots, initial)
        except _ShapeOfOffsetsChangedError as change:
            if change.slot not in slots:
                raise
            as_array[slots.index(change.slot)] = True
            context.restore(snapshot)
        else:
            break
    read_slots(context, operation.results, slots)


def _loop(
    context: Context, operation: Operation, slots: Sequence[Slot], initial: Sequence[Lowered]
) -> None:
    builder, signed = context.builder, "unsignedCmp" not in operation.attributes
    bounds = [context.scalar(value) for value in operation.operands[:3]]
    type_ = bounds[0].type
    # Counted with 64 bits, the step beyond the end does not wrap.
    start, end, step = (builder.resize(bound, "i64", signed) for bound in bounds)
    update_slots(context, slots, initial)
    block = operation.regions[0].block
    for argument, slot, value in zip(
        block.arguments[1:], slots, block.operations[-1].operands, strict=True
    ):
        if isinstance(slot, _BaseSlot):
            slot.advance = _advance(context, block, argument, value)
    mark = _loop_mark(context, operation)
    with builder.loop(start, end, step, mark, signed) as index, context.region():
        context.bind(block.arguments[0], builder.resize(index, type_))
        read_slots(context, block.arguments[1:], slots)
        yielded = context.lower_block(block)
        update_slots(context, slots, [context.lowered(value) for value in yielded])
        context.pending_loads.clear()


def _loop_mark(context: Context, operation: Operation) -> str:
    """What a loop's branch back ends with; Triton's only annotation is `disable_licm`."""
    if "llvm.loop_annotation" not in operation.attributes:
        return ""
    metadata = context.builder.metadata
    node = _FIRST_LOOP + len(metadata)
    metadata.append(f'!{node} = distinct !{{!{node}, !{{!"llvm.licm.disable"}}}}')
    return f", !llvm.loop !{node}"


def _advance(context: Context, block: Block, argument: Value, yielded: Value) -> Val | None:
    """By how many elements a loop moves a block of addresses, where that is one known number."""
    for operation in block.operations:
        if yielded in operation.results and operation.name == "tt.addptr":
            start, offsets = operation.operands
            if start is argument and context.knows(offsets):
                affine = as_affine(context.lowered(offsets))
                if affine is not None and affine.is_uniform:
                    return context.builder.resize(affine.base, "i64")
    return None


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
        return _ArraySlot(context, type_)
    return _ScalarSlot(context, type_.llvm)


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
