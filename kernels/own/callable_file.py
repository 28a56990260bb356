"""A file with a function `build(config)`: whatever it returns can be tuned, Triton or not."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from foundation.config import Config
from foundation.errors import UserError
from gpu_runner.device_arrays import DeviceArguments
from kernels.own.accesses import Accesses
from kernels.own.changed_inputs import Change, changed
from kernels.own.check_notes import on_unchecked
from kernels.own.device_run import DeviceRun
from kernels.own.expected import ExpectedOutput, from_reference, tensors_of
from kernels.own.journal import Journal, outcome_of
from kernels.own.kept_answers import kept_telling
from kernels.own.module import call_by_name, import_file
from kernels.own.reference_outputs import checked_outputs
from kernels.own.restored import restored
from kernels.own.seeded import seeded
from kernels.own.telling import Telling, telling_changes
from kernels.own.tolerance import tolerance
from kernels.own.tried_changes import Tried
from kernels.spec import KernelSpec, Problem
from kernels.values import TORCH_TYPES, current_data_set, input_array, output_array
from launchers.arguments import Argument
from search_spaces.space import SearchSpace

__all__ = ["CallableFile", "callable_spec", "is_callable_file", "placed"]


def is_callable_file(path: Path) -> bool:
    """Whether the file defines `build`; imports nothing."""
    return (
        path.is_file() and re.search(rb"^def build\(", path.read_bytes(), re.MULTILINE) is not None
    )


def callable_spec(file: CallableFile) -> KernelSpec:
    """The callable of a user's file; docs/guides/callables.md says what the file must contain.

    Raises:
        UserError: if the file lacks something; later also if one of its functions fails.
    """
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
        check=file.check,
        kept_inputs=file.kept_inputs,
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
        self._changes: dict[object, Telling] = {}

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

    @property
    def kept_inputs(self) -> frozenset[str]:
        """Names of the inputs that the check leaves as `arguments` makes them."""
        return frozenset(getattr(self._module, "kept_inputs", ()))

    def values(self, problem: Problem, config: Config) -> dict[str, Any]:
        """Tensors and numbers by name, in the order in which they are passed, as the file makes
        them.

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
        """The arguments, with the outputs that `reference` names; those of the check's data set
        have their changes."""
        changes = self._telling(problem).changes if current_data_set() == 0 else {}
        return self._arguments(_Call(self, problem, config, changes))

    def check(self, problem: Problem) -> tuple[str, ...]:
        """Notes on the check's inputs."""
        return self._telling(problem).notes

    def find_changes(self, problem: Problem, journal: Journal) -> Telling:
        """How the check's inputs are to differ from the file's, found in this process."""
        config = self.configurations()[0]
        plain = _Call(self, problem, config)
        values = plain.values()
        names = frozenset(n for n, value in values.items() if isinstance(value, torch.Tensor))
        outputs = names & plain.reference(values).keys()
        callable_of_values = self.build(problem, config, values)

        def launch(changes: Mapping[str, Change]) -> _Call:
            return replace(plain, changes=changes)

        def launcher(memory: DeviceArguments) -> Callable[[], object]:
            return partial(callable_of_values, *placed(memory, values).values())

        tried = Tried(
            launch,
            lambda changes: self._arguments(launch(changes)),
            Accesses(constant=names - outputs, only_stored=outputs),
            lambda _folder: DeviceRun(str(torch.get_default_device()), launcher),
            # `build` may take a number, too.
            frozenset(values) - names,
        )
        run, unnamed = DeviceRun(str(torch.get_default_device()), launcher), names - outputs
        given = tuple(_argument(name, value, None) for name, value in values.items())
        watched = tuple(replace(each, constant=each.name in unnamed) for each in given)
        changed_ones: frozenset[str] = frozenset()
        if not journal.outcome(lambda: outcome_of(run, watched)).is_right:
            changed_ones = unnamed - restored(run, given, unnamed, journal)
        unchecked = "".join(on_unchecked(changed_ones, "callable"))
        return replace(telling_changes(tried, journal), unchecked=unchecked)

    def answer(self, problem: Problem, _question: str, _configs: object, journal: Journal) -> Any:
        """What runs tell in this process, as JSON has it: how inputs are to differ."""
        return asdict(self.find_changes(problem, journal))

    def _telling(self, problem: Problem) -> Telling:
        functions = (self.required("arguments"), self.required("reference"))
        if any("config" in inspect.signature(function).parameters for function in functions):
            return Telling(untried="arguments or reference takes config")
        key = (*problem.shape.items(), problem.dtype, torch.get_default_device())
        if key not in self._changes:
            self._changes[key] = kept_telling(problem, partial(self.find_changes, problem))
        return self._changes[key]

    def _arguments(self, call: _Call) -> tuple[Argument, ...]:
        values = call.values()
        _, expected = from_reference(call, values)
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

    def reference(
        self, problem: Problem, config: Config, values: Mapping[str, Any]
    ) -> dict[str, torch.Tensor]:
        """What outputs should be, by name, as the file's reference gives it."""
        copies = {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in values.items()}
        known = {**self._known(problem, config), **copies}
        with seeded(current_data_set()):
            given = call_by_name(self.path, self.required("reference"), known)
        return tensors_of(checked_outputs(self.path, "arguments", given, values))

    def _known(self, problem: Problem, config: Config) -> dict[str, Any]:
        dtype = TORCH_TYPES[problem.dtype]
        return {**problem.shape, "dtype": dtype, "config": dict(config)}


@dataclass(frozen=True)
class _Call:
    """A call of a configuration's callable: a `Launched`.

    Args:
        file: its functions.
        problem, config: what is called.
        changes: of tensors, by name.
    """

    file: CallableFile
    problem: Problem
    config: Config
    changes: Mapping[str, Change] = field(default_factory=dict)

    @property
    def kept_inputs(self) -> frozenset[str]:
        return self.file.kept_inputs

    def values(self) -> dict[str, Any]:
        return changed(self.file.values(self.problem, self.config), self.changes)

    def constants(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}

    def reference(self, values: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        return self.file.reference(self.problem, self.config, values)


def placed(memory: DeviceArguments, shapes: Mapping[str, Any]) -> dict[str, Any]:
    """What is passed to a callable: its arguments in some memory.

    Args:
        memory: where they lie.
        shapes: by name in their order, tensors or arrays of the same shape; anything of numbers.
    """
    return {
        name: memory.value(name).reshape(like.shape)
        if hasattr(like, "shape")
        else memory.value(name)
        for name, like in shapes.items()
    }


def _argument(name: str, value: Any, expected: ExpectedOutput | None) -> Argument:
    if not isinstance(value, torch.Tensor):
        return Argument(name, "i64" if isinstance(value, int) else "fp64", value)
    if expected is None:
        return input_array(name, value)
    output = output_array(name, expected.tensor, tolerance(value.dtype))
    slack = None if expected.slack is None else expected.slack.contiguous().cpu().numpy()
    return replace(output, slack=slack)
