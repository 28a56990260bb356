"""Shell completion with argcomplete: `eval "$(register-python-argcomplete rvv-tune)"`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable

__all__ = ["complete", "completed_words", "completes", "completes_by", "enter_subcommand"]

# The shell sets it when it asks for completions: 1 plus the number of words before the program.
_ASKED = "_ARGCOMPLETE"


def complete(parser: argparse.ArgumentParser) -> None:
    """If the shell asks for completions, print them and end the process."""
    if _ASKED in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser, always_complete_options=False)


def completes(action: argparse.Action, names: Callable[[], Iterable[str]]) -> None:
    """Offer `names()` as completions of an argument; other values stay possible."""
    completes_by(action, lambda _: names())


def completes_by(
    action: argparse.Action, names: Callable[[argparse.Namespace], Iterable[str]]
) -> None:
    """The same, where the names depend on the arguments so far."""
    action.completer = lambda parsed_args, **_: names(parsed_args)  # type: ignore[attr-defined]  # argcomplete reads it


def completed_words() -> list[str]:
    """The finished words after the program's name on the line to complete; else an empty list."""
    if _ASKED not in os.environ:
        return []
    from argcomplete.lexers import split_line

    line, point = os.environ["COMP_LINE"], int(os.environ["COMP_POINT"])
    words = split_line(line, point)[3]
    return words[int(os.environ[_ASKED]) :]


def enter_subcommand() -> None:
    """Skip the first of `completed_words`, so that the next parser completes the rest."""
    os.environ[_ASKED] = str(int(os.environ[_ASKED]) + 1)
