"""The kernel under the decorators that Triton and packages put around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

__all__ = ["Unwrapped", "is_launched", "unwrapped"]

_KERNELS = (JITFunction, InterpretedFunction)
# Where decorators keep what they are around; other attributes follow, since one may keep it
# under any name.
_FIRST = ("fn", "__wrapped__", "func", "jit_function")


@dataclass(frozen=True)
class Unwrapped:
    """A kernel and the decorators around it.

    Args:
        function: what `@triton.jit` made; under TRITON_INTERPRET=1, the interpreted function.
        decorators: `triton.autotune`, `triton.heuristics` and those of packages, outermost first.
    """

    function: Any
    decorators: tuple[Any, ...]


def unwrapped(launched: Any) -> Unwrapped:
    """The kernel that `launched[grid](...)` leads to.

    Raises:
        TypeError: if it leads to none.
    """
    road = _road_to_kernel(launched, set())
    if road is None:
        raise TypeError(f"{launched!r} is no kernel: @triton.jit makes one")
    return Unwrapped(road[-1], tuple(road[:-1]))


def is_launched(value: Any) -> bool:
    """Whether `value[grid](...)` launches a kernel of Triton."""
    return _road_to_kernel(value, set()) is not None


def _road_to_kernel(value: Any, seen: set[int]) -> list[Any] | None:
    """The decorators from `value` inwards, and the kernel at the end."""
    if isinstance(value, _KERNELS):
        return [value]
    if not _has_launch(value):
        return None
    seen.add(id(value))
    for inner in _held(value):
        if id(inner) not in seen:
            road = _road_to_kernel(inner, seen)
            if road is not None:
                return [value, *road]
    return None


def _held(value: Any) -> Iterator[Any]:
    """What an object keeps in attributes, in the order in which a kernel is looked for."""
    attributes = getattr(value, "__dict__", None)
    if not isinstance(attributes, dict):
        return
    yield from (attributes[name] for name in _FIRST if name in attributes)
    yield from list(attributes.values())


def _has_launch(value: Any) -> bool:
    """Whether the object takes `[grid]`, or is called by one that does."""
    if isinstance(value, type | ModuleType | dict | list | tuple | str | bytes):
        return False
    return hasattr(type(value), "__getitem__") or callable(getattr(type(value), "run", None))
