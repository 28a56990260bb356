"""Mistakes that a user can fix."""

from __future__ import annotations

import contextlib
import difflib
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

__all__ = [
    "CommandError",
    "FileMistake",
    "TooBusyError",
    "UserError",
    "listed",
    "mistakes_in",
    "near_file",
    "nearest",
]

_LONG_NAME = 40  # two such names fill a terminal's line


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

    Without a valid name, the sentence ends with "there is none".

    Args:
        word: what was given.
        valid: the names.
        similarity: of a near name, from 0 to 1, as `difflib.SequenceMatcher.ratio` has it.
    """
    names = sorted(valid)
    close = difflib.get_close_matches(word, names, n=3, cutoff=similarity)
    if close:
        those = listed(close, " or ")
        return f"did you mean one of these?{those}" if "\n" in those else f"did you mean {those}?"
    if not names:
        return "there is none"
    return f"choose {'one of ' if len(names) > 1 else ''}{listed(names, ', ')}"


def near_file(path: Path, pattern: str) -> Path | None:
    """A file beside one that is not there, with almost its name; None if there is none.

    Args:
        path: of what is not there.
        pattern: of the names that count, as `Path.glob` takes it.
    """
    beside = {file.name: file for file in path.parent.glob(pattern)}
    close = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.85)
    return beside[close[0]] if close else None


def listed(names: Sequence[str], between: str) -> str:
    """Names in one line, or each on a line of its own if some are as long as those of studies."""
    if len(names) > 1 and max(map(len, names)) > _LONG_NAME:
        return "".join(f"\n  {name}" for name in names)
    return between.join(names)


@contextlib.contextmanager
def mistakes_in(
    path: Path, what: str, advice: Callable[[str], str] = lambda _: ""
) -> Iterator[None]:
    """Within the block, exceptions of a user's file become UserErrors with its line.

    Args:
        path: the file, absolute.
        what: what happened: "cannot be imported", "fails in ask".
        advice: given Python's message, what to add to it.
    """
    try:
        yield
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        last = traceback.format_exception_only(error)[-1].strip()
        raise UserError(f"{path}{_line_in(path, error)} {what}: {last}{advice(last)}") from error


def _line_in(path: Path, error: BaseException) -> str:
    """The innermost line of the file in the exception's traceback, as ":12"."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f":{error.lineno}" if Path(error.filename or "") == path else ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
    return f":{lines[-1]}" if lines else ""
