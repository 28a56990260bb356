"""Which of a kernel's parameters are sizes of its data, as its source alone shows.

A size of the data may not vary, and a run that shows this takes a build. A block differs from it by
where it stands: blocks give tensors of the kernel their shapes, are steps and numbers of turns of
loops, and are counted off by indices, as in `tl.program_id(0) * BLOCK`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from kernels.captured.block_names import called, function_of, targets_of

__all__ = ["data_covering_names", "data_size_names"]

# Functions of Triton's language by the places and keywords of the shapes of their blocks.
_SHAPES: dict[str, tuple[slice, tuple[str, ...]]] = {
    "arange": (slice(None), ("start", "end")),
    "zeros": (slice(1), ("shape",)),
    "full": (slice(1), ("shape",)),
    "reshape": (slice(None), ("shape",)),
    "view": (slice(None), ("shape",)),
    "broadcast_to": (slice(None), ("shape",)),
    "make_block_ptr": (slice(4, 5), ("block_shape",)),
    "make_tensor_descriptor": (slice(3, 4), ("block_shape",)),
}
# The same of what counts blocks off.
_INDICES: dict[str, tuple[slice, tuple[str, ...]]] = {
    "make_block_ptr": (slice(3, 4), ("offsets",)),
    "advance": (slice(None), ("offsets",)),
    "gather": (slice(None), ()),
    "scatter": (slice(None), ()),
}
_POINTERS = ("make_block_ptr", "make_tensor_descriptor")
_LOOPS = ("range", "static_range")
# What they give is an element of the data or an address, whatever their arguments are.
_OPAQUE = frozenset({"load", "zeros", "full", *_POINTERS})


def data_size_names(source: str) -> frozenset[str]:
    """The parameters that strides of the data are multiples of, and that stand where no block does.

    They are factors of what `tl.arange` counts, as K in `x + tl.arange(0, BLOCK)[:, None] * K`, of
    what is read, as in `x + tl.load(slots) * K`, or of strides in block pointers and tensor
    descriptors. Another K would read other elements.
    """
    function = function_of(source)
    kernel = _Kernel(function)
    parameters = {one.arg for one in [*function.args.args, *function.args.kwonlyargs]}
    return frozenset((kernel.strides & parameters) - kernel.blocks)


def data_covering_names(source: str) -> frozenset[str]:
    """The parameters that are nothing but lengths of blocks, whose ends are read from the data.

    Such is DEGREE in `begin + tl.arange(0, DEGREE) < end`, where `end` was loaded: the block covers
    the longest row, and whether a smaller one does depends on the data of a launch.
    """
    function = function_of(source)
    kernel = _Kernel(function)
    parameters = {one.arg for one in [*function.args.args, *function.args.kwonlyargs]}
    return frozenset(kernel.covering & parameters)


class _Kernel:
    """What a kernel's names stand for.

    Args:
        function: the kernel's definition.
    """

    def __init__(self, function: ast.FunctionDef) -> None:
        parts = [part for statement in function.body for part in ast.walk(statement)]
        self._values: dict[str, list[ast.expr]] = {}
        for part in parts:
            if isinstance(part, ast.Assign | ast.AnnAssign | ast.AugAssign) and part.value:
                for name in targets_of(part):
                    self._values.setdefault(name, []).append(part.value)
        calls = [part for part in parts if isinstance(part, ast.Call)]
        products = [p for p in parts if isinstance(p, ast.BinOp) and isinstance(p.op, ast.Mult)]
        self.strides = {name for call in calls for name in _strides(call)}
        self.strides |= {name for product in products for name in self._steps(product)}
        indices = [
            index
            for part in parts
            if isinstance(part, ast.Compare)
            for index in [part.left, *part.comparators]
            if not isinstance(index, ast.Name) or index.id in self._values
        ]
        indices += (index for call in calls for index in _index_arguments(call))
        shapes = [shape for call in calls for shape in _arguments(call, _SHAPES)]
        self.blocks = self._sources(indices, self._index_names)
        self.blocks |= self._sources(shapes, _shape_names)
        inside = {id(part) for shape in shapes for part in ast.walk(shape)}
        elsewhere = {p.id for p in parts if isinstance(p, ast.Name) and id(p) not in inside}
        comparisons = [part for part in parts if isinstance(part, ast.Compare)]
        self.covering = self._sources(list(self._ends_in_data(comparisons)), _shape_names)
        self.covering -= elsewhere

    def _sources(
        self, places: list[ast.expr], names_in: Callable[[ast.expr], Iterator[str]]
    ) -> set[str]:
        """The names that values follow from, through what is assigned."""
        found: set[str] = set()
        waiting = [name for place in places for name in names_in(place)]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += [n for value in self._values.get(name, ()) for n in names_in(value)]
        return found

    def _index_names(self, node: ast.expr) -> Iterator[str]:
        """The names that an index or a number of turns follows from, without sizes of the data.

        Those are what is divided, and what divides a program's number, as a number of heads does;
        what divides a size is a block.
        """
        waiting: list[ast.AST] = [node]
        while waiting:
            part = waiting.pop()
            if isinstance(part, ast.Name):
                yield part.id
            if isinstance(part, ast.Call) and called(part) == "cdiv":
                waiting += part.args[1:]
            elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv | ast.Mod):
                if not self._is_program(part.left):
                    waiting.append(part.right)
                elif not isinstance(part.left, ast.Name):
                    waiting.append(part.left)
            else:
                waiting += _inner(part)

    def _steps(self, product: ast.BinOp) -> Iterator[str]:
        """The factors of what `tl.arange` counts, and of numbers that are read, as of slots."""
        for counted, factor in (product.left, product.right), (product.right, product.left):
            if self._follows(counted, "arange") or self._follows(counted, "load"):
                yield from _factors(factor)

    def _ends_in_data(self, comparisons: list[ast.Compare]) -> Iterator[ast.expr]:
        """What `tl.arange` counts in comparisons with what was read."""
        for one in comparisons:
            sides = [one.left, *one.comparators]
            if any(self._follows(side, "load") for side in sides):
                yield from (side for side in sides if self._follows(side, "arange"))

    def _is_program(self, node: ast.expr) -> bool:
        """Whether an expression follows from a program's number, and from no `tl.arange`."""
        return self._follows(node, "program_id") and not self._follows(node, "arange")

    def _follows(self, node: ast.expr, function: str) -> bool:
        """Whether an expression follows from what a function gives."""
        seen: set[str] = set()
        waiting: list[ast.AST] = [node]
        while waiting:
            part = waiting.pop()
            if isinstance(part, ast.Call) and called(part) == function:
                return True
            if isinstance(part, ast.Name) and part.id not in seen:
                seen.add(part.id)
                waiting += self._values.get(part.id, ())
            waiting += _inner(part)
        return False


def _arguments(
    call: ast.Call, places: Mapping[str, tuple[slice, tuple[str, ...]]]
) -> Iterator[ast.expr]:
    """The arguments of a call in certain places and under certain keywords."""
    if (name := called(call)) in places:
        here, keywords = places[name]
        yield from call.args[here]
        yield from (word.value for word in call.keywords if word.arg in keywords)


def _index_arguments(call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call that count blocks off, or that a function of its own has."""
    name, is_method = called(call), isinstance(call.func, ast.Attribute)
    yield from _arguments(call, _INDICES)
    if name in _LOOPS:
        yield from _loop_arguments(call)
    elif name in ("load", "store") and is_method:
        # Offsets of a tensor descriptor.
        yield from (one for one in call.args if isinstance(one, ast.List | ast.Tuple))
    elif not is_method and name != "cdiv":
        yield from call.args
        yield from (word.value for word in call.keywords)


def _loop_arguments(call: ast.Call) -> Iterator[ast.expr]:
    """All but COLUMNS in `range(0, COLUMNS, BLOCK)`, which ends what the steps count off."""
    ends_data = len(call.args) == 3 and all(
        isinstance(one, kind)
        for one, kind in zip(call.args, (ast.Constant, ast.Name), strict=False)
    )
    yield from (one for place, one in enumerate(call.args) if not (ends_data and place == 1))


def _strides(call: ast.Call) -> Iterator[str]:
    """The factors of the strides that a call gives the data."""
    if called(call) in _POINTERS:
        words = [word.value for word in call.keywords if word.arg == "strides"]
        for strides in [*call.args[2:3], *words]:
            each = strides.elts if isinstance(strides, ast.List | ast.Tuple) else [strides]
            yield from (name for stride in each for name in _factors(stride))


def _factors(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)
    elif isinstance(node, ast.IfExp):
        yield from _factors(node.body)
        yield from _factors(node.orelse)


def _shape_names(node: ast.expr) -> Iterator[str]:
    """The names that a shape follows from, those in BLOCK // 2 among them."""
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name):
            yield part.id
        waiting += _inner(part)


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression whose sizes it follows from: not conditions or what is loaded."""
    is_opaque = isinstance(node, ast.Call) and called(node) in _OPAQUE
    if not is_opaque and not isinstance(node, ast.Compare):
        yield from ast.iter_child_nodes(node)
