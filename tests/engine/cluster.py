"""Three Ray nodes on this machine that share no folder, and that a test may lose."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_STORE_BYTES = 80 << 20
_READY_S = 300.0  # on a machine that a soak keeps busy


# Ray's own 15 leaves workers next to nothing where other programs keep the machine busy.
_NOT_NICE = '{"worker_niceness": 0}'

_ENV = {**os.environ, "RAY_AUTH_MODE": "disabled"}

_WAIT = """
import sys, time, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
while len(ray.nodes()) < 3:
    time.sleep(0.1)
"""


@dataclass
class Node:
    """A Ray node: a process in a session of its own, and the folder that it calls home."""

    process: subprocess.Popen[bytes]
    folder: Path

    def kill(self) -> None:
        """End the node and all that runs on it, as pulling its plug does."""
        for pid in _session(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """Kill it, and remove its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class Cluster:
    """A head and two more nodes, called "a" and "b"."""

    address: str
    head: Node
    others: list[Node]
    hidden: Path
    cpus: int

    def join(self, folder: Path) -> None:
        """Add a node whose home is in a new folder; the folder's name is the node's."""
        options = [f"--address={self.address}"]
        self.others.append(_start(folder, options, self.cpus, self.hidden))

    def lose(self, node: Node) -> None:
        """Kill one of the others, with what is on its disk."""
        self.others.remove(node)
        node.end()


@contextlib.contextmanager
def cluster(folder: Path, hidden: Path, cpus: int = 1) -> Iterator[Cluster]:
    """A cluster whose nodes, but for the head, find nothing in `hidden`.

    Args:
        folder: for the homes of the nodes; paths of Unix sockets are limited to 107 bytes.
        hidden: a folder, of the tuner.
        cpus: of each node.
    """
    port = _free_port()
    options = [f"--port={port}", "--include-dashboard=false", f"--system-config={_NOT_NICE}"]
    head = _start(folder / "h", ["--head", *options], cpus)
    made = Cluster(f"127.0.0.1:{port}", head, [], hidden, cpus)
    try:
        _wait_for(port, head)
        for name in "ab":
            made.join(folder / name)
        subprocess.run(
            [sys.executable, "-c", _WAIT, made.address], check=True, timeout=_READY_S, env=_ENV
        )
        yield made
    finally:
        for node in [head, *made.others]:
            node.end()


def _start(folder: Path, options: list[str], cpus: int, hidden: Path | None = None) -> Node:
    home, temporary = folder / "home", folder / "t"
    for made in (home, temporary):
        made.mkdir(parents=True)
    ray = shlex.join(
        [
            str(Path(sys.executable).parent / "ray"),
            "start",
            *options,
            "--block",
            "--disable-usage-stats",
            "--node-ip-address=127.0.0.1",
            f"--node-name={folder.name}",
            f"--num-cpus={cpus}",
            f"--object-store-memory={_STORE_BYTES}",
            f"--temp-dir={folder / 'r'}",
        ]
    )
    command = ["sh", "-c", f"exec {ray}"]
    if hidden is not None:
        hide = f"mount -t tmpfs none {shlex.quote(str(hidden))}"
        command = ["unshare", "-m", "sh", "-c", f"{hide} && exec {ray}"]
        if os.geteuid() != 0:
            command.insert(1, "-Ur")
    environment = dict(_ENV)
    if hidden is not None:
        environment |= {
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "XDG_CACHE_HOME": str(home / ".cache"),
            # zig makes a libc for a minute where it has none.
            "ZIG_GLOBAL_CACHE_DIR": str(Path.home() / ".cache" / "zig"),
        }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Node(process, folder)


def _session(leader: int) -> list[int]:
    """The processes of a session, which those of a node stay in."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[3]) == leader:
                found.append(int(stat.parent.name))
    return found


def _free_port() -> int:
    """A port below those that Ray gives to its workers."""
    for port in range(6400, 9900):
        with socket.socket() as taken, contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def _wait_for(port: int, head: Node) -> None:
    end_s = time.monotonic() + _READY_S
    while time.monotonic() < end_s:
        assert head.process.poll() is None, (head.folder / "log").read_text()
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.1)
    raise AssertionError((head.folder / "log").read_text())
