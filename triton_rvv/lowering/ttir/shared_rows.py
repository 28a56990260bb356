"""Finds loads of which a row is also a row of another one, as the rows of a stencil's taps are.

    above = load(x + (rows - 1) * W + columns)      its row r + 2 is row r of `below`
    below = load(x + (rows + 1) * W + columns)

Where neighbouring rows of a result are computed side by side, such a row is loaded once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.ttir.access import SharedRows
from triton_rvv.lowering.ttir.conditions import comparisons
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.polynomials import Polynomial
from triton_rvv.lowering.ttir.rewriter import blocks_inside
from triton_rvv.lowering.ttir.streams import block_rank, mask_of

__all__ = ["ROWS_TOGETHER", "share_rows"]

# Rows from one load to another beyond which no registers are left between their uses.
_MAX_ROWS = 8
# Rows of a result that are computed side by side, and the loads that each of them has to save: rows
# read in turn are not foreseen as well as one after another.
ROWS_TOGETHER, _MIN_LOADS_SAVED = 4, 4


@dataclass(frozen=True)
class _Member:
    """A load, and how many rows further down than its group's first one it begins."""

    load: Operation
    below: int


def share_rows(kernel: Kernel) -> int:
    """Finds loads that share rows with one another, as those of a stencil."""
    fired = 0
    for function in kernel.functions.values():
        groups = [
            group
            for block in blocks_inside(function)
            for group in _groups([op for op in block.operations if _has_rows(op, kernel)], kernel)
        ]
        if sum(map(_loads_saved, groups)) < _MIN_LOADS_SAVED:
            continue
        for group in groups:
            _note(group, kernel)
        fired += sum(map(len, groups))
    return fired


def _loads_saved(group: Sequence[_Member]) -> float:
    """How many loads less each row of a result then takes."""
    below = [each.below for each in group]
    return len(group) - (max(below) - min(below) + ROWS_TOGETHER) / ROWS_TOGETHER


def _has_rows(operation: Operation, kernel: Kernel) -> bool:
    return (
        operation.name == "tt.load"
        and operation in kernel.accesses
        and block_rank(operation) > 1
        and not operation.attributes.get("isVolatile")
    )


def _groups(loads: Sequence[Operation], kernel: Kernel) -> list[list[_Member]]:
    """Loads of a block of code of which each is some rows below the first, by their addresses."""
    groups: dict[object, list[_Member]] = {}
    for load in loads:
        address = kernel.accesses[load].address
        stride = address.stride(block_rank(load) - 2)
        if stride is not None and stride.terms:
            below = _whole_strides(address, stride)
            rest = address - stride * Polynomial.of(below)
            key = (load.result.type, stride, rest)
            groups.setdefault(key, []).append(_Member(load, below))
    found = []
    for group in groups.values():
        places = [each.below for each in group]
        if 0 < max(places) - min(places) <= _MAX_ROWS:
            found.append([replace(each, below=each.below - places[0]) for each in group])
    return found


def _whole_strides(address: Polynomial, stride: Polynomial) -> int:
    """How often an address has a stride, by what the first of its terms is in both."""
    (product, factor), *_ = stride.terms
    return dict(address.terms).get(product, 0) // factor


def _seen_from_first(member: _Member, kernel: Kernel) -> object:
    """What is the same for two loads that give the same elements of each row that they share.

    That is, the conditions on elements of the group's first load, and what else is there.
    """
    load = member.load
    mask = mask_of(load)
    if mask is None:
        return None
    compared = comparisons(kernel.accesses[load].mask)
    if compared is None:
        return load
    rows = block_rank(load) - 2
    seen = [
        (predicate, *(_rows_above(side, rows, member.below) for side in (left, right)))
        for left, predicate, right in compared
    ]
    is_known = all(None not in condition for condition in seen)
    return (frozenset(seen), _fill(load, mask, kernel)) if is_known else load


def _fill(load: Operation, mask: Value, kernel: Kernel) -> object:
    """What takes the place of elements that a mask leaves out."""
    others = load.operands[load.operands.index(mask) + 1 :]
    if not others:
        return None
    number = one_number(kernel.makers.get(others[0]))
    return others[0].name if number is None else number


def _rows_above(total: Polynomial, rows: int, count: int) -> Polynomial | None:
    """A sum as it is some rows further up; None where rows are no number apart."""
    stride = total.stride(rows)
    return None if stride is None else total - stride * Polynomial.of(count)


def _note(group: Sequence[_Member], kernel: Kernel) -> None:
    first, seen = group[0], [_seen_from_first(member, kernel) for member in group]
    for member, conditions in zip(group, seen, strict=True):
        rows = SharedRows(first.load.result.name, member.below, seen.index(conditions))
        kernel.accesses[member.load] = replace(kernel.accesses[member.load], rows=rows)
