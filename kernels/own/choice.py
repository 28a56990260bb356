"""Chooses a kernel in a file: the named one, or the only possible one."""

from __future__ import annotations

import dis
import inspect
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

from triton.runtime.autotuner import Autotuner

from foundation.errors import UserError, nearest
from kernels.unwrapped import is_launched, unwrapped

__all__ = ["chosen_kernel", "python_function"]

_TRITONS = "triton."  # whose language has functions that are made as kernels are


def chosen_kernel(path: Path, module: ModuleType, name: str | None = None) -> Any:
    """The kernel `name`; else `{file's name}_kernel`; else the only one that no other one calls.

    A file that decorates none may import one from elsewhere.

    Args:
        path: of the file.
        module: the imported file.
        name: the kernel's name in the file; None if the user gave none.

    Raises:
        UserError: if there is no such kernel, or several are possible.
    """
    kernels = _kernels_of(module, imported=False) or _kernels_of(module, imported=True)
    if name is not None:
        return _named(path, module, name, kernels)
    expected = getattr(module, f"{path.stem}_kernel", None)
    if expected is not None:
        return expected
    tuned = {name: kernel for name, kernel in kernels.items() if _is_tuned(kernel)}
    called = {name for kernel in kernels.values() for name in _names_called(kernel)}
    entries = tuned or {name: kernels[name] for name in kernels if name not in called}
    if len(entries) == 1:
        return next(iter(entries.values()))
    if not entries:
        raise UserError(f"{path} has no kernel: put @triton.jit above a function")
    shown = _as_typed(path)
    raise UserError(
        f"{shown} has {len(entries)} kernels, {', '.join(entries)}: name one of them behind the "
        f"file, as in {shlex.quote(f'{shown}:{next(iter(entries))}')}"
    )


def _as_typed(path: Path) -> Path:
    """A file's path from the working folder, if it lies below."""
    folder = Path.cwd()
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def python_function(kernel: Any) -> Any:
    """The function under a kernel's decorators."""
    return kernel if inspect.isfunction(kernel) else unwrapped(kernel).function.fn


def _is_tuned(kernel: Any) -> bool:
    return any(isinstance(decorator, Autotuner) for decorator in unwrapped(kernel).decorators)


def _named(path: Path, module: ModuleType, name: str, kernels: dict[str, Any]) -> Any:
    stem = name.removesuffix("_kernel")
    spellings = (name, f"{stem}_kernel", stem)
    name = next((n for n in spellings if is_launched(getattr(module, n, None))), name)
    kernel = getattr(module, name, None)
    # A file without decorators has plain functions, as in the documents of triton-cpu.
    if is_launched(kernel) or (inspect.isfunction(kernel) and not kernels):
        return kernel
    if not kernels:
        raise UserError(f"{path} has no kernel {name}: put @triton.jit above a function")
    raise UserError(f"{path} has no kernel {name}: {nearest(name, kernels)}")


def _kernels_of(module: ModuleType, *, imported: bool) -> dict[str, Any]:
    """The kernels that the file decorates, or imports; each once, by name in the file's order."""
    found: dict[int, tuple[str, Any]] = {}
    for name, value in vars(module).items():
        if is_launched(value):
            function = python_function(value)
            is_own = function.__module__ == module.__name__
            if is_own or (imported and not function.__module__.startswith(_TRITONS)):
                found.setdefault(id(function), (name, value))
    return dict(found.values())


def _names_called(kernel: Any) -> set[str]:
    """Global names that the kernel's code reads."""
    instructions = dis.get_instructions(python_function(kernel))
    return {str(i.argval) for i in instructions if i.opname == "LOAD_GLOBAL"}
