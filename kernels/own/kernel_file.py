"""What a user's file holds: the kernel, its configurations, and functions around it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import triton
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import KernelInterface

from foundation.config import Config, ParameterValue
from foundation.errors import UserError
from kernels.own.module import call_by_name, import_file, mistakes_of

__all__ = ["KernelFile", "read_kernel_file"]


@dataclass(frozen=True)
class KernelFile:
    """A file NAME.py with one kernel.

    Args:
        path: absolute.
        module: the imported file.
        function: the kernel as `@triton.jit` makes it.
        tuner: the `triton.autotune` decorator around it, None where there is none.
        heuristics: functions of the arguments by name, which give the value of a constexpr.
    """

    path: Path
    module: ModuleType
    function: Any
    tuner: Any
    heuristics: Mapping[str, Callable[[Mapping[str, Any]], ParameterValue]]

    @property
    def name(self) -> str:
        """The kernel's, without its ending "_kernel"."""
        return str(self.function.__name__).removesuffix("_kernel")

    def required(self, name: str, why: str) -> Callable[..., Any]:
        """The function `name` of the file.

        Raises:
            UserError: where there is none; `why` says what it is for.
        """
        function = self.optional(name)
        if function is None:
            raise UserError(f"{self.path} has no function {name}, {why}: see docs/add_a_kernel.md")
        return function

    def optional(self, name: str) -> Callable[..., Any] | None:
        """The function `name` of the file, or None."""
        function = getattr(self.module, name, None)
        return function if callable(function) else None

    def launch_source(self) -> str:
        """The functions that decide what is run, and what of it is right.

        The list of configurations may grow, so it is not among them.
        """
        functions = map(self.optional, ("arguments", "grid", "reference"))
        return "".join(inspect.getsource(function) for function in functions if function)

    def configurations(self, known: Mapping[str, Any]) -> list[Config]:
        """The configurations to try, in the file's order, each once.

        Args:
            known: sizes and arguments by name, for functions that make or prune the list.

        Raises:
            UserError: where there is none, or their parameters differ or are not the kernel's.
        """
        if self.tuner is not None:
            found = self._pruned(known)
        else:
            name = f"get_{self.name}_kernel_autotune_config"
            found = call_by_name(
                self.path,
                self.required(name, "which lists the configurations to try"),
                known,
            )
        configs = list(dict.fromkeys(Config(config.kwargs) for config in found))
        if not configs:
            raise UserError(f"{self.path} gives no configuration to try: give at least one")
        for config in configs:
            self._check(config, configs[0])
        return configs

    def _pruned(self, known: Mapping[str, Any]) -> Sequence[Any]:
        """The decorator's configurations after its own `prune_configs_by`."""
        names = self.function.arg_names
        self.tuner.nargs = {name: known[name] for name in names if name in known}
        with mistakes_of(self.path, "fails in prune_configs_by"):
            return list(self.tuner.prune_configs({}))

    def _check(self, config: Config, first: Config) -> None:
        if set(config) != set(first):
            raise UserError(
                f"{self.path}: the configurations {first} and {config} name different parameters"
            )
        constants = {p.name for p in self.function.params if p.is_constexpr}
        for name in config:
            if name not in constants:
                raise UserError(
                    f"{self.path}: a configuration has {name}, which is no tl.constexpr of "
                    f"{self.function.__name__}"
                )


def read_kernel_file(path: Path) -> KernelFile:
    """Import a file and find its kernel: `{file's name}_kernel`, or the only kernel there is.

    Raises:
        UserError: where it cannot be imported, or there is no such kernel.
    """
    path = path.resolve()
    module = import_file(path)
    decorated = _kernel_of(path, module)
    tuner, heuristics = None, {}
    while isinstance(decorated, Autotuner | Heuristics):
        if isinstance(decorated, Autotuner):
            tuner = decorated
        else:
            heuristics.update(decorated.values)
        decorated = decorated.fn
    if inspect.isfunction(decorated):
        decorated = triton.jit(decorated)
    return KernelFile(path, module, decorated, tuner, heuristics)


def _python_function(decorated: Any) -> Any:
    while not inspect.isfunction(decorated):
        decorated = decorated.fn
    return decorated


def _kernel_of(path: Path, module: ModuleType) -> Any:
    expected = f"{path.stem}_kernel"
    named = getattr(module, expected, None)
    if named is not None:
        return named
    own = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, KernelInterface)
        and _python_function(value).__module__ == module.__name__
    }
    tuned = {name: value for name, value in own.items() if isinstance(value, Autotuner)} or own
    if len(tuned) != 1:
        found = f"has {', '.join(tuned)}" if tuned else "has none"
        raise UserError(f"{path} should have a kernel called {expected}, and {found}: rename it")
    return next(iter(tuned.values()))
