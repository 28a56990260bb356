"""A mistake in a kernel that no configuration mends: told at once, it costs no more trials."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.study.stored_trial import StoredTrial
from foundation.config import Config
from foundation.errors import UserError

__all__ = ["refuse_unknown_names"]

# The default configuration and another one.
_ENOUGH = 2
# What Python says of a name that is not there, or of an argument that a function does not take.
_OF_NAMES = re.compile(
    r" has no attribute '\w+'| is not defined\b| got an unexpected keyword argument '\w+'"
)


def refuse_unknown_names(trials: Sequence[StoredTrial], default: Config | None) -> None:
    """End a study of which each configuration so far, the default included, failed to compile with
    the same sentence on a name.

    Args:
        trials: all that have an outcome.
        default: the configuration that speed-ups are relative to.

    Raises:
        UserError: with that sentence, which names the line.
    """
    if len(trials) < _ENOUGH or all(trial.config != default for trial in trials):
        return
    reasons = {(trial.status, str(trial.attributes.get("reason", ""))) for trial in trials}
    (status, reason), *others = reasons
    if status == "compile" and not others and _OF_NAMES.search(reason):
        raise UserError(
            f"{reason}; the first {len(trials)} configurations fail there, the default among them: "
            "mend the kernel"
        )
