"""The machines of a Ray cluster: which one this is, and whether the others still answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import ray

from foundation.errors import UserError

__all__ = [
    "ClusterLost",
    "check_head",
    "cluster_cpus",
    "is_head_lost",
    "node_answers",
    "this_node",
    "watching_head",
]

_CONNECT_LIMIT_S = 3.0

# Ray ends a process without a word if the process calls it after the machine's part of Ray has
# gone. Calls under way fail after two seconds, and by then it has to be known.
_LOOK_EVERY_S = 0.2
_LOOKS_IN_VAIN = 2

_head_lost = threading.Event()
_head_address = ""


class ClusterLost(UserError):
    """The head of the cluster has gone."""


@contextlib.contextmanager
def watching_head(address: str) -> Iterator[None]:
    """Within the block, `check_head` knows whether the head of the cluster there answers."""
    global _head_address  # noqa: PLW0603 - like Ray itself, there is one in a process
    _head_address = address
    _head_lost.clear()
    ended = threading.Event()
    threading.Thread(target=_watch, args=(address, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def is_head_lost() -> bool:
    """Whether the head of the cluster has gone; Ray must not be called then."""
    return _head_lost.is_set()


def check_head() -> None:
    """Do nothing while the cluster's head answers.

    Raises:
        ClusterLost: once it does not.
    """
    if is_head_lost():
        raise ClusterLost(
            f"the Ray cluster at {_head_address} no longer answers: what was measured is stored; "
            "start the cluster again, and run the same command to resume"
        )


def this_node() -> str:
    """Ray's id of the machine that this process runs on."""
    return str(ray.get_runtime_context().get_node_id())


def cluster_cpus() -> int:
    """How many processors the cluster gives to workers, at least 1."""
    return max(1, int(ray.cluster_resources().get("CPU", 0)))


def node_answers(node: str) -> bool:
    """Whether a machine of the cluster can be reached; Ray itself finds out half a minute later."""
    for known in ray.nodes():
        if known["NodeID"] == node:
            address = f"{known['NodeManagerAddress']}:{known['NodeManagerPort']}"
            return bool(known["Alive"]) and _answers(address)
    return False


def _watch(address: str, ended: threading.Event) -> None:
    in_vain = 0
    while not ended.wait(_LOOK_EVERY_S):
        in_vain = 0 if _answers(address) else in_vain + 1
        if in_vain == _LOOKS_IN_VAIN:
            _head_lost.set()
            return


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError):
        socket.create_connection((host, int(port)), timeout=_CONNECT_LIMIT_S).close()
        return True
    return False
