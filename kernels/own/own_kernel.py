"""What a user's file says of its kernel, as `KernelSpec` asks for it."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import triton

from foundation.config import Config
from foundation.errors import UserError
from foundation.scratch import scratch_folder
from gpu_runner.device_arrays import DeviceArguments
from gpu_runner.loaded_kernel import allocate
from kernels.own.accesses import accesses_of
from kernels.own.argument_of import argument_of, described_as
from kernels.own.changed_inputs import Change
from kernels.own.check_notes import check_notes, on_kept
from kernels.own.defined_inputs import makes_difference
from kernels.own.device_run import DeviceRun
from kernels.own.expected import ExpectedOutput, expected_outputs
from kernels.own.followed import on_followed
from kernels.own.host_run import HostRun
from kernels.own.journal import Journal, Outcome, outcome_of
from kernels.own.kept_answers import kept_answer, kept_telling
from kernels.own.kernel_file import KernelFile
from kernels.own.launch import Launch, descriptors_of
from kernels.own.other_numbers import on_other_numbers
from kernels.own.other_sizes import on_other_sizes
from kernels.own.own_launches import OwnLaunches
from kernels.own.relied_on import on_relied, relied_on
from kernels.own.restored import restored
from kernels.own.reversed_programs import reversed_programs
from kernels.own.telling import Telling, Tried, telling_changes
from kernels.own.unreferenced import without_reference
from kernels.spec import Problem
from kernels.values import current_data_set, want_types_alone
from launchers.arguments import Argument

__all__ = ["OwnKernel"]


class OwnKernel(OwnLaunches):
    """The functions of a `KernelSpec`, taken from a file.

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
        launch = replace(self._launch(problem, config), changes=self._telling(problem).changes)
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

    def check(self, problem: Problem) -> tuple[str, ...]:
        """Run the file's functions once; what is to be said of how outputs are checked."""
        config = self.default_config(problem)
        telling = self._telling(problem)
        launch = replace(self._launch(problem, config), changes=telling.changes)
        notes = check_notes(launch, partial(self._expected_outputs, problem, config))
        return (*notes, *telling.notes, *on_kept(self._file))

    def on_inputs(self, problem: Problem, config: Config) -> str:
        """See `KernelSpec.on_inputs`; the configuration runs on this machine."""
        return self._on_inputs(problem, config, Journal())

    def _on_inputs(self, problem: Problem, config: Config, journal: Journal) -> str:
        changes = self._telling(problem).changes
        plain = self._launch(problem, self.default_config(problem))

        def given(some: Mapping[str, Change]) -> tuple[Argument, ...]:
            return self._given(problem, replace(plain, changes=some))

        with self._run(problem, config) as run:
            names = relied_on(run, given, changes, journal)
        spelt = self._file.spelt("kept_inputs")
        return on_relied(config, names, self._file.maker().__name__, spelt)

    def on_other_sizes(self, problem: Problem, config: Config) -> str:
        """See `KernelSpec.on_other_sizes`; on this machine, too."""
        return self._on_other_sizes(problem, config, Journal())

    def _on_other_sizes(self, problem: Problem, config: Config, journal: Journal) -> str:
        default = self.default_config(problem)
        if self._follows:
            return on_followed(self._launch(problem, default), self._launch(problem, config))
        if self._file.optional("reference") is None or self._telling(problem).untried:
            return ""

        for_gpu = torch.get_default_device().type == "cuda"
        is_listed = config in self._listed(problem, for_gpu=for_gpu).configs

        def run_at(shape: Mapping[str, int], of: Config) -> Outcome:
            other = replace(problem, shape=shape)
            try:
                listed = self._listed(other, for_gpu=for_gpu).configs if of == config else []
                if of == config and is_listed and config not in listed:
                    return Outcome(is_right=False)
                with self._run(other, of) as run:
                    return outcome_of(run, self._given(other, self._launch(other, of)))
            except UserError:  # the file refuses such sizes
                return Outcome(is_right=False)

        def outcome_at(shape: Mapping[str, int], of: Config) -> Outcome:
            return journal.outcome(lambda: run_at(shape, of))

        found = on_other_sizes(problem.shape, default, config, outcome_at)
        return found or self._on_other_numbers(problem, config, journal)

    def _on_other_numbers(self, problem: Problem, config: Config, journal: Journal) -> str:
        default = self.default_config(problem)
        plain = self._launch(problem, default)
        values = plain.values()

        def run_with(changes: dict[str, Change], of: Config) -> Outcome:
            if of == default and not makes_difference(plain, values, changes):
                return Outcome(is_right=False)
            try:
                with self._run(problem, of) as run:
                    return outcome_of(run, self._given(problem, replace(plain, changes=changes)))
            except UserError:
                return Outcome(is_right=False)

        def outcome_with(changes: dict[str, Change], of: Config) -> Outcome:
            return journal.outcome(lambda: run_with(changes, of))

        return on_other_numbers(values, default, config, outcome_with)

    def on_gpu(
        self, problem: Problem, winner: Config | None, wrong: Sequence[Config]
    ) -> tuple[str, ...]:
        """See `KernelSpec.on_gpu`."""
        configs = [winner, *wrong]
        find = partial(self.answer, problem, "notes", configs)
        return tuple(kept_answer(problem, "notes", configs, find) or ())

    def answer(
        self, problem: Problem, question: str, configs: Sequence[Config | None], journal: Journal
    ) -> Any:
        """What runs tell in this process, as JSON has it.

        Args:
            problem: what runs.
            question: "changes", of the check's inputs; "restored", the arrays that the default
                configuration gives back as it found them; or "notes".
            configs: for notes: the winner, if it is not the default, and some that were wrong.
            journal: gives the outcomes of runs.
        """
        if question == "changes":
            return asdict(self.find_changes(problem, journal))
        if question == "restored":
            return sorted(self._find_restored(problem, journal))
        winner, *wrong = configs
        said = (self._on_inputs(problem, config, journal) for config in wrong if config)
        notes = (
            *self.check(problem),
            winner and self._on_other_sizes(problem, winner, journal),
            self._on_order(problem, winner or self.default_config(problem), journal),
            next(filter(None, said), ""),
        )
        return [note for note in notes if note]

    def _on_order(self, problem: Problem, config: Config, journal: Journal) -> str:
        """One sentence if a configuration is wrong on a GPU that starts its last programs first."""
        if self._file.is_ordered or math.prod(self.grid(problem, config)) == 1:
            return ""
        with reversed_programs():
            run = self._device_run(problem, config, triton.jit(self._file.function.fn))
            arguments = self.arguments(problem, config)
            outcome = journal.outcome(lambda: outcome_of(run, arguments))
        wrong = "it does not end" if outcome.is_endless else outcome.mismatch
        return wrong and (
            f"{config} is wrong where the last programs start first, and no GPU promises an order: "
            f"{wrong}"
        )

    @contextlib.contextmanager
    def _run(self, problem: Problem, config: Config) -> Iterator[HostRun | DeviceRun]:
        """Of a configuration where torch makes its tensors."""
        with scratch_folder("own-run-") as folder:
            yield self._run_in(folder, problem, config)

    def _run_in(self, folder: Path, problem: Problem, config: Config) -> HostRun | DeviceRun:
        if torch.get_default_device().type == "cuda":
            return self._device_run(problem, config, self._file.function)
        return self._host_run(problem, config, folder)

    def _host_run(self, problem: Problem, config: Config, folder: Path) -> HostRun:
        constants, grid = problem.constants(config), self.grid(problem, config)
        blocks = self.blocks(problem, config)
        return HostRun(folder, self._file.function, constants, blocks, grid)

    def _device_run(self, problem: Problem, config: Config, function: Any) -> DeviceRun:
        constants, blocks = problem.constants(config), self.blocks(problem, config)
        kernel = function[self.grid(problem, config)]
        options = problem.launch_options(config)
        names = [name for name in function.arg_names if name not in constants]

        def launcher(memory: DeviceArguments) -> Callable[[], object]:
            passed = {
                name: memory.descriptor(name, blocks[name])
                if name in blocks
                else memory.value(name)
                for name in names
            }
            return partial(kernel, **passed, **constants, **options)

        triton.set_allocator(allocate)
        return DeviceRun(str(torch.get_default_device()), launcher)

    def _given(self, problem: Problem, launch: Launch) -> tuple[Argument, ...]:
        """The arguments, with what `reference` expects."""
        expected = expected_outputs(launch, with_unnamed=False)
        if self._file.optional("reference") is None:  # which takes long, and is needed again
            self._expected[_expected_key(launch)] = expected
        return self._arguments(problem, launch, expected)

    def _telling(self, problem: Problem) -> Telling:
        """How the check's inputs differ from the file's; see `telling_changes`."""
        if want_types_alone() or current_data_set() != 0:
            return Telling()
        if self._follows:
            has_reference = self._file.optional("reference") is not None
            untried = "arguments or reference takes config" if has_reference else ""
            return Telling(untried=untried)
        key = (*problem.shape.items(), problem.dtype, torch.get_default_device())
        if torch.get_default_device().type != "cpu" and not self._file.optional("reference"):
            return Telling()  # Triton's interpreter would take too long
        if key not in self._changes:
            self._changes[key] = kept_telling(problem, partial(self.find_changes, problem))
        return self._changes[key]

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
        has_reference = self._file.optional("reference") is not None
        return telling_changes(tried, journal) if has_reference else without_reference(plain, tried)

    def _expected_outputs(self, problem: Problem, config: Config) -> dict[str, ExpectedOutput]:
        """Of the launch with this configuration if what is expected may depend on it.

        A build needs none of them, and a reference may have to run on the CPU and take long.
        """
        if want_types_alone():
            return {}
        if self._follows:
            return expected_outputs(self._launch(problem, config))
        launch = self._launch(problem, self.default_config(problem))
        launch = replace(launch, changes=self._telling(problem).changes)
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
        constants = {p.name for p in self._file.function.params if p.is_constexpr}
        plain = tuple(
            argument_of(self._file.path, name, value)
            for name, value in launch.values().items()
            if value is not None and name not in constants
        )
        with self._run(problem, config) as run:
            return restored(run, plain, accesses_of(launch).counted, journal)

    @property
    def _follows(self) -> bool:
        """Whether `arguments` or `reference` takes the configuration."""
        functions = (self._file.maker(), self._file.optional("reference"))
        return any("config" in inspect.signature(f).parameters for f in functions if f)


def _expected_key(launch: Launch) -> object:
    """What the expected outputs of a default configuration follow from."""
    changes = frozenset(launch.changes.items())
    device = torch.get_default_device()
    return (*launch.shape.items(), launch.dtype, changes, current_data_set(), device)
