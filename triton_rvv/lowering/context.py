"""What every lowering of an operation needs: the values so far, the builder, and the sinks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from triton_rvv.errors import CompileError
from triton_rvv.lowering.builder import Builder, Snapshot, Val, integer
from triton_rvv.lowering.tensors import (
    ANY_PATH,
    EXPENSIVE,
    Buffer,
    Path,
    Point,
    Tensor,
    memory_type,
)
from triton_rvv.target import Target
from triton_rvv.ttir import Block, Operation, Value
from triton_rvv.types import TensorType

__all__ = ["Context", "Lowered"]

Lowered = Val | Tensor

# Blocks walked in at most this many runs are unrolled, so that LLVM keeps them in registers.
UNROLLED_RUNS = 8

# Register groups (LMUL) for one run: longer chains of operations need more registers at once.
RUN_LMUL = 2
COPY_LMUL = 4

# Main threads get 8 MiB of stack from Linux; half of it is left to everybody else.
STACK_LIMIT_BYTES = 4 << 20


class Context:
    """The state of lowering one function.

    Args:
        target: what code is made for.
        handlers: what lowers each kind of operation.
        program_ids, program_counts: i32 values for x, y and z.
    """

    def __init__(
        self,
        target: Target,
        handlers: Mapping[str, Callable[[Context, Operation], None]],
        program_ids: Sequence[Val],
        program_counts: Sequence[Val],
    ) -> None:
        self.target = target
        self._handlers = handlers
        self.builder = Builder()
        self.program_ids = tuple(program_ids)
        self.program_counts = tuple(program_counts)
        self.pending_loads: list[Tensor] = []
        self._values: dict[Value, Lowered] = {}
        self._stack_bytes = 0

    def lower_block(self, block: Block) -> list[Value]:
        """Lower every operation of a block.

        Returns:
            The operands of the terminator.

        Raises:
            CompileError: for an operation that is not supported, with the kernel's source line.
        """
        *operations, terminator = block.operations
        for operation in operations:
            handler = self._handlers.get(operation.name)
            try:
                if handler is None:
                    raise CompileError(
                        f"{operation.name} is not supported: rewrite the kernel without it"
                    )
                handler(self, operation)
            except CompileError as error:
                raise error.at(operation.line) from None
        return terminator.operands

    def snapshot(self) -> tuple[Snapshot, int]:
        """Remember this place, to lower what follows another way."""
        return self.builder.snapshot(), self._stack_bytes

    def restore(self, snapshot: tuple[Snapshot, int]) -> None:
        """Drop everything written since `snapshot`."""
        self.pending_loads.clear()
        place, self._stack_bytes = snapshot
        self.builder.restore(place)

    # -- values --------------------------------------------------------------------------------

    def bind(self, value: Value, lowered: Lowered) -> None:
        """Say what a value of the kernel has become."""
        if isinstance(lowered, Tensor):
            lowered.uses += value.uses
        self._values[value] = lowered

    def knows(self, value: Value) -> bool:
        """Whether the value has been lowered already."""
        return value in self._values

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

    # -- arrays on the stack -------------------------------------------------------------------

    def buffer(self, type_: TensorType) -> Buffer:
        """An array with room for a block; its contents are undefined.

        Raises:
            CompileError: where the function's arrays would not fit the stack.
        """
        self._stack_bytes += type_.elements * type_.element.size_bytes
        if self._stack_bytes > STACK_LIMIT_BYTES:
            raise CompileError(
                f"the blocks need more than {STACK_LIMIT_BYTES >> 20} MiB of stack: "
                "choose smaller block sizes"
            )
        pointer = self.builder.alloca(memory_type(type_.element), type_.elements)
        return Buffer(type_, pointer)

    def materialise(self, tensor: Tensor) -> Buffer:
        """An array that holds the tensor's elements as they are now."""
        if isinstance(tensor, Buffer):
            return tensor
        if tensor.settled is None:
            buffer = self.buffer(tensor.type)
            self.copy(tensor, buffer)
            tensor.settle(buffer)
            return buffer
        return tensor.settled

    def copy(self, tensor: Tensor, buffer: Buffer) -> None:
        """Write every element of `tensor` to `buffer`."""

        def body(point: Point) -> None:
            buffer.write(self.builder, point, tensor.at(self.builder, point))

        self.for_each_run([tensor], body)
        self.pending_loads = [load for load in self.pending_loads if load is not tensor]

    # -- when recipes are carried out ----------------------------------------------------------

    def prepare(self, roots: Sequence[Tensor], changes_memory: bool = False) -> None:
        """Get ready for a sink that evaluates `roots`.

        What only this sink uses is computed on the way. Of what others use too, loads and costly
        results are computed now and kept; where the sink changes memory, so are all other loads.
        """
        order, exclusive = _reachable(roots)
        for tensor in order:
            shared = tensor not in exclusive
            if shared and (tensor in self.pending_loads or tensor.cost >= EXPENSIVE):
                self.materialise(tensor)
        self.pending_loads = [load for load in self.pending_loads if load not in exclusive]
        if changes_memory:
            self.settle_loads()

    def settle_loads(self) -> None:
        """Carry out every load that was put off."""
        while self.pending_loads:
            self.materialise(self.pending_loads[0])

    # -- walking over blocks -------------------------------------------------------------------

    def for_each_run(self, tensors: Sequence[Tensor], body: Callable[[Point], None]) -> None:
        """Walk over a block row by row, in runs that suit the vector registers.

        Args:
            tensors: what the body asks for, all of one shape; their guards decide at run time
                which path is taken.
            body: writes the code for one run.
        """
        shape = tensors[0].shape
        width = self.run_width(tensors)
        unrolled = tensors[0].type.elements <= UNROLLED_RUNS * width

        def walk(path: Path) -> None:
            for index in self.positions(shape[:-1], unrolled):
                for start in self.steps(shape[-1], width, unrolled):
                    body(Point(index, start, width, path))

        self.guarded(tensors, walk)

    def guarded(self, tensors: Sequence[Tensor], walk: Callable[[Path], None]) -> None:
        """Write `walk` for each path that the tensors' guards tell apart at run time.

        ```
        if linear:  if unmasked: walk(linear, unmasked)  else: walk(linear)
        else:       walk()
        ```
        """
        linear = self._all(guard for tensor in tensors for guard in tensor.linear_guards())
        unmasked = self._all(
            guard for tensor in tensors for guard in tensor.mask_guards(self.builder)
        )

        def on_linear_path() -> None:
            self.builder.branches(
                unmasked,
                lambda: walk(Path(linear=True, unmasked=True)),
                lambda: walk(Path(linear=True)),
            )

        self.builder.branches(linear, on_linear_path, lambda: walk(ANY_PATH))

    def _all(self, guards: Iterable[Val]) -> Val:
        total = Val("i1", "true")
        for guard in dict.fromkeys(guards):
            total = self.builder.conjunction(total, guard)
        return total

    def run_width(self, tensors: Sequence[Tensor]) -> int:
        """How many neighbours one run takes."""
        bits = max(tensor.widest_bits() for tensor in tensors)
        registers = COPY_LMUL if sum(tensor.cost for tensor in tensors) <= 2 else RUN_LMUL
        return min(tensors[0].shape[-1], registers * self.target.lanes(bits))

    def positions(self, sizes: Sequence[int], unrolled: bool) -> Iterator[tuple[Val, ...]]:
        """Every index of the given dimensions, in row-major order.

        The body of the caller's `for` is the body of the loops.
        """
        if not sizes:
            yield ()
            return
        for position in self.steps(sizes[0], 1, unrolled):
            for rest in self.positions(sizes[1:], unrolled):
                yield (position, *rest)

    def steps(self, size: int, step: int, unrolled: bool) -> Iterator[Val]:
        """0, step, 2 * step, ... below `size`, as a loop at run time unless `unrolled`.

        The body of the caller's `for` is the body of the loop.
        """
        if unrolled or size <= step:
            yield from map(integer, range(0, size, step))
            return
        with self.builder.loop(integer(0), integer(size), integer(step)) as position:
            yield position


def _reachable(roots: Sequence[Tensor]) -> tuple[list[Tensor], set[Tensor]]:
    """All recipes under `roots`, operands first, and those that nothing else uses.

    A recipe is exclusive where every use of it is below these roots, by way of exclusive ones.
    """
    order: list[Tensor] = []
    seen: set[Tensor] = set()

    def visit(tensor: Tensor) -> None:
        if tensor not in seen:
            seen.add(tensor)
            for operand in tensor.operands:
                visit(operand)
            order.append(tensor)

    for root in roots:
        visit(root)
    found = Counter(roots)
    exclusive: set[Tensor] = set()
    for tensor in reversed(order):
        if found[tensor] >= tensor.uses:
            exclusive.add(tensor)
            found.update(tensor.operands)
    return order, exclusive
