"""Ray on this machine: nobody else can reach it, join it or read its files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

pytestmark = [pytest.mark.usefixtures("ray_for_tests"), pytest.mark.timeout(120)]

LISTENING = "0A"  # proc(5), /proc/net/tcp
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}


def processes_of_ray() -> list[Path]:
    """The processes whose command lines name the session's folder."""
    folder = session_folder().parent.as_posix().encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if folder in (process / "cmdline").read_bytes():
                found.append(process)
        except OSError:
            continue  # it has ended
    return found


def session_folder() -> Path:
    """The folder of Ray's session, within the one that nobody else may enter."""
    return Path(ray._private.worker._global_node.get_session_dir_path()).parent


def listening_addresses(processes: list[Path]) -> Iterator[str]:
    sockets = set()
    for process in processes:
        for descriptor in (process / "fd").iterdir():
            try:
                sockets.add(str(descriptor.readlink()))
            except OSError:
                continue
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in sockets:
                yield fields[1].partition(":")[0]


def test_ray_listens_on_the_loopback_address_only() -> None:
    processes = [*processes_of_ray(), Path("/proc/self")]
    addresses = list(listening_addresses(processes))
    assert len(addresses) >= 4  # of the cluster's store, the scheduler and this program
    assert set(addresses) <= LOOPBACK


def test_it_has_no_processes_that_nobody_asks() -> None:
    commands = [(process / "cmdline").read_bytes() for process in processes_of_ray()]
    assert any(b"raylet" in command for command in commands)
    for unused in (b"dashboard.py", b"log_monitor.py", b"/monitor.py"):
        assert not any(unused in command for command in commands)


def test_nobody_else_may_enter_its_folder() -> None:
    private = session_folder().parent
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_reads_nothing_of_it() -> None:
    token = [file for file in session_folder().parent.rglob("*token*") if file.is_file()]
    for path in (session_folder().parent, session_folder(), *token):
        look = ["ls", str(path)] if path.is_dir() else ["cat", str(path)]
        somebody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]
        done = subprocess.run(
            [*somebody, *look], capture_output=True, text=True, timeout=20, check=False
        )
        assert done.returncode != 0
        assert "Permission denied" in done.stderr


@pytest.mark.faults
def test_a_program_without_the_token_cannot_join(tmp_path: Path) -> None:
    address = ray.get_runtime_context().gcs_address
    program = f"import ray; ray.init('{address}', logging_level='ERROR'); print(ray.nodes())"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("RAY_")
    } | {"HOME": str(tmp_path), "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    for more in ({}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment | more,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        assert done.returncode != 0
        assert done.stdout == ""
        assert "AuthenticationError" in done.stderr
