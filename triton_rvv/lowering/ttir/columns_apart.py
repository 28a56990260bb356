"""Computes each column of a block on its own where comparisons with constants tell them apart.

    for k in static_range(4):                         a, b, c, d = (load(p + 4 * rows + n) …)
        column = sum(where(j == k, x, 0), axis=1)     b -= sum(a * b) * a
        along = sum(x * column[:, None], axis=0)      c -= sum(a * c) * a
        x -= where(j > k, along * column[:, None], 0) …

Triton has no indices into blocks, so that kernels pick columns by such sums, and change one by a
choice from all. Apart, a column is picked by its name, and nothing is computed for the others. The
same holds for the few rows, or planes, of a block.
"""

from __future__ import annotations

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.ttir.column_parts import ColumnParts
from triton_rvv.lowering.ttir.combining import COMBINING, operation_of_each
from triton_rvv.lowering.ttir.dimensions import Dimension, dimensions_of
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.lowering.ttir.operation_kinds import ADDRESSES, ELEMENTWISE, SPREADS, WITHOUT_MEMORY
from triton_rvv.lowering.ttir.rewriter import Rewriter

__all__ = ["take_columns_apart"]

# More columns, or operations for all of them, take longer to compile, and more registers.
_MOST_COLUMNS, _MOST_OPERATIONS = 8, 1200
_KNOWN = (*ELEMENTWISE, *ADDRESSES, *SPREADS, "tt.make_range", "scf.for", "scf.yield")
_MEMORY = ("tt.load", "tt.store")


def take_columns_apart(kernel: Kernel) -> int:
    """Computes each column of a block on its own where comparisons with constants pick columns."""
    function, fired = kernel.function, 0
    if not any(each.name == "tt.reduce" for each in function.walk()):
        return 0
    while (dimension := _first_that_pays(function, kernel)) is not None:
        rewriter = Rewriter(kernel.module)
        ColumnParts(dimension, rewriter).write(function)
        rewriter.erase_unused(function, _may_go)
        fired += 1
    return fired


def _may_go(operation: Operation) -> bool:
    """Whether it only computes or loads."""
    is_read = operation.name in ("tt.load", "tt.reduce")
    is_pure = operation.name.startswith(WITHOUT_MEMORY)
    return is_pure or (is_read and not operation.attributes.get("isVolatile"))


def _first_that_pays(function: Operation, kernel: Kernel) -> Dimension | None:
    makers = {result: each for each in function.walk() for result in each.results}
    loops = {each.regions[0].block.operations[-1] for each in function.walk() if _is_loop(each)}
    for dimension in dict.fromkeys(dimensions_of(function).values()):
        if not 1 < dimension.size <= _MOST_COLUMNS or not dimension.is_once_in_each:
            continue
        axes = dict(dimension.places)
        users = [each for each in function.walk() if not axes.keys().isdisjoint(_values(each))]
        is_long = any(_lanes(block, axes[block]) >= kernel.target.lanes(32) for block in axes)
        if (
            is_long
            and len(users) * dimension.size <= _MOST_OPERATIONS
            and all(_may_be_apart(each, axes, makers, loops) for each in users)
            and any(_picks(each, axes, makers) for each in users)
        ):
            return dimension
    return None


def _is_loop(operation: Operation) -> bool:
    return operation.name == "scf.for"


def _values(operation: Operation) -> list[Value]:
    """What an operation takes and gives, and what a loop's turns begin with."""
    carried = operation.regions[0].block.arguments if _is_loop(operation) else []
    return [*operation.operands, *operation.results, *carried]


def _lanes(block: Value, axis: int) -> int:
    return block.block.elements // block.shape[axis]


def _may_be_apart(
    operation: Operation,
    axes: dict[Value, int],
    makers: dict[Value, Operation],
    loops: set[Operation],
) -> bool:
    """Whether columns of an operation can be computed one by one."""
    if operation.name == "tt.reduce":
        is_along = operation.integer("axis") == axes[operation.operands[0]]
        names = operation_of_each(operation)
        return not is_along or (len(names) == 1 and names[0] in COMBINING)
    if operation.name == "arith.constant":
        return one_number(operation) is not None
    if operation.name == "scf.yield":
        return operation in loops
    if operation.name in _MEMORY:
        return not operation.attributes.get("isVolatile")
    if operation.name == "tt.broadcast" and operation.operands[0] not in axes:
        return len(operation.result.shape) > 1
    return operation.name.startswith(_KNOWN) and (not operation.regions or _is_loop(operation))


def _picks(reduction: Operation, axes: dict[Value, int], makers: dict[Value, Operation]) -> bool:
    """Whether a reduction takes some columns alone, which a comparison with a constant chooses."""
    if reduction.name != "tt.reduce" or len(reduction.operands) != 1:
        return False
    (elements,) = reduction.operands
    known = COMBINING.get("".join(operation_of_each(reduction)))
    if axes.get(elements) != reduction.integer("axis") or known is None:
        return False
    maker = makers.get(elements)
    while maker is not None and maker.name in ("arith.extsi", "arith.extui", "arith.extf"):
        maker = makers.get(maker.operands[0])
    if maker is None or maker.name != "arith.select" or not maker.operands[0].shape:
        return False
    condition, _, otherwise = maker.operands
    neutral = one_number(makers.get(otherwise))
    element = element_type(otherwise.type)
    is_number = isinstance(element, ScalarType) and neutral is not None
    return is_number and neutral == known.neutral and _is_known(condition, axes, makers)


def _is_known(value: Value, axes: dict[Value, int], makers: dict[Value, Operation]) -> bool:
    """Whether each column holds one number, which follows from its place."""
    maker = makers.get(value)
    if maker is None:
        return False
    if maker.name in ("tt.make_range", "arith.constant"):
        return maker.name == "arith.constant" or value in axes
    is_pure = maker.name.startswith((*SPREADS, "arith."))
    return is_pure and all(_is_known(each, axes, makers) for each in maker.operands)
