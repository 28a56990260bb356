"""What is whole in a damaged journal, as the lines of a new one.

Optuna numbers studies and trials by the order in which a journal creates them, and later lines name
them by these numbers. So where a line that created one is lost, another has to stand in its place,
or every later measurement would belong to a wrong configuration.
"""

from __future__ import annotations

import codecs
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from optuna.storages.journal._storage import JournalOperation
from optuna.trial import TrialState

from engine.study.damage import JournalLine, journal_lines

__all__ = ["Repair", "repair"]

_CREATES_TRIAL = re.compile(rb'"op_code":4\b')
_STUDY_ID = re.compile(rb'"study_id":(\d+)')
_MORE_TRIALS = 4  # that a gap may have created beyond those that can be read in it
_MORE_STUDIES = 1
_FINISHED = frozenset(int(state) for state in TrialState if state.is_finished())
_WORKER = "repair"
_EPOCH = "1970-01-01T00:00:00.000000+00:00"


@dataclass(frozen=True)
class Repair:
    """A journal without its damaged lines.

    Args:
        lines: of the new journal.
        damaged: numbers of the lines that were left out, from 1.
        lost_trials, lost_studies: how many of each something else stands in for.
    """

    lines: tuple[bytes, ...]
    damaged: tuple[int, ...]
    lost_trials: int
    lost_studies: int


def repair(path: Path) -> Repair:
    """Everything that is whole in a journal.

    Args:
        path: of the journal, which is left as it is.

    Raises:
        OSError: if it cannot be read.
    """
    lines = list(journal_lines(path.read_bytes().removeprefix(codecs.BOM_UTF8)))
    groups = itertools.groupby(lines, lambda line: line.operation is None)
    runs: list[list[JournalLine]] = [list(group) for _, group in groups]
    state = _State()
    kept: list[bytes] = []
    lost_trials = lost_studies = 0
    for run, following in zip(runs, [*runs, []][1:], strict=True):
        if run[0].operation is not None:
            kept += [line.text for line in run]
            state.apply(run)
            continue
        lost = _best_guess(state, run, following)
        kept += [line.text for line in lost]
        state.apply(lost)
        studies = sum(_operation(line)["op_code"] == JournalOperation.CREATE_STUDY for line in lost)
        lost_studies += studies
        lost_trials += len(lost) - studies
    damaged = tuple(line.number for line in lines if line.operation is None)
    return Repair(tuple(kept), damaged, lost_trials, lost_studies)


def _operation(line: JournalLine) -> Mapping[str, Any]:
    assert line.operation is not None
    return line.operation


@dataclass
class _State:
    """What Optuna makes of the lines so far, as far as numbers go."""

    studies: int = 0
    names: dict[str, int] = field(default_factory=dict)
    makers: list[str] = field(default_factory=list)  # the worker that created each trial
    finished: set[int] = field(default_factory=set)

    def copy(self) -> _State:
        return _State(self.studies, dict(self.names), list(self.makers), set(self.finished))

    def apply(self, lines: Sequence[JournalLine]) -> int:
        """Replay lines; how many name what is not there, or what is another worker's."""
        return sum(self._apply(_operation(line)) for line in lines)

    def _apply(self, operation: Mapping[str, Any]) -> bool:
        code, worker = operation["op_code"], operation["worker_id"]
        study_id = operation.get("study_id")
        if code == JournalOperation.CREATE_STUDY:
            if operation["study_name"] not in self.names:
                self.names[operation["study_name"]] = self.studies
                self.studies += 1
            return False
        if study_id is not None and study_id not in self.names.values():
            return True
        if code == JournalOperation.DELETE_STUDY:
            self.names = {name: known for name, known in self.names.items() if known != study_id}
        if code == JournalOperation.CREATE_TRIAL:
            if operation.get("state") in _FINISHED:
                self.finished.add(len(self.makers))
            self.makers.append(worker)
        trial_id = operation.get("trial_id")
        if trial_id is None:
            return False
        if trial_id >= len(self.makers):
            return True
        maker = self.makers[trial_id]
        is_odd = maker not in (worker, _WORKER) or (trial_id in self.finished and maker != _WORKER)
        if code == JournalOperation.SET_TRIAL_STATE_VALUES and operation["state"] in _FINISHED:
            self.finished.add(trial_id)
        return is_odd


def _best_guess(
    state: _State, gap: Sequence[JournalLine], following: Sequence[JournalLine]
) -> list[JournalLine]:
    """What to put in the place of a gap, so that the lines after it name what they mean."""
    text = b"\n".join(line.text for line in gap)
    readable = len(_CREATES_TRIAL.findall(text))
    found = _STUDY_ID.search(text)
    guesses = sorted(
        itertools.product(range(_MORE_STUDIES + 1), range(readable + _MORE_TRIALS + 1)),
        key=lambda guess: (guess[0], abs(guess[1] - readable)),
    )
    candidates = [list(_stand_ins(state, *guess, found)) for guess in guesses]

    def contradictions(lines: list[JournalLine]) -> int:
        after = state.copy()
        after.apply(lines)
        return after.apply(following)

    return min(candidates, key=contradictions)


def _stand_ins(
    state: _State, studies: int, trials: int, study: re.Match[bytes] | None
) -> Iterator[JournalLine]:
    for number in range(studies):
        name = f"lost-{state.studies + number}"
        yield _line(JournalOperation.CREATE_STUDY, study_name=name, directions=[1])
    known = [*state.names.values(), *range(state.studies, state.studies + studies)]
    named = int(study[1]) if study else None
    of_study = named if named in known else max(known, default=0)
    for _ in range(trials if known else 0):
        yield _line(
            JournalOperation.CREATE_TRIAL,
            study_id=of_study,
            state=int(TrialState.FAIL),
            datetime_start=_EPOCH,
            datetime_complete=_EPOCH,
        )


def _line(code: JournalOperation, **fields: object) -> JournalLine:
    operation = {"op_code": int(code), "worker_id": _WORKER, **fields}
    return JournalLine(0, json.dumps(operation, separators=(",", ":")).encode(), operation)
