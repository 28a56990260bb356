"""Kernels that this machine's processor cannot run are tuned on a GPU, as far as that is safe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import captured_kernels as kernels
import pytest
import torch
from capture_files import CaptureFile

from engine.programs import spaces
from foundation.config import Config
from foundation.errors import UserError
from foundation.gpu_limits import GpuLimits
from kernels.captured import examination
from kernels.captured.examined import read_examined
from kernels.captured.names import task_name
from kernels.captured.task_file import read_capture
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo

LIMITS = GpuLimits("sm_90", "a GPU", 132, 32, 232448, 65536, 255, 1024, 80 << 30)
GPU = BoardInfo("cuda", "gpu", "sm_90", 1024, 132, 1.98e9, 60 << 20, backend="cuda", gpu=LIMITS)
HOST = BoardInfo("host", "host", "host", 256, 1, 1e9, 1 << 20)


@pytest.fixture
def capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CaptureFile:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("PTX is for GPUs")

    monkeypatch.setattr(examination, "probed", fail)
    return CaptureFile(tmp_path / "program.capture")


def examined(capture: CaptureFile, kernel: Any, values: dict[str, Any], **more: Any) -> Any:
    """The problem of a launch, whose examination fails."""
    key = capture.launch(kernel, [16], {**values, "n": 4096}, **more)
    examination.examine_here(capture.path, key, widens=False)
    return make_problem(load_kernel(task_name(capture.path, key)), {})


def test_without_a_list_the_compilers_options_vary(capture: CaptureFile) -> None:
    tensors = {name: torch.ones(4096) for name in ("x", "y", "out")}
    problem = examined(capture, kernels.add_kernel, {**tensors, "BLOCK": 256})
    space = problem.space(GPU)
    assert [parameter.name for parameter in space.parameters] == ["num_warps", "num_stages"]
    assert space.default == {"num_warps": 4, "num_stages": 3}
    assert "PTX is for GPUs" in space.notes[0]
    with pytest.raises(UserError, match=r"add_kernel fails on its .*: RuntimeError: PTX is for"):
        problem.space(HOST)


def test_a_list_is_tried_and_the_programs_function_gives_the_grid(capture: CaptureFile) -> None:
    tensors = {name: torch.ones(4096) for name in ("x", "out")}
    samples = [{"changed": {"BLOCK": block}, "grid": [4096 // block, 1, 1]} for block in (64, 512)]
    values = {**tensors, "BLOCK": 256}
    problem = examined(capture, kernels.listed_kernel, values, grid_samples=samples)
    assert {config["BLOCK"] for config in problem.space(GPU).valid_configs()} == {64, 256}
    assert problem.spec.grid(problem, Config({"BLOCK": 64, "num_warps": 4})) == (64, 1, 1)


def test_what_is_to_try_of_a_task_of_a_gpu_is_counted_there(
    capture: CaptureFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensors = {name: torch.ones(4096) for name in ("x", "y", "out")}
    examined(capture, kernels.add_kernel, {**tensors, "BLOCK": 256}, target="cuda:90")
    (task,) = read_capture(capture.path).tasks
    monkeypatch.setattr(spaces, "board_info", lambda name: GPU)
    assert spaces.spaces_in(capture.path)(task).configurations == 5 * 4
    monkeypatch.setattr(spaces, "board_info", lambda name: HOST)
    (note,) = spaces.spaces_in(capture.path)(task).parameters
    assert note.verb == "is tuned on a GPU only"


def test_a_task_of_a_processor_that_fails_there_is_not_said_to_need_a_gpu(
    capture: CaptureFile,
) -> None:
    tensors = {name: torch.ones(4096) for name in ("x", "y", "out")}
    examined(capture, kernels.add_kernel, {**tensors, "BLOCK": 256})
    (task,) = read_capture(capture.path).tasks
    (note,) = spaces.spaces_in(capture.path)(task).parameters
    assert note.verb == "is not tuned"
    assert note.why == "add_kernel fails on its captured arguments: RuntimeError: PTX is for GPUs"


def test_arguments_that_share_memory_are_refused(capture: CaptureFile) -> None:
    x = torch.ones(4096)
    with pytest.raises(UserError, match="PTX is for GPUs"):
        examined(capture, kernels.add_kernel, {"x": x, "y": x, "out": x, "BLOCK": 256})
    (entry,) = read_examined(capture.path).values()
    assert entry.probed is None
