"""Output that cannot be written ends a command with a sentence, and never with a traceback."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
from foundation.command_line import run_command
from foundation.printing import say

def main(argv):
    for _ in range(100_000):
        say("a line that somebody may read: \\u2500")
    return 0

run_command(main, "tried")
"""


def in_shell(redirection: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f'"$1" -c "$2" {redirection}; exit ${{PIPESTATUS[0]}}', "-", sys.executable,
         PROGRAM],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("redirection", "status", "sentence"),
    [
        (">/dev/full", 2, "tried: the output cannot be used: No space left on device\n"),
        ("| head -n 1 >/dev/null", 1, "tried: stopped, since nothing reads its output\n"),
        (">&-", 0, ""),
        (">/dev/full 2>/dev/full", 2, ""),
        (">/dev/full 2>&-", 2, ""),
        (">/dev/null", 0, ""),
    ],
)
def test_output_that_goes_nowhere(redirection: str, status: int, sentence: str) -> None:
    done = in_shell(redirection)
    assert (done.returncode, done.stderr) == (status, sentence)


def test_characters_that_a_stream_lacks_are_escaped() -> None:
    done = in_shell("", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("a line that somebody may read: \\u2500\n")


def test_a_limit_on_files_is_a_sentence(tmp_path) -> None:
    program = PROGRAM.replace('say("', f'open({str(tmp_path / "full")!r}, "w").write(5000 * "')
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 1; exec "$1" -c "$2"', "-", sys.executable, program],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        2,
        "tried: a file or the output cannot be used: File too large\n",
    )


@pytest.mark.parametrize(
    "statement",
    [
        'Path("/dev/full").write_text("text")',
        'with open("/dev/full", "w") as file: shutil.copyfileobj(io.StringIO("text"), file)',
    ],
)
def test_a_file_on_a_full_disk_is_named(statement: str) -> None:
    assert ended(statement) == "tried: /dev/full cannot be used: No space left on device\n"


def test_an_output_that_a_caller_holds_is_not_taken_for_the_file() -> None:
    statement = 'out = sys.stdout; os.write(os.open("/dev/full", os.O_WRONLY), b"text")'
    assert ended(statement) == (
        "tried: a file or the output cannot be used: No space left on device\n"
    )


def test_a_machine_without_a_folder_for_temporary_files_is_told_what_to_set() -> None:
    statement = "tempfile._candidate_tempdir_list = lambda: ['/nowhere']; tempfile.mkdtemp()"
    assert ended(statement) == (
        "tried: no folder takes temporary files: set TMPDIR to one that you may write to\n"
    )


def ended(statement: str) -> str:
    """What a command whose body is this prints to stderr, as a mistake of the user."""
    program = f"""
import io, os, shutil, sys, tempfile
from pathlib import Path
from foundation.command_line import run_command

def main(argv):
    {statement}
    return 0

run_command(main, "tried")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_ctrl_c_at_the_very_end_changes_nothing() -> None:
    program = """
import atexit, os, signal
from foundation.command_line import run_command

atexit.register(os.kill, os.getpid(), signal.SIGINT)
run_command(lambda argv: 0, "tried")
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_garbage_is_left_at_the_very_end() -> None:
    """Collecting what torch and Ray made takes longer than the rest of the exit."""
    program = """
import atexit, gc
from foundation.command_line import run_command

atexit.register(lambda: print(gc.get_freeze_count() > 0 == len(gc.get_objects(generation=2))))
run_command(lambda argv: 0, "tried")
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.stdout == "True\n"
