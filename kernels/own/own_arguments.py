"""What a user's kernel gets, and what is expected of its outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from foundation.config import Config
from kernels.own.accesses import accesses_of
from kernels.own.argument_of import argument_of, described_as
from kernels.own.changed_inputs import Change
from kernels.own.device_run import DeviceRun
from kernels.own.expected import ExpectedOutput, expected_outputs
from kernels.own.host_run import HostRun
from kernels.own.journal import Journal
from kernels.own.kept_answers import kept_answer, kept_telling
from kernels.own.kernel_file import KernelFile
from kernels.own.launch import Launch, descriptors_of
from kernels.own.own_runs import OwnRuns
from kernels.own.restored import restored
from kernels.own.telling import Telling, telling_changes
from kernels.own.tried_changes import Tried
from kernels.own.unreferenced import without_reference
from kernels.spec import Problem
from kernels.values import current_data_set, want_types_alone
from launchers.arguments import Argument

__all__ = ["OwnArguments"]


class OwnArguments(OwnRuns):
    """The arguments of a file's kernel, with changes that make its check tell more.

    Args:
        file: the kernel and its functions.
    """

    def __init__(self, file: KernelFile) -> None:
        super().__init__(file)
        # What is expected is the same for all configurations, and takes long to compute.
        self._expected: dict[object, dict[str, ExpectedOutput]] = {}
        self._constant: dict[object, frozenset[str]] = {}
        self._changes: dict[object, Telling] = {}

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        """The kernel's arguments; the outputs are from `reference` or the kernel."""
        launch = replace(self._launch(problem, config), changes=self._changes_of(problem, config))
        return self._arguments(problem, launch, self._expected_outputs(problem, config))

    def _arguments(
        self, problem: Problem, launch: Launch, expected: Mapping[str, ExpectedOutput]
    ) -> tuple[Argument, ...]:
        given = launch.given()
        described = {name: described_as(d) for name, d in descriptors_of(given).items()}
        unchanged = self._unchanged(problem)
        constants = {p.name for p in self._file.function.params if p.is_constexpr}
        return tuple(
            replace(
                argument_of(self._file.path, name, value, expected.get(name)),
                described=described.get(name),
                constant=name in unchanged and name not in expected,
            )
            for name, value in launch.values_of(given).items()
            if name not in constants and value is not None
        )

    def _given(self, problem: Problem, launch: Launch) -> tuple[Argument, ...]:
        """The arguments, with what `reference` expects."""
        expected = expected_outputs(launch, with_unnamed=False)
        if not self._has_reference:  # which takes long, and is needed again
            self._expected[_expected_key(launch)] = expected
        return self._arguments(problem, launch, expected)

    def _telling(self, problem: Problem) -> Telling:
        """How the check's inputs differ from the file's; see `telling_changes`."""
        if want_types_alone() or current_data_set() != 0:
            return Telling()
        if self._is_made_for_one and not self._has_reference:
            return Telling()
        key = (*problem.shape.items(), problem.dtype, torch.get_default_device())
        if torch.get_default_device().type != "cpu" and not self._has_reference:
            return Telling()  # Triton's interpreter would take too long
        if key not in self._changes:
            self._changes[key] = kept_telling(problem, partial(self.find_changes, problem))
        return self._changes[key]

    def _changes_of(self, problem: Problem, config: Config) -> dict[str, Change]:
        """How the check's inputs of a configuration differ from the file's: in nothing where the
        file gives it others than the default configuration, with which changes were tried."""
        changes = self._telling(problem).changes
        return {} if self._others_than_default(problem, config) else changes

    def _others_than_default(self, problem: Problem, config: Config) -> list[str]:
        """The changed inputs of which the file gives a configuration others than the default."""
        changes = self._telling(problem).changes
        default = self.default_config(problem)
        if not changes or not self._is_made_for_one or config == default:
            return []
        usual, given = (self._launch(problem, each).values() for each in (default, config))
        names = [name for name, change in changes.items() if not change.gaps]
        return [name for name in names if not _is_same(usual[name], given[name])]

    def find_changes(self, problem: Problem, journal: Journal) -> Telling:
        """How the check's inputs are to differ from the file's, found in this process."""
        config = self.default_config(problem)
        plain = self._launch(problem, config)

        def launch(changes: Mapping[str, Change]) -> Launch:
            return replace(plain, changes=changes)

        def given(changes: Mapping[str, Change]) -> tuple[Argument, ...]:
            return self._given(problem, launch(changes))

        def run(folder: Path) -> HostRun | DeviceRun:
            return self._run_in(folder, problem, config)

        fixed = frozenset(problem.constants(config))
        tried = Tried(launch, given, accesses_of(plain), run, fixed)
        if self._has_reference:
            return telling_changes(tried, journal)
        return without_reference(plain, tried)

    def _expected_outputs(self, problem: Problem, config: Config) -> dict[str, ExpectedOutput]:
        """Of the launch with this configuration if what is expected may depend on it.

        A build needs none of them, and a reference may have to run on the CPU and take long.
        """
        if want_types_alone():
            return {}
        of = config if self._follows else self.default_config(problem)
        launch = replace(self._launch(problem, of), changes=self._changes_of(problem, of))
        if self._follows:
            return expected_outputs(launch, with_unnamed=False)
        key = _expected_key(launch)
        if key not in self._expected:
            self._expected[key] = expected_outputs(launch)
        return self._expected[key]

    def _unchanged(self, problem: Problem) -> frozenset[str]:
        """The inputs to which the default configuration stores nothing, and what it gives back."""
        if want_types_alone():
            return frozenset()
        key = (*problem.shape.items(), problem.dtype)
        if key not in self._constant:
            launch = self._launch(problem, self.default_config(problem))
            accesses = accesses_of(launch)
            self._constant[key] = accesses.constant | self._restored(problem, accesses.counted)
        return self._constant[key]

    def _restored(self, problem: Problem, counted: frozenset[str]) -> frozenset[str]:
        """Those of some arrays that the default configuration gives back as it found them."""
        if not counted or self._launch(problem, self.default_config(problem)).descriptors():
            return frozenset()
        find = partial(self._find_restored, problem)
        if torch.get_default_device().type == "cpu":
            return find(Journal())
        found = kept_answer(problem, "restored", [], lambda journal: sorted(find(journal)))
        return frozenset(found or ())

    def _find_restored(self, problem: Problem, journal: Journal) -> frozenset[str]:
        config = self.default_config(problem)
        launch = self._launch(problem, config)
        plain = self._plain_arguments(launch)
        with self._run(problem, config) as run:
            return restored(run, plain, accesses_of(launch).counted, journal)

    def _plain_arguments(self, launch: Launch) -> tuple[Argument, ...]:
        """The arguments with nothing expected of them."""
        constants = {p.name for p in self._file.function.params if p.is_constexpr}
        return tuple(
            argument_of(self._file.path, name, value)
            for name, value in launch.values().items()
            if value is not None and name not in constants
        )

    @property
    def _has_reference(self) -> bool:
        return self._file.optional("reference") is not None

    @property
    def _is_made_for_one(self) -> bool:
        """Whether `arguments` or `call` takes the configuration: each has inputs of its own."""
        return _takes_config(self._file.maker())

    @property
    def _follows(self) -> bool:
        """Whether `arguments` or `reference` takes the configuration."""
        return self._is_made_for_one or _takes_config(self._file.optional("reference"))


def _is_same(one: object, other: object) -> bool:
    """Whether two arguments hold the same."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    return one == other


def _takes_config(function: Callable[..., object] | None) -> bool:
    return function is not None and "config" in inspect.signature(function).parameters


def _expected_key(launch: Launch) -> object:
    """What the expected outputs of a default configuration follow from."""
    changes = frozenset(launch.changes.items())
    device = torch.get_default_device()
    return (*launch.shape.items(), launch.dtype, changes, current_data_set(), device)
