"""Mistakes that a user can fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["CommandError", "FileMistake", "TooBusyError", "UserError", "nearest"]


class CommandError(Exception):
    """Ends a command with exit status 2; the message is one sentence that says what to change."""


class UserError(CommandError):
    """A mistake in the command, or in a file that it names."""


class FileMistake(UserError):
    """A mistake in a user's own file that shows where a kernel is measured; no board's fault."""


class TooBusyError(UserError):
    """The worker processes do not start in time on this busy machine; fewer of them might."""


def nearest(word: str, valid: Iterable[str], similarity: float = 0.5) -> str:
    """The valid names nearest to `word`, to end a sentence; all of them if none is near.

    Args:
        word: what was given.
        valid: the names.
        similarity: of a near name, from 0 to 1, as `difflib.SequenceMatcher.ratio` has it.
    """
    names = sorted(valid)
    close = difflib.get_close_matches(word, names, n=3, cutoff=similarity)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"choose one of {', '.join(names)}" if len(names) > 1 else f"choose {names[0]}"
