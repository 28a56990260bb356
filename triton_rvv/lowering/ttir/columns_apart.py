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
    choices = [each for each in function.walk() if _is_of_choice(each, makers)]
    dimensions = dimensions_of(function) if choices else {}
    for reduction in choices:
        dimension = dimensions[reduction.operands[0], reduction.integer("axis")]
        is_short = 1 < dimension.size <= _MOST_COLUMNS
        if (
            is_short
            and dimension.is_once_in_each
            and _picks(reduction, dict(dimension.places), makers)
            and _may_be_taken_apart(dimension, function, kernel)
        ):
            return dimension
    return None


def _may_be_taken_apart(dimension: Dimension, function: Operation, kernel: Kernel) -> bool:
    """Whether columns can be computed one by one, and are long enough."""
    axes = dict(dimension.places)
    users = [each for each in function.walk() if not axes.keys().isdisjoint(_values(each))]
    is_long = any(_lanes(block, axes[block]) >= kernel.target.lanes(32) for block in axes)
    if not is_long or len(users) * dimension.size > _MOST_OPERATIONS:
        return False
    loops = {each.regions[0].block.operations[-1] for each in function.walk() if _is_loop(each)}
    return all(_may_be_apart(each, axes, loops) for each in users)


def _is_loop(operation: Operation) -> bool:
    return operation.name == "scf.for"


def _values(operation: Operation) -> list[Value]:
    """What an operation takes and gives, and what a loop's turns begin with."""
    carried = operation.regions[0].block.arguments if _is_loop(operation) else []
    return [*operation.operands, *operation.results, *carried]


def _lanes(block: Value, axis: int) -> int:
    return block.block.elements // block.shape[axis]


def _may_be_apart(operation: Operation, axes: dict[Value, int], loops: set[Operation]) -> bool:
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


def _is_of_choice(operation: Operation, makers: dict[Value, Operation]) -> bool:
    """Whether it reduces what a condition chooses from numbers and one that changes none."""
    if operation.name != "tt.reduce" or len(operation.operands) != 1:
        return False
    known = COMBINING.get("".join(operation_of_each(operation)))
    choice = _choice(operation, makers)
    if known is None or known.neutral is None or choice is None:
        return False
    return one_number(makers.get(choice.operands[2])) == known.neutral


def _choice(reduction: Operation, makers: dict[Value, Operation]) -> Operation | None:
    maker = makers.get(reduction.operands[0])
    while maker is not None and maker.name in ("arith.extsi", "arith.extui", "arith.extf"):
        maker = makers.get(maker.operands[0])
    is_choice = maker is not None and maker.name == "arith.select" and maker.operands[0].shape
    return maker if is_choice else None


def _picks(reduction: Operation, axes: dict[Value, int], makers: dict[Value, Operation]) -> bool:
    """Whether constants say of each column whether it is chosen."""
    choice = _choice(reduction, makers)
    return choice is not None and _is_known(choice.operands[0], axes, makers)


def _is_known(value: Value, axes: dict[Value, int], makers: dict[Value, Operation]) -> bool:
    """Whether each column holds one number, which follows from its place."""
    maker = makers.get(value)
    if maker is None:
        return False
    if maker.name in ("tt.make_range", "arith.constant"):
        return maker.name == "arith.constant" or value in axes
    is_pure = maker.name.startswith((*SPREADS, "arith."))
    return is_pure and all(_is_known(each, axes, makers) for each in maker.operands)
