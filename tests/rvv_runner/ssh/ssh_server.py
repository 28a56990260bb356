"""A real sshd on loopback, and a proxy before it whose link can be cut."""

from __future__ import annotations

import contextlib
import errno
import getpass
import os
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["Proxy", "SshServer", "descendants", "make_key", "name_of"]

START_TIMEOUT_S = 200.0
_CONFIG = """
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
PidFile none
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp internal-sftp
"""


def make_key(path: Path, kind: str = "ed25519") -> None:
    """A new pair of keys at `path` and `path`.pub."""
    path.unlink(missing_ok=True)
    command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "test", "-f", str(path)]
    subprocess.run(command, check=True, timeout=200)


def free_port() -> int:
    """One that the system gives to no connection, so that it is free again after a restart."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class SshServer:
    """sshd on a port of its own, for the user who runs the tests.

    Args:
        folder: for its keys and its log.
        home: whose .ssh has the user's key and known_hosts.
        address: where it listens.
        before: a command and arguments that start it elsewhere, as in another network.
    """

    def __init__(
        self,
        folder: Path,
        home: Path,
        address: str = "127.0.0.1",
        before: Sequence[str] = (),
    ) -> None:
        self._address = address
        self._before = before
        self.folder = folder
        self.home = home
        self.port = free_port()
        self.user = getpass.getuser()
        self._process: subprocess.Popen[bytes] | None = None
        (home / ".ssh").mkdir(mode=0o700, parents=True, exist_ok=True)
        make_key(folder / "host_key")
        make_key(home / ".ssh" / "id_ed25519")
        shutil.copy(home / ".ssh" / "id_ed25519.pub", folder / "authorized_keys")
        config = folder / "sshd_config"
        config.write_text(_CONFIG.format(address=address, port=self.port, folder=folder))
        self.trust()

    @property
    def known_hosts(self) -> Path:
        return self.home / ".ssh" / "known_hosts"

    def trust(self, port: int | None = None) -> None:
        key = (self.folder / "host_key.pub").read_text()
        with self.known_hosts.open("a") as file:
            file.write(f"[{self._address}]:{port or self.port} {key}")

    def start(self) -> None:
        sshd = shutil.which("sshd") or "/usr/sbin/sshd"
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        deadline = time.monotonic() + START_TIMEOUT_S
        while self._is_taken():
            assert time.monotonic() < deadline, f"something else listens on {self.port}"
            time.sleep(0.02)
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(
            [*self._before, sshd, "-D", "-e", "-f", str(self.folder / "sshd_config")],
            stdin=subprocess.DEVNULL,
            stderr=log,
            stdout=log,
            start_new_session=True,
        )
        log.close()
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection((self._address, self.port), timeout=1).close()
                return
            assert self._process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.02)
        raise AssertionError("sshd does not answer")

    def _is_taken(self) -> bool:
        """Whether the port has a listener: a child of a killed sshd may have it for a moment."""
        try:
            socket.create_server((self._address, self.port)).close()
        except OSError as error:
            return error.errno == errno.EADDRINUSE
        return False

    def sessions(self) -> list[int]:
        """Its processes for logins."""
        assert self._process is not None
        return [pid for pid in descendants(self._process.pid) if name_of(pid) == "sshd"]

    def stop(self) -> None:
        """Kill it with every connection; jobs go on."""
        if self._process is None:
            return
        for pid in [self._process.pid, *self.sessions()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(timeout=200)
        self._process = None


def descendants(pid: int) -> list[int]:
    """Of a process, by the parents in /proc."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, front = [], [pid]
    while front:
        front = [child for parent in front for child in parents.get(parent, [])]
        found += front
    return found


def name_of(pid: int) -> str:
    """What a process is called, such as "raylet"; "" once it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


class Proxy:
    """Forwards TCP connections to a port, until its link is cut; then nothing moves and nothing
    ends, as with a cable pulled out.

    Args:
        port: where connections go on loopback.

    Attributes:
        connections: how many there were, those that nobody answered included.
        hang_ups: how many of the next connections are ended at once.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._up = threading.Event()
        self._up.set()
        self._closed = False
        self.connections = 0
        self.hang_ups = 0
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._up.clear()

    def mend(self) -> None:
        self._up.set()

    def close(self) -> None:
        self._closed = True
        self._up.set()
        for sock in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.hang_ups > 0:
                self.hang_ups -= 1
                client.close()
                continue
            self._up.wait()
            try:
                server = socket.create_connection(("127.0.0.1", self._target), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            self._sockets += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with selectors.DefaultSelector() as selector, contextlib.suppress(OSError, ValueError):
            selector.register(source, selectors.EVENT_READ)
            while not self._closed:
                selector.select()
                self._up.wait()
                data = source.recv(1 << 16)
                if not data:
                    break
                sink.sendall(data)
        for sock in (source, sink):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def running(server: SshServer) -> Iterator[SshServer]:
    server.start()
    try:
        yield server
    finally:
        server.stop()
