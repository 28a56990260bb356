"""What a statement of a module reads, defines and changes."""

from __future__ import annotations
import __future__

import ast
import dis
from collections.abc import Iterator
from types import CodeType

__all__ = [
    "catches",
    "changed_names",
    "defined_names",
    "defines_code",
    "future_flags",
    "globals_of",
    "names_of",
    "read_at_once",
    "triton_chosen",
]

_TRITON = ("triton", "triton.language")


def catches(statement: ast.stmt) -> bool:
    """Whether a statement may go on after an error, such as that of a name that is missing."""
    kinds = (ast.Try, ast.TryStar, ast.With)
    return any(isinstance(node, kinds) for node in ast.walk(statement))


def defines_code(statement: ast.stmt) -> bool:
    """Whether something in a statement may be called later."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    return any(isinstance(node, kinds) for node in ast.walk(statement))


def defined_names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module defines, once it has run."""
    for node in _outside_functions(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id


def changed_names(statement: ast.stmt) -> Iterator[str]:
    """The names of what a statement changes in place: `sizes["a"] = 1`, `sizes.append(1)`."""
    for node in _outside_functions(statement):
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield from _root(node)
        elif isinstance(node, ast.Expr):
            call = node.value
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                yield from _root(call.func)


def _root(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _outside_functions(statement: ast.AST) -> Iterator[ast.AST]:
    yield statement
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    for inner in ast.iter_child_nodes(statement):
        yield from _outside_functions(inner)


def triton_chosen(statement: ast.stmt, name: str) -> str:
    """Triton or its language, if a name is that in a branch of a choice; "" if it is not.

    What the other branches make of the name stands in where Triton is missing.
    """
    for node in _outside_functions(statement) if isinstance(statement, ast.If | ast.Try) else ():
        if isinstance(node, ast.Import):
            modules = {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            inner = {alias.asname or alias.name: alias.name for alias in node.names}
            modules = {key: f"{node.module}.{one}" for key, one in inner.items()}
        else:
            continue
        if modules.get(name) in _TRITON:
            return modules[name]
    return ""


def future_flags(statements: list[ast.stmt]) -> int:
    """What `from __future__ import ...` of a file asks of the compiler."""
    names = [
        alias.name
        for statement in statements
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        for alias in statement.names
    ]
    flags = 0
    for name in names:
        flags |= int(getattr(__future__, name).compiler_flag)
    return flags


def read_at_once(code: CodeType) -> list[str]:
    """The globals that a statement reads when it runs, without functions that it defines."""
    return [
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    ]


def globals_of(code: CodeType) -> list[str]:
    """The globals that a statement reads, and functions and classes that it defines."""
    inner = [globals_of(part) for part in code.co_consts if isinstance(part, CodeType)]
    own = set() if code.co_name == "<module>" else _stored(code)  # a class reads its own names
    return [
        *(name for name in read_at_once(code) if name not in own),
        *(name for names in inner for name in names),
    ]


def _stored(code: CodeType) -> set[str]:
    return {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_NAME"}


def names_of(code: CodeType) -> list[str]:
    """The names of globals and attributes in a statement, and in functions that it defines."""
    inner = [names_of(part) for part in code.co_consts if isinstance(part, CodeType)]
    return [*code.co_names, *(name for names in inner for name in names)]
