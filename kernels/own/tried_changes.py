"""Runs of a kernel's default configuration with changed inputs: where it is right, and what is said
of the others."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from foundation.errors import UserError
from kernels.own.accesses import Accesses
from kernels.own.changeable import Launched
from kernels.own.changed_inputs import Change, changed
from kernels.own.defined_inputs import is_defined, is_ignored, runs_on_processor
from kernels.own.journal import Journal, Outcome, Run, outcome_of
from kernels.own.ordinary_inputs import loosened, on_probably_wrong, ordinary_changes
from kernels.own.refused_changes import on_marker
from kernels.own.ties import on_tie, tied_input
from launchers.arguments import Argument

__all__ = ["Trials", "Tried"]

# Processor time, which other programs do not change: after so long nothing more is tried, nor when
# a run took so long.
_TOTAL_S = 10.0
_SOON_BYTES = 8 << 20
# Of an output: the others still tell.
_MOST_NANS = 1 / 8


@dataclass(frozen=True)
class Tried:
    """A kernel or a callable for which other inputs are looked for.

    Args:
        launch: gives that of the default configuration, with its inputs changed.
        arguments: gives those of such a launch, with what is expected.
        accesses: of the default configuration.
        run: of it, which may put its files into a folder.
        fixed: numbers that stay as they are.
    """

    launch: Callable[[Mapping[str, Change]], Launched]
    arguments: Callable[[Mapping[str, Change]], tuple[Argument, ...]]
    accesses: Accesses
    run: Callable[[Path], Run]
    fixed: frozenset[str] = frozenset()


class Trials:
    """Runs the default configuration under changes of its inputs.

    Args:
        tried: what is run.
        folder: for the files of runs.
        inputs: the tensors of which the user is told if the configuration is wrong once they are
            changed.
        journal: gives the outcomes of runs.

    Attributes:
        refused: changes under which `reference` gives finite numbers and the configuration gives
            others, without those under which it is right; and the first element that differs.
        endless: changes under which `reference` gives finite numbers and the configuration does not
            end.
        tied: as of `Telling`.
        markers: for each tensor of labels, the first marker for which the configuration is wrong,
            and what is said of that.
    """

    def __init__(
        self, tried: Tried, folder: Path, inputs: frozenset[str], journal: Journal
    ) -> None:
        self._tried = tried
        self._run = tried.run(folder)
        self._inputs = inputs
        self._journal = journal
        self._plain = tried.launch({})
        self._values = self._plain.values()
        # What the processor refuses soon is not tried on a GPU.
        tensors = [v for v in self._values.values() if isinstance(v, torch.Tensor) and v.is_cuda]
        is_small = sum(int(tensor.nbytes) for tensor in tensors) <= _SOON_BYTES
        is_told = bool(tensors) and is_small and runs_on_processor(self._plain, self._values)
        self._tells_soon = is_told
        self._start_s = time.process_time()
        self._accepted: list[dict[str, Change]] = []
        self.refused: list[tuple[dict[str, Change], str]] = []
        self.endless: list[dict[str, Change]] = []
        self.markers: dict[str, tuple[int, str]] = {}
        self.tied = ""

    def is_right_as_it_is(self) -> bool:
        """Whether the configuration is right on the file's own inputs."""
        plain = self._tried.arguments({})
        return self._journal.outcome(lambda: outcome_of(self._run, plain)).is_right

    @property
    def _is_over(self) -> bool:
        used_s = time.process_time() - self._start_s + self._run.cpu_s
        return self._run.gave_up or used_s > _TOTAL_S

    def first_right(self, tried: Iterable[dict[str, Change]]) -> dict[str, Change]:
        """The first of these changes under which the configuration is right; {} if none is."""
        for changes in tried:
            if self._is_over:
                break
            outcome = self._journal.outcome(functools.partial(self._tried_with, changes))
            if outcome.is_right:
                self._accepted.append(changes)
                return changes
            if outcome.is_endless:
                self.endless.append(changes)
            new = self._new_in(changes)
            self._note_marker(new, outcome)
            if self._is_tie(outcome, changes):
                continue
            if outcome.mismatch and self._inputs.issuperset(new):
                self.refused.append((new, outcome.mismatch))
        return {}

    def _note_marker(self, new: Mapping[str, Change], outcome: Outcome) -> None:
        said = outcome.mismatch or outcome.out_of_bounds
        for name, change in new.items():
            if change.marker and said:
                self.markers.setdefault(name, (change.marker, said))

    def unignored(self) -> str:
        """A sentence on a label that the reference ignores and the configuration does not; "" if
        there is none."""
        for name, (marker, said) in self.markers.items():
            accepted = any(each[name].marker for each in self._accepted if name in each)
            if not accepted and is_ignored(self._plain, self._values, name, marker):
                return on_marker(name, marker, said)
        return ""

    def probably_wrong(self, along: Mapping[str, int | None]) -> str:
        """A sentence on ordinary inputs for which the configuration is far off, of as few tensors
        as show it; "" if there are none. Arguments as of `ordinary_changes`."""
        every = ordinary_changes(self._values, {n: along[n] for n in along if n in self._inputs})
        alone = [{name: change} for name, change in every.items()] if len(every) > 1 else []
        for changes in (*alone, every):
            if self._is_over:
                break
            outcome = self._journal.outcome(functools.partial(self._loosely, changes))
            if outcome.mismatch and not self._is_tie(outcome, changes):
                return on_probably_wrong(changes, outcome.mismatch)
        return ""

    def _is_tie(self, outcome: Outcome, changes: dict[str, Change]) -> bool:
        """Whether it chose another of equal elements, which is then told."""
        others = changed(self._values, changes)
        tied = tied_input(outcome.mismatch, others, changes) if outcome.mismatch else ""
        if tied:
            self.tied = self.tied or on_tie(tied, outcome.mismatch)
        return bool(tied)

    def _loosely(self, changes: dict[str, Change]) -> Outcome:
        return self._tried_with(changes, loosened) if changes else Outcome(is_right=True)

    def _new_in(self, changes: dict[str, Change]) -> dict[str, Change]:
        """The fewest of these changes without which the configuration was found right."""
        news = (
            {name: c for name, c in changes.items() if found.get(name) != c}
            for found in ({}, *self._accepted)
        )
        return min(news, key=len)

    def _tried_with(
        self,
        changes: dict[str, Change],
        compared: Callable[[tuple[Argument, ...]], tuple[Argument, ...]] = tuple,
    ) -> Outcome:
        others = changed(self._values, changes)
        if self._tells_soon and not runs_on_processor(self._plain, others):
            return Outcome(is_right=False)
        nans = _MOST_NANS if any(change.nan for change in changes.values()) else 0.0
        if is_defined(self._plain, self._values, others, nans):
            with contextlib.suppress(UserError):
                return outcome_of(self._run, compared(self._tried.arguments(changes)))
        return Outcome(is_right=False)
