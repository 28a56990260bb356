"""What is said of trials whose times something else on the machine disturbed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.study.stored_trial import StoredTrial
from rvv_runner.disturbed import DISTURBED

__all__ = ["disturbance_of", "note_on_disturbed"]


def disturbance_of(trial: StoredTrial) -> str:
    """What disturbed a trial in each of three attempts, of one shape at least; "" for nothing."""
    shapes = trial.attributes.get("shapes")
    measured = [trial.attributes, *(shapes.values() if isinstance(shapes, Mapping) else ())]
    known = (part.get("conditions") for part in measured if isinstance(part, Mapping))
    found = (of_part.get(DISTURBED) for of_part in known if isinstance(of_part, Mapping))
    return next((str(text) for text in found if text), "")


def note_on_disturbed(trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """How many of the trials with a time were disturbed, and the first cause."""
    timed = [trial for trial in trials if trial.time_s is not None]
    found = [text for text in map(disturbance_of, timed) if text]
    if not found:
        return ()
    were = "was" if len(found) == 1 else "were"
    return (
        f"{len(found)} of {len(timed)} trials with a time {were} disturbed, measured up to three "
        f"times, and {'has' if len(found) == 1 else 'have'} the fastest of these times; the first: "
        f"{found[0]}",
    )
