"""Inputs that tell more than a file's own: for the check, with other signs, means and scales, with
zeros, with extremes among integers, and with other numbers.

A bias of zeros, weights of ones or positive numbers alone say little of what is computed with them.
So the check runs on changed inputs as far as the kernel is defined there: as far as its default
configuration gives what the reference does, in finite numbers. The timed runs keep the file's own.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from foundation.errors import UserError
from foundation.scratch import scratch_folder
from kernels.own.accesses import Accesses
from kernels.own.changeable import (
    Launched,
    changeable,
    gapped,
    is_one_number,
    numbers,
    same_launch,
)
from kernels.own.changed_inputs import Change, changed
from kernels.own.defined_inputs import is_defined, makes_difference, runs_on_processor
from kernels.own.integer_changes import INTEGERS, FirstRight, with_integers
from kernels.own.journal import Journal, Outcome, Run, outcome_of
from kernels.own.one_thread import on_one_thread
from kernels.own.ordinary_inputs import loosened, on_probably_wrong, ordinary_changes
from kernels.own.refused_changes import on_endless, on_refused
from kernels.own.row_dimensions import row_dimensions
from kernels.own.slow_reference import answer
from kernels.own.ties import is_place, on_tie, tied_input
from launchers.arguments import Argument

__all__ = ["FLOATS", "MOST_BYTES", "Telling", "Tried", "telling_changes"]

# Processor time, which other programs do not change. A reference that takes longer is not run again
# for this; nothing more is tried after so long, with so much memory, or when a run took so long.
_PATIENCE_S = 1.0
_TOTAL_S = 10.0
MOST_BYTES = 64 << 20
# Each run has some ten times as much in the GPU's memory.
_MOST_BYTES_ON_GPU = 512 << 20
_SOON_BYTES = 8 << 20
# Of an output: the others still tell.
_MOST_NANS = 1 / 8

# From what tells most to what most kernels are defined for.
_CHANGES = (
    Change(row_scale=64.0, heavy=8.0, shift=4.0, signs=True, ties=True),
    Change(row_scale=64.0, heavy=8.0, shift=4.0, signs=True),
    Change(row_scale=4.0, heavy=2.0, shift=1.0, signs=True),
    Change(row_scale=1.5, heavy=1.25, shift=0.25),
)
# A share of one stays one: a probability, a weight of what was before.
_NUMBER = Change(row_scale=0.75)
# Of an output that the kernel does not read.
_GAPS = Change(gaps=True)
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


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


@dataclass(frozen=True)
class Telling:
    """How the check's inputs differ from a file's.

    Args:
        changes: by the name of a tensor or a number.
        refused: one sentence on a change of inputs under which `reference` gives finite numbers and
            the default configuration gives others; "" if there is none.
        endless: one sentence on a change under which the default configuration does not end; "" if
            there is none.
        tied: one sentence on equal elements of which it chooses others than `reference`; "" for
            none.
        probably_wrong: one sentence on ordinary inputs for which it is far off; "" if there are
            none.
        untried: why no change was tried, where there is a `reference`; "" if some was.
        unchecked: one sentence on what a callable changes and `reference` does not name; "" if
            there is nothing.
    """

    changes: dict[str, Change] = field(default_factory=dict)
    refused: str = ""
    endless: str = ""
    tied: str = ""
    probably_wrong: str = ""
    untried: str = ""
    unchecked: str = ""

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Telling:
        """From what `dataclasses.asdict` made.

        Raises:
            TypeError, KeyError, AttributeError: if it is something else.
        """
        changes = {name: Change(**fields) for name, fields in told["changes"].items()}
        sentences = ("refused", "endless", "tied", "probably_wrong", "untried", "unchecked")
        return cls(changes, *(str(told[name]) for name in sentences))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the check's inputs."""
        untried = self.untried and (
            f"the check has the file's own inputs, since {self.untried}: what these do not show, "
            "such as a bias of zeros that is left out, is not found"
        )
        found = (self.probably_wrong, self.unchecked, self.refused, self.endless, self.tied)
        return tuple(filter(None, (*found, untried)))


@on_one_thread()
def telling_changes(tried: Tried, journal: Journal) -> Telling:
    """The changes of a launch's inputs, by name, under which its default configuration is right.

    Empty if the launch has no reference, or takes long or much memory, or if integers or constants
    follow from the inputs: the code that is timed is made for those.

    Raises:
        UserError: if the file's functions fail on its own inputs.
    """
    plain = tried.launch({})
    values = plain.values()
    tensors = [value for value in values.values() if isinstance(value, torch.Tensor)]
    on_gpu = any(tensor.is_cuda for tensor in tensors)
    if on_gpu:
        plain.reference(values)  # a first call loads the GPU's libraries
    first = answer(plain, values)
    outputs = frozenset(first.outputs or {})
    if outputs and first.cpu_s >= _PATIENCE_S:
        return Telling(untried=f"reference takes longer than {_PATIENCE_S:g} s")
    kept, accesses = plain.kept_inputs, tried.accesses
    floats = changeable(kept, accesses, values, outputs, FLOATS)
    integers = changeable(kept, accesses, values, frozenset(), INTEGERS)
    factors = [name for name in numbers(values) if name not in kept | tried.fixed]
    gapped_ones = gapped(kept, accesses, values, outputs)
    gaps = [name for name in gapped_ones if name not in (*floats, *integers)]
    if not outputs or not (floats or integers or factors or gaps):
        return Telling()
    most_bytes = _MOST_BYTES_ON_GPU if on_gpu else MOST_BYTES
    if sum(int(tensor.nbytes) for tensor in tensors) > most_bytes:
        return Telling(untried=f"they take more than {most_bytes >> 20} MiB")
    if not same_launch(plain, values):
        return Telling()  # a note on the timed runs tells it
    # One number that an output holds at the start is part of the kernel, such as a sum's zero.
    inputs = {n for n in floats if n in accesses.constant or not is_one_number(values[n])}
    inputs.update(integers, (n for n in factors if makes_difference(plain, values, {n: _NUMBER})))
    with scratch_folder("telling-") as folder:
        trials = _Trials(tried, folder, frozenset(inputs), journal)
        if not trials.is_right_as_it_is():  # which its measurement tells
            return Telling()
        along = row_dimensions(plain, values, floats)
        found = _with_floats(along, trials.first_right) if floats else {}
        is_shifted = all(found.get(name, _NUMBER).shift == _CHANGES[0].shift for name in along)
        doubtful = "" if is_shifted else trials.probably_wrong(along)
        for name in integers:
            found = with_integers(name, values, found, trials.first_right)
        found = _with_numbers(factors, found, trials.first_right)
        found = _with_more(dict.fromkeys(gaps, _GAPS), found, trials.first_right)
    # What is said of ordinary inputs goes for others, too, and so does what is said of ties: where
    # a softmax is zero, elements that differ are as good as equal.
    told = [each for each in trials.refused if not (trials.tied and is_place(each[1]))]
    refused = "" if doubtful else on_refused(told)
    return Telling(found, refused, on_endless(trials.endless), trials.tied, doubtful)


class _Trials:
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
            if self._is_tie(outcome, changes):
                continue
            if outcome.mismatch and self._inputs.issuperset(new):
                self.refused.append((new, outcome.mismatch))
        return {}

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


def _with_floats(along: Mapping[str, int | None], first_right: FirstRight) -> dict[str, Change]:
    """The most telling changes of tensors of floats, with what more of them it may have.

    Args:
        along: the dimension of each along which its rows lie, as in `Change`.
        first_right: see `FirstRight`.
    """
    found = _most_telling(along, first_right)
    for field_name in ("far", "zero_rows", "halfway", "infinite", "masked_rows", "nan"):
        more = {name: replace(c, **{field_name: True}) for name, c in found.items()}
        found = _with_more(more, found, first_right)
    return found


def _most_telling(along: Mapping[str, int | None], first_right: FirstRight) -> dict[str, Change]:
    """One change of all tensors, or for each the one that tells most, or the weakest."""

    def together(changes: Iterable[Change]) -> dict[str, Change]:
        return first_right(
            {name: replace(change, along=rows) for name, rows in along.items()}
            for change in changes
        )

    if found := together(each for each in _CHANGES if each.signs):
        return found
    best: dict[str, Change] = {}
    for name, rows in along.items():
        best.update(first_right({name: replace(change, along=rows)} for change in _CHANGES))
    return (best and first_right([best])) or together(each for each in _CHANGES if not each.signs)


def _with_numbers(
    names: list[str], found: dict[str, Change], first_right: FirstRight
) -> dict[str, Change]:
    """The changes with those of numbers; each that has none is tried alone, so that it is told."""
    found = _with_more(dict.fromkeys(names, _NUMBER), found, first_right)
    for name in names:
        if name not in found:
            first_right([{name: _NUMBER}])
    return found


def _with_more(
    more: dict[str, Change], found: dict[str, Change], first_right: FirstRight
) -> dict[str, Change]:
    """The changes with more, all of these or else as many as go together."""
    if every := first_right([{**found, **more}] if more else []):
        return every
    for name, change in more.items() if len(more) > 1 else ():
        found = first_right([{**found, name: change}]) or found
    return found
