"""Carries out recipes, and decides what is kept in arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.sharing import asked_by_others, at_same_places, reachable, readers
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.blocks.views import ExpandDims
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.register_groups import multiply_add
from triton_rvv.lowering.llvm.values import Val
from triton_rvv.lowering.loops import loop_nests
from triton_rvv.lowering.loops.loop_versioning import all_fit
from triton_rvv.lowering.loops.vector_shape import UNROLLED_RUNS, runs_together, vector_width

__all__ = [
    "copied_exactly",
    "copy",
    "copy_all",
    "copy_together",
    "materialise",
    "materialise_loads",
    "prepare",
    "quick_to_read",
    "row_major",
    "row_major_array",
    "walking",
    "where_sums_fit",
]


def materialise(context: Context, tensor: Tensor) -> Buffer:
    """An array that holds the tensor's elements as they are now."""
    if isinstance(tensor, Buffer):
        return tensor
    if tensor.materialised is None:
        buffer = context.buffer(tensor.type, tensor.panel_bits)
        copy(context, tensor, buffer)
        context.keep(tensor, buffer)
        _drop_loads(context)
        return buffer
    assert isinstance(tensor.materialised, Buffer)
    return tensor.materialised


def quick_to_read(context: Context, tensor: Tensor) -> Tensor:
    """The tensor, or an array of it if elements that are asked for one by one would cost more."""
    if isinstance(tensor, Splat | Affine) or tensor.cost == 0:
        return tensor
    return materialise(context, tensor)


def row_major(context: Context, tensor: Tensor) -> Buffer:
    """An array that holds the tensor's elements as they are now, one whole row after another.

    No product should take it for an operand: it has no panels.
    """
    found = tensor if isinstance(tensor, Buffer) else tensor.materialised
    if isinstance(found, Buffer) and found.is_row_major:
        return found
    array = row_major_array(context, tensor.type)
    copy(context, tensor, array)
    return array


def row_major_array(context: Context, type_: TensorType) -> Buffer:
    """An array without panels, its contents undefined."""
    return Buffer(type_, context.buffer(type_).pointer, type_.shape[-1])


def copy(context: Context, tensor: Tensor, buffer: Buffer, is_plain: bool = True) -> None:
    """Write every element of `tensor` to `buffer`; `is_plain` as in `loop_versioning.guarded`."""
    copy_all(context, [(tensor, buffer)], is_plain)


def copy_together(context: Context, pairs: Sequence[tuple[Tensor, Buffer]]) -> None:
    """Write every element of tensors of one shape to arrays, in one walk.

    A tensor may read its own array where it is written next, and no other array of these.
    """
    with walking(context, [tensor for tensor, _ in pairs]):
        copy_all(context, pairs)


def copy_all(
    context: Context, pairs: Sequence[tuple[Tensor, Buffer]], is_plain: bool = True
) -> None:
    """Write every element of tensors of one shape to arrays; no use of a tensor is over then."""
    tensors, arrays = [tensor for tensor, _ in pairs], [array for _, array in pairs]

    def write(point: VectorIndex, values: Sequence[Val]) -> None:
        for (tensor, array), value in zip(pairs, values, strict=True):
            array.write(context.builder, point, _added(context.builder, tensor, array, value))

    loop_nests.for_each_run(
        context,
        [*tensors, *arrays],
        lambda point: [tensor.at(context.builder, point) for tensor in tensors],
        write,
        is_plain=is_plain,
    )


def _added(builder: Builder, tensor: Tensor, array: Buffer, value: Val) -> Val:
    """The value, by one instruction where it adds a product to what the array holds."""
    name, terms = builder.definition(value)
    if name != "fadd" or len(tensor.operands) != len(terms):
        return value
    for term, other, operand in zip(terms, reversed(terms), tensor.operands, strict=True):
        if isinstance(operand, Buffer) and operand.buffers() == array.buffers():
            return multiply_add(builder, term, other) or value
    return value


def prepare(context: Context, roots: Sequence[Tensor], changes_memory: bool = False) -> None:
    """Get ready for a sink that evaluates `roots`.

    What only this sink uses is computed on the way. Of what others use too, costly results, and
    loads that take long, are computed now and kept; where the sink changes memory, so are all
    other loads.
    """
    order, exclusive, _ = reachable(roots, set())
    _compute_shared(context, roots, [tensor for tensor in order if tensor not in exclusive])
    if changes_memory:
        materialise_loads(context)


@contextmanager
def walking(
    context: Context, roots: Sequence[Tensor], changes: Callable[[Tensor], bool] | None = None
) -> Iterator[None]:
    """Like `prepare`, for a sink that evaluates every element of `roots` inside the `with`.

    Of what others use too, elements that are computed for this sink are kept as they go by: costly
    ones, and those whose loads the sink may change, so that no load is copied beforehand.

    Args:
        roots: of one shape.
        changes: of a sink that changes memory, whether it may change what a load reads.
    """
    _compute_numbers_of_rows(context, roots)
    places = at_same_places(roots)
    candidates = {each for each in places if _is_worth_keeping(context, each)}
    if changes is not None:
        candidates.difference_update(context.pending_loads)
        candidates |= places & _kept_for_loads(roots, filter(changes, context.pending_loads))
    order, exclusive, kept = reachable(roots, candidates)
    others = [tensor for tensor in order if tensor not in exclusive and tensor not in kept]
    _compute_shared(context, roots, others)
    if changes is not None:
        # What only this walk asks for is read on the way.
        context.pending_loads = [each for each in context.pending_loads if each not in exclusive]
        materialise_loads(context, changes)
    for tensor in kept:
        tensor.filling = context.buffer(tensor.type)
    yield
    for tensor in order:
        tensor.walks += 1
    for tensor in kept:
        assert tensor.filling is not None
        context.keep(tensor, tensor.filling)
        tensor.filling = None
    _drop_loads(context)


def _kept_for_loads(roots: Sequence[Tensor], changed: Iterable[Tensor]) -> set[Tensor]:
    """What is made of loads that a sink changes, where nothing else asks for these loads again."""
    loads = set(changed)
    if not loads:
        return set()
    made = readers(roots, loads)
    order, exclusive, _ = reachable(roots, made)
    asked_again = [each for each in order if each in loads and each not in exclusive]
    return made - readers(roots, asked_again)


def materialise_loads(context: Context, which: Callable[[Tensor], bool] = lambda _: True) -> None:
    """Carry out loads that were put off."""
    for load in [load for load in context.pending_loads if which(load)]:
        if load.materialised is None:
            materialise(context, load)
    _drop_loads(context)


def _compute_shared(context: Context, roots: Sequence[Tensor], shared: Sequence[Tensor]) -> None:
    """Compute what is better not computed again for the next sink, before this one."""
    worth_keeping = [each for each in shared if _is_worth_keeping(context, each)]
    for tensor in asked_by_others(shared, worth_keeping):
        materialise(context, tensor)
    for root in roots:
        root.finish()
    _drop_loads(context)


def _compute_numbers_of_rows(context: Context, roots: Sequence[Tensor]) -> None:
    """Compute costly numbers that each row has for itself, such as an inverse of its norm.

    A walk would compute them again for every group of runs.
    """
    choices = context.choices
    if context.runs_once or not choices.allow("keep-row-numbers"):
        return
    together = runs_together(context, roots)
    for tensor in recipes_under(roots):
        numbers = tensor.own_repeated(-1)
        if not numbers or tensor.shape[-1] <= together * vector_width(context, [tensor]):
            continue
        for number in numbers:
            line = number.operands[0] if isinstance(number, ExpandDims) else number
            if line.cost >= EXPENSIVE:
                choices.follow("keep-row-numbers")
                materialise(context, line)


def _drop_loads(context: Context) -> None:
    """Forget the loads that nothing asks for any more."""
    context.pending_loads = [
        load for load in context.pending_loads if not (load.is_over or load.materialised)
    ]


def _is_worth_keeping(context: Context, tensor: Tensor) -> bool:
    """Whether an array of the elements, or registers, are faster than to ask for them again."""
    if tensor.materialised is not None or _only_widens(tensor):
        return False
    if tensor in context.pending_loads:
        stays_in_registers = tensor.type.elements <= UNROLLED_RUNS * vector_width(context, [tensor])
        if stays_in_registers or not tensor.own_reads_again:
            return True
    return tensor.cost >= EXPENSIVE


def _only_widens(tensor: Tensor) -> bool:
    """Whether it is made of narrower elements without arithmetic, which take less memory to keep.

    Such are addresses, and offsets with 64 bits.
    """
    if isinstance(tensor, Affine):
        return tensor.is_pointer
    if not isinstance(tensor, Elementwise) or len(tensor.operands) != 1 or tensor.own_cost > 0:
        return False
    return tensor.operands[0].element.bits < tensor.element.bits


def where_sums_fit(
    context: Context, tensors: Sequence[Tensor], sink: Callable[[Sequence[Tensor]], None]
) -> None:
    """Write `sink` of the tensors, or of arrays of their elements where sums in them wrap."""

    def of_arrays() -> None:
        sink([copied_exactly(context, tensor) for tensor in tensors])

    if context.runs_once:
        of_arrays()
    else:
        context.builder.branches(all_fit(context, tensors), lambda: sink(tensors), of_arrays)


def copied_exactly(context: Context, tensor: Tensor) -> Buffer:
    """An array of the tensor's elements, where sums in their addresses may wrap."""
    array, builder = row_major_array(context, tensor.type), context.builder
    loop_nests.walk_exactly(
        context,
        [tensor, array],
        lambda point: tensor.at(builder, point),
        lambda point, value: array.write(builder, point, value),
    )
    return array
