"""The decorators around a kernel."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton_rvv.launches.options import OPTIONS

__all__ = [
    "Decorators",
    "adds_nothing",
    "configuration_values",
    "decorators_of",
    "has_configurations",
    "kernel_under",
]

_PLAIN = (int, float, bool, str)
_USUAL = {"num_ctas": 1, "maxnreg": None}


@dataclass(frozen=True)
class Decorators:
    """What stands around a kernel.

    Args:
        configurations: of an autotuner, options among the values; None without one.
        key: the parameters by which the autotuner chooses.
        heuristics: the constants that are computed.
        wrappers: the classes, the outermost first.
    """

    configurations: tuple[Mapping[str, Any], ...] | None = None
    key: tuple[str, ...] = ()
    heuristics: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()

    @property
    def chosen(self) -> frozenset[str]:
        """The names that the autotuner and heuristics choose."""
        named = [name for config in self.configurations or () for name in config]
        return frozenset([*named, *self.heuristics])


def decorators_of(kernel: Any, running: Any = None) -> Decorators:
    """The decorators around a kernel.

    Args:
        kernel: made by `@triton.jit`.
        running: the autotuner that is launching it, if one is. It need not be among the decorators
            that the kernel's name leads to: programs give autotuners names of their own.
    """
    named, around = _layers(_named(kernel), kernel), _layers(running, kernel)
    layers = (named if not around or running in (named or ()) else around) or []
    configurations: tuple[Mapping[str, Any], ...] | None = None
    key: Sequence[str] = ()
    heuristics: list[str] = []
    for layer in layers:
        if has_configurations(layer):
            configurations = tuple(map(configuration_values, layer.configs))
            key = [name for name in getattr(layer, "keys", ()) if isinstance(name, str)]
        elif isinstance(getattr(layer, "values", None), dict):
            heuristics += layer.values
    names = tuple(type(layer).__name__ for layer in layers)
    return Decorators(configurations, tuple(key), tuple(heuristics), names)


def has_configurations(decorator: Any) -> bool:
    """Whether a decorator is an autotuner, of Triton or like Triton's: it lists configurations."""
    listed = getattr(decorator, "configs", None)
    return isinstance(listed, list | tuple) and all(hasattr(one, "kwargs") for one in listed)


def adds_nothing(tuner: Any, kernel: Any, config: Any) -> bool:
    """Whether an autotuner with one configuration only launches the kernel in it."""
    from triton.runtime.autotuner import Autotuner

    return type(tuner) is Autotuner and tuner.fn is kernel and config.pre_hook is None


def kernel_under(decorator: Any) -> Any:
    """The `@triton.jit` function under decorators."""
    inner = decorator
    while not hasattr(inner, "device_caches"):
        inner = inner.fn
    return inner


def _named(kernel: Any) -> Any:
    """What a program finds under the kernel's name; None if that is nothing."""
    found: Any = sys.modules.get(kernel.module)
    for name in kernel.fn.__qualname__.split("."):
        found = getattr(found, name, None)
    return found


def _layers(outermost: Any, kernel: Any) -> list[Any] | None:
    """What lies around the kernel, the outermost first; None if it is not in there."""
    layers: list[Any] = []
    while outermost is not None and outermost is not kernel:
        layers.append(outermost)
        outermost = vars(outermost).get("fn") if hasattr(outermost, "__dict__") else None
    return layers if outermost is kernel else None


def configuration_values(config: Any) -> dict[str, Any]:
    """The values of a `triton.Config`, with the options that differ from Triton's own."""
    values = {name: v for name, v in config.kwargs.items() if isinstance(v, _PLAIN)}
    for name in OPTIONS:
        value = getattr(config, name, None)
        if value is not None and value != _USUAL.get(name):
            values[name] = value
    return values
