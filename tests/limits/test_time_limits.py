"""What hangs is ended and named, and a run says how much of it is left."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import left_to_do
import pytest

TESTS = Path(__file__).parents[1]
# With limits that a test can wait for.
CONFTEST = """
import end_of_tests
import left_to_do
from tests_conftest import *

end_of_tests.GRACE_S = 1
left_to_do.INTERVAL_S = 0.1
"""
SLEEPING = """
import time

def test_quick(): pass

def test_sleeping(): time.sleep(60)

def test_later(): pass
"""
# As a native library that neither returns nor lets Python's signal handlers run.
DEAF = """
import signal, time

def test_quick(): pass

def test_deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project of its own, with this one's plug-ins."""
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    for name in ("end_of_tests.py", "left_to_do.py"):
        shutil.copy(TESTS / "limits" / name, tmp_path)
    shutil.copy(TESTS / "conftest.py", tmp_path / "tests_conftest.py")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    return tmp_path


def run_tests(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_a_test_that_takes_too_long_fails_by_its_name(folder: Path) -> None:
    (folder / "test_it.py").write_text(SLEEPING)
    done = run_tests(folder, "--timeout", "0.5")
    assert done.returncode == 1
    assert "FAILED test_it.py::test_sleeping - Failed: Timeout (>0.5s)" in done.stdout
    assert "2 passed" in done.stdout


def test_one_that_cannot_be_ended_fails_by_its_name_and_the_others_go_on(folder: Path) -> None:
    (folder / "test_deaf.py").write_text(DEAF)
    (folder / "test_more.py").write_text("def test_one(): pass\ndef test_two(): pass")
    done = run_tests(folder, "--timeout", "1", "-n", "2")
    assert done.returncode == 1
    assert re.search(r"FAILED test_deaf.py::test_deaf", done.stdout)
    assert "1 failed, 3 passed" in done.stdout
    assert "in test_deaf\n" in done.stderr  # where it was


@pytest.mark.parametrize("limit", [("--timeout", "1"), ()], ids=["in the test", "in its import"])
def test_without_other_processes_the_run_ends_and_says_where_it_was(
    folder: Path, limit: tuple[str, ...]
) -> None:
    (folder / "test_deaf.py").write_text(DEAF if limit else f"{DEAF}\ntest_deaf()")
    if not limit:
        with (folder / "conftest.py").open("a") as conftest:
            conftest.write("end_of_tests.OUTSIDE_S = 20\n")
    done = run_tests(folder, *limit)
    assert done.returncode == 1
    assert "in test_deaf\n" in done.stderr


@pytest.mark.long
def test_a_run_says_how_much_of_it_is_left(folder: Path) -> None:
    slow = "import pytest, time\n@pytest.mark.parametrize('n', range(8))\n"
    (folder / "test_it.py").write_text(f"{slow}def test_slow(n): time.sleep(0.3)")
    for options in ((), ("-n", "2")):
        done = run_tests(folder, *options)
        assert done.returncode == 0
        assert re.search(r"^\d+% of 8 tests, about \d+ s left$", done.stdout, re.MULTILINE)
        assert done.stderr == ""


def test_what_is_left_takes_as_long_as_what_is_done() -> None:
    assert left_to_do.left(1333, 3100, elapsed_s=180) == "43% of 3,100 tests, about 4 min left"
    assert left_to_do.left(62, 3100, elapsed_s=300) == "2% of 3,100 tests"
    assert left_to_do.left(3000, 3100, elapsed_s=300) == "96% of 3,100 tests, about 10 s left"


def test_a_command_that_takes_too_long_is_ended_and_named() -> None:
    command = [str(TESTS / "within.sh"), "0.5", "sleep", "600"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 124
    assert done.stderr == "make: ended after its limit of 0.5 s, or killed: sleep 600\n"
