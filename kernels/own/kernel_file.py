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
from kernels.own.launches import first_launched
from kernels.own.module import capture_advice, import_file
from kernels.unwrapped import Unwrapped, unwrapped

__all__ = ["KernelFile", "read_kernel_file"]

_MAKERS = ("arguments", "call")
_OF_A_KERNEL = (*_MAKERS, "grid", "reference", "flops", "ordered", "kept_inputs")


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
        function: the kernel, as made by `@triton.jit`.
        tuner: the `triton.autotune` decorator around it, or one of a package that derives from it;
            else None.
        heuristics: by constexpr, a function of the arguments that gives its value.
        is_generated: whether it is no name of the file, but what `call` launches; each call may
            make the kernel anew.
    """

    path: Path
    kernel: str | None
    module: ModuleType
    function: Any
    tuner: Any
    heuristics: Mapping[str, Callable[[Mapping[str, Any]], ParameterValue]]
    is_generated: bool = False

    @property
    def name(self) -> str:
        """The kernel's name, without "_kernel" at its end."""
        return str(self.function.__name__).removesuffix("_kernel")

    @property
    def lister(self) -> str:
        """The name of the function that lists the configurations, of the kernel's whole name."""
        own = f"get_{self.function.__name__}_autotune_config"
        return own if self.optional(own) else f"get_{self.name}_kernel_autotune_config"

    @property
    def load_name(self) -> str:
        """The name by which `kernels.registry.load_kernel` finds it, in any process."""
        return str(self.path) if self.kernel is None else f"{self.path}:{self.kernel}"

    def required(self, name: str, why: str, otherwise: str = "") -> Callable[..., Any]:
        """The function `name` of the kernel.

        Raises:
            UserError: if there is none; `why` says what the function is for, and `otherwise`, the
                end of the sentence, what else may help.
        """
        function = self.optional(name)
        if function is None:
            spelt = self.spelt(name)
            if self.kernel is not None and name == "arguments":
                spelt = f"{self.name}_arguments or arguments"
            others = [n for n, v in vars(self.module).items() if inspect.isfunction(v)]
            hint = nearest(spelt, [known for known in others if known != self.name])
            near = f" ({hint})" if hint.endswith("?") else ""
            raise UserError(
                f"{self.path} has no function {spelt}, {why}{near}: add it, as in "
                f"docs/reference/kernel_file.md{otherwise}"
            )
        return function

    def maker(self) -> Callable[..., Any]:
        """The function that gives the values of the parameters: `call` or `arguments`.

        Raises:
            UserError: if there is neither.
        """
        why = "which gives the value of each parameter, nor call, which launches the kernel"
        otherwise = f", {capture_advice(self.path)}"
        return self.optional("call") or self.required("arguments", why, otherwise)

    def optional(self, name: str) -> Callable[..., Any] | None:
        """The function `name` of the kernel, or None."""
        function = getattr(self.module, self.spelt(name), None)
        return function if callable(function) else None

    @property
    def is_ordered(self) -> bool:
        """Whether the file says that the kernel's programs have to run in order: `ordered = True`.

        Raises:
            UserError: if it says something else.
        """
        said = getattr(self.module, self.spelt("ordered"), False)
        if not isinstance(said, bool):
            raise UserError(f"{self.path}: {self.spelt('ordered')} is True or False, not {said!r}")
        return said

    @property
    def kept_inputs(self) -> frozenset[str]:
        """The parameters that the file says the check shall not change: `kept_inputs = ["x"]`.

        Raises:
            UserError: if it says something else, or names what is no parameter.
        """
        spelt = self.spelt("kept_inputs")
        said = getattr(self.module, spelt, ())
        names = said if isinstance(said, list | tuple | set | frozenset) else [said]
        for name in names:
            if name not in self.function.arg_names:
                raise UserError(
                    f"{self.path}: {spelt} lists parameters of {self.function.__name__}, and "
                    f"{name!r} is none: {nearest(str(name), self.function.arg_names)}"
                )
        return frozenset(names)

    def spelt(self, name: str) -> str:
        """What the file calls one of these for this kernel, if it has several kernels."""
        has_its_own = any(hasattr(self.module, f"{self.name}_{n}") for n in _MAKERS)
        return f"{self.name}_{name}" if has_its_own and name in _OF_A_KERNEL else name

    def launch_functions(self) -> tuple[Callable[..., Any], ...]:
        """The functions that determine what runs and which outputs are correct.

        The list of configurations is not included, since it may grow.
        """
        functions = map(self.optional, (*_MAKERS, "grid", "reference"))
        return (*(function for function in functions if function), *self.heuristics.values())


def read_kernel_file(path: Path, kernel: str | None = None) -> KernelFile:
    """Import a file and find its kernel: the named one, or the one that `chosen_kernel` finds, or
    else the first that the file's `call` launches, which need have no name in the file.

    Raises:
        UserError: if the file cannot be imported, or there is no such kernel.
    """
    path = path.resolve()
    module = import_file(path)
    launched, is_generated = _launched(path, module, kernel)
    if inspect.isfunction(launched):
        found = Unwrapped(triton.jit(launched), ())
    else:
        found = unwrapped(launched)
    tuner, heuristics = None, {}
    for decorator in found.decorators:
        if isinstance(decorator, Autotuner):
            tuner = decorator
        elif isinstance(decorator, Heuristics):
            heuristics.update(decorator.values)
    return KernelFile(path, kernel, module, found.function, tuner, heuristics, is_generated)


def _launched(path: Path, module: ModuleType, kernel: str | None) -> tuple[Any, bool]:
    """The kernel under its decorators, and whether only `call` leads to it."""
    try:
        return chosen_kernel(path, module, kernel), False
    except UserError as unknown:
        names = (f"{kernel}".removesuffix("_kernel") + "_call", "call")
        call = next((c for c in (getattr(module, n, None) for n in names) if callable(c)), None)
        if call is None:
            raise
        try:
            launched = first_launched(path, call, kernel)
        except UserError as failed:  # other kernels ran, if the user named one that is not there
            raise failed if kernel is None else unknown from failed
        if launched is None:
            raise
        return launched, True
