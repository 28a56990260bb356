"""A digest of a Triton kernel's source that stays the same if the kernel only moves."""

from __future__ import annotations

import hashlib
import inspect
from types import ModuleType
from typing import Any

from triton import language
from triton.runtime.jit import JITFunction

__all__ = ["source_digest"]

_CONSTANTS = (int, float, str, language.constexpr)


def source_digest(kernel: Any, launch_source: str = "") -> str:
    """A digest of the source that determines a kernel's time; other digests are not comparable.

    Triton's `cache_key` also contains the kernel's line number, so adding a configuration to a list
    above the kernel would invalidate all earlier times.

    Args:
        kernel: a `@triton.jit` function. The digest includes the functions that it calls and the
            constants that it reads, but not Triton's library, which the compiler's version covers.
        launch_source: other source that determines a run's time and its correct outputs.
    """
    parts: set[str] = set()
    _collect(kernel, parts)
    text = "\0".join([*sorted(parts), launch_source])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _collect(function: Any, parts: set[str]) -> None:
    """Add the sources of a function and of those that it calls, and the constants they read."""
    source = str(function.src)
    if source in parts:
        return
    parts.add(source)
    for name, value in _values_read(function.fn).items():
        if isinstance(value, JITFunction):
            if not value.__module__.startswith("triton."):
                _collect(value, parts)
        elif isinstance(value, _CONSTANTS):
            parts.add(f"{name} = {value!r}")


def _values_read(function: Any) -> dict[str, Any]:
    """Global and captured values by name, and values read from modules."""
    variables = inspect.getclosurevars(function)
    found: dict[str, Any] = {**variables.globals, **variables.nonlocals}
    modules = [value for value in found.values() if isinstance(value, ModuleType)]
    for module in modules:
        if module.__name__.partition(".")[0] not in ("triton", "torch"):
            for name in function.__code__.co_names:
                if hasattr(module, name):
                    found.setdefault(name, getattr(module, name))
    return found
