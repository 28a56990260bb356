"""What is decided once for launches of a kind, of which a program makes thousands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from triton_rvv.launches.rule import Rule
from triton_rvv.launches.started_again import StartedAgain

__all__ = ["Call", "Decision", "OneEntry", "Use"]


@dataclass
class Use:
    """What was decided for a kind of launch.

    Args:
        rule: what is used, or None.
        kernel: the kernel's name.
        distance: doublings between the launch's sizes and the task's; 0 for the same.
        why: the reason where no rule is used though there are some for the kernel.
        launches: how often.
        reported: how many of them are in the report.
    """

    rule: Rule | None
    kernel: str
    distance: float = 0.0
    why: str = ""
    launches: int = 0
    reported: int = 0

    def give_up(self, error: Exception) -> None:
        """Launch what the program asks for from now on, since its winner does not start here.

        Raises:
            Exception: the error, if the winner was launched before.
        """
        if self.launches:
            raise error
        lines = str(error).splitlines()
        about = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self.rule, self.why = None, f"its winner fails here: {type(error).__name__}: {about}"


class OneEntry(list[Any]):
    """What an autotuner has in place of its list while it launches a winner.

    Args:
        entry: the winner's.
        configs: the list, which another thread may ask for meanwhile.
    """

    def __init__(self, entry: Any, configs: Sequence[Any]) -> None:
        super().__init__([entry])
        self.configs = configs


# Takes all values that a launch gives, in its order, and makes the arguments of another.
Call = Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]


class Decision(NamedTuple):
    """How launches of the same traits are made.

    Args:
        use: what is used.
        grid: numbers of programs in the winner's configuration; None if the launch's own grid is
            to be used, a function or not.
        call: changes a launch's arguments to the winner's; None without one.
        again: what starts the same code; None before it was launched, and where Triton has to.
        configs, chosen: the list of an autotuner, and what it has in place of it for a winner.
    """

    use: Use
    grid: tuple[int, ...] | None = None
    call: Call | None = None
    again: StartedAgain | None = None
    configs: Sequence[Any] | None = None
    chosen: OneEntry | None = None
