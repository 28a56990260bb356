"""What a user's file says of its kernel, as `KernelSpec` asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import torch
import triton

from foundation.config import Config
from foundation.errors import UserError
from kernels.own.apart import found_apart
from kernels.own.changed_inputs import Change
from kernels.own.check_notes import check_notes, on_kept
from kernels.own.defined_inputs import makes_difference
from kernels.own.journal import Journal, Outcome, Run, outcome_of
from kernels.own.kept_answers import kept_answer
from kernels.own.less_work import on_less_work
from kernels.own.other_numbers import on_other_numbers
from kernels.own.other_sizes import on_other_sizes, untried
from kernels.own.own_arguments import OwnArguments
from kernels.own.reference_runs import access_astray
from kernels.own.relied_on import on_relied, relied_on
from kernels.own.reversed_programs import reversed_programs
from kernels.own.slow_reference import is_slow_reference, on_few_threads, time_reference
from kernels.own.telling import MOST_BYTES
from kernels.spec import UNTRIED_SIZES, Problem, SaidOnGpu
from kernels.values import data_set
from launchers.arguments import Argument

__all__ = ["OwnKernel"]

# Constants of a file below it are rather numbers of bits, heads or taps.
_A_BLOCK = 16

# Configurations beside the default whose inputs are compared with its own.
_LOOKED_AT = 3


class OwnKernel(OwnArguments):
    """The functions of a `KernelSpec`: what a file says, and what its runs tell.

    Args:
        file: the kernel and its functions.
    """

    def check(self, problem: Problem) -> tuple[str, ...]:
        """Run the file's functions once; what is to be said of how outputs are checked."""
        config = self.default_config(problem)
        plain = self._launch(problem, config)
        time_reference(plain)
        telling = self._telling(problem)
        launch = replace(plain, changes=telling.changes)
        with on_few_threads(plain):
            notes = check_notes(launch, partial(self._expected_outputs, problem, config))
        if is_slow_reference(plain):  # for the builders, whose time is limited
            with data_set(1):
                self._expected_outputs(problem, config)
        return (*notes, *telling.notes, *self._on_other_inputs(problem), *on_kept(self._file))

    def _on_other_inputs(self, problem: Problem) -> tuple[str, ...]:
        """A sentence on the first configuration whose inputs the check does not change."""
        if not self._is_made_for_one:
            return ()
        for_gpu = torch.get_default_device().type == "cuda"
        for config in self._listed(problem, for_gpu=for_gpu).configs[: _LOOKED_AT + 1]:
            if names := self._others_than_default(problem, config):
                return (
                    f"the check has the file's own inputs for configurations such as {config}, "
                    f"since {self._file.maker().__name__} makes others of {', '.join(names)} for "
                    "it than for the default: what these do not show is not found",
                )
        return ()

    def on_inputs(self, problem: Problem, config: Config) -> str:
        """See `KernelSpec.on_inputs`; the configuration runs on this machine."""
        return _said_apart(partial(self._on_inputs, problem, config))

    def _on_inputs(self, problem: Problem, config: Config, journal: Journal) -> str:
        changes = self._changes_of(problem, config)
        of = config if self._follows else self.default_config(problem)
        plain = self._launch(problem, of)

        def given(some: Mapping[str, Change]) -> tuple[Argument, ...]:
            return self._given(problem, replace(plain, changes=some))

        with self._run(problem, config) as run:
            names = relied_on(run, given, changes, journal)
        spelt = self._file.spelt("kept_inputs")
        return on_relied(config, names, self._file.maker().__name__, spelt)

    def astray(self, problem: Problem, config: Config) -> str:
        """See `KernelSpec.astray`."""
        launch = replace(self._launch(problem, config), changes=self._changes_of(problem, config))
        return access_astray(launch)

    def on_other_sizes(self, problem: Problem, config: Config) -> str:
        """See `KernelSpec.on_other_sizes`; on this machine, too."""
        return _said_apart(partial(self._on_other_sizes, problem, config))

    def _on_other_sizes(self, problem: Problem, config: Config, journal: Journal) -> str:
        default = self.default_config(problem)
        if self._follows:
            launches = (self._launch(problem, each) for each in (default, config))
            if said := on_less_work(*launches):
                return said
        if why := self._why_not_elsewhere(problem):
            return untried(config, why)
        for_gpu = torch.get_default_device().type == "cuda"
        listed_here = self._listed(problem, for_gpu=for_gpu).configs

        refusals: list[str] = []

        def run_at(shape: Mapping[str, int], of: Config) -> Outcome:
            other = replace(problem, shape=shape)
            try:
                if of in listed_here and of not in self._listed(other, for_gpu=for_gpu).configs:
                    return Outcome(is_right=False)
                with self._run(other, of) as run:
                    return self._outcome(run, other, of)
            except UserError as error:  # the file refuses such sizes
                refusals.append(f"the file refuses smaller ones ({error})")
                return Outcome(is_right=False)

        def outcome_at(shape: Mapping[str, int], of: Config) -> Outcome:
            return journal.outcome(lambda: run_at(shape, of))

        whole = self._whole_sizes(problem, (default, config))
        maker = self._file.maker().__name__
        found = on_other_sizes(problem.shape, default, config, outcome_at, whole, maker, refusals)
        is_wrong = bool(found) and not found.startswith(UNTRIED_SIZES)
        is_done = is_wrong or config == default or self._follows or not self._has_reference
        return found if is_done else self._on_other_numbers(problem, config, journal) or found

    def _why_not_elsewhere(self, problem: Problem) -> str:
        """Why no other sizes are tried: there are none, or the time or the memory for that is not
        known to be little."""
        if not problem.shape:
            return f"{self._file.maker().__name__} takes no sizes"
        if self._has_reference:
            return self._telling(problem).untried
        if torch.get_default_device().type != "cpu":
            return "without a reference they would take long"
        is_large = self.traffic_bytes(problem) > MOST_BYTES
        return "without a reference they would take much memory" if is_large else ""

    def _whole_sizes(self, problem: Problem, configs: Sequence[Config]) -> list[str]:
        """The sizes that are multiples of a block, without those that are constants themselves,
        such as a number of elements that share a scale: these are part of the kernel."""
        blocks = [block for config in configs for block in self._block_sizes(problem, config)]
        whole = [n for n, size in problem.shape.items() if any(size % b == 0 for b in blocks)]
        return [name for name in whole if not self._is_constant(problem, name, configs[0])]

    def _is_constant(self, problem: Problem, name: str, config: Config) -> bool:
        """Whether a size is what some constant is, and stays so where it is another one."""
        size, known = problem.shape[name], self.constants(problem, config)
        smaller = replace(problem, shape={**problem.shape, name: size - 1})
        try:
            others = self.constants(smaller, config)
        except UserError:  # the file refuses such a size
            return False
        return any((n, others.get(c)) == (size, size - 1) for c, n in known.items())

    def _block_sizes(self, problem: Problem, config: Config) -> list[int]:
        """What sizes may be whole multiples of: tuned numbers, and larger constants of a file."""
        fixed = [n for n in self.constants(problem, config).values() if type(n) is int]
        tuned = [n for name, n in config.items() if name in problem.spec.kernel.arg_names]
        return [n for n in tuned if type(n) is int and n > 1] + [n for n in fixed if n >= _A_BLOCK]

    def _outcome(self, run: Run, problem: Problem, config: Config) -> Outcome:
        """Without a reference, whether all accesses are within their arrays."""
        launch = self._launch(problem, config)
        if self._has_reference:
            return outcome_of(run, self._given(problem, launch))
        return outcome_of(run, self._plain_arguments(launch))

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

    def on_gpu(self, problem: Problem, config: Config | None, wrong: Sequence[Config]) -> SaidOnGpu:
        """See `KernelSpec.on_gpu`."""
        configs = [config, *wrong]
        find = partial(self.answer, problem, "notes", configs)
        elsewhere, *notes = kept_answer(problem, "notes", configs, find) or ("",)
        return SaidOnGpu(elsewhere, tuple(notes))

    def answer(
        self, problem: Problem, question: str, configs: Sequence[Config | None], journal: Journal
    ) -> Any:
        """What runs tell in this process, as JSON has it.

        Args:
            problem: what runs.
            question: "changes", of the check's inputs; "restored", the arrays that the default
                configuration gives back as it found them; or "notes", the first of which says at
                which other sizes what is to be used is wrong, or is "".
            configs: for notes: what is to be used, and some that were wrong.
            journal: gives the outcomes of runs.
        """
        if question == "changes":
            return asdict(self.find_changes(problem, journal))
        if question == "restored":
            return sorted(self._find_restored(problem, journal))
        used, *wrong = configs
        said = (self._on_inputs(problem, config, journal) for config in wrong if config)
        notes = (
            *self.check(problem),
            self._on_order(problem, used or self.default_config(problem), journal),
            next(filter(None, said), ""),
        )
        elsewhere = self._on_other_sizes(problem, used, journal) if used else ""
        return [elsewhere, *filter(None, notes)]

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


def _said_apart(find: Callable[[Journal], str]) -> str:
    """What runs on this processor tell; "" where they cannot."""
    return found_apart(find, {"device": "cpu"}, is_bounded=True) or ""
