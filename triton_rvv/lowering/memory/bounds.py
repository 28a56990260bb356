"""Checks of every access to memory, before it happens, against where the arguments lie.

The argument array has one more slot: the address of a table, in words of 64 bits. Its first words
say what the first access was that went astray; after those come the start and the end of the memory
that each argument leads into. Once the first word is not 0, each program leaves at its next access:
one that waits for a lock would wait for ever if the program that holds it has left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import PointerType, TensorType, element_type
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.as_affine import as_addresses
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import FALSE, TRUE, Val, integer
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.ttir.aliasing import Aliases

__all__ = ["FIRST_RANGE", "UNCHECKED", "Access", "accesses", "with_bounds_checked"]

# Passes by which products access memory themselves, where no handler does that checks first.
UNCHECKED = ("start-in-product", "store-in-last-turn")

# Where the mask stands among the operands, if there is one.
_ACCESSES = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2, "tt.atomic_cas": 3}
_NAMES = {"tt.load": "a load", "tt.store": "a store"}

# Words of the table: whether there is an access, which, its address, and its program's ids.
_FOUND, _PLACE, _ADDRESS, _PROGRAM, FIRST_RANGE = 0, 1, 2, 3, 6


@dataclass(frozen=True)
class Access:
    """A place in a kernel where memory is loaded, stored or updated.

    Args:
        text: what it is and on which line, for people.
        arguments: numbers of those that its pointer may come from; none where others may be.
    """

    text: str
    arguments: tuple[int, ...]


def accesses(module: Operation, aliases: Aliases) -> list[Access]:
    """Every access to memory of a module."""
    return [
        Access(
            f"{op.line or 'the kernel'}: {_NAMES.get(op.name, 'an atomic operation')}",
            tuple(sorted(aliases.arguments_of(op.operands[0]) or ())),
        )
        for op in _operations(module)
    ]


def with_bounds_checked(
    handlers: Mapping[str, Handler], module: Operation, table_slot: int
) -> dict[str, Handler]:
    """Handlers that check each access to memory first, and leave the kernel where one is astray.

    Of a pointer whose origin is not known, such as one that was loaded, nothing is checked.

    Args:
        table_slot: which slot of the argument array holds the table's address.
    """
    numbers = {id(operation): number for number, operation in enumerate(_operations(module))}

    def checked(handler: Handler) -> Handler:
        def check_first(context: Context, operation: Operation) -> None:
            _check(context, operation, numbers[id(operation)], table_slot)
            handler(context, operation)

        return check_first

    return {
        name: checked(handler) if name in _ACCESSES else handler
        for name, handler in handlers.items()
    }


def _operations(module: Operation) -> list[Operation]:
    return [operation for operation in module.walk() if operation.name in _ACCESSES]


@dataclass(frozen=True)
class _Check:
    """The check of one access.

    Args:
        place: the number of the access.
        ranges: first address and end of what the pointer may lead into.
    """

    context: Context
    place: int
    size_bytes: int
    table: Val
    ranges: Sequence[tuple[Val, Val]]

    def element(self, pointer: Val, mask: Val) -> None:
        """Leave the kernel where an element that the mask lets through lies outside."""
        builder = self.context.builder
        address = builder.cast("ptrtoint", pointer, "i64")
        end = builder.add(address, integer(self.size_bytes))
        fine = builder.compare("eq", mask, FALSE)
        for low, high in self.ranges:
            above = builder.compare("uge", address, low)
            inside = builder.conjunction(above, builder.compare("ule", end, high))
            fine = builder.binary("or", fine, inside)
        _leave_unless(builder, fine, lambda: self._report(builder, address))

    def _report(self, builder: Builder, address: Val) -> None:
        """Write down the access, unless another one came first."""
        pair = builder.emit("{ i64, i1 }", f"cmpxchg {self.table}, i64 0, i64 1 acq_rel monotonic")
        is_first = builder.emit("i1", f"extractvalue {pair}, 1")

        def write() -> None:
            words = [(_PLACE, integer(self.place)), (_ADDRESS, address)]
            for axis, program_id in enumerate(self.context.program_ids):
                words.append((_PROGRAM + axis, builder.cast("zext", program_id, "i64")))
            for word, value in words:
                builder.store(value, builder.element_pointer("i64", self.table, integer(word)), 8)

        builder.branches(is_first, write)


def _check(context: Context, operation: Operation, place: int, table_slot: int) -> None:
    arguments = context.aliases.arguments_of(operation.operands[0])
    if arguments is None:
        return
    builder = context.builder
    slot = builder.element_pointer("i64", Val("ptr", "%args"), integer(table_slot))
    table = builder.load("ptr", slot, 8)
    found = builder.emit("i64", f"load atomic i64, {table} monotonic, align 8")
    _leave_unless(builder, builder.compare("eq", found, integer(0)))
    ranges = [
        (_word(builder, table, first), _word(builder, table, first + 1))
        for first in (FIRST_RANGE + 2 * argument for argument in sorted(arguments))
    ]
    pointee = element_type(operation.operands[0].type)
    assert isinstance(pointee, PointerType)
    assert not isinstance(pointee.pointee, TensorType)
    check = _Check(context, place, pointee.pointee.size_bytes, table, ranges)
    pointer, mask = context.lowered(operation.operands[0]), _mask(context, operation)
    if isinstance(pointer, Val):
        check.element(pointer, mask if isinstance(mask, Val) else TRUE)
        return
    assert not isinstance(mask, Val) or mask.truth is True
    _check_block(check, as_addresses(pointer), mask if isinstance(mask, Tensor) else None)


def _leave_unless(builder: Builder, fine: Val, before: Callable[[], None] = lambda: None) -> None:
    """Leave the kernel where a condition does not hold, after something is done."""
    goes_on, astray = builder.fresh_label("inside"), builder.fresh_label("astray")
    builder.branch_if(fine, goes_on, astray)
    builder.label(astray)
    before()
    builder.do("ret void")
    builder.label(goes_on)


def _word(builder: Builder, table: Val, number: int) -> Val:
    return builder.load("i64", builder.element_pointer("i64", table, integer(number)), 8)


def _mask(context: Context, operation: Operation) -> Tensor | Val:
    place = _ACCESSES[operation.name]
    sizes = operation.integers("operandSegmentSizes")
    if sizes:
        place = sum(sizes[:place]) if place < len(sizes) and sizes[place] else len(sizes)
    if place < len(operation.operands):
        return context.lowered(operation.operands[place])
    return TRUE


def _check_block(check: _Check, addresses: Affine, mask: Tensor | None) -> None:
    context, parts = check.context, [addresses, *([] if mask is None else [mask])]
    for part in parts:
        part.uses += 1  # by the access itself, which comes afterwards
    materialise.prepare(context, parts)
    ready = [materialise.quick_to_read(context, part) for part in parts]
    for index in index_loops.positions(context, addresses.shape, unrolled=False):
        point = VectorIndex(index[:-1], index[-1], 1)
        elements = [part.at(context.builder, point) for part in ready]
        check.element(elements[0], elements[1] if mask is not None else TRUE)
