"""What the worker processes lack on this machine is one sentence before anything starts."""

from __future__ import annotations

import errno
import os
import pwd
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.workers.machine import check_can_work
from foundation.errors import UserError

PROGRAM = """
from engine.workers.ray_session import ray_session
from foundation.command_line import run_command

def main(argv):
    with ray_session(1):
        return 0

run_command(main, "tried")
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="o") as name:
        yield Path(name)


def tried(folder: Path, shell: str = "", **environment: str) -> tuple[int, str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    done = subprocess.run(
        ["bash", "-c", f'{shell} exec "$1" -c "$2"', "-", sys.executable, PROGRAM],
        cwd=folder,
        env={**known, "HOME": str(folder), "TMPDIR": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.long
def test_a_relative_home(folder: Path) -> None:
    assert tried(folder, HOME="mine") == (
        2,
        "tried: HOME is the relative path mine: set it to an absolute one\n",
    )


@pytest.mark.long
def test_a_current_folder_that_is_gone(folder: Path) -> None:
    assert tried(folder, "mkdir x; cd x; rmdir ../x;") == (
        2,
        "tried: the current folder was removed: go to another one\n",
    )


def test_a_home_that_cannot_be_written_to(folder: Path) -> None:
    status, said = tried(folder, HOME="/proc/nowhere")
    assert status == 2
    assert said == (
        "tried: /proc/nowhere/.cache/triton-rvv-tuner cannot be made (No such file or directory): "
        "set XDG_CACHE_HOME to another folder\n"
    )


@pytest.mark.long
def test_a_limit_on_the_size_of_files(folder: Path) -> None:
    status, said = tried(folder, "ulimit -f 8;")
    assert status == 2
    assert said == (
        "tried: files may not grow beyond 8 KiB here (ulimit -f), and Ray needs 262144: raise the "
        "limit\n"
    )


def test_a_full_folder_of_temporary_files(folder: Path) -> None:
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    may = subprocess.run([*namespace, "true"], capture_output=True, timeout=200, check=False)
    if may.returncode != 0:
        pytest.skip("this user may not make namespaces")
    full = folder / "full"
    full.mkdir()
    mount = f"mount -t tmpfs -o size=8k none {full} &&"
    done = subprocess.run(
        [*namespace, "bash", "-c", f'{mount} exec "$1" -c "$2"', "-", sys.executable, PROGRAM],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(full)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"tried: {full} cannot be written to: No space left on device: make room there, or set "
        "TMPDIR to another folder\n"
    )


@pytest.mark.long
def test_a_path_that_is_no_utf8_in_the_locale(folder: Path) -> None:
    below = folder / "bücher"
    below.mkdir()
    options = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    status, said = tried(below, TMPDIR=str(folder), **options)
    assert status == 2
    assert said == (
        rf"tried: the path {folder}/b\udcc3\udcbccher is not UTF-8 in this locale, and Ray takes "
        "no other: set LC_ALL=C.UTF-8, or choose another folder\n"
    )


def test_a_long_path_for_temporary_files(folder: Path) -> None:
    long = folder / ("long" * 10)
    long.mkdir()
    status, said = tried(folder, TMPDIR=str(long))
    assert status == 2
    assert said == (
        f"tried: the path {long} is too long for the sockets of Ray: set TMPDIR to a folder whose "
        "path has at most 24 characters\n"
    )


def test_without_a_home_in_the_environment_workers_get_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "anything")  # so that it is restored
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    check_can_work(tmp_path, tmp_path / "builds")
    assert os.environ["HOME"] == pwd.getpwuid(os.getuid()).pw_dir


def test_a_machine_whose_shared_memory_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.workers.machine._SHARED_MEMORY", Path("/proc"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(UserError, match=r"^/proc cannot be written to: .*, and Ray needs it"):
        check_can_work(tmp_path, tmp_path / "builds")


def test_a_machine_that_does_not_reach_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(caller: socket.socket, address: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", fail)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(UserError, match=r"cannot reach 127\.0\.0\.1 .*: run ip link set lo up"):
        check_can_work(tmp_path, tmp_path / "builds")
