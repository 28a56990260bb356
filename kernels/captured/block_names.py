"""Which of a kernel's parameters its source uses, and which of them give blocks their sizes."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

__all__ = [
    "block_names",
    "called",
    "compared_names",
    "counts_programs",
    "function_of",
    "hint_names",
    "multiplied_names",
    "program_axes",
    "targets_of",
    "used_names",
]

# Functions of Triton's language whose arguments are sizes of blocks.
_SHAPED = frozenset(
    {"arange", "zeros", "full", "reshape", "view", "broadcast_to", "make_block_ptr"}
    | {"make_tensor_descriptor", "static_range", "range"}
)


def used_names(source: str) -> frozenset[str]:
    """The names that a function's body reads."""
    return frozenset(_read(function_of(source).body))


def compared_names(source: str) -> set[str]:
    """The names that a function's body reads in comparisons and conditions alone, as modes are."""
    parts = [part for node in function_of(source).body for part in ast.walk(node)]
    conditions = [part for part in parts if isinstance(part, ast.Compare)]
    tests = [part.test for part in parts if isinstance(part, ast.If | ast.IfExp)]
    inside = {id(name) for node in [*conditions, *tests] for name in _condition_names(node)}
    reads = [part for part in parts if isinstance(part, ast.Name)]
    return {part.id for part in reads} - {part.id for part in reads if id(part) not in inside}


def _condition_names(node: ast.expr) -> Iterator[ast.Name]:
    """The names that stand in a condition by themselves: not those of something computed."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    for part in parts:
        yield from _condition_names(part)


def block_names(source: str) -> frozenset[str]:
    """The names that a function gives to what makes blocks, to loops or to its own functions.

    What is computed of a name counts for it too.
    """
    function = function_of(source)
    found = {name for call in _calls(function) for name in _read([*call.args, *_keywords(call)])}
    assignments = [
        node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.AnnAssign)
    ]
    while True:
        more = {
            name
            for node in assignments
            if node.value is not None and found & set(targets_of(node))
            for name in _read([node.value])
        }
        if more <= found:
            return frozenset(found)
        found |= more


def multiplied_names(source: str) -> list[frozenset[str]]:
    """Of each product in a function, the names in its factors."""
    parts = ast.walk(function_of(source))
    products: list[ast.expr] = [
        part for part in parts if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult)
    ]
    return [frozenset(_read([product])) for product in products]


def program_axes(source: str) -> frozenset[int]:
    """The axes of the grid by which a function tells programs apart.

    All three where it asks for another axis than a number, or where only functions that it calls
    may ask.
    """
    every = frozenset({0, 1, 2})
    asked = [call for call in _every_call(function_of(source)) if called(call) == "program_id"]
    given = [node for call in asked for node in [*call.args, *_keywords(call)]]
    constants = [node.value for node in given if isinstance(node, ast.Constant)]
    axes = {axis for axis in constants if isinstance(axis, int)}
    is_known = bool(asked) and len(asked) == len(constants) == len(given)
    return frozenset(axes) if is_known else every


def counts_programs(source: str) -> bool:
    """Whether a function asks how many programs there are, as those do that share out the work."""
    return any(called(call) == "num_programs" for call in _every_call(function_of(source)))


def hint_names(source: str) -> frozenset[str]:
    """The names that a function's body only reads as the number of stages of its loops."""
    function = function_of(source)
    hints = [
        word.value
        for call in _every_call(function)
        if called(call) == "range"
        for word in call.keywords
        if word.arg == "num_stages" and isinstance(word.value, ast.Name)
    ]
    inside = {id(name) for name in hints}
    parts = [part for node in function.body for part in ast.walk(node)]
    others = {p.id for p in parts if isinstance(p, ast.Name) and id(p) not in inside}
    return frozenset({name.id for name in hints} - others)


def called(call: ast.Call) -> str:
    """The last part of a called function's name; "" without a name."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _every_call(function: ast.FunctionDef) -> list[ast.Call]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Call)]


def function_of(source: str) -> ast.FunctionDef:
    """The definition that a source holds."""
    (function,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(function, ast.FunctionDef)
    return function


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if name in _SHAPED or isinstance(node.func, ast.Name):
                yield node


def _keywords(call: ast.Call) -> list[ast.expr]:
    return [keyword.value for keyword in call.keywords]


def targets_of(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[str]:
    """The names that an assignment gives values."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [
        part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)
    ]


def _read(nodes: list[ast.stmt] | list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                yield part.id
