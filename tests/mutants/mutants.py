"""Mutants of the project's source: one small edit each, which a test should notice."""

from __future__ import annotations

import ast
import functools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PARTS", "Mutant", "draw", "mutants_of"]

# How many mutants of each folder are drawn.
PARTS = {"triton_rvv/lowering": 30, "engine": 15, "rvv_runner": 15}
# What runs under a board's own Python, where nothing of this project can be imported.
_TRAVELS = ("engine/by_hand/",)

_OTHERS: dict[type[ast.AST], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.And: "or",
    ast.Or: "and",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "//",
    ast.LShift: ">>",
    ast.RShift: "<<",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}


@dataclass(frozen=True)
class Mutant:
    """An expression of a file, and what stands there instead.

    Args:
        file: its path in the project, as `engine/tune.py`.
        line: where the expression begins, from 1.
        start, end: the expression's place in the file's text, in characters.
        old, new: the expression's text, without and with the edit.
    """

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.file}:{self.line}: {old} -> {new}"


def draw(seed: int, root: Path) -> list[Mutant]:
    """As many mutants of each of `PARTS` as it says, at most one of a line."""
    randomness = random.Random(seed)
    drawn: list[Mutant] = []
    for part, count in PARTS.items():
        files = [path.relative_to(root).as_posix() for path in sorted((root / part).rglob("*.py"))]
        found = [
            mutant
            for file in files
            if not file.startswith(_TRAVELS) and "cost" not in Path(file).name
            for mutant in mutants_of(file, (root / file).read_text())
        ]
        randomness.shuffle(found)
        of_lines: dict[tuple[str, int], Mutant] = {}
        for mutant in found:
            of_lines.setdefault((mutant.file, mutant.line), mutant)
        drawn += list(of_lines.values())[:count]
    return drawn


@functools.cache
def mutants_of(file: str, text: str) -> tuple[Mutant, ...]:
    """All mutants of the functions in a file."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(line: int, column_bytes: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column_bytes].decode())

    def source(node: ast.expr) -> str:
        start = place(node.lineno, node.col_offset)
        return text[start : place(node.end_lineno, node.end_col_offset)]

    found: dict[Mutant, None] = {}
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in function.body:
            for node in _nodes(statement):
                for old, new in _edits(node, source):
                    start = place(old.lineno, old.col_offset)
                    mutant = Mutant(
                        file, old.lineno, start, start + len(source(old)), source(old), new
                    )
                    found[mutant] = None
    return tuple(found)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The node and those below it, but for f-strings, whose parts have no places in Python 3.11."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.JoinedStr):
            yield from _nodes(child)


def _edits(node: ast.AST, source) -> Iterator[tuple[ast.expr, str]]:
    """Expressions to be replaced, and their replacements."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OTHERS:
            yield node, f"(({source(left)}) {_OTHERS[type(op)]} ({source(right)}))"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OTHERS:
            if not (_is_text(left) or _is_text(right)):
                yield node, f"(({source(left)}) {_OTHERS[type(op)]} ({source(right)}))"
        case ast.BoolOp(op=op, values=values):
            parts = f" {_OTHERS[type(op)]} ".join(f"({source(value)})" for value in values)
            yield node, f"({parts})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"({source(operand)})"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, f"({value + 1})"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, f"(not ({source(test)}))"
        case ast.Expr(value=ast.Call() as call):
            yield call, "None"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
