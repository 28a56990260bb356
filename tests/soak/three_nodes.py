"""A cluster of three Ray nodes without a common folder, and ways to hurt it."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import SubprocessError

from cluster import Cluster, cluster

__all__ = ["ThreeNodes", "three_nodes"]

# A soak with the least priority waits for what else the machine does.
_PATIENCE_S = 2 * 3600.0


class ThreeNodes:
    """A cluster that is made anew when its head is lost.

    Args:
        folder: for the homes of the nodes; its path is short.
        hidden: what the nodes do not see, but for the head.
    """

    def __init__(self, folder: Path, hidden: Path) -> None:
        self._folder = folder
        self._hidden = hidden
        self._made = 0
        self._stack = contextlib.ExitStack()
        self._cluster = self._start()

    @property
    def environment(self) -> dict[str, str]:
        """Of a tuner that builds on it."""
        return {**os.environ, "RAY_AUTH_MODE": "disabled"}

    @property
    def options(self) -> list[str]:
        """The tuner's arguments."""
        return ["--ray-address", self._cluster.address]

    def hurt(self, rng: random.Random) -> str:
        """Lose a node, which joins again with an empty disk, or the head; what was done."""
        if rng.random() < 0.25:
            self._cluster.head.kill()
            self.close()
            self._cluster = self._start()
            return "lose the head"
        node = rng.choice(self._cluster.others)
        self._cluster.lose(node)
        self._cluster.join(node.folder)
        return "lose a node"

    def close(self) -> None:
        """End every node."""
        self._stack.close()

    def _start(self) -> Cluster:
        """A cluster; on a busy machine, its nodes may not find each other for long."""
        end_s = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end_s:
            with contextlib.suppress(SubprocessError, AssertionError):
                return self._new_cluster()
        return self._new_cluster()

    def _new_cluster(self) -> Cluster:
        self._made += 1
        made = cluster(self._folder / str(self._made), self._hidden)
        return self._stack.enter_context(made)


@contextlib.contextmanager
def three_nodes(folder: Path, hidden: Path) -> Iterator[ThreeNodes]:
    """The cluster for the length of the block."""
    nodes = ThreeNodes(folder, hidden)
    try:
        yield nodes
    finally:
        nodes.close()
