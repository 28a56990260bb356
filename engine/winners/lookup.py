"""Which stored winner serves a shape: its own, the power-of-two key's, or the nearest one's."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from engine.repeats.preference import Preference, preference
from engine.run.identity import made_with
from engine.study.location import DEFAULT_STORAGE, storage_file
from engine.winners.stored import (
    KeyCost,
    StoredStudy,
    Winner,
    key_costs,
    key_of,
    stored_studies,
)
from engine.workers.devices import load_board, on_cores
from foundation.config import Config
from foundation.errors import UserError
from foundation.programs import python_command
from foundation.shapes import Shape, distance, shape_text
from kernels.registry import load_kernel, make_problem
from kernels.spec import KernelSpec, Problem
from rvv_runner.board import BoardInfo
from rvv_runner.devices import DEFAULT_DEVICE
from rvv_runner.usage import cores_in, cores_text, without_cores
from search_spaces.space import SearchSpace

__all__ = [
    "MAX_KEY_COST",
    "Found",
    "NotTunedError",
    "Wanted",
    "find",
    "lookup",
    "spaces_of",
    "wanted",
    "winners_for",
]

# The highest acceptable cost of the power-of-two key by default: 0.05 is five percent.
MAX_KEY_COST = 0.05


# From a shape, and the name of a search space or "", to the space.
SpaceAt = Callable[[Shape, str], SearchSpace]


class NotTunedError(UserError):
    """No winner is stored for the kernel, element type and device."""


@dataclass(frozen=True)
class Wanted:
    """The problem that needs a winner.

    Args:
        kernel, dtype, device: as studies name them.
        device_name: the device as `python -m engine.tune` takes it.
        load_name: the kernel as `python -m engine.tune` takes it: its name, or its file.
        shape: a size for each dimension.
        made_with: today's compiler, board model and kernel source: `engine.run.identity.made_with`.
        space_at: today's search space of a name at a shape, which must hold a winner; None if only
            the kernel's file knows it and must not be imported.
    """

    kernel: str
    load_name: str
    dtype: str
    device: str
    device_name: str
    shape: Mapping[str, int]
    made_with: Mapping[str, str]
    space_at: SpaceAt | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Found:
    """A stored winner, and why it serves.

    Args:
        how: tuned at exactly this shape on as many cores, at its sizes rounded up to powers of
            two, or at the nearest stored shape.
        wanted: the problem that needs a winner.
        winner: what was found; its time is that at its own shape.
        distance: from the shape to the winner's, in doublings of one size.
        key_costs: measured costs of the power-of-two key at other shapes.
        key_rejected: why the power-of-two key was not used, if it has a winner.
    """

    how: Literal["exact", "power-of-two", "nearest"]
    wanted: Wanted
    winner: Winner
    distance: float
    key_costs: tuple[KeyCost, ...] = ()
    key_rejected: str = ""

    @property
    def config(self) -> Config:
        """The configuration to run."""
        return self.winner.config

    @property
    def differs(self) -> tuple[str, ...]:
        """What differs between the winner's study and today, such as "compiler"."""
        theirs, ours = self.winner.made_with, self.wanted.made_with
        differing = (w for w in sorted({*theirs, *ours}) if theirs.get(w) != ours.get(w))
        # A model of several cores is another one than that of one.
        return tuple(what for what in differing if what != "board model" or not self.other_cores)

    @property
    def other_cores(self) -> int | None:
        """The number of cores on which it was tuned, if that is not the wanted one."""
        tuned = cores_in(self.winner.device)
        return None if tuned == cores_in(self.wanted.device) else tuned

    def __str__(self) -> str:
        """The configuration, where it was tuned, how far away that is, and how sure it is."""
        text = f"{self.config or 'the only configuration'} for {shape_text(self.wanted.shape)}: "
        if self.distance == 0:
            text += "tuned at this shape"
        else:
            way = "the power-of-two key" if self.how == "power-of-two" else "the nearest shape"
            text += f"{way} {shape_text(self.winner.shape)}, {self.distance:.2f} doublings away"
        if self.how == "power-of-two":
            worst = max(self.key_costs, key=lambda cost: cost.cost)
            shapes = f"{len(self.key_costs)} shape{'s' if len(self.key_costs) > 1 else ''}"
            estimated = ", estimated" if worst.estimated else ""
            text += f" (checked at {shapes}, cost at most {worst.cost:.1%}{estimated})"
        if self.key_rejected:
            text += f"; {self.key_rejected}"
        if self.other_cores:
            text += (
                f"; tuned on {cores_text(self.other_cores)}, "
                f"not on {cores_text(cores_in(self.wanted.device))}"
            )
        if self.differs:
            text += f"; made with another {' and another '.join(self.differs)}"
        there = f"At {shape_text(self.winner.shape)}: " if self.distance else ""
        return f"{text}. {there}{self.winner.advice}"

    def __repr__(self) -> str:
        return f"<Found {self}>"

    def _repr_html_(self) -> str:
        """The sentence and the time for a notebook, above a table of the parameters."""
        winner = self.winner
        time = f"{winner.time_s:.4g} s{f' ({winner.estimate})' if winner.estimate else ''}"
        text = f"{self.wanted.kernel}, {self}; {time} at {shape_text(winner.shape)}"
        names = "".join(f"<th>{escape(name)}</th>" for name in self.config)
        values = "".join(f"<td>{escape(str(value))}</td>" for value in self.config.values())
        return f"<p>{escape(text)}</p><table><tr>{names}</tr><tr>{values}</tr></table>"


def lookup(
    kernel: str,
    *,
    dtype: str | None = None,
    device: str = DEFAULT_DEVICE,
    cores: int | None = None,
    storage: str = DEFAULT_STORAGE,
    max_key_cost: float = MAX_KEY_COST,
    **shape: int,
) -> Found:
    """The stored winner that serves a shape best; `.config` is what to run: the default
    configuration where it is as fast.

    Args:
        kernel: a registered name or the path of a Python file, followed by ":KERNEL" if the file
            has several.
        dtype: element type; None for the kernel's first.
        device: name of the board that the kernel will run on.
        cores: of the board that will run the kernel at once; None for what the device's name says,
            or one. If nothing is stored for so many, winners of the nearest number serve.
        storage: where studies are stored: a journal file or an Optuna storage URL.
        max_key_cost: use the power-of-two key only if checks found that it costs at most this:
            0.05 is five percent.
        shape: sizes by name; those left out keep the kernel's default.

    Raises:
        NotTunedError: if nothing is stored for this kernel, element type and device.
        UserError, BoardError: for unknown names, invalid sizes, or an unreadable storage.
    """
    device = device if cores is None else on_cores(device, cores)
    return find(wanted(kernel, shape, dtype, device), storage, max_key_cost)


def wanted(kernel: str, shape: Mapping[str, int], dtype: str | None, device: str) -> Wanted:
    """What to look for, from the arguments of `lookup`.

    Raises:
        UserError, BoardError: for unknown names and invalid sizes.
    """
    problem = make_problem(load_kernel(kernel), shape, dtype)
    info = load_board(device).info
    return Wanted(
        kernel=problem.spec.name,
        load_name=problem.spec.load_name,
        dtype=problem.dtype,
        device=info.study_device,
        device_name=device,
        shape=problem.shape,
        made_with=made_with(problem.spec.source_digest, info, problem.outputs),
        space_at=spaces_of(problem.spec, problem.dtype, info),
    )


def spaces_of(spec: KernelSpec, dtype: str, info: BoardInfo) -> SpaceAt:
    """A kernel's search spaces on a board at any shape."""
    return lambda shape, name: Problem(spec, shape, dtype, space_name=name).space(info)


def find(
    wanted: Wanted, storage: str = DEFAULT_STORAGE, max_key_cost: float = MAX_KEY_COST
) -> Found:
    """The winner for `wanted`: exact; else by a checked power-of-two key; else the nearest.

    Raises:
        NotTunedError: if nothing is stored for this kernel, element type and device.
        UserError: if the storage cannot be read.
    """
    studies = _serving(wanted, storage)
    # Building a user's search space may take a while: other shapes are read only on a miss.
    here = [study for study in studies if study.shape == wanted.shape]
    exact = _best_at(_winners(here, wanted), wanted.shape, wanted)
    if exact is not None:
        return Found("exact" if exact.device == wanted.device else "nearest", wanted, exact, 0.0)
    winners = _winners(studies, wanted)
    if not winners and (tried := sum(len(study.outcomes) for study in studies)):
        raise NotTunedError(
            f"no winner yet for {wanted.kernel} in {wanted.dtype} on {wanted.device}: of "
            f"{tried} configurations that were tried, today's search space holds none that is "
            f"right; {python_command('engine.report')} {studies[-1].name} says why they failed"
        )
    if not winners:
        raise NotTunedError(
            f"nothing is tuned for {wanted.kernel} in {wanted.dtype} on {wanted.device}: run "
            f"{python_command('engine.tune')} {wanted.load_name} --shape "
            f"{shape_text(wanted.shape)} --dtype {wanted.dtype} --device {wanted.device_name}"
        )
    key, costs = key_of(wanted.shape), key_costs(winners, wanted.made_with)
    winners = _right_elsewhere(winners, wanted)
    at_key = _best_at(winners, key, wanted)
    rejected = _why_not(costs, max_key_cost) if at_key is not None else ""
    if at_key is not None and not rejected:
        return Found("power-of-two", wanted, at_key, distance(wanted.shape, key), costs)
    nearest = min(
        winners,
        key=lambda w: (distance(wanted.shape, w.shape), *_rank(w, wanted)),
    )
    away = distance(wanted.shape, nearest.shape)
    return Found("nearest", wanted, nearest, away, costs, rejected)


def _right_elsewhere(winners: list[Winner], wanted: Wanted) -> list[Winner]:
    """Those winners that were not found wrong at other sizes than their own.

    Raises:
        NotTunedError: if there are none.
    """
    right = [winner for winner in winners if not winner.wrong_elsewhere]
    if right:
        return right
    raise NotTunedError(
        f"no winner of {wanted.kernel} serves {shape_text(wanted.shape)}, since it is wrong at "
        f"other sizes than its own: {winners[0].wrong_elsewhere}"
    )


def winners_for(wanted: Wanted, storage: str) -> list[Winner]:
    """The winners of the kernel, element type and device at every shape.

    Raises:
        UserError: if the storage cannot be read.
    """
    return _winners(_serving(wanted, storage), wanted)


def _winners(studies: Iterable[StoredStudy], wanted: Wanted) -> list[Winner]:
    spaces = wanted.space_at
    found = (
        study.winner(spaces(study.shape, study.space_name) if spaces else None) for study in studies
    )
    return [winner for winner in found if winner is not None]


def _serving(wanted: Wanted, storage: str) -> list[StoredStudy]:
    stamp = _stamp(storage)
    # A server does not say when it has changed.
    studies = stored_studies(storage) if stamp is None else _studies(storage, stamp)
    serving = [study for study in studies if _serves(study, wanted)]
    nearest = min((_apart(study, wanted) for study in serving), default=0.0)
    return [study for study in serving if _apart(study, wanted) == nearest]


def _serves(study: StoredStudy, wanted: Wanted) -> bool:
    named = (study.kernel, study.dtype, without_cores(study.device))
    return named == (wanted.kernel, wanted.dtype, without_cores(wanted.device)) and set(
        study.shape
    ) == set(wanted.shape)


def _apart(study: StoredStudy, wanted: Wanted) -> float:
    """Doublings between their numbers of cores, a little more where the study has more cores."""
    doublings = math.log2(cores_in(study.device) / cores_in(wanted.device))
    return abs(doublings) + (0.01 if doublings > 0 else 0.0)


def _best_at(winners: list[Winner], shape: Mapping[str, int], wanted: Wanted) -> Winner | None:
    """The fastest at a shape; studies made with today's toolchain take precedence."""
    there = [winner for winner in winners if winner.shape == shape]
    return min(there, key=lambda winner: _rank(winner, wanted), default=None)


def _rank(winner: Winner, wanted: Wanted) -> tuple[bool, float, Preference]:
    return winner.made_with != wanted.made_with, winner.time_s, preference(winner.config)


def _why_not(costs: tuple[KeyCost, ...], max_key_cost: float) -> str:
    """Why the power-of-two key must not be used; empty if it may be."""
    if not costs:
        check = python_command("engine.check_key")
        return f"its power-of-two key has no check with today's toolchain ({check})"
    worst = max(costs, key=lambda cost: cost.cost)
    if worst.cost <= max_key_cost:
        return ""
    return f"the power-of-two key costs too much: {worst}"


@functools.lru_cache(maxsize=4)
def _studies(storage: str, stamp: tuple[int, int]) -> tuple[StoredStudy, ...]:
    """The studies of a storage's file as of `stamp`."""
    return tuple(stored_studies(storage))


def _stamp(storage: str) -> tuple[int, int] | None:
    """Changes if the storage's file does; None if there is no file."""
    file = storage_file(storage)
    if file is None or not file.exists():
        return None
    status = file.stat()
    return status.st_mtime_ns, status.st_size
