"""What a study of an estimated board minimised before `--robust` changed it.

All trials count under any objective, but the sampler proposed the earlier ones for another.
"""

from __future__ import annotations

from engine.study.objectives import Robust
from engine.study.trials import StoredTrials

__all__ = ["BEFORE", "keep_change", "note_on_changes"]

# Name of the study's attribute: for each earlier objective, its name and the number of the first
# trial that was not proposed for it.
BEFORE = "robust_before"

_WORDS = {
    "mean": "the weighted mean loss",
    "worst": "the worst loss",
    "off": "the time under the default model",
}


def keep_change(stored: StoredTrials, before: Robust, now: Robust) -> None:
    """Keep that a study's further trials are proposed for another objective."""
    made = len(stored.trials_of(stored.study_name))
    earlier = _earlier(stored)
    if before != now and made > (earlier[-1][1] if earlier else 0):
        stored.set_attribute(BEFORE, [*map(list, earlier), [before, made]])


def note_on_changes(stored: StoredTrials, now: Robust) -> tuple[str, ...]:
    """A sentence for the user, if the study's trials were proposed for several objectives."""
    earlier = _earlier(stored)
    if not earlier:
        return ()
    parts = ", ".join(f"to {end} for {_WORDS[name]}" for name, end in earlier)
    return (
        f"the study's trials up {parts}, and later ones for {_WORDS[now]}: to search for one "
        "alone, give --study a new name, with --no-history",
    )


def _earlier(stored: StoredTrials) -> list[tuple[str, int]]:
    """What `keep_change` kept; nothing where another program stored something else."""
    rows = stored.attribute(BEFORE)
    return [
        (row[0], row[1])
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, list) and len(row) == 2 and row[0] in _WORDS and type(row[1]) is int
    ]
