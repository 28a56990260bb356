"""Turns blocks and products around, so that rows which are reduced are neighbouring lanes.

`turn-products`: the right operand is transposed in each turn of a loop, as in attention.

    for ...:                                  for ...:
        s = dot(q, trans(k))                      s = dot(k, trans(q))
        p = exp(s - max(s, axis=1)[:, None])      p = exp(s - max(s, axis=0)[None, :])
        o = dot(p, v, o)                          o = dot(trans(p), v, o)

q is transposed once, before the loop, and k is read where it lies. Rows are reduced beside one
another, and a left operand may lie by column.

`turn-short-rows`: to add up the lanes of a row, and to move the sum from a vector to its place,
takes longer than to load a few columns by strides. Of pairs, such as the distances of points from
one another, nothing is loaded by strides at all.

    at = rows[:, None] * 4 + columns[None, :]     at = rows[None, :] * 4 + columns[:, None]
    total = reduce(load(p + at), axis=1)          total = reduce(load(p + at), axis=0)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.attributes import Attribute, DenseAttribute
from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import PointerType, ScalarType, TensorType
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.operation_kinds import ADDRESSES, ELEMENTWISE, SPREADS
from triton_rvv.lowering.ttir.rewriter import Rewriter, block_of, blocks_inside

__all__ = ["Turn", "turn_products", "turn_short_rows"]

# Operations on blocks that mean the same for those that are turned around.
_SAME = (*ELEMENTWISE, *SPREADS)
_SWAPPED = [1, 0]


def turn_products(kernel: Kernel) -> int:
    """Turns products around whose right operand is transposed in each turn of a loop."""
    if not kernel.has_product or kernel.target.backend != "rvv":
        return 0
    turn, fired = Turn(Rewriter(kernel.module), _SAME), 0
    for block in blocks_inside(kernel.function)[1:]:
        for operation in [*block.operations]:
            if operation.name == "tt.dot" and _may_gain(operation, block, kernel, turn.makers):
                fired += turn.product(operation)
    return fired


def _may_gain(
    product: Operation, block: Block, kernel: Kernel, makers: Mapping[Value, Operation]
) -> bool:
    """Whether the left operand stays in a loop whose turns each have a right one, by column."""
    left, right, _ = product.operands
    outside, inside = (makers.get(operand) for operand in (left, right))
    if outside is None or inside is None or right.uses > 1 or len(right.shape) != 2:
        return False
    if not _is_float(product.result) or outside in block.operations or left.shape[0] == 1:
        return False
    return _is_transpose(inside) or (inside.name == "tt.load" and _lies_by_column(inside, kernel))


def _lies_by_column(load: Operation, kernel: Kernel) -> bool:
    sums = AccessFunctions(kernel.function, kernel.integers_so_far())
    strides = [sums.of(load.operands[0]).stride(axis) for axis in range(2)]
    above, beside = (None if stride is None else sums.number(stride) for stride in strides)
    return above == 1 and beside != 1


def _is_transpose(operation: Operation) -> bool:
    return operation.name == "tt.trans" and operation.integers("order") == _SWAPPED


def _is_float(value: Value) -> bool:
    type_ = value.type
    element = type_.element if isinstance(type_, TensorType) else None
    return isinstance(element, ScalarType) and element.is_float


class Turn:
    """Turns blocks around, and what is computed of them element by element.

    Args:
        same: beginnings of names of operations that mean the same then.
    """

    def __init__(self, rewriter: Rewriter, same: tuple[str, ...]) -> None:
        self._rewriter = rewriter
        self._same = same
        self._turned: dict[Value, Value] = {}  # what is computed the other way around
        self._transposes: dict[Value, Value] = {}  # of what stays

    @property
    def makers(self) -> Mapping[Value, Operation]:
        """The operation that gives each result."""
        return self._rewriter.makers

    def product(self, product: Operation) -> bool:
        """Rewrite the kernel; False where something needs the product as it is."""
        found = self._made_of(product)
        if found is None:
            return False
        known = {product.result}
        read = [value for each in found if each.name != "tt.dot" for value in each.operands]
        if not all(self.can_turn(value, known) for value in (*read, product.operands[2])):
            return False
        self._turned[product.result] = self._around_product(product)
        for each in found:
            if not each.name.startswith(self._same):
                self.take_turned(each)
        self.erase_unused()
        return True

    def _made_of(self, product: Operation) -> list[Operation] | None:
        """What uses the product or what is computed of it; None where one needs it as it is."""
        values, found = {product.result}, list[Operation]()
        for user in self._rewriter.module.walk():
            if values.isdisjoint(user.operands):
                continue
            found.append(user)
            if user.name.startswith(self._same):
                values.update(user.results)
            elif user.name == "tt.dot":
                if not values.isdisjoint(user.operands[1:]):
                    return None
            elif user.name != "tt.reduce" and not _is_transpose(user):
                return None
        return found

    def can_turn(self, value: Value, known: set[Value]) -> bool:
        """Whether a block can be computed turned around; `known` are those that can."""
        if len(value.shape) < 2 or value in known:
            return True
        maker = self.makers.get(value)
        if maker is None or len(value.shape) != 2:
            return False
        known.add(value)
        if maker.name == "arith.constant":
            return one_number(maker) is not None
        is_same = maker.name.startswith(self._same)
        return is_same and all(self.can_turn(operand, known) for operand in maker.operands)

    def _around(self, value: Value) -> Value:
        """A block turned around; any other value as it is."""
        if len(value.shape) != 2:
            return value
        if value not in self._turned:
            self._turned[value] = self._copied(self.makers[value])
        return self._turned[value]

    def _copied(self, maker: Operation) -> Value:
        attributes, type_ = dict(maker.attributes), _swapped(maker.result)
        if maker.name == "tt.expand_dims":
            attributes["axis"] = 1 - maker.integer("axis")
        elif maker.name == "arith.constant":
            value = attributes["value"]
            assert isinstance(value, DenseAttribute)
            attributes["value"] = DenseAttribute(type_, value.elements)
        operands = [self._around(operand) for operand in maker.operands]
        return self._put_behind(maker, maker.name, operands, type_, attributes)

    def _around_product(self, product: Operation) -> Value:
        left, right, start = product.operands
        operands = [self._transposed(right), self._transposed(left), self._around(start)]
        attributes, type_ = dict(product.attributes), _swapped(product.result)
        return self._put_behind(product, "tt.dot", operands, type_, attributes)

    def _transposed(self, value: Value) -> Value:
        maker = self.makers[value]
        if _is_transpose(maker):
            return maker.operands[0]
        if value not in self._transposes:
            order: dict[str, Attribute] = {"order": [*_SWAPPED]}
            made = self._put_behind(maker, "tt.trans", [value], _swapped(value), order)
            self._transposes[value] = made
        return self._transposes[value]

    def take_turned(self, user: Operation) -> None:
        """Have an operation take the block turned around."""
        if user.name == "tt.reduce":
            self._rewriter.set_operands(user, [self._around(each) for each in user.operands])
            user.attributes["axis"] = 1 - user.integer("axis")
        elif user.name == "tt.trans":
            self._rewriter.replace({user.result: self._around(user.operands[0])})
        else:
            left, *others = user.operands
            self._rewriter.set_operands(user, [self._transposed(self._around(left)), *others])

    def _put_behind(
        self,
        maker: Operation,
        name: str,
        operands: Sequence[Value],
        type_: TensorType,
        attributes: Mapping[str, Attribute],
    ) -> Value:
        """The result of a new operation, behind another one."""
        result = self._rewriter.value(maker.result, type_)
        made = self._rewriter.operation(name, operands, [result], dict(attributes), maker.line)
        block_of(maker, self._rewriter.module).put_behind(maker, [made])
        return result

    def erase_unused(self) -> None:
        """Take out what was computed the other way around."""
        self._rewriter.erase_unused(
            self._rewriter.module,
            lambda each: _is_transpose(each) or not self._turned.keys().isdisjoint(each.results),
        )


def _swapped(value: Value) -> TensorType:
    return TensorType(value.shape[::-1], value.block.element)


# Operations that mean the same for a block that is turned around.
_KEPT_ALONG_ROWS = (*ELEMENTWISE, *ADDRESSES, *SPREADS, "tt.load")
# What takes many instructions for each element.
_COSTLY = ("math.", "arith.div", "arith.rem", "tt.precise_")


@dataclass
class _Group:
    """Reductions along rows, and the blocks on the way to them, which can be turned around."""

    reductions: list[Operation]
    blocks: set[Value]


def turn_short_rows(kernel: Kernel) -> int:
    """Turns blocks around whose rows are reduced and short, or of pairs, so that rows are lanes."""
    function = kernel.function
    reductions = [each for each in function.walk() if each.name == "tt.reduce"]
    if not reductions or kernel.target.backend != "rvv":  # which alone loads by strides
        return 0
    turn, fired = Turn(Rewriter(kernel.module), _KEPT_ALONG_ROWS), 0
    for group in _groups(turn, filter(_is_along_rows, reductions)):
        if _is_faster_turned(group, turn, kernel):
            for each in group.reductions:
                turn.take_turned(each)
            fired += len(group.reductions)
    turn.erase_unused()
    return fired


def _groups(turn: Turn, reductions: Iterable[Operation]) -> Sequence[_Group]:
    """Reductions along rows, those together that read the same blocks."""
    groups = list[_Group]()
    for reduction in reductions:
        blocks = set[Value]()
        if not all(turn.can_turn(value, blocks) for value in reduction.operands):
            continue
        met = [group for group in groups if not group.blocks.isdisjoint(blocks)]
        groups = [group for group in groups if group not in met]
        together = [*(each for group in met for each in group.reductions), reduction]
        groups.append(_Group(together, blocks.union(*(group.blocks for group in met))))
    return groups


def _is_faster_turned(group: _Group, turn: Turn, kernel: Kernel) -> bool:
    """Whether loads by strides take no longer than to add up the lanes of each row."""
    makers = [turn.makers[each] for each in group.blocks]
    known = {*makers, *group.reductions}
    users = [each for each in kernel.function.walk() if not group.blocks.isdisjoint(each.operands)]
    loads = [each for each in makers if each.name == "tt.load" and min(each.result.shape) > 1]
    if not known.issuperset(users) or not _fill_lanes(group.blocks, bool(loads), kernel):
        return False
    if any(each.name.startswith(_COSTLY) and each.result.shape[0] == 1 for each in makers):
        return False  # of what each column has, vectors hold many
    machine = kernel.target.machine
    loaded_cycles = machine.strided_element_cycles * sum(each.result.shape[1] for each in loads)
    is_quick = loaded_cycles <= machine.row_sum_cycles * len(group.reductions)
    return is_quick and _lie_in_turn(loads, kernel)


def _is_along_rows(reduction: Operation) -> bool:
    return len(reduction.operands[0].shape) == 2 and reduction.integer("axis") == 1


def _fill_lanes(blocks: Collection[Value], are_loaded: bool, kernel: Kernel) -> bool:
    """Whether there are rows enough for all lanes; of loaded ones, none longer than a register."""
    for block in blocks:
        bits = 32 if isinstance(block.block.element, PointerType) else block.block.element.bits
        shape, lanes = block.shape, kernel.target.lanes(max(bits, 32))
        if 1 < shape[0] < 2 * lanes or (are_loaded and shape[1] > lanes):
            return False
    return any(block.shape[0] > 1 for block in blocks)


def _lie_in_turn(loads: Iterable[Operation], kernel: Kernel) -> bool:
    """Whether each row in memory begins right behind the one before, as in an array of its own."""
    sums = AccessFunctions(kernel.function, kernel.integers_so_far())
    for load in loads:
        stride = sums.of(load.operands[0]).stride(0)
        distance = None if stride is None else sums.number(stride)
        row_bytes = load.result.shape[1] * load.result.block.element.size_bytes
        if distance is None or not 0 < distance <= row_bytes:
            return False
    return True
