"""The source of functions, classes and globals as code: without comments and layout."""

from __future__ import annotations

import ast
import dis
import inspect
import sys
import textwrap
from types import CodeType
from typing import Any

__all__ = ["assignments", "imports_in", "names_in", "source_of", "without_comments"]


def source_of(object_: Any) -> str:
    """The source of a function or class as code; that of a lambda as its instructions."""
    if getattr(object_, "__name__", "") == "<lambda>":
        return _instructions(object_.__code__)
    try:
        return without_comments(textwrap.dedent(inspect.getsource(object_)))
    except (OSError, TypeError, SyntaxError):
        code = getattr(object_, "__code__", None)
        return _instructions(code) if code is not None else repr(object_)


def _instructions(code: CodeType) -> str:
    constants = [
        _instructions(constant) if isinstance(constant, CodeType) else _repr(constant)
        for constant in code.co_consts
    ]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _repr(constant: object) -> str:
    """`repr` with the members of sets in an order that no seed of hashes changes."""
    return str(sorted(map(_repr, constant))) if isinstance(constant, frozenset) else repr(constant)


def without_comments(source: str) -> str:
    """The source without comments, docstrings and decorators of functions."""
    tree = ast.parse(source)
    documented = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Module)
    for node in ast.walk(tree):
        # Of decorators, those around a kernel hold its list of configurations.
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def names_in(code: CodeType) -> list[str]:
    """Names of globals and attributes in a function and in those that it defines, in order."""
    inner = [names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return list(dict.fromkeys([*code.co_names, *(name for names in inner for name in names)]))


def imports_in(code: CodeType) -> set[str]:
    """Modules that a function and those that it defines import when they run."""
    inner = [imports_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    own = {step.argval for step in dis.get_instructions(code) if step.opname == "IMPORT_NAME"}
    return own.union(*inner)


def assignments(known: dict[str, Any], name: str) -> list[ast.stmt]:
    """The statements of a module, in functions and classes of it too, that assign to a global.

    Args:
        known: the module's globals.
        name: the global's.
    """
    try:
        source = inspect.getsource(sys.modules[known["__name__"]])
    except (KeyError, OSError, TypeError):
        return []
    kinds = (ast.Assign, ast.AnnAssign, ast.AugAssign)
    return [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, kinds)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(target))
    ]
