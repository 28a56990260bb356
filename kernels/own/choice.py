"""Which of a file's kernels is meant: the one that was named, or the only one there can be."""

from __future__ import annotations

import dis
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import KernelInterface

from foundation.errors import UserError, nearest

__all__ = ["chosen_kernel", "python_function", "split_path"]


def split_path(text: str) -> tuple[Path, str | None]:
    """The file of "path/file.py:NAME" and the kernel's name in it, None where none is given."""
    named = re.fullmatch(r"(.*\.py):(\w+)", text)
    return (Path(named[1]), named[2]) if named else (Path(text), None)


def chosen_kernel(path: Path, module: ModuleType, name: str | None = None) -> Any:
    """The kernel `name`; else `{file's name}_kernel`; else the only one that no other one calls.

    Args:
        path: of the file.
        module: the imported file.
        name: as the file has it; None where the user named none.

    Raises:
        UserError: where there is no such kernel, or several that could be meant.
    """
    kernels = _kernels_of(module)
    if name is not None:
        return _named(path, module, name, kernels)
    expected = getattr(module, f"{path.stem}_kernel", None)
    if expected is not None:
        return expected
    tuned = {name: kernel for name, kernel in kernels.items() if isinstance(kernel, Autotuner)}
    called = {name for kernel in kernels.values() for name in _names_called(kernel)}
    entries = tuned or {name: kernels[name] for name in kernels if name not in called}
    if len(entries) == 1:
        return next(iter(entries.values()))
    if not entries:
        raise UserError(f"{path} has no kernel: put @triton.jit above a function")
    raise UserError(
        f"{path} has the kernels {', '.join(entries)}: name one of them, "
        f"as in {path.name}:{next(iter(entries))}"
    )


def python_function(kernel: Any) -> Any:
    """The function under a kernel's decorators."""
    while not inspect.isfunction(kernel):
        kernel = kernel.fn
    return kernel


def _named(path: Path, module: ModuleType, name: str, kernels: dict[str, Any]) -> Any:
    kernel = getattr(module, name, None)
    # A file without any decorator, as triton-cpu's documents show, has plain functions.
    if isinstance(kernel, KernelInterface) or (inspect.isfunction(kernel) and not kernels):
        return kernel
    if not kernels:
        raise UserError(f"{path} has no kernel {name}: put @triton.jit above a function")
    raise UserError(f"{path} has no kernel {name}: {nearest(name, kernels)}")


def _kernels_of(module: ModuleType) -> dict[str, Any]:
    """What the file itself decorates, each once, by name and in its order."""
    found: dict[int, tuple[str, Any]] = {}
    for name, value in vars(module).items():
        if isinstance(value, KernelInterface):
            function = python_function(value)
            if function.__module__ == module.__name__:
                found.setdefault(id(function), (name, value))
    return dict(found.values())


def _names_called(kernel: Any) -> set[str]:
    """Names that the kernel's source looks up in its file."""
    instructions = dis.get_instructions(python_function(kernel))
    return {str(i.argval) for i in instructions if i.opname == "LOAD_GLOBAL"}
