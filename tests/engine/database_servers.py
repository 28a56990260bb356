"""Servers of PostgreSQL and MariaDB for one test, where they are installed."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

__all__ = ["DatabaseServer", "mariadb", "postgresql"]

LIMIT_S = 200
# Servers refuse to run as root.
AS_ANOTHER = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--")


@dataclass
class DatabaseServer:
    """A server that can be stopped and started again."""

    url: str
    command: Sequence[str]
    answers: Sequence[str]
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + LIMIT_S
        while subprocess.run(self.answers, capture_output=True, check=False).returncode != 0:
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.1)

    def stop(self) -> None:
        """At once, as `systemctl restart` does with clients that are connected."""
        self.process.send_signal(signal.SIGINT if "postgres" in self.url else signal.SIGTERM)
        self.process.wait(timeout=LIMIT_S)


def _needs(driver: str, *programs: str) -> list[str]:
    """Paths of programs; skips where one of them or the driver is missing."""
    if importlib.util.find_spec(driver) is None:
        pytest.skip(f"the Python package {driver} is not installed")
    places = os.pathsep.join(
        [*map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"))), os.environ["PATH"]]
    )
    found = [shutil.which(program, path=f"{places}:/usr/sbin") for program in programs]
    if None in found:
        pytest.skip(f"{programs[found.index(None)]} is not installed")
    return [str(path) for path in found]


def _not_root() -> Sequence[str]:
    return AS_ANOTHER if os.geteuid() == 0 else ()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def _running(server: DatabaseServer) -> Iterator[DatabaseServer]:
    server.start()
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait(timeout=LIMIT_S)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="db-") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
        yield folder


@contextlib.contextmanager
def postgresql() -> Iterator[DatabaseServer]:
    """An empty database `t`."""
    initdb, postgres, isready, createdb = _needs(
        "psycopg2", "initdb", "postgres", "pg_isready", "createdb"
    )
    with _folder() as folder:
        data, port = str(folder / "data"), str(_free_port())
        make = [initdb, "-D", data, "-U", "me", "--auth=trust", "--no-sync"]
        subprocess.run([*_not_root(), *make], capture_output=True, timeout=LIMIT_S, check=True)
        options = ["-D", data, "-p", port, "-k", str(folder), "-h", "127.0.0.1", "-F"]
        here = ["-h", "127.0.0.1", "-p", port]
        server = DatabaseServer(
            f"postgresql+psycopg2://me@127.0.0.1:{port}/t",
            [*_not_root(), postgres, *options],
            [isready, "-q", *here],
        )
        with _running(server):
            subprocess.run([createdb, *here, "-U", "me", "t"], timeout=LIMIT_S, check=True)
            yield server


@contextlib.contextmanager
def mariadb() -> Iterator[DatabaseServer]:
    """An empty database `t`."""
    install, daemon, admin, client = _needs(
        "pymysql", "mariadb-install-db", "mariadbd", "mariadb-admin", "mariadb"
    )
    with _folder() as folder:
        data, port, socket_file = folder / "data", str(_free_port()), folder / "s"
        common = ["--no-defaults", f"--datadir={data}"]
        quick = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        make = [*_not_root(), install, *common, *quick]
        subprocess.run(make, capture_output=True, timeout=LIMIT_S, check=True)
        options = [
            *common,
            "--port",
            port,
            "--socket",
            str(socket_file),
            "--bind-address=127.0.0.1",
        ]
        here = ["--no-defaults", "-h", "127.0.0.1", "-P", port, "-u", "root"]
        server = DatabaseServer(
            f"mysql+pymysql://root@127.0.0.1:{port}/t",
            [*_not_root(), daemon, *options, "--bind-address=127.0.0.1"],
            [admin, *here, "ping"],
        )
        with _running(server):
            subprocess.run([client, *here, "-e", "create database t"], timeout=LIMIT_S, check=True)
            yield server
