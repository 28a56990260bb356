"""Computes a large block that a loop carries in parts that registers hold, one after another.

    rows = arange(0, 16)                    for first in range(0, 16, 4):
    total = zeros(16, N)                        rows = first + arange(0, 4)
    for d in range(D):                          total = zeros(4, N)
        total += f(x[rows, d], y[d])            for d in range(D):
    store(p + rows, total)                          total += f(x[rows, d], y[d])
                                                store(p + rows, total)

The whole block would be read from memory and written again in every turn. What its rows share,
such as a row of y, is loaded once for each part. So are lines split whose elements meet others in
each turn, as points do that look for the nearest, and lines whose turns have no other blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from triton_rvv.frontend.attributes import DenseAttribute
from triton_rvv.frontend.ttir import Block, Operation, Region, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.accumulators import bits_for_sums, late_sums_of
from triton_rvv.lowering.ttir.block_ranges import ranges_of_blocks
from triton_rvv.lowering.ttir.carried_offsets import carried_by_base
from triton_rvv.lowering.ttir.demanded_bits import bits_read, demanded_bits
from triton_rvv.lowering.ttir.dimensions import Dimension, dimensions_of
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.loop_growth import LoopGrowth
from triton_rvv.lowering.ttir.parts_apart import DONE_AGAIN, parts_are_apart
from triton_rvv.lowering.ttir.rewriter import (
    Carried,
    Rewriter,
    Written,
    block_of,
    blocks_inside,
    carried_by,
)
from triton_rvv.targets.target import Target

__all__ = ["is_splittable", "may_split", "split", "split_blocks"]

_I32 = ScalarType("i32")
# Rows that share what is loaded once, where registers hold not even two whole ones.
_ROWS_OF_LONG = 4
# Blocks of which each use may have one of its own, as large as that needs.
_FREE = frozenset(["arith.constant", "tt.make_range", "tt.splat"])
# What takes long to do again.
_COSTLY = ("math.", "arith.div", "arith.rem", "tt.reduce", "tt.precise_")


def split_blocks(kernel: Kernel) -> int:
    """Computes blocks that a loop carries in parts that registers hold, one after another."""
    if not is_splittable(kernel):
        return 0
    function, rewriter = kernel.function, Rewriter(kernel.module)
    loops = [each for each in function.regions[0].block.operations if each.name == "scf.for"]
    shapes = [_shape_left(loop, kernel, rewriter) for loop in loops]
    if not any(shapes):
        return 0
    _share_nothing(function, rewriter)
    for loop, shape in zip(loops, shapes, strict=True):
        split = [_split_axis(loop, axis, size, kernel, rewriter) for axis, size in shape]
        if any(split):
            return sum(split)
    return 0


def is_splittable(kernel: Kernel) -> bool:
    """Whether a kernel's blocks may be computed in parts as far as its form and arguments go."""
    is_simple = kernel.arguments_are_disjoint and len(kernel.function.regions[0].blocks) == 1
    return is_simple and not kernel.has_product


def _shape_left(loop: Operation, kernel: Kernel, rewriter: Rewriter) -> list[tuple[int, int]]:
    """To which sizes to split which dimensions of what a loop carries, so that registers hold it.

    None where all of it fits, or no two rows would, or it gets smaller as it is only added up
    behind the loop (`accumulators.py`).
    """
    target = kernel.target
    if lines := _lines_of_pairs(loop, rewriter.makers):
        return _part_of_lines(lines, sum(each.block.element.bits for each in lines), target)
    if alone := _lines_alone(loop, kernel, rewriter):
        demanded = demanded_bits(kernel.function, ranges_of_blocks(kernel.function))
        bits_alone = sum(bits_read(each, demanded) for each in alone)
        return _part_of_lines([each.result for each in alone], bits_alone, target)
    reductions = [each for each in rewriter.makers.values() if each.name == "tt.reduce"]
    if any([result] == each.operands for each in reductions for result in loop.results):
        return []
    late = [each.type_carried(target) for each in late_sums_of(loop, rewriter.makers)]
    carried = [value.type for value in loop.results if isinstance(value.type, TensorType)]
    types = [type_ for type_ in (*late, *carried) if len(type_.shape) == 2]
    if not types or len({type_.shape[0] for type_ in types}) != 1:
        return []
    rows, columns = types[0].shape
    bits = sum(type_.elements * type_.element.bits for type_ in types)
    room = bits_for_sums(loop, target, bool(late))
    if bits <= room or rows == 1:
        return []
    together = _size_within(room * rows // bits)
    if together > 1:
        return [(0, together)]
    if late or len({type_.shape for type_ in types}) != 1:
        return []
    together = min(rows, _ROWS_OF_LONG)
    sizes = (together, max(1, _size_within(room * rows * columns // bits // together)))
    return [(axis, size) for axis, size in enumerate(sizes) if size < types[0].shape[axis]]


def _size_within(most: int) -> int:
    """The largest size of a block up to a number: such are powers of two, and parts of it whole."""
    return 1 << most.bit_length() >> 1


def _lines_of_pairs(loop: Operation, makers: Mapping[Value, Operation]) -> set[Value]:
    """The lines whose pairs with others a loop reduces in each turn, and what comes of it.

    Empty where a loop carries something else, or loads blocks, whose rows are best read whole.
    """
    operations = [*loop.walk()]
    reductions = [each for each in operations if each.name == "tt.reduce"]
    loads = [each for each in operations if each.name == "tt.load"]
    if any(len(each.result.shape) > 1 for each in loads):
        return set()
    pairs = [each.operands[0].shape for each in reductions if each.integer("axis") == 0]
    if len(pairs) < len(reductions) or len({shape[1:] for shape in pairs}) != 1:
        return set()
    line = pairs[0][1:]
    if len(line) != 1 or any(each.shape != line for each in loop.results):
        return set()
    inside = {result for each in operations for result in each.results}
    read = {value for each in operations for value in each.operands} - inside
    sources = {_source_of(value, makers) for value in read if value.shape[-1:] == line}
    kept = {value for value in sources if value.shape == line and value in makers}
    return {*loop.results, *(value for value in kept if makers[value].name not in _FREE)}


def _lines_alone(loop: Operation, kernel: Kernel, rewriter: Rewriter) -> list[Carried]:
    """The lines that a loop carries whole, where its turns have no blocks of other shapes.

    Of several, it may load as many: parts of these are not foreseen as well as whole rows are.
    """
    bases = carried_by_base(loop, rewriter.makers)
    blocks = [each for each in carried_by(loop) if each.result.shape and each.number not in bases]
    shapes = {value.shape for each in loop.walk() for value in each.operands if value.shape}
    loads = [each for each in loop.walk() if each.name == "tt.load" and each.result.shape]
    most_loads = len(blocks) if len(blocks) > 1 else 0
    is_alone = len(shapes) == 1 and all(len(each.result.shape) == 1 for each in blocks)
    if not is_alone or len(loads) > most_loads or _collide(loads, loop, kernel):
        return []
    return blocks


def _collide(loads: Sequence[Operation], loop: Operation, kernel: Kernel) -> bool:
    """Whether rows of later turns are known to share sets of L1, which evict parts of them."""
    if not loads:
        return False
    sums = AccessFunctions(kernel.function, kernel.integers_so_far())
    loop_growth = LoopGrowth(loop, sums, has_one_turn=False)
    for load in loads:
        moved = loop_growth.growth(sums.of(load.operands[0]))
        elements = 0 if moved is None else sums.number(moved) or 0
        distance_bytes = elements * load.result.block.element.size_bytes
        if distance_bytes and distance_bytes % kernel.target.machine.conflict_bytes == 0:
            return True
    return False


def _source_of(value: Value, makers: Mapping[Value, Operation]) -> Value:
    """What a block repeats."""
    while value in makers and makers[value].name in ("tt.expand_dims", "tt.broadcast"):
        (value,) = makers[value].operands
    return value


def _part_of_lines(lines: Collection[Value], bits: int, target: Target) -> list[tuple[int, int]]:
    """The size of parts of lines that half of the registers hold, along their last dimension.

    Args:
        bits: of an element of all of them.
    """
    (size,) = next(iter(lines)).shape
    most = target.vector_registers // 2 * target.vector_bits // bits
    part = max(_size_within(most), 2 * target.lanes(32))
    return [(-1, part)] if part < size else []


def _split_axis(loop: Operation, axis: int, size: int, kernel: Kernel, rewriter: Rewriter) -> bool:
    """Split a dimension of what a loop carries, where that may be."""
    late = [each.reduction.operands[0] for each in late_sums_of(loop, rewriter.makers)]
    rank = 1 if axis == -1 else 2
    blocks = [each for each in (*loop.results, *late) if len(each.shape) == rank]
    dimensions = dimensions_of(kernel.function)
    for dimension in dict.fromkeys(dimensions[each, axis % rank] for each in blocks):
        if may_split(dimension, loop, block_of(loop, kernel.function), kernel):
            split(dimension, size, kernel.function, kernel, rewriter)
            return True
    return False


def _share_nothing(function: Operation, rewriter: Rewriter) -> None:
    """Give each use of constants and ranges its own, so that sizes of others do not matter."""
    for block in blocks_inside(function):
        for operation in [*block.operations]:
            if operation.name in _FREE and isinstance(operation.result.type, TensorType):
                _copy_for_each_use(function, block, operation, rewriter)


def _copy_for_each_use(
    function: Operation, block: Block, operation: Operation, rewriter: Rewriter
) -> None:
    users = [
        (user, number)
        for user in function.walk()
        for number, operand in enumerate(user.operands)
        if operand is operation.result
    ]
    for user, number in users[1:]:
        result = rewriter.value(operation.result)
        attributes = dict(operation.attributes)
        made = rewriter.operation(
            operation.name, operation.operands, [result], attributes, operation.line
        )
        block.put_before(operation, [made])
        rewriter.set_operand(user, number, result)


def may_split(dimension: Dimension, loop: Operation, once: Block, kernel: Kernel) -> bool:
    """Whether parts of a dimension can be computed one after another, without much done again.

    Args:
        loop: in which most is done.
        once: what is done once in each part.
    """
    return (
        not dimension.is_whole
        and dimension.is_once_in_each
        and _is_of_ranges(dimension, kernel)
        and parts_are_apart(dimension.blocks, once, kernel)
        and not any(_is_costly(each) and _has_not(dimension, each) for each in loop.walk())
    )


def _is_of_ranges(dimension: Dimension, kernel: Kernel) -> bool:
    """Whether all that makes a block out of nothing there is ranges and constants of one number."""
    sources = [
        each
        for each in kernel.function.walk()
        if not each.operands and not dimension.blocks.isdisjoint(each.results)
    ]
    ranges = [each for each in sources if each.name == "tt.make_range"]
    return bool(ranges) and all(each in ranges or one_number(each) is not None for each in sources)


def _is_costly(operation: Operation) -> bool:
    return operation.name.startswith(_COSTLY) and any(value.shape for value in operation.operands)


def _has_not(dimension: Dimension, operation: Operation) -> bool:
    return dimension.blocks.isdisjoint(operation.operands)


def split(
    dimension: Dimension, size: int, around: Operation, kernel: Kernel, rewriter: Rewriter
) -> None:
    """Put all that has the dimension into a loop over its parts, all of it in one block."""
    body, whole = around.regions[0].block, dimension.size
    first = rewriter.value(Value("%first", _I32))
    for value, axis in dimension.places:
        shape = (*value.shape[:axis], size, *value.shape[axis + 1 :])
        value.type = TensorType(shape, value.block.element)
    for block in blocks_inside(kernel.function):
        for operation in [*block.operations]:
            if not operation.operands and not dimension.blocks.isdisjoint(operation.results):
                _resize(operation, block, first, rewriter)
    *operations, last = body.operations
    inside = _inside(operations, dimension.blocks)
    part = [each for each in operations if each in inside]
    bounds = Written(rewriter, first, part[0].line)
    given = [bounds.number(_I32, number) for number in (0, whole, size)]
    part.append(rewriter.operation("scf.yield", [], [], {}, ""))
    region = Region([Block("", [first], part)])
    loop = rewriter.operation("scf.for", given, [], {}, part[0].line, [region])
    outside = [each for each in operations if each not in inside]
    body.operations = [*outside, *bounds.operations, loop, last]


def _resize(operation: Operation, block: Block, first: Value, rewriter: Rewriter) -> None:
    """Have what makes a block of numbers make as many as its type now says."""
    result = operation.result
    if operation.name == "arith.constant":
        value = operation.attributes["value"]
        assert isinstance(value, DenseAttribute)
        operation.attributes["value"] = DenseAttribute(result.block, value.elements)
    elif operation.name == "tt.make_range":
        start = operation.integer("start")
        made, type_ = Written(rewriter, result, operation.line), result.block
        own = made.write("tt.make_range", type_, start=start, end=start + type_.elements)
        before = made.write("tt.splat", type_, first)
        rewriter.set_operands(operation, [before, own])
        operation.name, operation.attributes = "arith.addi", {}
        block.put_before(operation, made.operations)


def _inside(operations: Sequence[Operation], blocks: frozenset[Value]) -> set[Operation]:
    """What has the dimension or needs what has it, and what is cheap and only needed by these."""
    inside, made = set[Operation](), set(blocks)
    for operation in operations:
        parts = [value for each in operation.walk() for value in (*each.operands, *each.results)]
        if not made.isdisjoint(parts):
            inside.add(operation)
            made.update(operation.results)
    users: dict[Value, list[Operation]] = {}
    for operation in reversed(operations):
        is_cheap = operation.name.startswith(DONE_AGAIN) and len(operation.results[0].shape) > 0
        if is_cheap and inside.issuperset(users.get(operation.result, ())):
            inside.add(operation)
        for value in {value for each in operation.walk() for value in each.operands}:
            users.setdefault(value, []).append(operation)
    return inside
