"""What every lowering of an operation needs: the values so far, the builder and the target."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar, cast

from triton_rvv.errors import CompileError
from triton_rvv.frontend.source_lines import SourceLines
from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.buffer import Buffer, memory_type
from triton_rvv.lowering.blocks.tensors import Array, Tensor
from triton_rvv.lowering.llvm.abilities import abilities_of
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import Choices
from triton_rvv.lowering.llvm.values import Val
from triton_rvv.lowering.ttir.interleaved_stores import interleaved_stores
from triton_rvv.lowering.ttir.kernel import Kernel

__all__ = ["Context", "Handler", "Lowered", "Pairs", "WaitingStore"]

Lowered = Val | Tensor
# Tensors, with the arrays that they are written to.
Pairs = Sequence[tuple[Tensor, Buffer]]
T = TypeVar("T")

# Main threads get 8 MiB of stack from Linux; half of it is left to everybody else.
STACK_LIMIT_BYTES = 4 << 20
# What else the blocks of one program may take; every thread that runs programs needs as much.
SCRATCH_LIMIT_BYTES = 1 << 30
# As on the stack: a cache line.
ALIGNMENT_BYTES = 64


@dataclass(frozen=True)
class WaitingStore:
    """A store that has not been written yet.

    Args:
        sources: what it reads, its value first.
        write: writes it, and `Pairs` of the same shape in the same walk.
    """

    sources: Sequence[Tensor]
    write: Callable[[Pairs], None]


class Context:
    """The state of lowering one function.

    Attributes:
        kernel: what passes have found of its values, loads and stores.
        pending_loads: loads that were put off.
        lowered_block: a number of the block of code that is being lowered.
        has_products: whether matrices are multiplied, so that arrays need panels.
        interleaved_stores: stores that are put off until another one, by that one.
        waiting_store: a store that was put off.
        stored_already: for stores further down, whether that has been done, as i1.

    Args:
        kernel: what is lowered, behind all passes.
        program_ids, program_counts: i32 values for x, y and z.
        source_lines: marks instructions with the kernel's lines; None leaves them without.
        runs_once: whether code is made soon rather than fast: one version of each loop.
        choices: by which rules code is written; by all where it is not given.
    """

    def __init__(
        self,
        kernel: Kernel,
        handlers: Mapping[str, Handler],
        program_ids: Sequence[Val],
        program_counts: Sequence[Val],
        source_lines: SourceLines | None,
        runs_once: bool = False,
        choices: Choices | None = None,
    ) -> None:
        self.runs_once = runs_once
        self.target = kernel.target
        self.has_products = kernel.has_product
        self.interleaved_stores = interleaved_stores(kernel.module)
        self._handlers = handlers
        self.builder = Builder(abilities_of(kernel.target), choices)
        self.program_ids = tuple(program_ids)
        self.program_counts = tuple(program_counts)
        self.aliases = kernel.aliases
        self.kernel = kernel
        self._source_lines = source_lines
        self.pending_loads: list[Tensor] = []
        self.lowered_block = 0
        self._lowered_blocks = 0
        self.waiting_store: WaitingStore | None = None
        self.stored_already: dict[Operation, Val] = {}
        self._values: dict[Value, Lowered] = {}
        self._stack_bytes = 0
        self.scratch_bytes = 0
        self._region = 0
        self._regions = 0
        self._kept: list[Tensor] = []
        self._known: dict[tuple[Hashable, int], object] = {}
        self._around = [0]
        self._bound_in: dict[Value, int] = {}
        self._operations: Sequence[Operation] = ()
        self._early: dict[Operation, int] = {}

    @property
    def choices(self) -> Choices:
        """By which rules code is written, and where."""
        return self.builder.choices

    def lower_block(self, block: Block) -> list[Value]:
        """Lower every operation of a block.

        Returns:
            The operands of the terminator.

        Raises:
            CompileError: for an operation that is not supported, with the kernel's source line.
        """
        *operations, terminator = block.operations
        around = self._operations, self.lowered_block
        self._lowered_blocks += 1
        self.lowered_block = self._lowered_blocks
        self._operations = operations
        for operation in operations:  # a function's block is lowered once for each of its calls
            for result in operation.results:
                self._bound_in.pop(result, None)
        try:
            for operation in operations:
                if self._early.pop(operation, None) not in self._around:
                    self.lower_operation(operation)
        finally:
            self._operations, self.lowered_block = around
        return terminator.operands

    def operations_behind(self, operation: Operation) -> Sequence[Operation]:
        """What follows an operation of the block that is being lowered."""
        return self._operations[self._operations.index(operation) + 1 :]

    def lower_ahead(self, operation: Operation) -> None:
        """Lower an operation further down in this block, whose operands are known, here."""
        if self._early.get(operation) not in self._around:
            self.lower_operation(operation)
            self.done_ahead(operation)

    def done_ahead(self, operation: Operation) -> None:
        """An operation further down in this block is lowered here, as a part of another one."""
        self._early[operation] = self._region

    def lower_operation(self, operation: Operation) -> None:
        """Lower one operation.

        Raises:
            CompileError: where it is not supported, with the kernel's source line.
        """
        handler = self._handlers.get(operation.name)
        try:
            if handler is None:
                raise CompileError(
                    f"{operation.name} is not supported: rewrite the kernel without it"
                )
            mark, around = self.builder.mark, self.choices.operation
            self.choices.operation = operation
            if self._source_lines is not None:
                self.builder.mark = self._source_lines.mark(operation.line)
            handler(self, operation)
            self.builder.mark, self.choices.operation = mark, around
        except CompileError as error:
            raise error.at(operation.line) from None

    @contextmanager
    def region(self) -> Iterator[None]:
        """The body of a loop or a side of a branch is lowered inside the `with`.

        Code after it cannot count on what is computed in it of values from outside, since it may
        run not at all, nor on running once itself.
        """
        outer_region, outer_kept = self._region, self._kept
        self._regions += 1
        self._region, self._kept = self._regions, []
        self._around.append(self._region)
        try:
            yield
        finally:
            self._around.pop()
            for tensor in self._kept:
                if not self.is_local(tensor):
                    tensor.rematerialise()
            self._region, self._kept = outer_region, outer_kept

    def callee(self, call: Operation) -> Operation:
        """The function that a `tt.call` calls; MLIR quotes names with unusual characters."""
        return self.kernel.functions[str(call.attributes["callee"]).removeprefix("@").strip('"')]

    # -- values --------------------------------------------------------------------------------

    def bind(self, value: Value, lowered: Lowered) -> None:
        """Say what a value of the kernel has become."""
        if isinstance(lowered, Tensor):
            lowered.uses += value.uses
            lowered.region = self._region
            lowered.mark = lowered.mark or self.builder.mark
        self._values[value] = lowered
        self._bound_in[value] = self._region

    def knows(self, value: Value) -> bool:
        """Whether the value has been lowered already."""
        return value in self._values

    def is_known_here(self, value: Value) -> bool:
        """Whether what the value has become was computed on every way to this place."""
        return self._bound_in.get(value) in self._around

    def lowered(self, value: Value) -> Lowered:
        """What a value of the kernel has become."""
        return self._values[value]

    def scalar(self, value: Value) -> Val:
        """The LLVM value of a scalar."""
        lowered = self._values[value]
        assert isinstance(lowered, Val), f"{value.name} is a block"
        return lowered

    def tensor(self, value: Value) -> Tensor:
        """The recipe of a block."""
        lowered = self._values[value]
        assert isinstance(lowered, Tensor), f"{value.name} is a scalar"
        return lowered

    def pass_on(self, value: Value) -> None:
        """The recipe of `value` is taken apart, and what it is made from put into another one.

        Unless this was the last use of the recipe, those parts have one more owner now, and the
        recipe one use less.
        """
        lowered = self._values[value]
        if isinstance(lowered, Tensor) and lowered.uses - lowered.finished > 1:
            lowered.uses -= 1
            for part in lowered.operands:
                part.uses = max(part.uses, 1) + 1

    def keep(self, tensor: Tensor, array: Array) -> None:
        """Until the end of this region the tensor's elements are those in `array`."""
        tensor.materialise_in(array)
        self._kept.append(tensor)

    def is_local(self, tensor: Tensor) -> bool:
        """Whether the tensor was made in the loop or branch that is being lowered."""
        return tensor.region == self._region

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` computes, such as of the block `key`; written once, known in all inside."""
        for region in self._around:
            if (key, region) in self._known:
                return cast(T, self._known[key, region])
        self._known[key, self._region] = value = make()
        return value

    # -- arrays --------------------------------------------------------------------------------

    def buffer(self, type_: TensorType, panel_bits: int = 0) -> Buffer:
        """An array with room for a block; its contents are undefined.

        Args:
            panel_bits: panels are as wide as runs of elements of so many bits, at least its own.

        Raises:
            CompileError: where the program's arrays would take too much memory.
        """
        if self.choices.is_watched:
            self.choices.note("arrays", str(type_))
        pointer = self._room(memory_type(type_.element), type_.elements, type_.element.size_bytes)
        lanes = self.run_lanes(max(type_.element.bits, panel_bits, 8))
        return Buffer(type_, pointer, lanes if self.has_products else type_.shape[-1])

    def _room(self, element: str, count: int, size_bytes: int) -> Val:
        """An array on the stack, or behind those in the launcher's memory where that is full."""
        if self._stack_bytes + count * size_bytes <= STACK_LIMIT_BYTES:
            self._stack_bytes += count * size_bytes
            return self.builder.alloca(element, count)
        place_bytes = self.scratch_bytes
        self.scratch_bytes += -(-count * size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        if self.scratch_bytes > SCRATCH_LIMIT_BYTES:
            raise CompileError(
                f"the blocks need more than {SCRATCH_LIMIT_BYTES >> 30} GiB of memory: "
                "choose smaller block sizes"
            )
        return self.builder.scratch_array(place_bytes)

    def run_lanes(self, element_bits: int, long: bool = False) -> int:
        """How many elements one run takes at most.

        Runs of arrays with panels have one length, so there are long ones only without a product.
        """
        target = self.target
        is_long = long and not self.has_products
        registers = target.long_run_registers if is_long else target.run_registers
        return registers * target.lanes(element_bits)


# Lowers an operation.
Handler = Callable[[Context, Operation], None]
