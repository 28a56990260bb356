"""What is said of trials whose times other programs, or a hot board, disturbed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.study.stored_trial import StoredTrial
from rvv_runner.conditions import HOT
from rvv_runner.disturbed import DISTURBED

__all__ = ["disturbance_of", "note_on_disturbed"]


def disturbance_of(trial: StoredTrial) -> str:
    """What disturbed a trial in each of three attempts, of one shape at least; "" for nothing."""
    return _condition(trial, DISTURBED)


def note_on_disturbed(trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """How many of the trials with a time were disturbed, and how many measured on a hot board; each
    with the first cause."""
    timed = [trial for trial in trials if trial.time_s is not None]
    notes = []
    if found := [text for text in map(disturbance_of, timed) if text]:
        were = "was" if len(found) == 1 else "were"
        notes.append(
            f"{len(found)} of {len(timed)} trials with a time {were} disturbed, measured up to "
            f"three times, and {'has' if len(found) == 1 else 'have'} the fastest of these times; "
            f"the first: {found[0]}"
        )
    if hot := [text for trial in timed if (text := _condition(trial, HOT))]:
        were = "was" if len(hot) == 1 else "were"
        notes.append(
            f"{len(hot)} of {len(timed)} trials with a time {were} measured on a hot board, which "
            f"may be slower; the first {hot[0]}"
        )
    return tuple(notes)


def _condition(trial: StoredTrial, name: str) -> str:
    """What a condition of a trial's measurement says, of the first shape that has it; or ""."""
    shapes = trial.attributes.get("shapes")
    measured = [trial.attributes, *(shapes.values() if isinstance(shapes, Mapping) else ())]
    known = (part.get("conditions") for part in measured if isinstance(part, Mapping))
    found = (of_part.get(name) for of_part in known if isinstance(of_part, Mapping))
    return next((str(text) for text in found if text), "")
