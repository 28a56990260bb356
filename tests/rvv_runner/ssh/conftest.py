"""A board of one's own: an sshd on loopback whose ELFs run through qemu-riscv64."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ssh_cases import WRAPPER, set_path
from ssh_server import Proxy, SshServer, running

from rvv_runner.board_file import BoardFile, SshSettings, read_board_file
from rvv_runner.ssh.board import SshBoard

# This machine is shared with whatever else the tests do, so a board on it is always busy.
ANY_LOAD = 1000.0

OpenBoard = Callable[..., SshBoard]

# A perf for three counters of a monitor with two: r1 and r2 fit together, r3 not with another; r9
# is unknown to the core. It counts 1000 for a program and 70 for each timed run.
FAKE_PERF = """#!/bin/sh
while [ "$1" != -- ]; do
    case $1 in -e) events=$2 ;; -o) exec 8>"$2" ;; --log-fd) exec 8>&"$2" ;; esac
    shift
done
shift
"$@" || exit
count=1000
for word in "$@"; do last=$word; done
[ "$last" != 1 ] || count=1070
number=0
{
    echo "# started on a day"
    echo
    for event in $(echo "$events" | tr , ' '); do
        number=$((number + 1))
        case $event in
            r9) echo "<not supported>;;r9:u;0;100.00;;" ;;
            *) if [ "$number" -le 2 ]; then echo "$count;;$event:u;5000;100.00;;"
               else echo "$count;;$event:u;2500;50.00;;"; fi ;;
        esac
    done
} >&8
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the user who tunes, with no keys, agent or known hosts but the tests'."""
    real_cache = Path.home() / ".cache"
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(real_cache))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def server(tmp_path: Path, home: Path) -> Iterator[SshServer]:
    """An sshd that runs, trusted by the user and with the user's key."""
    folder = tmp_path / "sshd"
    folder.mkdir()
    with running(SshServer(folder, home)) as started:
        yield started


@pytest.fixture
def proxy(server: SshServer) -> Iterator[Proxy]:
    """A link to the sshd that can be cut; the server is known under its port, too."""
    proxy = Proxy(server.port)
    server.trust(proxy.port)
    yield proxy
    proxy.close()


@pytest.fixture
def settings(server: SshServer, tmp_path: Path) -> SshSettings:
    """How to use the sshd as a board: a folder and a lock of its own, QEMU before the ELF."""
    return SshSettings(
        host="127.0.0.1",
        port=server.port,
        folder=str(tmp_path / "board"),
        lock=str(tmp_path / "lock"),
        wrapper=WRAPPER,
        busy_cores=ANY_LOAD,
    )


@pytest.fixture
def board_file(settings: SshSettings) -> BoardFile:
    """An X60 that is really QEMU, without events."""
    return dataclasses.replace(read_board_file("x60"), name="test", events={}, ssh=settings)


@pytest.fixture
def open_board(board_file: BoardFile) -> Iterator[OpenBoard]:
    """Opens the board, with other settings where some are given; closes it in the end."""
    opened = []

    def open_it(system: str = "/sys", events: Any = None, **changes: Any) -> SshBoard:
        assert board_file.ssh is not None
        ssh = dataclasses.replace(board_file.ssh, **changes)
        changed = dataclasses.replace(board_file, ssh=ssh, events=events or {})
        board = SshBoard("test", changed, patience_s=0, system=system)
        opened.append(board)
        board.open()
        return board

    yield open_it
    for board in opened:
        board.close()


@pytest.fixture
def fake_perf(server: SshServer, tmp_path: Path) -> Path:
    """A perf that the board's users find first."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "perf").write_text(FAKE_PERF)
    (folder / "perf").chmod(0o755)
    set_path(server, f"{folder}:{os.environ['PATH']}")
    return folder
