"""What a search space loses where several cores run a kernel at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from foundation.config import Config
from rvv_runner.board import BoardInfo
from search_spaces.space import Rule, SearchSpace

__all__ = ["on_cores"]


def on_cores(
    space: SearchSpace, board: BoardInfo, programs: Callable[[Config], int]
) -> SearchSpace:
    """The space without configurations that leave cores idle; the default is always allowed.

    If no configuration has a program for each core, those with the most programs are left.

    Args:
        space: of the kernel on one core.
        board: says how many cores run it.
        programs: how many programs a configuration has.
    """
    if board.used_cores == 1:
        return space
    least = _most_programs(space, programs, board.used_cores)
    rule = Rule(
        "program-for-each-core",
        f"fewer than {least} programs leave some of the {board.used_cores} cores idle",
        lambda config: programs(config) >= least,
        spares=space.default,
    )
    return replace(space, rules=(*space.rules, rule))


def _most_programs(space: SearchSpace, programs: Callable[[Config], int], enough: int) -> int:
    """The most programs of any valid configuration, up to `enough`."""
    most = 1
    for config in space.valid_configs():
        most = max(most, programs(config))
        if most >= enough:
            return enough
    return most
