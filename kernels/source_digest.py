"""A digest of the code that determines a kernel's time and its correct outputs.

It covers functions, with the functions, classes and constants that they reach, as code: neither
comments, docstrings, layout nor lines change it, and nothing else in a file does.
"""

from __future__ import annotations

import ast
import enum
import functools
import hashlib
import inspect
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from triton import language
from triton.runtime.jit import JITFunction

__all__ = ["source_digest"]

_PLAIN = (
    enum.Enum,
    np.dtype,
    np.generic,
    int,
    float,
    complex,
    str,
    bytes,
    bool,
    type(None),
    torch.dtype,
)
# Packages of the project whose changes start studies anew by another digest, or need not.
_COVERED = {"foundation", "launchers", "triton_rvv", "rvv_runner", "search_spaces", "engine"}
_INSTALLED = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))


def source_digest(functions: Iterable[Callable[..., Any]]) -> str:
    """A digest of all that the functions reach; times with another digest are not comparable.

    Reached are: functions that are called, `@triton.jit` ones as well; classes; constants, tensors
    and arrays of modules, captured variables and defaults; modules that a function imports from the
    folder of its file. Libraries are covered by the names that are used of them. Data files that a
    function reads are not covered.

    Args:
        functions: the kernel, and what makes its arguments, its grid and its expected outputs.
    """
    reached = _Reached()
    for function in functions:
        reached.add("", function)
    text = "\0".join(sorted(reached.parts))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Reached:
    """Collects descriptions of values, each value once."""

    def __init__(self) -> None:
        self.parts: set[str] = set()
        self._kept: dict[int, object] = {}  # by identity, which holds while the object lives

    def add(self, name: str, value: Any) -> None:
        """Add a value under the name by which code refers to it, and what it refers to."""
        if isinstance(value, language.constexpr):
            value = value.value
        if isinstance(value, _PLAIN):
            self.parts.add(f"{name} = {value!r}")
        elif id(value) not in self._kept:
            self._kept[id(value)] = value
            self._add_object(name, value)

    def _add_object(self, name: str, value: Any) -> None:
        if isinstance(value, JITFunction | FunctionType | MethodType):
            self._add_function(value)
        elif isinstance(value, functools.partial):
            self._add_all(name, [value.func, *value.args, value.keywords])
        elif callable(getattr(value, "__wrapped__", None)):
            self.add(name, value.__wrapped__)
        elif isinstance(value, torch.Tensor | np.ndarray):
            contents = value.numpy(force=True) if isinstance(value, torch.Tensor) else value
            digest = hashlib.sha256(np.ascontiguousarray(contents).tobytes()).hexdigest()
            self.parts.add(f"{name} = {contents.dtype} {contents.shape} {digest}")
        elif isinstance(value, Mapping):
            self._add_all(name, [part for item in value.items() for part in item])
        elif isinstance(value, list | tuple | set | frozenset):
            self._add_all(name, value)
        elif isinstance(value, ModuleType | BuiltinFunctionType):
            self.parts.add(f"{name} = {value.__name__}")
        elif isinstance(value, type):
            self._add_class(value)
        else:
            self.add(name, type(value))
            self._add_all(name, [vars(value)] if hasattr(value, "__dict__") else [])

    def _add_all(self, name: str, values: Iterable[Any]) -> None:
        ordered = not isinstance(values, set | frozenset)
        for place, value in enumerate(values):
            self.add(f"{name}[{place}]" if ordered else f"{name}[]", value)

    def _add_class(self, class_: type) -> None:
        if _is_library(class_.__module__):
            self.parts.add(f"class {class_.__module__}.{class_.__qualname__}")
            return
        self.parts.add(_source_of(class_))
        for value in vars(class_).values():
            # dataclasses make others, which the source above determines.
            if isinstance(value, FunctionType) and value.__code__.co_filename != "<string>":
                self._add_function(value)

    def _add_function(self, function: Any) -> None:
        plain = inspect.unwrap(function.fn if isinstance(function, JITFunction) else function)
        plain = getattr(plain, "__func__", plain)
        if not isinstance(plain, FunctionType):
            self.add(plain.__name__, plain)
            return
        if _is_library(plain.__module__):
            self.parts.add(f"def {plain.__module__}.{plain.__qualname__}")
            return
        self.parts.add(_source_of(plain))
        for values in (plain.__defaults__, plain.__kwdefaults__):
            self.add(f"defaults of {plain.__qualname__}", values or ())
        for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
            self._add_reference(name, _contents(cell), plain)
        for name in _names(plain.__code__):
            if name in plain.__globals__:
                self._add_reference(name, plain.__globals__[name], plain)
            else:
                self._add_neighbour(name, plain)

    def _add_reference(self, name: str, value: Any, function: FunctionType) -> None:
        """Add a value that a function reads; of a module of the user's, what is read of it."""
        if not isinstance(value, ModuleType) or _is_library(value.__name__):
            self.add(name, value)
            return
        for attribute in _names(function.__code__):
            if hasattr(value, attribute) and getattr(value, attribute) is not value:
                self._add_reference(f"{name}.{attribute}", getattr(value, attribute), function)

    def _add_neighbour(self, name: str, function: FunctionType) -> None:
        """Add a module beside the function's file, if the function imports one by this name."""
        path = Path(function.__code__.co_filename).parent / f"{name}.py"
        if path.is_file():
            self.parts.add(_without_comments(path.read_text(encoding="utf-8")))


def _names(code: CodeType) -> list[str]:
    """Names of globals and attributes in a function and in those that it defines, in order."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return list(dict.fromkeys([*code.co_names, *(name for names in inner for name in names)]))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that is not set yet
        return None


def _is_library(module: str) -> bool:
    """Whether a module is installed, and so no part of the user's project or of our kernels."""
    top = module.partition(".")[0]
    if top == "kernels" or top in _COVERED:
        return top in _COVERED
    file = getattr(sys.modules.get(module), "__file__", None)
    if module.startswith("own_kernel_") or module == "__main__":
        return False
    if file is None:
        return True
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return bool(installed) or file.startswith(_INSTALLED)


def _source_of(object_: Any) -> str:
    """The source of a function or class as code; that of a lambda as its instructions."""
    if getattr(object_, "__name__", "") == "<lambda>":
        return _instructions(object_.__code__)
    try:
        return _without_comments(textwrap.dedent(inspect.getsource(object_)))
    except (OSError, TypeError, SyntaxError):
        code = getattr(object_, "__code__", None)
        return _instructions(code) if code is not None else repr(object_)


def _instructions(code: CodeType) -> str:
    constants = [
        _instructions(constant) if isinstance(constant, CodeType) else repr(constant)
        for constant in code.co_consts
    ]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _without_comments(source: str) -> str:
    tree = ast.parse(source)
    documented = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Module)
    for node in ast.walk(tree):
        # Of decorators, those around a kernel hold its list of configurations.
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
