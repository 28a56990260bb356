"""How many elements runs take, the last one of a row too, and how many are side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeGuard

from triton_rvv.frontend.types import PointerType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor, recipes_under
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import no, rule
from triton_rvv.lowering.ttir.shared_rows import ROWS_TOGETHER

__all__ = [
    "MAX_RUNS",
    "UNROLLED_RUNS",
    "group_of_runs",
    "runs_together",
    "spanning_width",
    "tail_width",
    "vector_width",
    "widest_bits",
]

# Registers that one instruction's operand takes at most, and those that there are.
_LARGEST_GROUP, _ALL_REGISTERS = 8, 32
# Blocks walked in at most this many runs are unrolled, so that LLVM keeps them in registers.
UNROLLED_RUNS = 8
# Runs that are computed side by side where they need few registers.
MAX_RUNS = 4


def vector_width(context: Context, tensors: Sequence[Tensor]) -> int:
    """How many neighbours one run takes: no more than so many as addresses rise evenly in."""
    places = [each for each in recipes_under(tensors) if _leads_to_memory(each)]
    granules = [values.granule for each in places for values, _ in each.components[-1].granular]
    return min(tensors[0].shape[-1], _lanes(context, tensors), *granules)


def _lanes(context: Context, tensors: Sequence[Tensor]) -> int:
    """How many elements a run takes in rows that are long enough."""
    bits = widest_bits(tensors)
    lanes, longer = (context.run_lanes(bits, long) for long in (False, True))
    if not _takes_long_runs(context, tensors, bits, 2 * longer):
        return lanes
    return 2 * longer if _is_one_group(context, tensors, bits) else longer


def _is_one_group(context: Context, tensors: Sequence[Tensor], bits: int) -> bool:
    """Whether a block that is added to in registers takes as many as one instruction's operand.

    What is added is narrower in memory, and so takes fewer. Then each instruction takes so long
    that loads and results are hardly waited for.
    """
    arrays = [each for each in tensors if isinstance(each, Buffer)]
    register_bits = context.builder.abilities.rvv_bits
    fills = tensors[0].type.elements * bits == _LARGEST_GROUP * register_bits > 0
    loads = _loaded_bits(tensors)
    is_widened = len(loads) == 1 and loads[0] < bits
    return fills and len(arrays) == 1 and is_widened and not context.has_products


def _loaded_bits(tensors: Sequence[Tensor]) -> list[int]:
    """Of an element of each load."""
    return [bits for each in recipes_under(tensors) if (bits := each.own_memory_bits())]


@rule("lengthen-vectors", no)
def _takes_long_runs(context: Context, tensors: Sequence[Tensor], bits: int, two_runs: int) -> bool:
    """Whether twice the registers for each value save more instructions than they cost spills.

    They do where memory holds shorter elements than the `bits` of registers, since a load or a
    store fills whole registers then; and for a few sums and products, if there is enough for
    `two_runs` side by side. What is cheaper waits for memory anyway, and a costly function holds
    many values at a time.
    """
    below = recipes_under(tensors)
    if any(tensor.own_cost >= EXPENSIVE for tensor in below):
        return False
    moved = [tensor.own_memory_bits() for tensor in below]
    narrowest = min((bits for bits in moved if bits), default=0)
    if 0 < narrowest < bits:
        return True
    is_short = EXPENSIVE < sum(tensor.cost for tensor in tensors) <= 2 * EXPENSIVE
    return is_short and tensors[0].type.elements >= two_runs


def widest_bits(tensors: Sequence[Tensor]) -> int:
    """The bits of the widest elements in registers on the way to some blocks."""
    bits = 8  # truth values take a byte in memory
    for tensor in tensors:
        # Addresses are seldom computed for every lane.
        own = 0 if isinstance(tensor.element, PointerType) else tensor.element.bits
        bits = max(bits, own, tensor.widest_bits())
    return bits


@rule("span-rows", lambda context, tensors: 0)
def spanning_width(context: Context, tensors: Sequence[Tensor]) -> int:
    """How many elements a run takes that spans several short rows; 0 where none may."""
    type_ = tensors[0].type
    lanes = min(type_.elements, _lanes(context, tensors))
    may_span = lanes > type_.shape[-1] and all(tensor.spans_rows for tensor in tensors)
    return lanes if may_span else 0


def group_of_runs(
    context: Context, tensors: Sequence[Tensor], shape: Sequence[int], width: int
) -> tuple[int, int]:
    """How many rows, and runs in each of them, are best computed side by side.

    Cheap recipes need few registers, so that more of them fit. Rows come first where they share a
    line, such as a bias of each column, which is computed once for all of them.
    """
    together = runs_together(context, tensors)
    if len(shape) > 1 and together > 1:
        below = recipes_under(tensors)
        if _share_rows(below):
            return min(ROWS_TOGETHER, shape[-2]), 1
        if _share_lines(context, below, together):
            rows = min(together, shape[-2])
            return rows, min(together // rows, shape[-1] // width)
    runs = min(together, shape[-1] // width)
    rows = min(together // runs, shape[-2]) if len(shape) > 1 else 1
    return rows, runs


def _share_rows(below: Iterable[Tensor]) -> bool:
    """Whether rows that are read for several rows of results pay; not where registers are short."""
    is_costly = any(tensor.own_cost >= EXPENSIVE for tensor in below)
    return not is_costly and any(tensor.own_shares_rows for tensor in below)


@rule("go-down-rows", no)
def _share_lines(context: Context, below: Iterable[Tensor], together: int) -> bool:
    """Whether lines that rows share cost more than what it costs to go down the rows.

    Each row's own numbers are then needed for one run at a time, and rows that are read in turn are
    not foreseen as well by the hardware as one after another.
    """
    lines, numbers = (_repeated_cost(below, axis) for axis in (-2, -1))
    blocks = [each for each in below if len(each.shape) > 1 and min(each.shape[-2:]) > 1]
    streams = sum(each.own_reads_again for each in blocks)
    return 0 < lines >= numbers and lines * together >= context.target.machine.stream_cost * streams


def _repeated_cost(below: Iterable[Tensor], axis: int) -> int:
    """The cost of elements that are repeated along a dimension, without masks, which may hold."""
    parts = recipes_under([source for each in below for source in each.own_repeated(axis)])
    return sum(part.own_cost for part in parts if part.element.bits > 1)


def runs_together(context: Context, tensors: Sequence[Tensor]) -> int:
    """How many runs are computed side by side, whether in one row or in several."""
    if context.runs_once or _fill_registers(context, tensors):
        return 1
    return MAX_RUNS if sum(tensor.cost for tensor in tensors) <= EXPENSIVE else MAX_RUNS // 2


def _fill_registers(context: Context, tensors: Sequence[Tensor]) -> bool:
    """Whether a walk changes arrays that LLVM keeps in half of the registers or more.

    Runs side by side would leave none for what they are computed from. With several loads they are
    faster all the same, since those of one run come while another waits.
    """
    elements = tensors[0].type.elements
    if context.has_products or elements > UNROLLED_RUNS * vector_width(context, tensors):
        return False
    if len(_loaded_bits(tensors)) != 1:
        return False
    arrays = [each for each in recipes_under(tensors) if isinstance(each, Buffer)]
    written = [each for each in tensors if isinstance(each, Buffer)]
    read = set[str]().union(*(each.buffers() for each in arrays if each not in written))
    bits = sum(each.element.bits for each in written if each.buffers() & read)
    return elements * bits >= _ALL_REGISTERS // 2 * context.builder.abilities.rvv_bits > 0


# Registers that such a run takes at most: of recipes that hold few values, and of others.
_FEW_VALUES_REGISTERS, _REGISTERS = 8, 4
_FEW_VALUES, _FEW_PLACES = 6, 3
# Masks compare places.
_PLACE_BITS = 32


@rule("lengthen-tails", lambda builder, tensors, width, together, rest: width)
def tail_width(
    builder: Builder, tensors: Sequence[Tensor], width: int, together: int, rest: int | None
) -> int:
    """How many elements a run takes that is the last one of a row, and has as many lanes as count.

    One long run takes less than some short ones that are each told their number of lanes, where
    neighbours are read from neighbours: by strides, lanes that do not count take as long.

    Args:
        together: how many of those are visited side by side.
        rest: elements behind the last of such groups, where that is known.
    """
    below = recipes_under(tensors)
    places = [each for each in below if _leads_to_memory(each)]
    cost = sum(tensor.cost for tensor in tensors)
    registers_bits = builder.abilities.rvv_bits
    if cost > EXPENSIVE or not registers_bits or not all(_is_line(builder, p) for p in places):
        return width
    is_light = cost <= _FEW_VALUES and len(places) <= _FEW_PLACES
    registers = _FEW_VALUES_REGISTERS if is_light else _REGISTERS
    bits = max(widest_bits(tensors), *(_PLACE_BITS for each in below if isinstance(each, Mask)), 0)
    panels = [each.panel for each in below if isinstance(each, Buffer)]
    most = min(registers * registers_bits // bits, width * together, tensors[0].shape[-1], *panels)
    wanted = rest or 2 * width
    while width < wanted and 2 * width <= most:
        width *= 2
    return width


def _leads_to_memory(tensor: Tensor) -> TypeGuard[Affine]:
    return isinstance(tensor, Affine) and tensor.is_pointer


def _is_line(builder: Builder, addresses: Affine) -> bool:
    """Whether neighbours are in one piece of memory, or in few by turns, or are one element."""
    stride = addresses.last_stride(builder, linear=True)
    return bool(addresses.components[-1].digits) or (
        stride is not None and stride.constant in (0, 1)
    )
