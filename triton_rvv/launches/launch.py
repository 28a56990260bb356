"""One launch of a kernel, as Triton or torch.compile makes it."""

from __future__ import annotations

import functools
import inspect
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from triton_rvv.launches.decorators import Decorators, configuration_values, decorators_of
from triton_rvv.launches.definition import definition
from triton_rvv.launches.forms import Forms, forms_of
from triton_rvv.launches.generated import grid_values
from triton_rvv.launches.launching_line import launching_line
from triton_rvv.launches.signature import (
    Signature,
    bound_arguments,
    constant_record,
    signature_of,
)
from triton_rvv.launches.source import captured_variables, global_values

__all__ = ["InductorLaunch", "Launch"]

_MOST_SAMPLES = 256
# As small as blocks are tried: larger ones may cover what a smaller one does not.
_FACTORS = (0.125, 0.25, 0.5, 2, 4)


class Launch:
    """A launch of a kernel that Triton makes.

    Args:
        kernel: made by `@triton.jit`.
        args, kwargs: what it is given, options of the compiler among the latter.
        grid: numbers of programs, or a function of the kernel's parameters.
        running: the autotuner that launches it, or None.
    """

    __slots__ = ("args", "grid", "kernel", "kwargs", "running")
    is_generated = False

    def __init__(
        self,
        kernel: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        grid: Any,
        running: Any = None,
    ) -> None:
        self.kernel, self.args, self.kwargs = kernel, args, kwargs
        self.grid, self.running = grid, running

    def forms(self, attribute: str) -> Forms[Any]:
        """What the owner of an attribute knows of the kernel's launches."""
        return forms_of(self.kernel, attribute, self.kernel)

    @property
    def holder(self) -> Any:
        """What keeps attributes from launch to launch."""
        return self.kernel

    @property
    def bound(self) -> dict[str, Any]:
        """The value of each parameter."""
        return bound_arguments(self.kernel, self.args, self.kwargs)

    @property
    def names(self) -> set[str]:
        """The parameters and options that the launch gives."""
        return {*self.kernel.arg_names[: len(self.args)], *self.kwargs}

    @property
    def options(self) -> dict[str, Any]:
        """The options of the compiler that the launch gives."""
        return {n: v for n, v in self.kwargs.items() if n not in self.kernel.arg_names}

    def decorators(self) -> Decorators:
        """Those around the kernel."""
        return decorators_of(self.kernel, self.running)

    def signature(self) -> Signature:
        """The launch as plain data.

        Raises:
            TypeError: for an argument of a kind that cannot be recorded.
        """
        bound = self.bound
        return signature_of(
            self.kernel, bound, self.options, self.programs(bound), self.decorators()
        )

    def programs(self, values: Mapping[str, Any]) -> tuple[int, int, int]:
        """The number of programs along x, y and z for values of the parameters."""
        grid = self.grid(dict(values)) if callable(self.grid) else self.grid
        x, y, z = (*(int(size) for size in grid), 1, 1)[:3]
        return x, y, z

    @property
    def is_grid_callable(self) -> bool:
        """Whether the grid follows the constants by itself."""
        return callable(self.grid)

    def grid_values(self) -> list[dict[str, Any]] | None:
        """The constants for which torch.compile knows a grid of numbers; None of other grids."""
        return None

    def record(self, signature: Signature, source: str, definition: str) -> dict[str, Any]:
        """A task's record in a capture's file, without the contents of its memory.

        Args:
            signature: of this launch.
            source: the digest of its module's text.
            definition: the digest of its definition.
        """
        from triton.runtime.driver import driver

        decorators = self.decorators()
        target = driver.active.get_current_target()
        configurations = decorators.configurations
        return {
            "key": signature.key,
            "call_key": signature.call_key,
            "family": signature.family,
            "call_family": signature.call_family,
            "sizes": signature.sizes,
            "kernel": self._kernel_record(signature.kernel, source, definition),
            "arguments": signature.arguments,
            "constants": signature.constants,
            "options": signature.options,
            "grid": signature.grid,
            "launched_at": "" if self.is_generated else launching_line(),
            "is_grid_callable": self.is_grid_callable,
            "grid_samples": list(self._samples(decorators)),
            "grid_values": self.grid_values(),
            "configurations": None if configurations is None else list(configurations),
            "autotune_key": decorators.key,
            "heuristics": decorators.heuristics,
            "wrappers": decorators.wrappers,
            "device": _device_name(target.backend, str(target.arch)),
            "target": f"{target.backend}:{target.arch}",
        }

    def module_source(self) -> str:
        """The text of the kernel's file; "" of an installed package, whose file can be imported."""
        path = Path(inspect.getfile(self.kernel.fn))
        installed = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))
        if not self.is_generated and str(path).startswith(installed):
            return ""
        try:
            return path.read_text(encoding="utf-8")
        except OSError:
            return ""

    def definition(self) -> str:
        """What the kernel reads, and reaches; "" of torch.compile, whose text has it all."""
        return "" if self.is_generated else definition(self.kernel)

    def _kernel_record(self, digest: str, source: str, definition: str) -> dict[str, Any]:
        kernel = self.kernel
        return {
            "module": kernel.module,
            "qualname": kernel.fn.__qualname__,
            "file": inspect.getfile(kernel.fn),
            "line": kernel.starting_line_number,
            "digest": digest,
            "source": kernel.src,
            "captured": captured_variables(kernel),
            "global_values": global_values(kernel),
            "package": kernel.fn.__globals__.get("__package__") or "",
            "module_source": source,
            "is_generated": self.is_generated,
            "definition": definition,
            "has_file": self._has_file(),
        }

    def _has_file(self) -> bool:
        """Whether a file has the kernel by its name, unlike one that a function makes of others."""
        function = self.kernel.fn
        return "<locals>" not in function.__qualname__ and Path(inspect.getfile(function)).is_file()

    def _samples(self, decorators: Decorators) -> Iterator[dict[str, Any]]:
        """What a grid that is a function gives for other constants."""
        if not self.is_grid_callable:
            return
        bound = self.bound
        constants = [p.name for p in self.kernel.params if p.is_constexpr]
        changes = [
            {name: value for name, value in config.items() if name in constants}
            for config in decorators.configurations or ()
        ]
        for name in constants:
            value = bound.get(name)
            if type(value) is int and value > 1:
                changes += [
                    {name: int(value * factor)} for factor in _FACTORS if value * factor >= 1
                ]
        for changed in changes[:_MOST_SAMPLES]:
            try:
                grid = self.programs({**bound, **changed})
            except Exception:  # a grid need not be made for these values
                continue
            yield {"changed": {n: constant_record(v) for n, v in changed.items()}, "grid": grid}


class InductorLaunch(Launch):
    """A launch of a kernel that torch.compile wrote, or that it launches for a program.

    Args:
        tuner: Inductor's `CachingAutotuner`, which has chosen its configuration.
        args: what it is given: the kernel's parameters without constants, and behind them, where
            the program gave numbers for its own kernel, the grid.
    """

    __slots__ = ("tuner",)
    is_generated = True

    def __init__(self, tuner: Any, args: tuple[Any, ...]) -> None:
        super().__init__(tuner.fn, args, {}, ())
        self.tuner = tuner

    def forms(self, attribute: str) -> Forms[Any]:
        return inductor_forms(self.tuner, attribute)

    @property
    def holder(self) -> Any:
        return self.tuner

    @property
    def bound(self) -> dict[str, Any]:
        given = self._given
        constants = self.tuner.triton_meta.get("constants", {})
        names = self.kernel.arg_names
        constants = {n if isinstance(n, str) else names[n]: v for n, v in constants.items()}
        known = {**constants, **self._config.kwargs, **given}
        return {name: known[name] for name in names if name in known}

    @property
    def options(self) -> dict[str, Any]:
        return {"num_warps": self._config.num_warps, "num_stages": self._config.num_stages}

    @property
    def is_grid_callable(self) -> bool:
        return not _grid_names(self.tuner)

    def grid_values(self) -> list[dict[str, Any]] | None:
        known = grid_values(self.tuner)
        return known and [{n: constant_record(v) for n, v in one.items()} for one in known]

    def programs(self, values: Mapping[str, Any]) -> tuple[int, int, int]:
        from torch._inductor.runtime.triton_heuristics import GridExpr, config_to_dict

        # The grids of an autotuner's configurations are found by their options, too.
        config = {**config_to_dict(self._config), **values}
        grid = GridExpr.from_meta(self.tuner.inductor_meta, config)
        x, y, z = grid.eval_slow({**self._given, **values})
        return int(x), int(y), int(z)

    def decorators(self) -> Decorators:
        configs = getattr(self.tuner, "configs", None) or [self._config]
        listed = tuple(map(configuration_values, configs))
        return Decorators(listed, (), (), (type(self.tuner).__name__,))

    @property
    def _given(self) -> dict[str, Any]:
        names = (*passed_names(self.tuner), *_grid_names(self.tuner))
        return dict(zip(names, self.args, strict=False))

    @property
    def _config(self) -> Any:
        return self.tuner.launchers[0].config


def passed_names(tuner: Any) -> list[str]:
    """The parameters that Inductor passes at run time, also those that it made constants."""
    return [parameter.name for parameter in tuner.fn.params if not parameter.is_constexpr]


def _grid_names(tuner: Any) -> tuple[str, ...]:
    """What Inductor passes behind the parameters: sizes of a grid that no function gives."""
    return tuple(tuner.inductor_meta.get("extra_launcher_args", ()))


class _Passed:
    """A parameter, as `Forms` looks at it."""

    def __init__(self, name: str) -> None:
        self.name, self.is_constexpr = name, False


def inductor_forms(tuner: Any, attribute: str) -> Forms[Any]:
    """What the owner of an attribute knows of the launches of one of Inductor's kernels."""
    forms: Forms[Any] | None = tuner.__dict__.get(attribute)
    if forms is None:
        names = (*passed_names(tuner), *_grid_names(tuner))
        forms = tuner.__dict__[attribute] = Forms([_Passed(name) for name in names])
    return forms


@functools.cache
def _device_name(backend: str, architecture: str) -> str:
    if backend == "cpu":
        return architecture
    import torch

    return torch.cuda.get_device_name()
