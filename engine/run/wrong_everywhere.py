"""Tells a reference that is wrong from configurations that are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.study.stored_trial import StoredTrial

__all__ = ["note_on_reference", "note_on_reference_of_one"]

_FEWEST = 2
# An element of a wrong output may be right by chance, as a zero that was to be multiplied.
_NEARLY_ALL = 0.98
# As `launchers.output` writes it.
_COUNTS = re.compile(r"; (\d+) of (\d+) are wrong")


def note_on_reference(trials: Sequence[StoredTrial], *, is_own: bool) -> tuple[str, ...]:
    """A note if no output of any configuration has more than a few elements that are right.

    A configuration that is wrong mostly leaves some elements right, and configurations that are
    wrong differ. The kernels of this project have references that tests hold.

    Args:
        trials: of a study.
        is_own: whether its kernel is the user's own.
    """
    wrong = [trial for trial in trials if trial.status == "wrong"]
    has_right = any(trial.status == "correct" for trial in trials)
    if not is_own or has_right or len(wrong) < _FEWEST:
        return ()
    if not all(map(_is_wrong_everywhere, wrong)):
        return ()
    return (
        f"all {len(wrong)} configurations whose output was checked are wrong in nearly every "
        "element: perhaps the expected output is; compare what reference returns with the kernel",
    )


def note_on_reference_of_one(reason: str, *, is_own: bool) -> tuple[str, ...]:
    """The same for one wrong configuration, measured alone.

    Args:
        reason: of its status.
        is_own: whether its kernel is the user's own.
    """
    if not is_own or not _names_nearly_all(reason):
        return ()
    return (
        "nearly every element is wrong: if other configurations are as wrong, perhaps the expected "
        "output is; compare what reference returns with the kernel",
    )


def _is_wrong_everywhere(trial: StoredTrial) -> bool:
    return _names_nearly_all(str(trial.attributes.get("reason", "")))


def _names_nearly_all(reason: str) -> bool:
    counts = _COUNTS.search(reason)
    return counts is not None and int(counts[1]) >= _NEARLY_ALL * int(counts[2])
