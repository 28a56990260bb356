"""Keeps the measurements of several programs on one GPU apart."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from foundation.user_folders import cache_folder
from rvv_runner.board_queue import Turn, in_turn

__all__ = ["measuring_on"]

_PATIENCE_S = 30.0  # a lock that is held longer than this is ignored: its holder may hang


@contextlib.contextmanager
def measuring_on(name: str) -> Iterator[Turn]:
    """A measurement, which has the GPU to itself among the measurements of this project.

    Args:
        name: of the GPU, the same in every program of this machine.
    """
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with in_turn(folder / f"{name}.lock", _PATIENCE_S) as turn:
        yield turn
