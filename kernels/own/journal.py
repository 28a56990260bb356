"""What runs under changed inputs gave: a process that one of them ended is made up for by another,
which goes on behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from launchers.arguments import Argument

__all__ = ["Journal", "Outcome", "Run", "outcome_of"]


@dataclass(frozen=True)
class Outcome:
    """Of one run.

    Args:
        is_right: whether all outputs were.
        mismatch: the first element that was wrong; "" if none was, or if the run stopped.
        out_of_bounds: an access outside of its array; "" if there was none.
        is_endless: whether it was ended, since it took far longer than others.
    """

    is_right: bool
    mismatch: str = ""
    out_of_bounds: str = ""
    is_endless: bool = False


class Run(Protocol):
    """Runs a configuration with other inputs each time; attributes as of `HostRun`."""

    gave_up: bool
    mismatch: str
    out_of_bounds: str
    is_endless: bool
    cpu_s: float

    def is_right(self, arguments: tuple[Argument, ...]) -> bool:
        """Whether it gives what is expected."""
        ...


def outcome_of(run: Run, arguments: tuple[Argument, ...]) -> Outcome:
    """The outcome of a run on some arguments."""
    is_right = run.is_right(arguments)
    return Outcome(is_right, run.mismatch, run.out_of_bounds, run.is_endless)


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
