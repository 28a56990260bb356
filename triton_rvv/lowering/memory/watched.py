"""Accesses to memory through functions of the program around a kernel, one element at a time.

A program that links such a kernel sees every access, in the kernel's order, and says what a load
reads: `launchers/history.h` declares the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import PointerType, ScalarType, TensorType, element_type
from triton_rvv.lowering.addresses.as_affine import as_addresses
from triton_rvv.lowering.blocks.buffer import loaded, memory_type, stored
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.memory import atomics
from triton_rvv.lowering.memory.accesses import zero
from triton_rvv.lowering.memory.loads import optional_operands

__all__ = ["handlers"]

# Does one thing to an element: (address, value or None, mask) -> what it gives, or None.
_Element = Callable[[Val, Val | None, Val], Val | None]


def _load(context: Context, operation: Operation) -> None:
    pointers, mask, other = optional_operands(context, operation, 3)
    builder, element = context.builder, _element_of(operation)
    is_volatile = integer(int(bool(operation.attributes.get("isVolatile"))), "i32")
    if is_volatile.constant:
        builder.call_void("history_turn", [])
    cell, type_ = builder.alloca("i64", 1), memory_type(element)

    def load(address: Val, fill: Val | None, wanted: Val) -> Val:
        builder.store(stored(builder, fill) if fill else Val(type_, zero(type_)), cell, 8)
        arguments = [cell, address, integer(element.size_bytes, "i32"), is_volatile]
        builder.branches(wanted, lambda: builder.call_void("history_load", arguments))
        return loaded(builder, builder.load(type_, cell, 8), element)

    _each(context, operation, (pointers, other, mask), load)


def _store(context: Context, operation: Operation) -> None:
    pointers, value, mask = optional_operands(context, operation, 3)
    builder, element = context.builder, _element_of(operation)
    cell = builder.alloca("i64", 1)

    def store(address: Val, stored_value: Val | None, wanted: Val) -> None:
        assert stored_value is not None
        builder.store(stored(builder, stored_value), cell, 8)
        arguments = [address, cell, integer(element.size_bytes, "i32")]
        builder.branches(wanted, lambda: builder.call_void("history_store", arguments))

    _each(context, operation, (pointers, value, mask), store)


def _element_of(operation: Operation) -> ScalarType | PointerType:
    pointer = element_type(operation.operands[0].type)
    assert isinstance(pointer, PointerType)
    assert not isinstance(pointer.pointee, TensorType)
    return pointer.pointee


def _each(
    context: Context,
    operation: Operation,
    operands: tuple[Tensor | Val | None, Tensor | Val | None, Tensor | Val | None],
    do: _Element,
) -> None:
    """Do it to each element; the result of a load is copied, so that no load is left for later."""
    pointers, value, mask = operands
    always = TRUE
    if isinstance(pointers, Val):
        assert not isinstance(value, Tensor)
        given = do(pointers, value, mask if isinstance(mask, Val) else always)
        if given is not None:
            context.bind(operation.result, given)
        return
    assert isinstance(pointers, Tensor)
    others = [each for each in (value, mask) if isinstance(each, Tensor)]
    tensors = [as_addresses(pointers), *others]
    materialise.prepare(context, tensors, changes_memory=True)
    ready = {id(each): materialise.quick_to_read(context, each) for each in others}
    results = [each.type for each in operation.results]
    result = context.buffer(results[0]) if results and isinstance(results[0], TensorType) else None
    for index in index_loops.positions(context, tensors[0].shape, unrolled=False):
        point = VectorIndex(index[:-1], index[-1], 1)

        def element(part: Tensor | Val | None, point: VectorIndex = point) -> Val | None:
            return ready[id(part)].at(context.builder, point) if isinstance(part, Tensor) else part

        given = do(tensors[0].at(context.builder, point), element(value), element(mask) or always)
        if result is not None:
            assert given is not None
            result.write(context.builder, point, given)
    if result is not None:
        context.bind(operation.result, result)


def _watched(context: Context, operation: Operation, update: atomics.Update) -> atomics.Update:
    """An atomic update between two calls that say where it is and how it orders memory."""
    builder, element = context.builder, _element_of(operation)
    order = integer(operation.integer("sem"), "i32")
    size_bytes = integer(element.size_bytes, "i32")
    builder.call_void("history_turn", [])

    def watch(address: Val, operands: Sequence[Val]) -> Val:
        builder.call_void("history_before_atomic", [address, size_bytes, order])
        before = update(address, operands)
        is_swap = integer(int(operation.name == "tt.atomic_cas"), "i32")
        builder.call_void("history_after_atomic", [address, size_bytes, order, is_swap])
        return before

    cell = builder.alloca("i64", 1)

    def load_and_store(address: Val, operands: Sequence[Val]) -> Val:
        is_volatile = integer(0, "i32")
        builder.call_void("history_load", [cell, address, size_bytes, is_volatile])
        before = update(cell, operands)
        builder.call_void("history_store", [address, cell, size_bytes])
        return before

    return watch if atomics.is_atomic_for_all(operation) else load_and_store


def handlers(unwatched: Collection[int], plain: Mapping[str, Handler]) -> Mapping[str, Handler]:
    """What lowers accesses.

    Args:
        unwatched: numbers of arguments on which loads and atomic operations are left alone.
        plain: lowers such an operation, by its name.
    """

    def unless_plain(watched: Handler, left_alone: Handler) -> Handler:
        def access(context: Context, operation: Operation) -> None:
            reached = context.aliases.arguments_of(operation.operands[0])
            waits = bool(operation.attributes.get("isVolatile"))
            is_plain = reached is not None and reached.issubset(unwatched) and not waits
            (left_alone if is_plain else watched)(context, operation)

        return access

    may_be_plain = {"tt.load": _load, **atomics.handlers(_watched)}
    left = {name: unless_plain(access, plain[name]) for name, access in may_be_plain.items()}
    return {"tt.store": _store, **left}
