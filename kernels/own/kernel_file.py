"""The contents of a user's file: the kernel and its functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import triton
from triton.runtime.autotuner import Autotuner, Heuristics

from foundation.config import ParameterValue
from foundation.errors import UserError, nearest
from kernels.own.choice import chosen_kernel
from kernels.own.module import import_file

__all__ = ["KernelFile", "read_kernel_file"]

_MAKERS = ("arguments", "call")
_OF_A_KERNEL = (*_MAKERS, "grid", "reference", "flops")


@dataclass(frozen=True)
class KernelFile:
    """A kernel in a file, and the functions that belong to it.

    The functions are `arguments` or `call`, `grid`, `reference` and `flops`. If the file has a
    function `NAME_arguments` or `NAME_call`, where NAME is the kernel's name, they are
    `NAME_arguments`, `NAME_grid` and so on.

    Args:
        path: absolute.
        kernel: the function's name as the user gave it in path/file.py:kernel, or None.
        module: the imported file.
        launched: what the file's own functions launch: the kernel under all of its decorators.
        function: the kernel, as made by `@triton.jit`.
        tuner: the `triton.autotune` decorator around it, or None.
        heuristics: by constexpr, a function of the arguments that gives its value.
    """

    path: Path
    kernel: str | None
    module: ModuleType
    launched: Any
    function: Any
    tuner: Any
    heuristics: Mapping[str, Callable[[Mapping[str, Any]], ParameterValue]]

    @property
    def name(self) -> str:
        """The kernel's name, without "_kernel" at its end."""
        return str(self.function.__name__).removesuffix("_kernel")

    @property
    def load_name(self) -> str:
        """The name by which `kernels.registry.load_kernel` finds it, in any process."""
        return str(self.path) if self.kernel is None else f"{self.path}:{self.kernel}"

    def required(self, name: str, why: str) -> Callable[..., Any]:
        """The function `name` of the kernel.

        Raises:
            UserError: if there is none; `why` says what the function is for.
        """
        function = self.optional(name)
        if function is None:
            spelt = self._spelt(name)
            if self.kernel is not None and name == "arguments":
                spelt = f"{self.name}_arguments or arguments"
            others = [n for n, v in vars(self.module).items() if inspect.isfunction(v)]
            hint = nearest(spelt, [known for known in others if known != self.name])
            near = f" ({hint})" if hint.endswith("?") else ""
            raise UserError(
                f"{self.path} has no function {spelt}, {why}{near}: see docs/add_a_kernel.md"
            )
        return function

    def maker(self) -> Callable[..., Any]:
        """The function that gives the values of the parameters: `call` or `arguments`.

        Raises:
            UserError: if there is neither.
        """
        why = "which gives the value of each parameter, nor call, which launches the kernel"
        return self.optional("call") or self.required("arguments", why)

    def optional(self, name: str) -> Callable[..., Any] | None:
        """The function `name` of the kernel, or None."""
        function = getattr(self.module, self._spelt(name), None)
        return function if callable(function) else None

    def _spelt(self, name: str) -> str:
        has_its_own = any(hasattr(self.module, f"{self.name}_{n}") for n in _MAKERS)
        return f"{self.name}_{name}" if has_its_own and name in _OF_A_KERNEL else name

    def launch_functions(self) -> tuple[Callable[..., Any], ...]:
        """The functions that determine what runs and which outputs are correct.

        The list of configurations is not included, since it may grow.
        """
        functions = map(self.optional, (*_MAKERS, "grid", "reference"))
        return (*(function for function in functions if function), *self.heuristics.values())


def read_kernel_file(path: Path, kernel: str | None = None) -> KernelFile:
    """Import a file and find its kernel: the named one, or the one that `chosen_kernel` finds.

    Raises:
        UserError: if the file cannot be imported, or there is no such kernel.
    """
    path = path.resolve()
    module = import_file(path)
    launched = decorated = chosen_kernel(path, module, kernel)
    tuner, heuristics = None, {}
    while isinstance(decorated, Autotuner | Heuristics):
        if isinstance(decorated, Autotuner):
            tuner = decorated
        else:
            heuristics.update(decorated.values)
        decorated = decorated.fn
    if inspect.isfunction(decorated):
        decorated = triton.jit(decorated)
    return KernelFile(path, kernel, module, launched, decorated, tuner, heuristics)
