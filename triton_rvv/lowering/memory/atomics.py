"""Atomic operations on memory, one element after another."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.float_formats import SMALL_FLOATS
from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.as_affine import as_addresses
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import ANY_VERSION, VectorIndex
from triton_rvv.lowering.elementwise.arith import constant
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.math.narrow_floats import narrow, widen
from triton_rvv.lowering.memory.plain_updates import (
    Combine,
    combined,
    has_one_thread,
    lanes_are_distinct,
    update_elements,
    update_runs,
    updated_plainly,
)

__all__ = ["HANDLERS", "Update", "handlers", "is_atomic_for_all"]

# The orders of Triton's enumerations; the first value of each is 1.
_INSTRUCTIONS = ("and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "xchg")
_ORDERS = ("monotonic", "acquire", "release", "acq_rel")
_ONE_PROGRAM = 2  # of Triton's enumeration of scopes

# What is done to one element: (address, operands) -> what was there before.
Update = Callable[[Val, Sequence[Val]], Val]

# Makes of the update of an operation another one, which does more.
Around = Callable[[Context, Operation, Update], Update]


def _rmw(around: Around, context: Context, operation: Operation) -> None:
    builder, element = context.builder, _element(operation)
    name = _INSTRUCTIONS[operation.integer("atomic_rmw_op") - 1]
    combine = combined(builder, name, element)
    order = _ORDERS[operation.integer("sem") - 1]

    def update(address: Val, operands: Sequence[Val]) -> Val:
        (value,) = operands
        if element.is_kept_as_bits and name == "fadd":
            return _add_small(builder, address, value, element, order)
        text = f"atomicrmw {name} {address}, {value} {order}, align {element.size_bytes}"
        return builder.emit(value.type, text)

    _each(context, operation, 1, around(context, operation, update), combine)


def _cas(around: Around, context: Context, operation: Operation) -> None:
    builder, element = context.builder, _element(operation)
    order = _ORDERS[operation.integer("sem") - 1]

    def update(address: Val, operands: Sequence[Val]) -> Val:
        bits = [_as_bits(builder, value, element) for value in operands]
        before, _ = _compare_and_swap(builder, address, bits[0], bits[1], order)
        return builder.cast("bitcast", before, element.llvm) if element.is_float else before

    _each(context, operation, 2, around(context, operation, update))


def is_atomic_for_all(operation: Operation) -> bool:
    """Whether an atomic operation is one for other programs, and not for its own threads alone."""
    return operation.integer("scope") != _ONE_PROGRAM


def _element(operation: Operation) -> ScalarType:
    element = element_type(operation.result.type)
    assert isinstance(element, ScalarType)
    return element


def _as_bits(builder: Builder, value: Val, element: ScalarType) -> Val:
    return builder.cast("bitcast", value, f"i{element.bits}") if element.is_float else value


def _compare_and_swap(
    builder: Builder, address: Val, expected: Val, value: Val, order: str
) -> tuple[Val, Val]:
    """What was at an address, and whether that was as expected and has been replaced."""
    on_failure = "acquire" if order in ("acquire", "acq_rel") else "monotonic"
    align = int(value.type[1:]) // 8
    text = f"cmpxchg {address}, {expected}, {value} {order} {on_failure}, align {align}"
    pair_type = f"{{ {value.type}, i1 }}"
    pair = builder.emit(pair_type, text)
    before = builder.emit(value.type, f"extractvalue {pair}, 0")
    return before, builder.emit("i1", f"extractvalue {pair}, 1")


def _add_small(builder: Builder, address: Val, value: Val, element: ScalarType, order: str) -> Val:
    """A sum of floats that no instruction adds: computed anew until no other came in between."""
    small = SMALL_FLOATS[element.name]
    addend = widen(builder, value, small)
    text = f"load atomic {value.type}, {address} monotonic, align {element.size_bytes}"
    expected = Variable(builder, builder.emit(value.type, text))
    again, done = builder.fresh_label("again"), builder.fresh_label("done")
    builder.branch(again)
    builder.label(again)
    found = expected.read()
    total = builder.binary("fadd", widen(builder, found, small), addend)
    before, swapped = _compare_and_swap(
        builder, address, found, narrow(builder, total, small), order
    )
    expected.write(before)
    builder.branch_if(swapped, done, again)
    builder.label(done)
    return found


@dataclass(frozen=True)
class _Elements:
    """Elements in memory that an operation updates.

    Args:
        others: `count` values and perhaps a mask.
        count: how many operands an update takes.
        result: takes what was there before, if anything asks for that.
    """

    context: Context
    operation: Operation
    addresses: Affine
    others: Sequence[Tensor]
    count: int
    result: Buffer | None

    def update_one_by_one(self, update: Update) -> None:
        """Update elements in their order."""
        context = self.context
        if (offsets := self.addresses.on(ANY_VERSION).extra) is not None:
            materialise.quick_to_read(context, offsets)  # vectors are faster at costly ones
        others = (materialise.quick_to_read(context, each) for each in self.others)
        parts = [self.addresses, *others]
        for index in index_loops.positions(context, self.addresses.shape, unrolled=False):
            point = VectorIndex(index[:-1], index[-1], 1)
            elements = [part.at(context.builder, point) for part in parts]
            before = _where(context, self.operation, elements, self.count, update)
            if self.result is not None:
                self.result.write(context.builder, point, before)

    def update_for_threads(self, is_alone: Val, combine: Combine, update: Update) -> None:
        """Update elements plainly if there is one thread, and else one by one."""

        def plainly() -> None:
            with self.context.region():
                self.update_plainly(combine)

        def atomically() -> None:
            with self.context.region():
                self.update_one_by_one(update)

        self.context.builder.branches(is_alone, plainly, atomically)

    def update_plainly(self, combine: Combine) -> None:
        """Update elements by loads and stores, as vectors where no two of a row are one."""
        context, addresses, others = self.context, self.addresses, self.others
        if lanes_are_distinct(addresses):
            source = self.operation.operands[0]
            update_runs(context, source, addresses, others, combine, self.result)
        elif self.result is None:
            update_elements(context, addresses, others, combine)
        else:
            element = _element(self.operation)
            self.update_one_by_one(updated_plainly(context.builder, combine, element))


def _each(
    context: Context,
    operation: Operation,
    count: int,
    update: Update,
    combine: Combine | None = None,
) -> None:
    """Carry out an update of each element that the mask lets through.

    Args:
        operation: its operands are addresses, `count` values and perhaps a mask.
        count: how many operands `update` takes.
        combine: what the update leaves in memory, where plain loads and stores can do it.
    """
    materialise.materialise_loads(context)
    operands = [context.lowered(value) for value in operation.operands]
    if isinstance(operands[0], Val):
        scalars = [operand for operand in operands if isinstance(operand, Val)]
        context.bind(operation.result, _where(context, operation, scalars, count, update))
        return
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    addresses, others = as_addresses(tensors[0]), tensors[1:]
    materialise.prepare(context, [addresses, *others], changes_memory=True)
    result = context.buffer(operation.result.block) if operation.result.uses else None
    elements = _Elements(context, operation, addresses, others, count, result)
    is_alone = None if combine is None else has_one_thread(context)
    if combine is None or is_alone is None:
        elements.update_one_by_one(update)
    else:
        elements.update_for_threads(is_alone, combine, update)
    if result is not None:
        context.bind(operation.result, result)


def _where(
    context: Context, operation: Operation, operands: Sequence[Val], count: int, update: Update
) -> Val:
    """The update under its mask; 0 stands for what was not read."""
    address, values, mask = operands[0], operands[1 : count + 1], operands[count + 1 :]
    if not mask or mask[0].truth is True:
        return update(address, values)
    builder = context.builder
    before = Variable(builder, constant(_element(operation), 0))
    builder.branches(mask[0], lambda: before.write(update(address, values)))
    return before.read()


def handlers(around: Around) -> Mapping[str, Handler]:
    """What lowers atomic operations, with more around the update of each element."""
    return {
        "tt.atomic_rmw": functools.partial(_rmw, around),
        "tt.atomic_cas": functools.partial(_cas, around),
    }


HANDLERS = handlers(lambda _context, _operation, update: update)
