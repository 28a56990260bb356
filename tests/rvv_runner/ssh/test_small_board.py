"""A board with busybox's tools: grep ends at NULs, flock has no limit, timeout leaves a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ssh_cases import SCALE, TIMEOUT_S, doubled, processes_with, set_path

from rvv_runner import verdict
from rvv_runner.ssh.address import Address
from rvv_runner.ssh.facts import ask_facts
from rvv_runner.ssh.route import find_route
from rvv_runner.ssh.session import Session

# As in busybox 1.35, compared with it by hand.
TOOLS = {
    "grep": """
import os, sys
if "-lsF" not in sys.argv:
    os.execv("/usr/bin/grep", sys.argv)
options = [word for word in sys.argv[1:] if word.startswith("-")]
words = [word for word in sys.argv[1:] if not word.startswith("-")]
count = max(options.count("-e"), 1)
patterns, files = [word.encode() for word in words[:count]], words[count:]
found = []
for file in files:
    try:
        lines = open(file, "rb").read().split(b"\\n")
    except OSError:
        continue
    if any(pattern in line.split(b"\\0")[0] for line in lines for pattern in patterns):
        found.append(file)
print("\\n".join(found))
sys.exit(not found)
""",
    "flock": """
import os, sys
if "-w" in sys.argv:
    sys.exit("flock: invalid option -- 'w'")
os.execv("/usr/bin/flock", sys.argv)
""",
    "timeout": """
import os, signal, sys, time
words = sys.argv[3:] if sys.argv[1] == "-k" else sys.argv[1:]
program, end = os.getpid(), time.monotonic() + float(words[0])
if child := os.fork():
    os.waitpid(child, 0)
    os.execvp(words[1], words[1:])
if os.fork():
    os._exit(0)
try:
    while time.monotonic() < end:
        time.sleep(0.5)
        os.kill(program, 0)
    os.kill(program, signal.SIGTERM)
except ProcessLookupError:
    pass
""",
}


@pytest.fixture
def small_board(server, tmp_path, open_board):
    folder = tmp_path / "busybox"
    folder.mkdir()
    for name, script in TOOLS.items():
        (folder / name).write_text(f"#!{sys.executable} -IS\n{script}")
        (folder / name).chmod(0o755)
    set_path(server, f"{folder}:{os.environ['PATH']}")
    return open_board


def test_a_right_kernel_is_not_blamed_for_a_process_of_timeout(small_board, build_kernel):
    measurement = small_board().measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S)
    assert measurement.status == "correct", measurement.reason


def test_a_kernel_that_hangs_is_ended_with_all_that_it_started(
    small_board, build_kernel, monkeypatch
):
    monkeypatch.setattr(verdict, "_LEAST_SHARE", 1e-9)  # it hangs on a busy machine, too
    body = "extern int fork(void), setsid(void);\nif (fork() == 0) setsid();\n"
    body += 'for (;;) __asm__ volatile("");'
    artifact = build_kernel(body, doubled(), grid=(1, 7913, 1))
    measurement = small_board().measure(artifact, 1, 2.0)
    assert measurement.status == "timeout", measurement.reason
    assert processes_with("1,7913,1") == []


def test_a_job_waits_for_the_lock(small_board, build_kernel, settings, tmp_path):
    board = small_board()
    Path(settings.lock).touch()
    with subprocess.Popen(["flock", settings.lock, "sleep", "1"]):
        measurement = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S)
    assert measurement.status == "correct", measurement.reason


def test_a_timeout_that_cannot_kill_is_a_missing_tool(server, tmp_path):
    (tmp_path / "timeout").write_text('#!/bin/sh\n[ "$1" != -k ] && exec /usr/bin/timeout "$@"\n')
    (tmp_path / "timeout").chmod(0o755)
    set_path(server, f"{tmp_path}:{os.environ['PATH']}")
    session = Session(find_route(Address("127.0.0.1", server.user, server.port)))
    assert ask_facts(session, "/sys").missing == ("timeout with -k",)
    session.close()
