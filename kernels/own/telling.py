"""Inputs that tell more than a file's own: for the check, with other signs, means and scales, with
zeros, with extremes among integers, and with other numbers.

A bias of zeros, weights of ones or positive numbers alone say little of what is computed with them.
So the check runs on changed inputs as far as the kernel is defined there: as far as its default
configuration gives what the reference does, in finite numbers. The timed runs keep the file's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch

from foundation.scratch import scratch_folder
from kernels.own.changeable import (
    changeable,
    gapped,
    is_one_number,
    numbers,
    same_launch,
)
from kernels.own.changed_inputs import Change
from kernels.own.defined_inputs import makes_difference
from kernels.own.integer_changes import INTEGERS, FirstRight, with_integers
from kernels.own.journal import Journal
from kernels.own.one_thread import on_one_thread
from kernels.own.refused_changes import on_endless, on_refused
from kernels.own.row_dimensions import row_dimensions
from kernels.own.slow_reference import answer
from kernels.own.ties import is_place
from kernels.own.tried_changes import Trials, Tried

__all__ = ["FLOATS", "MOST_BYTES", "Telling", "telling_changes"]

# Processor time, which other programs do not change. A reference that takes longer is not run again
# for this, nor is anything with so much memory.
_PATIENCE_S = 1.0
MOST_BYTES = 64 << 20
# Each run has some ten times as much in the GPU's memory.
_MOST_BYTES_ON_GPU = 512 << 20

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
        unignored: one sentence on a label that `reference` ignores, for which it is wrong; "" for
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
    unignored: str = ""
    probably_wrong: str = ""
    untried: str = ""
    unchecked: str = ""

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Telling:
        """From what `dataclasses.asdict` made.

        Raises:
            TypeError, KeyError, AttributeError: if it is something else.
        """
        changes = {name: Change(**change) for name, change in told["changes"].items()}
        sentences = (each.name for each in fields(cls) if each.name != "changes")
        return cls(changes, **{name: str(told[name]) for name in sentences})

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the check's inputs."""
        untried = self.untried and (
            f"the check has the file's own inputs, since {self.untried}: what these do not show, "
            "such as a bias of zeros that is left out, is not found"
        )
        found = (self.probably_wrong, self.unchecked, self.refused, self.unignored)
        return tuple(filter(None, (*found, self.endless, self.tied, untried)))


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
        return Telling(untried=f"tensors take more than {most_bytes >> 20} MiB")
    if not same_launch(plain, values):
        return Telling()  # a note on the timed runs tells it
    # One number that an output holds at the start is part of the kernel, such as a sum's zero.
    inputs = {n for n in floats if n in accesses.constant or not is_one_number(values[n])}
    inputs.update(integers, (n for n in factors if makes_difference(plain, values, {n: _NUMBER})))
    with scratch_folder("telling-") as folder:
        trials = Trials(tried, folder, frozenset(inputs), journal)
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
    return Telling(
        found,
        refused,
        on_endless(trials.endless),
        trials.tied,
        trials.unignored(),
        doubtful,
    )


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
