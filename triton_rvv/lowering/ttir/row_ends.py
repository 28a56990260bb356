"""Finds reductions that need not look at what is behind the end of a mask.

    x = load(p + columns, columns < n, other=0)
    total = reduce(x * x, add)

Behind the end all elements are one number, here 0, that combined with itself stays itself. What is
reduced along other dimensions may end there too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.llvm.predicates import predicate_of
from triton_rvv.lowering.ttir.combining import COMBINING, operation_of_each
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.operation_kinds import ADDRESSES, ELEMENTWISE

__all__ = ["BEHIND_END", "mark_row_ends"]

# The attribute of a reduction: for each operand, the number that its elements are in every position
# along the reduced dimension that a mask leaves out.
BEHIND_END = "triton_rvv.behind_end"

_Number = float | int | None
# A block, and a dimension of it, counted from the last one, which is -1.
_Along = tuple[Value, int]

_LESS, _GREATER = ("slt", "sle"), ("sgt", "sge")


def mark_row_ends(kernel: Kernel) -> int:
    """Finds reductions that need not look behind the end of a mask."""
    fired = 0
    for operation in kernel.operations:
        if operation.name == "tt.reduce":
            numbers = _behind_end(operation, kernel.makers)
            if numbers is not None:
                operation.attributes[BEHIND_END] = [*numbers]
                fired += 1
    return fired


def _behind_end(
    reduction: Operation, makers: Mapping[Value, Operation]
) -> list[float | int] | None:
    """What the elements of each operand are where no mask lets them through."""
    names, shape = operation_of_each(reduction), reduction.operands[0].shape
    if not names:
        return None
    along = reduction.integer("axis") - len(shape)
    ends = _comparisons_along(reduction.operands, along, makers)
    if not ends:
        return None
    found = []
    for name, operand in zip(names, reduction.operands, strict=True):
        # Whichever mask ends first decides alone.
        numbers = [_Behind(end, makers).number(operand, along) for end in ends]
        if any(number != numbers[0] for number in numbers):
            return None
        number, known = numbers[0], COMBINING.get(name)
        if number is None or known is None or not known.keeps(number):
            return None
        found.append(number)
    return found


def _comparisons_along(
    operands: Sequence[Value], along: int, makers: Mapping[Value, Operation]
) -> list[_Along] | None:
    """The comparisons that may end a dimension of blocks; None where others may be hidden."""
    found: dict[_Along, None] = {}
    waiting, seen = [(operand, along) for operand in operands], set[_Along]()
    while waiting:
        value, place = each = waiting.pop()
        maker = makers.get(value)
        if each in seen or not isinstance(value.type, TensorType) or maker is None:
            continue
        seen.add(each)
        if maker.name == "arith.cmpi" and _may_end(maker, makers):
            found[each] = None
        elif maker.name.startswith((*ELEMENTWISE, *ADDRESSES, "tt.load")):
            waiting += [(operand, place) for operand in maker.operands]
        elif maker.name in _MOVED:
            before = _before(maker, place)
            waiting += [] if before is None else [(maker.operands[0], before)]
        elif maker.name not in _KNOWN:
            return None
    return list(found)


# Blocks without masks of their own: numbers, positions, and what is in arrays.
_KNOWN = frozenset(["tt.splat", "tt.make_range", "tt.reduce", "tt.dot", "scf.for"])


_MOVED = frozenset(["tt.expand_dims", "tt.broadcast"])


def _before(operation: Operation, along: int) -> int | None:
    """Which dimension one was, counted from the last, which is -1; None if it had one element."""
    before, after = operation.operands[0].shape, operation.result.shape
    if operation.name == "tt.expand_dims":
        added = operation.integer("axis") - len(after)
        return None if added == along else along + (added > along)
    return along if before[along] == after[along] else None


def _may_end(comparison: Operation, makers: Mapping[Value, Operation]) -> bool:
    """Whether a comparison may hold in leading positions only, not where these are the larger side.

    What is one number everywhere has no positions.
    """
    predicate = predicate_of(comparison)
    left, right = (_is_number(each, makers) for each in comparison.operands)
    if predicate in _LESS:
        return not left
    return predicate in _GREATER and not right


def _is_number(value: Value, makers: Mapping[Value, Operation]) -> bool:
    maker = makers.get(value)
    return maker is not None and (maker.name == "tt.splat" or _constant(maker) is not None)


def _constant(maker: Operation) -> _Number:
    """The number that a constant is, or that fills it; None for NaN and anything else."""
    number = one_number(maker)
    return None if number is None or math.isnan(number) else number


class _Behind:
    """What the elements of blocks are in positions in which a comparison does not hold."""

    def __init__(self, end: _Along, makers: Mapping[Value, Operation]) -> None:
        self._makers = makers
        self._numbers: dict[_Along, _Number] = {end: 0}

    def number(self, value: Value, along: int) -> _Number:
        """One number for all of them; None where that is not known."""
        each = value, along
        if each not in self._numbers:
            maker = self._makers.get(value)
            self._numbers[each] = None if maker is None else self._made(maker, along)
        return self._numbers[each]

    def _made(self, maker: Operation, along: int) -> _Number:
        if maker.name == "arith.constant":
            return _constant(maker)
        if maker.name == "tt.load":
            return self._loaded(maker, along)
        if maker.name in _MOVED:
            before = _before(maker, along)
            return None if before is None else self.number(maker.operands[0], before)
        numbers = [self.number(operand, along) for operand in maker.operands]
        if maker.name == "arith.select":
            return self._selected(numbers)
        if maker.name == "tt.splat":
            return numbers[0]
        if maker.name == "arith.subf" and numbers[0] == -math.inf:
            block, subtracted = maker.operands
            return -math.inf if self._is_greatest(subtracted, block, along) else None
        fold = _FOLDS.get(maker.name)
        return None if fold is None else fold(numbers)

    def _is_greatest(self, value: Value, block: Value, along: int) -> bool:
        """Whether a value is no less than the greatest element of a block along a dimension.

        It is infinite, like those behind the end, only if all of these are: sums of powers of
        differences have NaN with and without what is behind the end then.
        """
        maker = self._makers.get(value)
        if maker is None:
            return False
        if maker.name == "tt.reduce":
            is_along = maker.integer("axis") == along + len(block.shape)
            return is_along and [*maker.operands] == [block] and _names(maker) <= _GREATEST
        if maker.name == "tt.expand_dims" and _before(maker, along) is not None:
            return False
        if maker.name in _SPREAD or maker.name in _GREATEST:
            return any(self._is_greatest(each, block, along) for each in maker.operands)
        return False

    def _selected(self, numbers: Sequence[_Number]) -> _Number:
        condition, *both = numbers
        if condition is not None:
            return both[0] if condition else both[1]
        return both[0] if both[0] == both[1] else None

    def _loaded(self, load: Operation, along: int) -> _Number:
        sizes = load.integers("operandSegmentSizes")
        if len(sizes) < 3 or not sizes[1] or self.number(load.operands[1], along) != 0:
            return None
        # Without `other`, lanes that a mask leaves out are filled with 0.
        return self.number(load.operands[2], along) if sizes[2] else 0


def _names(reduction: Operation) -> set[str]:
    """The operations that combine; one that is unknown has none."""
    return {*operation_of_each(reduction)} or {""}


_GREATEST = frozenset(["arith.maxnumf", "arith.maximumf"])
_SPREAD = _MOVED | {"tt.splat"}

_Fold = Callable[[Sequence[_Number]], _Number]


def _widened(numbers: Sequence[_Number]) -> _Number:
    """Of 0 and what is infinite: other numbers are as the kernel writes them, and a wider type
    holds what the narrower one has rounded them to."""
    number = numbers[0]
    return number if number is not None and (number == 0 or math.isinf(number)) else None


def _zero(numbers: Sequence[_Number]) -> _Number:
    """Of zeros alone, which any size of number holds, and any rounding leaves alone."""
    return 0 if all(number == 0 for number in numbers) else None


def _any_zero(numbers: Sequence[_Number]) -> _Number:
    """Of integers and truth values: floats may be infinite, or none."""
    return 0 if any(number == 0 for number in numbers) else None


def _negative(numbers: Sequence[_Number]) -> _Number:
    return None if numbers[0] is None else -numbers[0]


def _absolute(numbers: Sequence[_Number]) -> _Number:
    return None if numbers[0] is None else abs(numbers[0])


def _power(numbers: Sequence[_Number]) -> _Number:
    return 0 if numbers[0] == -math.inf else None


def _folds() -> Iterator[tuple[str, _Fold]]:
    for name in ("addf", "subf", "mulf", "addi", "subi", "ori", "xori", "shli", "shrsi", "shrui"):
        yield f"arith.{name}", _zero
    for name in ("sitofp", "uitofp", "fptosi", "fptoui", "extsi", "extui", "trunci", "truncf"):
        yield f"arith.{name}", _zero
    for name in ("andi", "muli"):
        yield f"arith.{name}", _any_zero
    yield from (("arith.extf", _widened), ("arith.negf", _negative), ("math.absf", _absolute))
    yield from (("math.exp", _power), ("math.exp2", _power))


_FOLDS: Mapping[str, _Fold] = dict(_folds())
