"""Measuring over SSH: each outcome has its status and reason, and nothing is left running."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import os
import subprocess
import threading
from pathlib import Path

import pytest
from ssh_cases import SCALE, TIMEOUT_S, doubled, processes_with

from rvv_runner.board import BoardError
from rvv_runner.ssh.cache import NO_PROGRAM_RUNS

# Leaves a family in sessions of their own behind, the first time it runs.
LEAVES_CHILDREN = f"""
extern int fork(void), setsid(void), pause(void);
static int runs;
if (y > 0) return;
{SCALE}
if (runs++ == 0 && fork() == 0) {{
    setsid();
    for (int i = 0; i < 4; i++) fork();
    for (;;) pause();
}}
"""


def test_a_right_kernel_gets_times_by_the_boards_own_clock(open_board, build_kernel):
    board = open_board()
    measurement = board.measure(build_kernel(SCALE, doubled()), 5, TIMEOUT_S)
    assert measurement.status == "correct", measurement.reason
    assert len(measurement.times_s) == 5
    assert all(0 < time_s < 1 for time_s in measurement.times_s)
    assert not measurement.estimated
    assert measurement.max_abs_error == 0
    assert measurement.counters == {}
    assert {"before_load", "other_programs_s"} <= set(measurement.conditions)
    assert not board.info.deterministic
    assert board.info.kind == "x60-under-qemu-riscv64"


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ("exit(124);", "runtime", "it ended with status 124"),
        ("raise(SIGKILL);", "board", "the program was ended from outside, by SIGKILL"),
    ],
)
def test_statuses_that_tools_use_are_not_mistaken(open_board, build_kernel, body, status, reason):
    measurement = open_board().measure(build_kernel(body, doubled()), 1, TIMEOUT_S)
    assert (measurement.status, measurement.reason) == (status, reason)
    assert measurement.times_s == ()


def test_children_that_outlive_their_parent_are_ended(open_board, build_kernel):
    artifact = build_kernel(LEAVES_CHILDREN, doubled(), grid=(1, 7901, 1))
    measurement = open_board().measure(artifact, 1, TIMEOUT_S)
    assert measurement.status == "runtime"
    assert measurement.reason == "the kernel started another process"
    assert processes_with("1,7901,1") == []


def test_a_wrapper_that_is_not_there_is_the_boards_fault(open_board, build_kernel):
    board = open_board(wrapper=("no-such-emulator",))
    measurement = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S)
    assert measurement.status == "board"
    assert "no-such-emulator" in measurement.reason


def test_a_folder_that_is_mounted_noexec_is_named(open_board, build_kernel, tmp_path):
    (tmp_path / "plain").touch(mode=0o644)  # refused as all programs on such a file system are
    board = open_board(wrapper=(str(tmp_path / "plain"),))
    measurement = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S)
    assert (measurement.status, measurement.reason) == ("board", NO_PROGRAM_RUNS)


def test_nothing_is_shipped_twice(open_board, build_kernel, settings):
    board = open_board()
    artifact = build_kernel(SCALE, doubled())
    files = Path(settings.folder) / "files"
    assert board.measure(artifact, 1, TIMEOUT_S).status == "correct"
    before = {path.name: path.stat().st_ino for path in files.iterdir()}
    assert len(before) == 3
    board.close()
    board.open()
    assert board.measure(artifact, 1, TIMEOUT_S).status == "correct"
    assert {path.name: path.stat().st_ino for path in files.iterdir()} == before
    board.close()
    assert list((Path(settings.folder) / "jobs").glob("*.report")) == []


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-1] + b"?"])
def test_a_damaged_file_on_the_board_is_shipped_again(open_board, build_kernel, settings, damage):
    board = open_board()
    artifact = build_kernel(SCALE, doubled())
    board.measure(artifact, 1, TIMEOUT_S)
    remote = Path(settings.folder) / "files" / artifact.sha256
    remote.write_bytes(damage(remote.read_bytes()))
    board.close()
    board.open()
    assert board.measure(artifact, 1, TIMEOUT_S).status == "correct"
    assert remote.read_bytes() == artifact.elf_path.read_bytes()


def test_a_file_that_another_tuner_evicted_is_shipped_again(open_board, build_kernel, settings):
    board = open_board()
    artifact = build_kernel(SCALE, doubled())
    assert board.measure(artifact, 1, TIMEOUT_S).status == "correct"
    (Path(settings.folder) / "files" / artifact.sha256).unlink()
    assert board.measure(artifact, 1, TIMEOUT_S).status == "correct"


def test_files_used_least_recently_make_room(open_board, build_kernel, settings):
    artifact = build_kernel(SCALE, doubled())
    size_bytes = artifact.elf_path.stat().st_size
    files = Path(settings.folder) / "files"
    files.mkdir(parents=True)
    old = files / ("0" * 64)
    old.write_bytes(bytes(20_000))
    os.utime(old, (1, 1))
    board = open_board(cache_bytes=size_bytes + 30_000)
    assert board.measure(artifact, 1, TIMEOUT_S).status == "correct"
    assert not old.exists()
    assert (files / artifact.sha256).exists()


def test_names_with_spaces_quotes_and_substitutions_do_no_harm(
    open_board, build_kernel, settings, tmp_path
):
    trap = tmp_path / "trapped"
    name = f"a b'c\"d $(touch {trap.name}) `touch {trap.name}` \\ ; é"
    board = open_board(folder=str(tmp_path / name), lock=str(tmp_path / f"{name}.lock"))
    artifact = build_kernel(SCALE, doubled())
    elf = artifact.elf_path.rename(tmp_path / f"{name}.elf")
    moved = type(artifact)(elf, artifact.sha256, artifact.data_path, (1, 1, 1), 256)
    measurement = board.measure(moved, 1, TIMEOUT_S)
    assert measurement.status == "correct", measurement.reason
    assert (tmp_path / name / "files" / artifact.sha256).exists()
    assert not trap.exists()
    assert not (Path.home() / trap.name).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("size", ["24k", "64k"], ids=["no room for the ELF", "nor for outputs"])
def test_a_full_disk_is_not_the_kernels_fault(open_board, build_kernel, tmp_path, size):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(small)]
    if subprocess.run(mount, check=False, timeout=200, capture_output=True).returncode != 0:
        pytest.skip("this machine does not let its root mount a disk")
    try:
        board = open_board(folder=str(small / "board"))
        artifact = build_kernel(SCALE, doubled())
        measurement = board.measure(artifact, 1, TIMEOUT_S)
        assert measurement.status == "board"
        assert "its disk is full" in measurement.reason
        with pytest.raises(BoardError, match="its disk is full"):
            board.ship(artifact)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True, timeout=200)


def test_a_lock_that_cannot_be_made_is_the_boards_fault(open_board, build_kernel, tmp_path):
    board = open_board(lock=str(tmp_path / "no such folder" / "lock"))
    measurement = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S)
    assert measurement.status == "board"
    assert "cannot be opened: name another lock in the board file" in measurement.reason


def test_a_board_that_somebody_uses_is_waited_for_and_then_given_back(
    open_board, build_kernel, settings
):
    board = open_board()
    artifact = build_kernel(SCALE, doubled())
    with Path(settings.lock).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        measurement = board.measure(artifact, 1, 1.0)
    assert measurement.status == "board"
    assert "in use: another program has it" in measurement.reason
    assert f"its lock {settings.lock} was not free in time" in measurement.reason
    assert board.measure(artifact, 1, TIMEOUT_S).status == "correct"


def test_who_uses_a_board_is_told_to_those_who_wait(open_board, build_kernel, settings):
    artifact = build_kernel(SCALE, doubled())
    board = open_board()
    assert board.measure(artifact, 1, TIMEOUT_S).status == "correct"
    assert Path(settings.lock).read_text().strip() == ""  # nobody holds it
    with Path(settings.lock).open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("100 alice@lab_1\n")  # as a job of hers writes it, at one second of uptime
        lock.flush()
        refused = board.measure(artifact, 1, 1.0)
        letting_go = threading.Timer(1.0, fcntl.flock, (lock, fcntl.LOCK_UN))
        letting_go.start()
        waited = board.measure(artifact, 1, TIMEOUT_S)
        letting_go.join()
    assert refused.status == "board"
    assert "in use: alice@lab_1 has had it for" in refused.reason
    assert waited.status == "correct"
    assert waited.conditions["used_by"] == "alice@lab_1"
    assert waited.conditions["waited_for_others_s"] > 0.1


def test_the_lock_file_names_the_tuner_that_measures(open_board, build_kernel, settings):
    board = open_board()
    seen: set[str] = set()
    artifact = build_kernel(SCALE, doubled())
    measuring = threading.Thread(target=board.measure, args=(artifact, 200, TIMEOUT_S))
    measuring.start()
    while measuring.is_alive():
        with contextlib.suppress(OSError):
            seen |= {*Path(settings.lock).read_text().split()[1:]}
    measuring.join()
    (name,) = seen
    assert name.startswith(f"{getpass.getuser()}@")
