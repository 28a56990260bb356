"""What runs under changed inputs gave: a process that one of them ended is made up for by another,
which goes on behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = ["Journal", "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """Of one run.

    Args:
        is_right: whether all outputs were.
        mismatch: the first element that was wrong; "" if none was, or if the run stopped.
        is_endless: whether it was ended, since it took far longer than others.
    """

    is_right: bool
    mismatch: str = ""
    is_endless: bool = False


class Journal:
    """Gives the outcomes of runs, which are asked for in one order in every process.

    Args:
        known: those of an earlier process.
        begins: called before a run that is not among them.
        tell: called with its outcome.
    """

    def __init__(
        self,
        known: Iterable[Outcome] = (),
        begins: Callable[[], None] = lambda: None,
        tell: Callable[[Outcome], None] = lambda _: None,
    ) -> None:
        self._known = iter(known)
        self._begins = begins
        self._tell = tell

    def outcome(self, run: Callable[[], Outcome]) -> Outcome:
        """The outcome of the next run, which is made if it is not known."""
        known = next(self._known, None)
        if known is not None:
            return known
        self._begins()
        found = run()
        self._tell(found)
        return found
