"""Inputs that tell more than a file's own: for the check, with other signs, means and scales, with
zeros, with extremes among integers, and with other numbers.

A bias of zeros, weights of ones or positive numbers alone say little of what is computed with them.
So the check runs on changed inputs as far as the kernel is defined there: as far as its default
configuration gives what the reference does, in finite numbers. The timed runs keep the file's own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from foundation.errors import UserError
from foundation.scratch import scratch_folder
from kernels.own.accesses import accesses_of
from kernels.own.changeable import changeable, gapped, is_one_number, numbers, same_launch
from kernels.own.changed_inputs import Change, changed
from kernels.own.host_run import HostRun
from kernels.own.integer_changes import INTEGERS, FirstRight, with_integers
from kernels.own.launch import Launch
from kernels.own.refused_changes import on_endless, on_refused
from kernels.own.row_dimensions import row_dimensions
from kernels.own.time_limit import time_limit
from launchers.arguments import Argument

__all__ = ["FLOATS", "MOST_BYTES", "Telling", "telling_changes"]

# Processor time, which other programs do not change. A reference that takes longer is not run again
# for this; nothing more is tried after so long, with so much memory, or when a run took so long.
_PATIENCE_S = 1.0
_TOTAL_S = 10.0
# By the clock: what it takes a reference on the file's own inputs at a load of 30, twice over. On
# others it may never end.
_REFERENCE_LIMIT_S = 60.0
MOST_BYTES = 64 << 20

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

# The arguments of a launch, with what is expected.
_Arguments = Callable[[Launch], tuple[Argument, ...]]


@dataclass(frozen=True)
class Telling:
    """How the check's inputs differ from a file's.

    Args:
        changes: by the name of a tensor or a number.
        refused: one sentence on a change of inputs under which `reference` gives finite numbers and
            the default configuration gives others; "" if there is none.
        endless: one sentence on a change under which the default configuration does not end; "" if
            there is none.
        untried: why no change was tried, where there is a `reference`; "" if some was.
    """

    changes: dict[str, Change] = field(default_factory=dict)
    refused: str = ""
    endless: str = ""
    untried: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the check's inputs."""
        untried = self.untried and (
            f"the check has the file's own inputs, since {self.untried}: what these do not show, "
            "such as a bias of zeros that is left out, is not found"
        )
        return tuple(filter(None, (self.refused, self.endless, untried)))


@contextlib.contextmanager
def _on_one_thread() -> Iterator[None]:
    """Within the block, torch computes on one thread: others take processor time while they wait,
    on a busy machine so much that little else is tried within the limit."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@_on_one_thread()
def telling_changes(
    launch: Callable[[Mapping[str, Change]], Launch],
    arguments: _Arguments,
    constants: Mapping[str, object],
) -> Telling:
    """The changes of a launch's inputs, by name, under which its default configuration is right.

    Empty if the launch has no reference, takes long or much memory, or is for a GPU, or if integers
    or constants follow from the inputs: the code that is timed is made for those.

    Args:
        launch: gives that of the default configuration, with its inputs changed.
        arguments: gives those of a launch, with what is expected.
        constants: of the default configuration, as it is compiled.

    Raises:
        UserError: if the file's functions fail on its own inputs.
    """
    plain = launch({})
    values = plain.values()
    start_s = time.process_time()
    outputs = frozenset(plain.reference(values) or {})
    if outputs and time.process_time() - start_s >= _PATIENCE_S:
        return Telling(untried=f"reference takes longer than {_PATIENCE_S:g} s")
    floats = changeable(plain, values, outputs, FLOATS)
    integers = changeable(plain, values, frozenset(), INTEGERS)
    kept = plain.file.kept_inputs
    factors = [name for name in numbers(values) if name not in kept.union(constants)]
    gaps = [name for name in gapped(plain, values, outputs) if name not in (*floats, *integers)]
    if not outputs or not (floats or integers or factors or gaps):
        return Telling()
    tensors = [value for value in values.values() if isinstance(value, torch.Tensor)]
    if any(tensor.device.type != "cpu" for tensor in tensors):
        return Telling()
    if sum(int(tensor.nbytes) for tensor in tensors) > MOST_BYTES:
        return Telling(untried=f"they take more than {MOST_BYTES >> 20} MiB")
    if not same_launch(plain, values):
        return Telling()  # a note on the timed runs tells it
    # One number that an output holds at the start is part of the kernel, such as a sum's zero.
    constant = accesses_of(plain).constant
    inputs = {name for name in floats if name in constant or not is_one_number(values[name])}
    inputs.update(integers, (name for name in factors if _counts(plain, values, name)))
    with scratch_folder("telling-") as folder:
        blocks = {n: tuple(map(int, d.block_shape)) for n, d in plain.descriptors().items()}
        run = HostRun(folder, plain.file.function, constants, blocks, plain.grid(values))
        trials = _Trials(launch, arguments, run, frozenset(inputs))
        if not run.is_right(arguments(plain)):  # which its measurement tells
            return Telling()
        along = row_dimensions(plain, values, floats)
        found = _with_floats(along, trials.first_right) if floats else {}
        for name in integers:
            found = with_integers(name, values, found, trials.first_right)
        found = _with_numbers(factors, found, trials.first_right)
        found = _with_more(dict.fromkeys(gaps, _GAPS), found, trials.first_right)
    return Telling(found, on_refused(trials.refused), on_endless(trials.endless))


class _Trials:
    """Runs the default configuration under changes of its inputs.

    Args:
        launch, arguments: as for `telling_changes`.
        run: of the default configuration.
        inputs: the tensors of which the user is told if the configuration is wrong once they are
            changed.

    Attributes:
        refused: changes under which `reference` gives finite numbers and the configuration gives
            others, with the first element that differs.
        endless: changes under which `reference` gives finite numbers and the configuration does not
            end.
    """

    def __init__(
        self,
        launch: Callable[[Mapping[str, Change]], Launch],
        arguments: _Arguments,
        run: HostRun,
        inputs: frozenset[str],
    ) -> None:
        self._launch = launch
        self._arguments = arguments
        self._run = run
        self._inputs = inputs
        self._plain = launch({})
        self._values = self._plain.values()
        self._start_s = time.process_time()
        self.refused: list[tuple[dict[str, Change], str]] = []
        self.endless: list[dict[str, Change]] = []

    def first_right(self, tried: Iterable[dict[str, Change]]) -> dict[str, Change]:
        """The first of these changes under which the configuration is right; {} if none is."""
        for changes in tried:
            used_s = time.process_time() - self._start_s + self._run.cpu_s
            if self._run.gave_up or used_s > _TOTAL_S:
                break
            if self._is_right(changes):
                return changes
        return {}

    def _is_right(self, changes: dict[str, Change]) -> bool:
        if not _is_defined(self._plain, self._values, changed(self._values, changes)):
            return False
        with contextlib.suppress(UserError):
            if self._run.is_right(self._arguments(self._launch(changes))):
                return True
            if self._run.is_endless:
                self.endless.append(changes)
            if self._run.mismatch and self._inputs.issuperset(changes):
                self.refused.append((changes, self._run.mismatch))
        return False


def _with_floats(along: Mapping[str, int | None], first_right: FirstRight) -> dict[str, Change]:
    """The most telling changes of tensors of floats, with what more of them it may have.

    Args:
        along: the dimension of each along which its rows lie, as in `Change`.
        first_right: see `FirstRight`.
    """
    found = _most_telling(along, first_right)
    for field_name in ("far", "zero_rows", "halfway", "infinite", "masked_rows"):
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


def _counts(launch: Launch, values: Mapping[str, Any], number: str) -> bool:
    """Whether the reference takes a number from the launch, and has no copy of its own."""
    others = changed(values, {number: _NUMBER})
    if not _is_defined(launch, values, others):
        return False
    outputs, other = launch.reference(values) or {}, launch.reference(others) or {}
    pairs = ((tensor, other.get(name)) for name, tensor in outputs.items())
    return any(t is not None and o is not None and not torch.equal(t, o) for t, o in pairs)


def _is_defined(launch: Launch, values: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether the reference gives finite numbers for other values, and the code stays as it is."""
    if launch.constants(others) != launch.constants(values):
        return False
    try:
        with time_limit(_REFERENCE_LIMIT_S):
            said = launch.reference(others) or {}
    except (UserError, TimeoutError):
        return False
    outputs = ((values[name], tensor) for name, tensor in said.items() if tensor is not None)
    return all(bool(tensor.to(start.dtype).isfinite().all()) for start, tensor in outputs)
