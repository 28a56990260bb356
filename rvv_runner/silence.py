"""Tells the user why a board keeps them waiting: a minute without output looks like a command that
hangs."""

from __future__ import annotations

import contextlib
import contextvars
import sys
from collections.abc import Callable, Iterator

from foundation.printing import say

__all__ = ["tell_of_silence", "told_of_silence"]


def _say_aside(text: str) -> None:
    say(f"the board: {text}", file=sys.stderr, flush=True)


_tell: contextvars.ContextVar[Callable[[str], None]] = contextvars.ContextVar(
    "tell", default=_say_aside
)


@contextlib.contextmanager
def told_of_silence(tell: Callable[[str], None]) -> Iterator[None]:
    """Within the block, in this thread, `tell` gets the sentences; else they go to stderr."""
    before = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(before)


def tell_of_silence(text: str) -> None:
    """Tell, in one sentence, that a board does not answer, answers again, or is too hot."""
    _tell.get()(text)
