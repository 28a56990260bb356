"""The run of Triton's own tests, on a folder of small tests in their place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from exclusions import Exclusion, excluding, read_exclusions
from figures import Outcome, sum_up
from run import FILES, LIST

RUN = Path(__file__).with_name("run.py")
CONFTEST = """
import pytest

def pytest_addoption(parser):
    parser.addoption("--device", default="cuda")

@pytest.fixture
def device(request):
    return request.config.getoption("--device")
"""
TESTS = """
import os
import pytest

@pytest.mark.parametrize("n", range({passing}))
def test_passes(n, device):
    assert device == "cpu"
    assert os.environ["TRITON_RVV_TARGET"] == "host"

def test_fails():
    assert 1 + 1 == 3, "sums are off"

def test_crashes():
    os._exit(3)

def test_skips():
    pytest.skip("needs another device")

def test_zero_strided_tensors():
    raise ValueError("torch has no CUDA")
"""

SLOW = """
import pytest

@pytest.mark.parametrize("dtype", ["a"])
def test_typeconvert_downcast(dtype):
    assert not "run"

def test_quick():
    pass
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder like a checkout of Triton."""
    unit = tmp_path / "python/test/unit"
    (unit / "language").mkdir(parents=True)
    (unit.parent / "conftest.py").write_text(CONFTEST)
    for file in FILES:
        (unit / file).write_text("def test_nothing():\n    pass\n")
    return tmp_path


def run(checkout: Path | str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(RUN), *arguments],
        env={**os.environ, "TRITON_TESTS": str(checkout)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def files_of(folder: Path) -> set[Path]:
    return {file for file in folder.rglob("*") if file.is_file()}


def test_counts_what_passes_fails_and_crashes_and_writes_nothing(checkout):
    (checkout / "python/test/unit/language/test_core.py").write_text(TESTS.format(passing=3))
    before = files_of(checkout)
    result = run(checkout, "--files", "language/test_core.py", "--jobs", "1", "--verbose")
    assert result.returncode == 1, result.stdout + result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["test_core.py", "5", "3", "2", "1", "1", "60.00%"] in rows
    assert "sums are off" in result.stdout
    assert "needs another device" in result.stdout
    assert files_of(checkout) == before


def test_a_share_that_is_high_enough_is_a_success(checkout):
    file = checkout / "python/test/unit/language/test_tuple.py"
    file.write_text("def test_passes(device):\n    pass\n")
    result = run(checkout, "--files", "language/test_tuple.py", "--jobs", "0")
    assert (result.returncode, result.stderr) == (0, "")
    assert "100.00% of what applies passes" in result.stdout


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        ("", "set TRITON_TESTS to the folder python/test/unit of a checkout of Triton 3.7"),
        ("/nowhere", "/nowhere holds no tests of Triton's language"),
    ],
)
def test_without_the_tests_one_sentence_says_what_to_set(folder, sentence):
    result = run(folder)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_folder_that_lacks_files_is_named(checkout):
    (checkout / "python/test/unit/language/test_tuple.py").unlink()
    result = run(checkout)
    assert result.returncode == 2
    assert "lacks language/test_tuple.py" in result.stderr


def outcome(test: str, how: str) -> Outcome:
    return Outcome(f"unit/language/test_core.py::{test}", how, "because", 0.1)


def test_exclusions_that_are_not_needed_are_reported():
    exclusions = (
        Exclusion(r"test_core.py::test_asm.*", "assembly"),
        Exclusion(r"test_core.py::test_mended\[.*\]", "was broken"),
        Exclusion(r"test_core.py::test_gone", "was there once"),
    )
    outcomes = [
        outcome("test_asm[a]", "failed"),
        outcome("test_mended[1]", "failed"),
        outcome("test_mended[2]", "passed"),
        outcome("test_other", "passed"),
    ]
    figures = sum_up(outcomes, exclusions, is_whole=True)
    assert figures.share == 1
    assert figures.exclusions == {"assembly": 1, "was broken": 2}
    assert len(figures.stale) == 2
    assert "test_mended" in figures.stale[0]
    assert "test_gone" in figures.stale[1]
    assert len(sum_up(outcomes, exclusions, is_whole=False).stale) == 1


def test_a_test_fails_where_a_part_of_it_does():
    outcomes = [outcome("test_a", "passed"), outcome("test_a", "failed")]
    figures = sum_up(outcomes, (), is_whole=False)
    assert [failed.test for failed in figures.files["test_core.py"].failed] == [outcomes[0].test]
    assert figures.share == 0


def test_every_exclusion_of_the_list_says_why_and_holds_of_a_file_that_is_run():
    names = {Path(file).name for file in FILES}
    for exclusion in read_exclusions(LIST, "rvv256"):
        assert len(exclusion.reason) > 10
        assert exclusion.tests.split("::", 1)[0] in names


@pytest.mark.long
def test_what_takes_too_long_in_qemu_is_left_out_there_only(checkout):
    tests = "test_conversions.py::test_typeconvert_downcast[a]"
    assert excluding(tests, read_exclusions(LIST, "host")) is None
    assert excluding(tests, read_exclusions(LIST, "rvv256")).emulation_only
    file = checkout / "python/test/unit/language/test_conversions.py"
    file.write_text(SLOW)
    arguments = ("--files", "language/test_conversions.py", "--jobs", "0")
    rows = [line.split() for line in run(checkout, *arguments).stdout.splitlines()]
    assert ["test_conversions.py", "2", "1", "1", "0", "0", "50.00%"] in rows
    emulated = run(checkout, *arguments, "--target", "rvv256").stdout
    assert ["test_conversions.py", "1", "1", "0", "1", "0", "100.00%"] in [
        line.split() for line in emulated.splitlines()
    ]
    assert "stale" not in emulated


def test_parameters_are_a_part_of_what_an_exclusion_matches():
    exclusions = (Exclusion(r"test_core\.py::test_a\[.*-4\]", "four"),)
    assert excluding("unit/language/test_core.py::test_a[x-5]", exclusions) is None
    assert excluding("unit/language/test_core.py::test_a[x/y-4]", exclusions) is exclusions[0]
