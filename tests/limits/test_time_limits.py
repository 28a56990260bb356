"""A run of tests that takes too long ends with a sentence that names the test."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(120)

TESTS = Path(__file__).parents[1]
SLEEPING = """
import time

def test_quick(): pass

def test_sleeping(): time.sleep({sleep_s})

def test_later(): pass
"""
# As a native library that neither returns nor lets Python's signal handlers run.
DEAF = """
import signal, time

def test_deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project of its own, with this one's conftest."""
    (tmp_path / "pytest.ini").touch()
    shutil.copy(TESTS / "conftest.py", tmp_path)
    return tmp_path


def run_tests(
    folder: Path, *arguments: str, within_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    limit = [] if within_s is None else [str(TESTS / "within.sh"), str(within_s)]
    return subprocess.run(
        [*limit, sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_test_that_takes_too_long_fails_by_its_name(folder: Path) -> None:
    (folder / "test_it.py").write_text(SLEEPING.format(sleep_s=60))
    done = run_tests(folder, "--timeout", "0.5")
    assert done.returncode == 1
    assert "FAILED test_it.py::test_sleeping - Failed: Timeout (>0.5s)" in done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.parametrize(
    ("options", "where"), [((), ""), (("-n", "2", "--dist", "loadfile"), " on gw")]
)
def test_a_session_that_takes_too_long_names_what_was_running(
    folder: Path, options: tuple[str, ...], where: str
) -> None:
    limit_s = 10
    for name in ("one", "two"):
        text = SLEEPING.format(sleep_s=limit_s + 1)
        (folder / f"test_{name}.py").write_text(text)
    done = run_tests(folder, "--session-timeout", str(limit_s), *options)
    assert done.returncode != 0
    said = "the tests did not end within 10 s; running then: "
    for output in (done.stderr, done.stdout):
        (line,) = [line for line in output.splitlines() if line.startswith(said)]
        assert f"test_one.py::test_sleeping{where}" in line
        assert ("test_two.py::test_sleeping on gw" in line) == bool(options)
    assert "session-timeout: 10.0 sec exceeded" in done.stdout
    assert "failed" not in done.stdout


def test_a_test_that_cannot_be_ended_is_named_by_make(folder: Path) -> None:
    (folder / "test_it.py").write_text(DEAF)
    done = run_tests(folder, "--timeout", "1", within_s=4)
    assert done.returncode == 124
    assert "make: ended after its limit of 4 s, or killed: " in done.stderr
    assert "make: the test running was test_it.py::test_deaf\n" in done.stderr


def test_a_run_that_ends_in_time_says_nothing(folder: Path) -> None:
    (folder / "test_it.py").write_text("def test_quick(): pass")
    (folder / ".pytest_cache" / "running").mkdir(parents=True)
    (folder / ".pytest_cache" / "running" / "gw7").write_text("left behind")
    done = run_tests(folder, "--session-timeout", "60", within_s=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "did not end" not in done.stdout
    assert list((folder / ".pytest_cache" / "running").iterdir()) == []
