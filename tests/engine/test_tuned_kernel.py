"""`@engine.tuned` in a program of its own: misses are noted, tuned when asked, and then found."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import engine.tune as tune_command
import triton_rvv
from engine.winners.missing import read_missing

KERNEL = '''\
"""A vector plus a multiple of another."""
import torch
import triton
import triton.language as tl
import engine
from engine.winners.tuned_kernel import Winners


@engine.tuned(
    [triton.Config({"BLOCK_SIZE": size}) for size in (64, 256)],
    key=["n_elements"],
    winners=Winners(sizes={"N": "n_elements"}, trials=2),
)
@triton.jit
def axpy_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, 2.5 * x + y, mask=mask)


def arguments(N=1000, dtype=torch.float32):
    x, y = torch.randn(N).to(dtype), torch.randn(N).to(dtype)
    output = torch.empty(N, dtype=dtype)
    return {"x_ptr": x, "y_ptr": y, "output_ptr": output, "n_elements": N}


def grid(meta):
    return (triton.cdiv(meta["n_elements"], meta["BLOCK_SIZE"]),)


def reference(x_ptr, y_ptr):
    return {"output_ptr": 2.5 * x_ptr + y_ptr}
'''

PROGRAM = """\
import json
import logging
import sys
import torch
import triton_rvv
triton_rvv.activate("host")
logging.basicConfig(level=logging.INFO)
from axpy import arguments, axpy_kernel, grid, reference

for n in map(int, sys.argv[1:]):
    a = arguments(n)
    for _ in range(2):
        axpy_kernel[grid](*a.values())
    torch.testing.assert_close(a["output_ptr"], reference(a["x_ptr"], a["y_ptr"])["output_ptr"])
    found = axpy_kernel.found
    print(json.dumps({
        "block": axpy_kernel.best_config.kwargs["BLOCK_SIZE"],
        "how": None if found is None else found.how,
        "away": None if found is None else found.distance,
    }))
"""


def run_program(folder: Path, *sizes: int, **variables: str) -> tuple[list[dict[str, Any]], str]:
    """What the program says of each size, and its log."""
    paths = [str(Path(__file__).parents[2]), os.environ["PYTHONPATH"]]
    done = subprocess.run(
        [sys.executable, "program.py", *map(str, sizes)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "axpy.py").write_text(KERNEL)
    (folder / "program.py").write_text(PROGRAM)
    return folder


@pytest.fixture(scope="module")
def missed(folder: Path) -> tuple[list[dict[str, Any]], str]:
    return run_program(folder, 1000)


@pytest.mark.long
def test_untuned_shape_runs_the_first_configuration_and_says_so(
    missed: tuple[list[dict[str, Any]], str],
) -> None:
    said, log = missed
    assert said == [{"block": 64, "how": None, "away": None}]
    assert log.count("axpy at N=1000: nothing stored") == 1


@pytest.mark.long
def test_missing_shapes_are_tuned_by_the_command_and_found_from_then_on(
    folder: Path,
    missed: tuple[list[dict[str, Any]], str],
    monkeypatch: pytest.MonkeyPatch,
    ray_for_tests: None,
) -> None:
    monkeypatch.chdir(folder)
    (entry,) = read_missing()
    assert (entry.kernel, entry.shape) == (str(folder / "axpy.py"), (("N", 1000),))
    assert tune_command.main(["--missing", "--trials", "2", "--jobs", "1"]) == 0
    assert read_missing() == []
    said, log = run_program(folder, 1000, 500)
    assert [(one["how"], one["away"]) for one in said] == [("exact", 0), ("nearest", 1)]
    assert "for N=1000: tuned at this shape" in log
    assert "the nearest shape N=1000, 1.00 doublings away" in log
    assert [entry.shape for entry in read_missing()] == [(("N", 500),)]


def test_a_miss_is_tuned_at_once_where_that_is_asked_for(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the tuning itself, which fails here: the program goes on."""
    asked: list[list[str]] = []

    def fails(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 2, stderr="stage=start\nno board\n")

    own_subprocess = SimpleNamespace(run=fails, DEVNULL=subprocess.DEVNULL, PIPE=subprocess.PIPE)
    monkeypatch.setattr("engine.winners.tuned_kernel.subprocess", own_subprocess)
    monkeypatch.setenv("TRITON_RVV_TUNE_ON_MISS", "1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(folder)
    triton_rvv.activate("host")
    axpy = importlib.import_module("axpy")
    try:
        values = axpy.arguments(300)
        for _ in range(2):
            axpy.axpy_kernel[axpy.grid](*values.values())
    finally:
        del sys.modules["axpy"]
    expected = axpy.reference(values["x_ptr"], values["y_ptr"])
    torch.testing.assert_close(values["output_ptr"], expected["output_ptr"])
    (command,) = asked
    assert command[1:6] == ["-m", "engine.tune", str(folder / "axpy.py"), "--shape", "N=300"]
    assert command[-2:] == ["--trials", "2"]
    assert "tuning on a miss, 2 trials" in caplog.text
    assert "was not tuned: no board" in caplog.text
    assert caplog.text.count("axpy at N=300: nothing stored") == 1
    assert axpy.axpy_kernel.found is None
    assert axpy.axpy_kernel.best_config.kwargs == {"BLOCK_SIZE": 64}


@pytest.mark.long
def test_program_tunes_on_a_miss_where_it_is_asked_to(tmp_path: Path) -> None:
    (tmp_path / "axpy.py").write_text(KERNEL)
    (tmp_path / "program.py").write_text(PROGRAM)
    (said,), log = run_program(tmp_path, 300, TRITON_RVV_TUNE_ON_MISS="1")
    assert said["how"] == "exact"
    assert "tuning on a miss, 2 trials" in log
