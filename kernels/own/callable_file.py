"""A file with a function `build(config)`: whatever it returns can be tuned, Triton or not."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from foundation.config import Config
from foundation.errors import UserError
from kernels.own.expected import ExpectedOutput, expected_output, tensors_of
from kernels.own.module import call_by_name, import_file
from kernels.own.reference_outputs import checked_outputs
from kernels.own.seeded import seeded
from kernels.own.tolerance import DRAWS, disturbed, share_of, tolerance
from kernels.spec import KernelSpec, Problem
from kernels.values import TORCH_TYPES, current_data_set, input_array, output_array
from launchers.arguments import Argument
from search_spaces.space import SearchSpace

__all__ = ["CallableFile", "is_callable_file", "load_callable"]


def is_callable_file(path: Path) -> bool:
    """Whether the file defines `build`; imports nothing."""
    return (
        path.is_file() and re.search(rb"^def build\(", path.read_bytes(), re.MULTILINE) is not None
    )


def load_callable(path: Path) -> KernelSpec:
    """The callable of a user's file; docs/guides/callables.md says what the file must contain.

    Raises:
        UserError: if the file cannot be imported or lacks something; later also if one of its
            functions fails.
    """
    file = CallableFile(path.resolve())
    configs = file.configurations()
    space = replace(SearchSpace.from_configs(configs), default=configs[0])
    functions = (file.optional(name) for name in ("arguments", "reference", "compiled_key"))
    return KernelSpec(
        name=file.path.stem,
        kernel=file.required("build"),
        default_shape=file.default_shape(),
        default_config=configs[0],
        dtypes=file.dtypes(),
        arguments=file.arguments,
        grid=lambda problem, config: (1, 1, 1),
        traffic_bytes=lambda problem: sum(
            value.nbytes
            for value in file.values(problem, configs[0]).values()
            if isinstance(value, torch.Tensor)
        ),
        space=lambda problem, board: space,
        file=str(file.path),
        launch_functions=tuple(function for function in functions if function is not None),
        callable_file=file,
    )


class CallableFile:
    """The functions of a file with a `build`.

    Args:
        path: absolute.

    Raises:
        UserError: if it cannot be imported.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._module: ModuleType = import_file(path)

    def required(self, name: str) -> Callable[..., Any]:
        """A function of the file.

        Raises:
            UserError: if there is none.
        """
        function = self.optional(name)
        if function is None:
            raise UserError(f"{self.path} has no function {name}: see docs/guides/callables.md")
        return function

    def optional(self, name: str) -> Callable[..., Any] | None:
        """A function of the file, or None."""
        function = getattr(self._module, name, None)
        return function if callable(function) else None

    @property
    def update_on_change(self) -> tuple[str, ...] | None:
        """Names of the sizes whose change asks for another configuration; None for all."""
        names = getattr(self._module, "update_on_change", None)
        return None if names is None else tuple(names)

    def configurations(self) -> list[Config]:
        """The configurations to try, the default first.

        Raises:
            UserError: if there is none.
        """
        listed = call_by_name(self.path, self.required("configurations"), {})
        configs = list(dict.fromkeys(Config(dict(row)) for row in listed))
        if not configs:
            raise UserError(f"{self.path} lists no configuration: give at least one")
        return configs

    def default_shape(self) -> dict[str, int]:
        """The sizes that `arguments` takes with their defaults, or 0."""
        return {
            name: 0 if parameter.default is parameter.empty else parameter.default
            for name, parameter in inspect.signature(self.required("arguments")).parameters.items()
            if name not in ("dtype", "config")
        }

    def dtypes(self) -> tuple[str, ...]:
        """Every type if `arguments` takes a dtype, its default first; else one."""
        parameter = inspect.signature(self.required("arguments")).parameters.get("dtype")
        if parameter is None:
            return ("fp32",)
        names = {torch_type: name for name, torch_type in TORCH_TYPES.items()}
        default = names.get(parameter.default, "fp32")
        return (default, *(name for name in TORCH_TYPES if name != default))

    def values(self, problem: Problem, config: Config) -> dict[str, Any]:
        """Tensors and numbers by name, in the order in which they are passed.

        The random seed is that of the data set.
        """
        make = self.required("arguments")
        with seeded(current_data_set()):
            given = call_by_name(self.path, make, self._known(problem, config))
        if not isinstance(given, Mapping):
            raise UserError(f"{self.path}: arguments must return a dictionary by name")
        return dict(given)

    def argument_names(self, problem: Problem, config: Config) -> tuple[str, ...]:
        """Names of what is passed, in its order."""
        return tuple(self.values(problem, config))

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        """The arguments, with the outputs that `reference` names."""
        values = self.values(problem, config)
        known = self._known(problem, config)
        outputs = self._reference(known, values)
        has_floats = any(values[name].is_floating_point() for name in outputs)
        draws = [disturbed(values, draw) for draw in range(DRAWS if has_floats else 0)]
        others = [self._reference(known, draw) for draw in draws]
        share = share_of(values)
        expected = {
            name: expected_output(tensor, [o[name] for o in others], share, values[name].dtype)
            for name, tensor in outputs.items()
        }
        return tuple(_argument(name, value, expected.get(name)) for name, value in values.items())

    def build(
        self, problem: Problem, config: Config, values: Mapping[str, Any]
    ) -> Callable[..., object]:
        """What `build` returns for a configuration: called with the arguments in their order."""
        known = {**self._known(problem, config), **values}
        built: Callable[..., object] = call_by_name(self.path, self.required("build"), known)
        return built

    def compiled_key(self, problem: Problem, config: Config) -> object:
        """What decides whether a compiled callable serves again: all, unless the file says."""
        function = self.optional("compiled_key")
        if function is None:
            return (config, tuple(problem.shape.items()), problem.dtype)
        return call_by_name(self.path, function, self._known(problem, config))

    def _reference(
        self, known: Mapping[str, Any], values: Mapping[str, Any]
    ) -> Mapping[str, torch.Tensor]:
        copies = {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in values.items()}
        given = call_by_name(self.path, self.required("reference"), {**known, **copies})
        return tensors_of(checked_outputs(self.path, "arguments", given, values))

    def _known(self, problem: Problem, config: Config) -> dict[str, Any]:
        dtype = TORCH_TYPES[problem.dtype]
        return {**problem.shape, "dtype": dtype, "config": dict(config)}


def _argument(name: str, value: Any, expected: ExpectedOutput | None) -> Argument:
    if not isinstance(value, torch.Tensor):
        return Argument(name, "i64" if isinstance(value, int) else "fp64", value)
    if expected is None:
        return input_array(name, value)
    output = output_array(name, expected.tensor, tolerance(value.dtype))
    slack = None if expected.slack is None else expected.slack.contiguous().cpu().numpy()
    return replace(output, slack=slack)
