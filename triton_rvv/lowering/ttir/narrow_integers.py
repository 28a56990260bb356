"""Computes blocks of integers in as few bits as their elements need.

    total = a.to(int32) + b.to(int32)       total = a.to(uint16) + b.to(uint16)
    store(p, (total // 2).to(uint8))        store(p, (total // 2).to(uint8))

Triton widens bytes to 32 bits as users write it, though a register holds twice as many elements of
16. What belongs together is narrowed together, so that no block is widened on the way: operations
between what is widened from memory and what is cut, compared, or made a float.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.attributes import DenseAttribute
from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.llvm.predicates import CMPI_PREDICATES
from triton_rvv.lowering.ttir.block_ranges import Range, ranges_of_blocks
from triton_rvv.lowering.ttir.constants import one_integer
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = [
    "INNER",
    "WIDENED",
    "Needs",
    "Web",
    "common_needs",
    "is_wide",
    "may_belong",
    "may_narrow",
    "narrow_integers",
    "needs_of",
    "read_makers",
    "web_that_holds",
    "wide_operands",
]

_WIDTHS = (8, 16)
WIDENED = ("arith.extsi", "arith.extui")
_SHIFTS = frozenset(["arith.shli", "arith.shrsi", "arith.shrui"])
INNER = _SHIFTS | {
    *("arith.addi", "arith.subi", "arith.muli", "arith.divsi", "arith.divui", "arith.remsi"),
    *("arith.remui", "arith.minsi", "arith.minui", "arith.maxsi", "arith.maxui", "arith.andi"),
    *("arith.ori", "arith.xori", "arith.select", "math.absi", "tt.broadcast", "tt.expand_dims"),
}
_LAST = frozenset(["arith.trunci", "arith.cmpi", "arith.sitofp", "arith.uitofp"])
# What reads integers as unsigned ones, by what reads them as signed.
_UNSIGNED = {
    f"arith.{name}si": f"arith.{name}ui" for name in ("div", "rem", "min", "max", "shr")
} | {"arith.sitofp": "arith.uitofp"}
# What reads integers as signed ones, and has no other form.
_ONLY_SIGNED = frozenset(["math.absi"])
_FIRST_SIGNED, _FIRST_UNSIGNED = CMPI_PREDICATES.index("slt"), CMPI_PREDICATES.index("ult")


@dataclass(frozen=True)
class Web:
    """Operations that are narrowed together.

    Args:
        operations: in order.
        bits: of their elements from now on.
        is_signed: whether their elements are read as signed integers.
    """

    operations: Sequence[Operation]
    bits: int
    is_signed: bool

    @property
    def element(self) -> ScalarType:
        """The type of their elements."""
        return ScalarType(f"i{self.bits}")


@dataclass(frozen=True)
class Needs:
    """What operations take of a type that holds all of their elements.

    Args:
        low: the least element.
        high: the greatest one.
        bits: below which an operation makes no sense.
        is_signed: whether elements are read as signed integers.
    """

    low: int
    high: int
    bits: int
    is_signed: bool


def narrow_integers(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many operations became narrower."""
    fired = 0
    for function in kernel.functions.values():
        rewriter = Rewriter(kernel.module)
        if not may_narrow(function, rewriter.makers):
            continue
        ranges = ranges_of_blocks(function)
        for block in blocks_inside(function):
            webs = [*_webs(block, function, ranges, rewriter.makers)]
            for web in webs:
                _narrow(block, function, web, rewriter)
                fired += len(web.operations)
            if webs:
                _drop_unused(block, rewriter)
    return fired


def is_wide(value: Value) -> bool:
    """Whether it is a block of integers of 32 bits."""
    return isinstance(value.type, TensorType) and value.type.element == ScalarType("i32")


def wide_operands(operation: Operation) -> list[Value]:
    """What an operation reads of blocks of integers of 32 bits."""
    return [each for each in operation.operands if is_wide(each)]


def may_belong(operation: Operation) -> bool:
    """Whether narrower operands or results would do for an operation, by its name."""
    if operation.name in _LAST:
        return bool(wide_operands(operation))
    return operation.name in INNER and is_wide(operation.result)


def _is_free(value: Value, makers: Mapping[Value, Operation]) -> bool:
    """Whether each web has its own of this, however wide others ask for it."""
    maker = makers.get(value)
    return maker is not None and (maker.name in WIDENED or one_integer(maker) is not None)


def may_narrow(function: Operation, makers: Mapping[Value, Operation]) -> bool:
    """Whether a web may begin anywhere: all that it reads first is widened, or constants."""
    return any(
        may_belong(each) and all(_is_free(value, makers) for value in wide_operands(each))
        for each in function.walk()
    )


def _webs(
    block: Block,
    function: Operation,
    ranges: Mapping[Value, Range],
    makers: Mapping[Value, Operation],
) -> Iterator[Web]:
    """What of a block of code may be narrowed, and pays."""
    members = [each for each in block.operations if may_belong(each)]
    inside = set(members)
    leaders = {each: each for each in members}

    def leader(operation: Operation) -> Operation:
        while leaders[operation] is not operation:
            operation = leaders[operation]
        return operation

    for each in members:
        for value in wide_operands(each):
            if not _is_free(value, makers) and makers.get(value) in inside:
                leaders[leader(makers[value])] = leader(each)
    groups: dict[Operation, list[Operation]] = {}
    for each in members:
        groups.setdefault(leader(each), []).append(each)
    read_outside = {
        value for each in function.walk() if each not in inside for value in each.operands
    }
    for group in groups.values():
        web = _web_of(group, ranges, makers)
        is_read_inside = read_outside.isdisjoint(each.result for each in group if _inner(each))
        if web is not None and is_read_inside and _pays(group):
            yield web


def _inner(operation: Operation) -> bool:
    return operation.name in INNER


def _pays(group: Sequence[Operation]) -> bool:
    """Whether anything is computed that takes fewer registers then."""
    return any(each.name in INNER or each.name == "arith.cmpi" for each in group)


def _web_of(
    group: Sequence[Operation], ranges: Mapping[Value, Range], makers: Mapping[Value, Operation]
) -> Web | None:
    """The group in the fewest bits that hold all of its elements; None where 32 are needed."""
    inside = set(group)
    if any(maker not in inside for each in group for maker in read_makers(each, makers)):
        return None
    needs = [needs_of(each, ranges, makers) for each in group]
    known = [each for each in needs if each is not None]
    return web_that_holds(group, common_needs(known)) if len(known) == len(needs) else None


def read_makers(
    operation: Operation, makers: Mapping[Value, Operation]
) -> Iterator[Operation | None]:
    """What makes the blocks of 32 bits that an operation reads, but for those of each web's own."""
    for value in wide_operands(operation):
        if not _is_free(value, makers):
            yield makers.get(value)


def needs_of(
    operation: Operation, ranges: Mapping[Value, Range], makers: Mapping[Value, Operation]
) -> Needs | None:
    """What an operation alone needs; None where 32 bits are needed."""
    values = [*wide_operands(operation), *filter(is_wide, operation.results)]
    found = [ranges[value] for value in values if value in ranges]
    if len(found) < len(values) or not _reads_as_signed(operation, ranges):
        return None
    low, high = min(low for low, _ in found), max(high for _, high in found)
    is_signed = low < 0 or operation.name in _ONLY_SIGNED
    return Needs(low, high, max(_least_bits(operation, ranges, makers)), is_signed)


def common_needs(needs: Sequence[Needs]) -> Needs:
    """What operations need together."""
    return Needs(
        min(each.low for each in needs),
        max(each.high for each in needs),
        max(each.bits for each in needs),
        any(each.is_signed for each in needs),
    )


def web_that_holds(group: Sequence[Operation], needs: Needs) -> Web | None:
    """The group in the fewest bits that do for its needs; None where 32 are needed."""
    for bits in _WIDTHS:
        signed, unsigned = (-1 << bits - 1, (1 << bits - 1) - 1), (0, (1 << bits) - 1)
        least, most = signed if needs.is_signed else unsigned
        if bits >= needs.bits and least <= needs.low and needs.high <= most:
            return Web(group, bits, needs.is_signed)
    return None


def _reads_as_signed(operation: Operation, ranges: Mapping[Value, Range]) -> bool:
    """Whether it is the same for an operation if its operands are read as signed integers."""
    is_unsigned = operation.name in _UNSIGNED.values() or (
        operation.name == "arith.cmpi" and operation.integer("predicate") >= _FIRST_UNSIGNED
    )
    return not is_unsigned or all(ranges[each][0] >= 0 for each in wide_operands(operation))


def _least_bits(
    operation: Operation, ranges: Mapping[Value, Range], makers: Mapping[Value, Operation]
) -> Iterator[int]:
    """Bits below which an operation makes no sense."""
    yield min(_WIDTHS)
    if operation.name in _SHIFTS:
        yield ranges[operation.operands[1]][1] + 1
    for value in wide_operands(operation):
        maker = makers.get(value)
        if maker is not None and maker.name in WIDENED:
            type_ = maker.operands[0].type
            assert isinstance(type_, TensorType)
            yield type_.element.bits


def _narrow(block: Block, function: Operation, web: Web, rewriter: Rewriter) -> None:
    instead: dict[Value, Value] = {}
    for operation in web.operations:
        before: list[Operation] = []
        operands = [
            _narrowed(value, web, before, rewriter)
            if is_wide(value) and _is_free(value, rewriter.makers)
            else value
            for value in operation.operands
        ]
        at = block.operations.index(operation)
        block.operations[at:at] = before
        rewriter.set_operands(operation, operands)
        if operation.name in INNER:
            assert isinstance(operation.result.type, TensorType)
            operation.result.type = TensorType(operation.result.type.shape, web.element)
        if not web.is_signed:
            _read_as_unsigned(operation)
        if operation.name == "arith.trunci":
            _cut(operation, web, instead)
    for user in function.walk() if instead else ():
        if not instead.keys().isdisjoint(user.operands):
            operands = [instead.get(value, value) for value in user.operands]
            rewriter.set_operands(user, operands)


def _narrowed(value: Value, web: Web, before: list[Operation], rewriter: Rewriter) -> Value:
    """A web's own of a constant, or of what is widened from fewer bits."""
    maker = rewriter.makers[value]
    assert isinstance(value.type, TensorType)
    type_ = TensorType(value.type.shape, web.element)
    number = one_integer(maker)
    if number is None and maker.operands[0].type == type_:
        return maker.operands[0]
    result, attributes = rewriter.value(value, type_), dict(maker.attributes)
    if number is not None:
        signed = number - (1 << web.bits) if number >> web.bits - 1 == 1 else number
        attributes["value"] = DenseAttribute(type_, (signed,))
    before.append(rewriter.operation(maker.name, maker.operands, [result], attributes, maker.line))
    return result


def _read_as_unsigned(operation: Operation) -> None:
    operation.name = _UNSIGNED.get(operation.name, operation.name)
    if operation.name == "arith.cmpi":
        predicate = operation.integer("predicate")
        if _FIRST_SIGNED <= predicate < _FIRST_UNSIGNED:
            moved = predicate + _FIRST_UNSIGNED - _FIRST_SIGNED
            operation.attributes["predicate"] = moved


def _cut(operation: Operation, web: Web, instead: dict[Value, Value]) -> None:
    """Cut elements further, or not at all, or widen them where they became too short."""
    type_ = operation.result.type
    assert isinstance(type_, TensorType)
    if type_.element.bits == web.bits:
        instead[operation.result] = operation.operands[0]
    elif type_.element.bits > web.bits:
        operation.name = "arith.extsi" if web.is_signed else "arith.extui"
        operation.attributes = {}


def _drop_unused(block: Block, rewriter: Rewriter) -> None:
    for operation in reversed([*block.operations]):
        is_dead = len(operation.results) == 1 and operation.result.uses == 0
        if is_dead and operation.name in ("arith.trunci", "arith.constant", *WIDENED):
            rewriter.erase(block, operation)
