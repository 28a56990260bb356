"""A digest of a kernel's code: the same wherever it is installed, another if it computes another.

Comments, docstrings, layout and lines do not count.
"""

from __future__ import annotations

import ast
import hashlib
import textwrap
from collections.abc import Iterable, Mapping
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = [
    "captured_values",
    "captured_variables",
    "constant_text",
    "global_values",
    "is_of_triton",
    "kernel_digest",
    "read_globals",
]

_PLAIN = (int, float, bool, str, type(None))
_ATTRIBUTE = "triton_rvv_digest"


def kernel_digest(kernel: Any) -> str:
    """A digest of a kernel, of the kernels that it calls and of the constants that they read.

    Args:
        kernel: made by `@triton.jit`. Its source is taken as Triton has it.
    """
    source = kernel.src
    known: tuple[str, str] | None = kernel.__dict__.get(_ATTRIBUTE)
    if known is None or known[0] != source:
        parts: dict[str, None] = {}
        _add(kernel, parts, set())
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        known = kernel.__dict__[_ATTRIBUTE] = (source, digest)
    return known[1]


def captured_variables(kernel: Any) -> str:
    """Assignments of the constants that a kernel takes from the function that made it."""
    function = kernel.fn
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    values = {name: cell.cell_contents if _is_set(cell) else ... for name, cell in cells}
    return _assignments(values)


def global_values(kernel: Any) -> str:
    """Assignments of the constants that a kernel, and those of its module that it calls, read.

    Programs compute them when they run.
    """
    values: dict[str, Any] = {}
    waiting, seen = [kernel.fn], set()
    while waiting:
        function = waiting.pop()
        if not isinstance(function, FunctionType) or function in seen:
            continue
        seen.add(function)
        if function.__globals__ is not kernel.fn.__globals__:
            continue
        found = {n: v for n, v in function.__globals__.items() if n in _names(function.__code__)}
        values.update(found)
        waiting += [value.fn for value in found.values() if hasattr(value, "device_caches")]
    return _assignments(values)


def _assignments(values: Mapping[str, Any]) -> str:
    """A line for each constant."""
    texts = {name: constant_text(value) for name, value in values.items()}
    return "".join(f"{name} = {text}\n" for name, text in texts.items() if text)


def constant_text(value: Any) -> str | None:
    """Python that gives a value again, with Triton's language as `tl`; None if it is no constant.

    Constants are numbers, texts, None, Triton's types of elements, and tuples of these; members of
    enumerations count as what they stand for.
    """
    inner = _unwrapped(value)
    if inner is not value:
        text = constant_text(inner)
        return f"tl.constexpr({text})" if text and _is_constexpr(value) else text
    # torch's types of elements have the same class name.
    if type(value).__name__ == "dtype" and type(value).__module__.startswith("triton."):
        return f"tl.dtype({value.name!r})"
    if type(value) is tuple:
        parts = [constant_text(part) for part in value]
        return None if None in parts else f"({''.join(f'{part}, ' for part in parts)})"
    if isinstance(value, float):
        return f"float('{value}')"
    return repr(value) if isinstance(value, _PLAIN) else None


def _unwrapped(value: Any) -> Any:
    """What a constexpr holds, or a member of an enumeration stands for."""
    return value.value if _is_constexpr(value) or isinstance(value, Enum) else value


def _is_constexpr(value: Any) -> bool:
    return type(value).__name__ == "constexpr"


def _add(kernel: Any, parts: dict[str, None], seen: set[int]) -> None:
    if id(kernel) in seen:
        return
    seen.add(id(kernel))
    parts[_code(kernel.src)] = None
    function = kernel.fn
    if not isinstance(function, FunctionType):
        return
    names = _names(function.__code__)
    for name, value in _reached(function, names):
        _add_value(name, value, names, parts, seen)


def _reached(function: FunctionType, names: list[str]) -> list[tuple[str, Any]]:
    """The globals and captured variables that a function reads, by their names."""
    scope = {n: function.__globals__[n] for n in names if n in function.__globals__}
    return list({**scope, **captured_values(function)}.items())


def read_globals(function: FunctionType, more: Iterable[str]) -> dict[str, Any]:
    """The globals that a function's code reads, and those of more names."""
    names = dict.fromkeys([*_names(function.__code__), *more])
    return {n: function.__globals__[n] for n in names if n in function.__globals__}


def captured_values(function: FunctionType) -> dict[str, Any]:
    """What a function takes from the one that made it, as far as it is set, by name."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if _is_set(cell)}


def _is_set(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:  # a variable that is not set yet
        return False
    return True


def _add_value(
    name: str, value: Any, names: list[str], parts: dict[str, None], seen: set[int]
) -> None:
    value = _unwrapped(_unwrapped(value))
    text = repr(value) if isinstance(value, _PLAIN) else constant_text(value)
    if text is not None:
        parts[f"{name} = {text}"] = None
    elif hasattr(value, "src") and hasattr(value, "fn") and not is_of_triton(value.__module__):
        _add(value, parts, seen)
    elif (
        isinstance(value, ModuleType) and not is_of_triton(value.__name__) and id(value) not in seen
    ):
        seen.add(id(value))
        for attribute in names:
            if attribute in vars(value):
                inner = vars(value)[attribute]
                _add_value(f"{name}.{attribute}", inner, names, parts, seen)


def is_of_triton(module: str) -> bool:
    """Whether code is Triton's own, which changes with the toolchain."""
    return module.partition(".")[0] in ("triton", "torch")


def _names(code: CodeType) -> list[str]:
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return list(dict.fromkeys([*code.co_names, *(name for names in inner for name in names)]))


def _code(source: str) -> str:
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
