"""A user's own file through the commands: nothing to tune, notes, several kernels in it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine.measure as measure_command
import engine.tune as tune_command
from engine import build, find, space
from engine.by_hand.study_file import read_study_file
from engine.results.json import study_record
from engine.results.table import print_result
from engine.run.request import SearchOptions, TuningRequest, WorkOptions
from engine.run.tuning import TuningResult, tune
from engine.winners.missing import read_missing
from foundation.config import Config
from foundation.errors import UserError
from foundation.programs import python_command
from foundation.shapes import shape_text

RUN_TIMEOUT_S = 200
NOTE = (
    "2 of the 3 configurations in triton.autotune differ from others only in num_warps, "
    "which have no effect on this board: 1 is left, so there is nothing to tune"
)
# Two kernels, neither called like the file, and nothing that a CPU could tune.
FILE = """import torch
import triton
import triton.language as tl
TUNED
WARPS = [triton.Config({}, num_warps=w) for w in (1, 2, 4)]

@tune(WARPS, key=["N"])
@triton.jit
def twice(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=at < N), mask=at < N)

@tune(WARPS, key=["N"])
@triton.jit
def thrice(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 3 * tl.load(x_ptr + at, mask=at < N), mask=at < N)

def arguments(N=100):
    return {"x_ptr": torch.randn(N), "out_ptr": torch.empty(N), "N": N, "BLOCK": 32}

def grid(meta):
    return triton.cdiv(meta["N"], meta["BLOCK"])

def twice_arguments(N=100):
    return arguments(N)

twice_grid = grid

def twice_reference(x_ptr):
    return {"out_ptr": 2 * x_ptr}
"""


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    text = FILE.replace("TUNED", "tune = triton.autotune")
    (folder / "multiples.py").write_text(f"{text}\ntwice_ordered = True\n")
    return folder


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def result(folder: Path, ray_for_tests: None) -> TuningResult:
    with pytest.MonkeyPatch.context() as change:
        change.chdir(folder)
        request = TuningRequest(
            "multiples.py:twice", search=SearchOptions(trials=3), work=WorkOptions(jobs=1)
        )
        return tune(request, [])


def test_a_kernel_with_nothing_to_tune_is_measured(result: TuningResult) -> None:
    assert result.study.startswith("twice-N100-fp32-")
    assert (result.ended.reason, result.summary.statuses) == ("exhausted", {"correct": 1})
    assert result.summary.winner is not None
    assert result.summary.winner.config == Config({})


def test_a_winner_of_an_ordered_kernel_is_right_on_the_board_alone(result: TuningResult) -> None:
    (note,) = [note for note in result.notes if "ordered = True" in note]
    assert "the winner is right on this board" in note


def test_a_tuning_run_says_once_what_has_no_effect(result: TuningResult) -> None:
    assert study_record(result)["notes"] == [*result.notes]
    assert result.notes.count(NOTE) == 1
    lines, terminal = io.StringIO(), Terminal()
    print_result(result, lines)
    assert lines.getvalue().splitlines().count(f"note={NOTE}") == 1
    print_result(result, terminal)
    assert terminal.getvalue().splitlines().count(f"note: {NOTE}") == 1
    # It is the only one.
    assert "The default is the fastest" not in terminal.getvalue()


@pytest.mark.long
def test_a_whole_file_may_be_ordered(
    folder: Path, tmp_path: Path, ray_for_tests: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (folder / "multiples.py").read_text()
    Path("steps.py").write_text(f"{text}\nordered = True\n")
    trial, work = SearchOptions(trials=1), WorkOptions(jobs=1)
    result = tune(TuningRequest("steps.py:thrice", search=trial, work=work), [])
    assert result.summary.statuses == {"correct": 1}
    (note,) = [note for note in result.notes if "ordered = True" in note]
    assert "the winner is right on this board" in note


def test_the_space_says_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert space.main(["multiples.py:twice"]) == 0
    assert f"note={NOTE}" in capsys.readouterr().out.splitlines()
    assert space.main(["multiples.py:twice", "--json"]) == 0
    assert NOTE in capsys.readouterr().out


def test_a_winner_is_found_by_the_kernels_name(
    result: TuningResult, capsys: pytest.CaptureFixture[str]
) -> None:
    assert find.main(["multiples.py:twice"]) == 0
    assert "the only configuration for N=100: tuned at this shape" in capsys.readouterr().out
    assert find.main(["multiples.py:thrice"]) == 1
    said = capsys.readouterr().out
    assert (
        f"run {python_command('engine.tune')} {Path.cwd()}/multiples.py:thrice --shape N=100"
        in said
    )


@pytest.mark.long
def test_a_build_by_hand_keeps_the_kernels_name(ray_for_tests: None) -> None:
    assert build.main(["multiples.py:thrice", "--out", "by_hand", "--jobs", "1"]) == 0
    assert read_study_file(Path("by_hand")).kernel == f"{Path.cwd()}/multiples.py:thrice"


def test_a_file_with_several_kernels_wants_a_name() -> None:
    with pytest.raises(UserError, match=r"2 kernels, twice, thrice: .* multiples\.py:twice$"):
        space.main(["multiples.py"])


@pytest.mark.long
def test_a_tuned_kernel_notes_a_miss_by_its_name(tmp_path: Path) -> None:
    """In the interpreter nothing is looked up, so that every shape is missing."""
    text = FILE.replace("TUNED", "import engine\ntune = engine.tuned")
    (tmp_path / "multiples.py").write_text(text)
    program = "from multiples import *\na = arguments(40)\n"
    program += "for kernel in (twice, thrice):\n    kernel[(2,)](*a.values())\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "TRITON_INTERPRET": "1",
        },
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    entries = read_missing(tmp_path / "studies/missing.yaml")
    assert [(entry.kernel, shape_text(dict(entry.shape))) for entry in entries] == [
        (f"{tmp_path}/multiples.py:{name}", "N=40") for name in ("twice", "thrice")
    ]


def test_what_a_file_prints_does_not_come_between_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talking.py").write_text(
        "import torch, triton, triton.language as tl\n"
        "print('no GPU found')\n"
        "@triton.autotune([triton.Config({'BLOCK': b}) for b in (16, 32)], key=[])\n"
        "@triton.jit\n"
        "def twice(x, BLOCK: tl.constexpr):\n"
        "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(x + at, 2 * tl.load(x + at))\n"
        "def arguments():\n"
        "    print('making arguments')\n"
        "    return {'x': torch.ones(64)}\n"
        "def grid(meta):\n"
        "    return (64 // meta['BLOCK'],)\n"
    )
    assert space.main(["talking.py", "--json"]) == 0
    printed = capsys.readouterr()
    json.loads(printed.out)
    assert "no GPU found" in printed.err


# Its padding is no neutral one of a maximum, which rows below zero show.
PADDED = """import torch
import triton
import triton.language as tl

@triton.jit
def most_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(out_ptr + row, tl.max(x, 0))

def get_most_kernel_autotune_config():
    return [triton.Config({"BLOCK": 64})]

def arguments(M=16, N=60):
    return {"x_ptr": torch.randn(M, N), "out_ptr": torch.empty(M), "N": N}

def grid(meta):
    return (meta["M"],)

def reference(x_ptr):
    return {"out_ptr": x_ptr.amax(1)}
"""


@pytest.mark.usefixtures("workers_here")
def test_commands_fail_where_the_kernel_is_probably_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("most.py").write_text(PADDED)
    assert tune_command.main(["most.py", "--trials", "1", "--no-report", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["statuses"] == {"correct": 1}
    assert record["probably_wrong"].startswith("probably wrong for inputs such as x_ptr")
    assert find.main(["most.py"]) == 1
    assert "The kernel is probably wrong" in capsys.readouterr().out
    assert measure_command.main(["most.py", "--config", "BLOCK=64", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["status"] == "correct"
