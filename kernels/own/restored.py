"""Which counters and locks a kernel's default configuration gives back as it found them."""

from __future__ import annotations

from dataclasses import replace

from kernels.own.journal import Journal, Run, outcome_of
from launchers.arguments import Argument

__all__ = ["restored"]


def restored(
    run: Run, arguments: tuple[Argument, ...], counted: frozenset[str], journal: Journal
) -> frozenset[str]:
    """The arrays of integers that the kernel reads and writes, and leaves as they were.

    The next launch finds them there: a configuration that gives back a counter at another number
    is right once, and wrong from then on.

    Args:
        run: of the default configuration.
        arguments: of the launch, with nothing expected.
        counted: the arrays to look at.
        journal: gives the outcomes of runs.
    """

    def stays(name: str) -> bool:
        watched = tuple(replace(one, constant=one.name == name) for one in arguments)
        return not run.gave_up and journal.outcome(lambda: outcome_of(run, watched)).is_right

    return frozenset(name for name in sorted(counted) if stays(name))
