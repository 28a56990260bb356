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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np
import torch
from triton import language
from triton.runtime.autotuner import Heuristics
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITCallable

from kernels.source_text import assignments, imports_in, names_in, source_of, without_comments
from kernels.unwrapped import is_launched, unwrapped

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
    language.dtype,
)
# Packages of the project whose changes start studies anew by another digest, or need not.
_COVERED = {"foundation", "launchers", "triton_rvv", "rvv_runner", "search_spaces", "engine"}
_INSTALLED = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))


def source_digest(functions: Iterable[Callable[..., Any]]) -> str:
    """A digest of all that the functions reach; times with another digest are not comparable.

    Reached are: functions that are called; classes; constants, tensors and arrays of modules,
    captured variables and defaults; modules that a function imports from the folder of its file.
    Kernels and what they call count by their code wherever they are installed, and so do functions
    of the packages that the given kernels are from, with their constants. Other libraries are
    covered by the names that are used of them. Of an object counts the statement that makes it and
    never its state, which differs from process to process. Data files that a function reads are not
    covered.

    Args:
        functions: the kernel, and what makes its arguments, its grid and its expected outputs.
    """
    given = list(functions)
    reached = _Reached(_packages_of(given))
    for function in given:
        reached.add("", function)
    text = "\0".join(sorted(reached.parts))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Reached:
    """Collects descriptions of values, each value once.

    Args:
        packages: installed packages that count by their code, and not by the names that are used.
    """

    def __init__(self, packages: frozenset[str]) -> None:
        self.parts: set[str] = set()
        self._packages = packages
        self._kept: dict[int, object] = {}  # by identity, which holds while the object lives
        self._root: tuple[dict[str, Any], str] | None = None  # the global that is being added
        self._in_package = False  # whether what refers to the value is installed

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
        if is_launched(value):
            self._add_kernel(name, value)
        elif isinstance(value, JITCallable | FunctionType | MethodType):
            self._add_function(value)
        elif isinstance(value, functools.partial):
            self._add_all(name, [value.func, *value.args, value.keywords])
        elif callable(_attribute(value, "__wrapped__")):
            self.add(name, value.__wrapped__)
        elif isinstance(value, tuple | frozenset):
            self._add_all(name, value)
        elif isinstance(value, ModuleType | BuiltinFunctionType):
            self.parts.add(f"{name} = {value.__name__}")
        elif isinstance(value, type):
            self._add_class(value)
        elif not self._in_package:
            self._add_contents(name, value)

    def _add_contents(self, name: str, value: Any) -> None:
        """Add what may change while a program runs, but stays as the user's file made it."""
        if isinstance(value, torch.Tensor | np.ndarray):
            self.parts.add(f"{name} = {_described(value)}")
        elif isinstance(value, Mapping):
            self._add_all(name, [part for item in value.items() for part in item])
        elif isinstance(value, list | set):
            self._add_all(name, value)
        else:
            self.add(name, type(value))
            if is_dataclass(value) or isinstance(value, SimpleNamespace):
                self._add_all(name, [vars(value)] if hasattr(value, "__dict__") else [])
            elif self._root is not None and hasattr(value, "__dict__"):
                self._add_assignments(*self._root)

    def _add_assignments(self, known: dict[str, Any], name: str) -> None:
        """Add the statements that make a global, in place of the state of the object that it is."""
        for statement in assignments(known, name):
            self.parts.add(ast.unparse(statement))
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and not node.id.startswith("__"):
                    self._add_global(node.id, known)

    def _add_all(self, name: str, values: Iterable[Any]) -> None:
        ordered = not isinstance(values, set | frozenset)
        for place, value in enumerate(values if ordered else sorted(values, key=_order)):
            self.add(f"{name}[{place}]" if ordered else f"{name}[]", value)

    def _add_kernel(self, name: str, launched: Any) -> None:
        kernel = unwrapped(launched)
        self._add_function(kernel.function)
        for decorator in kernel.decorators:
            if isinstance(decorator, Heuristics):
                self._add_all(f"heuristics of {name}", decorator.values.values())

    def _add_class(self, class_: type) -> None:
        if self._by_name(class_.__module__):
            self.parts.add(f"class {class_.__module__}.{class_.__qualname__}")
            return
        self.parts.add(source_of(class_))
        for base in class_.__bases__:
            if not self._by_name(base.__module__):
                self.add("", base)
        for value in vars(class_).values():
            function = _function_of(value)
            # dataclasses make others, which the source above determines.
            if function is not None and function.__code__.co_filename != "<string>":
                self._add_function(function)

    def _by_name(self, module: str) -> bool:
        """Whether functions and classes of a module count by their names."""
        return _is_library(module) and module.partition(".")[0] not in self._packages

    def _add_function(self, function: Any) -> None:
        is_kernel = isinstance(function, JITCallable | InterpretedFunction)
        plain = inspect.unwrap(function.fn if is_kernel else function)
        plain = getattr(plain, "__func__", plain)
        if not isinstance(plain, FunctionType):
            self.add(plain.__name__, plain)
            return
        module = plain.__module__
        # A kernel counts by its code wherever it is installed: nothing else tells of its version.
        # Triton's own are as the version of Triton, which studies know.
        counts_by_code = is_kernel and module.partition(".")[0] not in {"triton", *_COVERED}
        if self._by_name(module) and not counts_by_code:
            self.parts.add(f"def {module}.{plain.__qualname__}")
            return
        before, self._in_package = self._in_package, _is_library(module)
        self._add_code(plain)
        self._in_package = before

    def _add_code(self, plain: FunctionType) -> None:
        self.parts.add(source_of(plain))
        root, self._root = self._root, None
        for values in (plain.__defaults__, plain.__kwdefaults__):
            self.add(f"defaults of {plain.__qualname__}", values or ())
        for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
            self._add_reference(name, _contents(cell), plain)
        for name in names_in(plain.__code__):
            self._add_global(name, plain.__globals__, plain)
        for name in imports_in(plain.__code__) - set(plain.__globals__):
            self._add_neighbour(name, plain)
        self._root = root

    def _add_global(
        self, name: str, known: dict[str, Any], function: FunctionType | None = None
    ) -> None:
        if name not in known:
            return
        root, self._root = self._root, (known, name)
        if function is None:
            self.add(name, known[name])
        else:
            self._add_reference(name, known[name], function)
        self._root = root

    def _add_reference(self, name: str, value: Any, function: FunctionType) -> None:
        """Add a value that a function reads; of a module of the user's, what is read of it."""
        if not isinstance(value, ModuleType) or self._by_name(value.__name__):
            self.add(name, value)
            return
        held = vars(value)
        for attribute in names_in(function.__code__):
            if attribute in held and held[attribute] is not value:
                root, self._root = self._root, (held, attribute)
                self._add_reference(f"{name}.{attribute}", held[attribute], function)
                self._root = root

    def _add_neighbour(self, name: str, function: FunctionType) -> None:
        """Add a module that a function imports, if it is beside the function's file."""
        path = Path(function.__code__.co_filename).parent / f"{name}.py"
        if path.is_file():
            self.parts.add(without_comments(path.read_text(encoding="utf-8")))


def _attribute(value: Any, name: str) -> Any:
    """An attribute that the object has; not one that it makes up, as mocks and lazy modules do."""
    return getattr(value, "__dict__", {}).get(name)


def _function_of(value: Any) -> FunctionType | None:
    """The function behind a class's attribute."""
    if isinstance(value, property):
        value = value.fget
    value = getattr(value, "__func__", value)
    return value if isinstance(value, FunctionType) else None


def _order(value: Any) -> str:
    """A sort key of a set's members that is the same in every process."""
    if isinstance(value, tuple | frozenset):
        parts = map(_order, value)
        return str(list(parts) if isinstance(value, tuple) else sorted(parts))
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _described(array: torch.Tensor | np.ndarray[Any, Any]) -> str:
    """Type, shape and a digest of the contents, if there are any."""
    if isinstance(array, torch.Tensor):
        shape = tuple(array.shape)
        name = str(array.dtype).removeprefix("torch.")
        if array.device.type == "meta" or array.layout != torch.strided:
            return f"{name} {shape}"
        held = array.detach().cpu().resolve_conj().resolve_neg().contiguous().flatten()
        # As bytes, because NumPy has no bf16 and no fp8.
        contents = held.view(torch.uint8).numpy().tobytes()
    else:
        name, shape = str(array.dtype), array.shape
        contents = np.ascontiguousarray(array).tobytes()
        if array.dtype.hasobject:  # whose bytes are addresses
            contents = b""
    return f"{name} {shape} {hashlib.sha256(contents).hexdigest()}"


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that is not set yet
        return None


def _packages_of(functions: Iterable[Any]) -> frozenset[str]:
    """The installed packages of the kernels among some functions."""
    modules = {unwrapped(f).function.fn.__module__ for f in functions if is_launched(f)}
    packages = {module.partition(".")[0] for module in modules if _is_library(module)}
    return frozenset(packages - {"triton", *_COVERED})


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
