"""The machines of a Ray cluster: which one this is, and whether the others still answer."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from typing import Any

import ray

from foundation.errors import UserError

__all__ = [
    "ClusterLost",
    "check_head",
    "cluster_cpus",
    "is_head_lost",
    "node_answers",
    "node_named",
    "this_node",
    "watching_head",
]

_CONNECT_LIMIT_S = 3.0

_LOOKS_IN_VAIN = 2

_CLUSTER_LOST = (
    "the Ray cluster at {} no longer answers: what was measured is stored; "
    "start the cluster again, and run the same command to resume"
)
_OWN_LOST = (
    "Ray's processes on this machine have ended: what was measured is stored; "
    "run the same command to resume"
)

# Addresses of the head of the Ray in use and of this machine's part, each with what to say once it
# is gone.
_watched: dict[str, str] = {}


class ClusterLost(UserError):
    """The head of the cluster has gone, or what Ray started on this machine."""


@contextlib.contextmanager
def watching_head(cluster: str | None) -> Iterator[None]:
    """Within the block, `check_head` looks whether Ray still answers.

    Args:
        cluster: the address of the cluster that was joined; None for a Ray of this process.
    """
    head = cluster or ray.get_runtime_context().gcs_address
    addresses = [head, *(_address(node) for node in ray.nodes() if _is_here(node))]
    sentence = _CLUSTER_LOST.format(cluster) if cluster else _OWN_LOST
    _watched.update(dict.fromkeys(addresses, sentence))
    try:
        yield
    finally:
        _watched.clear()


def is_head_lost() -> bool:
    """Whether the head of the Ray in use, or this machine's part of it, has gone.

    Ray must not be called then: it ends a process without a word if the process calls it after
    the machine's part of Ray has gone.
    """
    return next(_lost(), None) is not None


def check_head() -> None:
    """Do nothing while Ray answers.

    Raises:
        ClusterLost: once it does not.
    """
    for sentence in _lost():
        raise ClusterLost(sentence)


def _lost() -> Iterator[str]:
    """What to say of each that is gone."""
    for address, sentence in list(_watched.items()):  # another thread may clear it
        if not any(_answers(address) for _ in range(_LOOKS_IN_VAIN)):
            yield sentence


def this_node() -> str:
    """Ray's id of the machine that this process runs on."""
    return str(ray.get_runtime_context().get_node_id())


def node_named(machine: str) -> str:
    """Ray's id of the machine that has this name or address, or offers this resource.

    Raises:
        UserError: if there is no such machine in the cluster, or several.
    """
    nodes = [node for node in ray.nodes() if node["Alive"]]
    found = [node for node in nodes if machine in _names(node) or machine in node["Resources"]]
    if len(found) == 1:
        return str(found[0]["NodeID"])
    known = ", ".join(sorted({name for node in nodes for name in _names(node)}))
    which = "no machine" if not found else f"more than one machine ({len(found)})"
    raise UserError(
        f"the Ray cluster has {which} called {machine}: name one of {known}, or name it yourself "
        "with `ray start --node-name`"
    )


def _names(node: Mapping[str, Any]) -> tuple[str, str, str]:
    """The name that `ray start` was given, the machine's own, and its address."""
    return node["NodeName"], node["NodeManagerHostname"], node["NodeManagerAddress"]


def cluster_cpus() -> int:
    """How many processors the cluster gives to workers, at least 1."""
    return max(1, int(ray.cluster_resources().get("CPU", 0)))


def node_answers(node: str) -> bool:
    """Whether a machine of the cluster can be reached; Ray itself finds out half a minute later."""
    for known in ray.nodes():
        if known["NodeID"] == node:
            return bool(known["Alive"]) and _answers(_address(known))
    return False


def _is_here(node: Mapping[str, Any]) -> bool:
    return bool(node["NodeID"] == this_node())


def _address(node: Mapping[str, Any]) -> str:
    return f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError):
        socket.create_connection((host, int(port)), timeout=_CONNECT_LIMIT_S).close()
        return True
    return False
