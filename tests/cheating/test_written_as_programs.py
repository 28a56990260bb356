"""Configurations of a captured program's kernels that only seem right get no time."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import written_as_programs as kernels
from capture_files import CaptureFile

from engine.programs.captured_program import examine_new
from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from kernels.captured.names import task_name
from kernels.registry import load_kernel, make_problem

pytestmark = pytest.mark.timeout(240)

X, MANY = torch.arange(1.0, 1025.0), torch.zeros(1024)
CASES = [
    (kernels.clobbering_kernel, MANY, "x[0] is 2 and should be 1"),
    (kernels.counting_kernel, torch.zeros(2), "no atomic operation orders the two"),
    (kernels.shortened_kernel, MANY, "y[960] is inf and should be"),
]


@pytest.fixture(scope="module")
def capture(tmp_path_factory) -> CaptureFile:
    file = CaptureFile(Path(tmp_path_factory.mktemp("capture")) / "program.capture")
    for kernel, y, _ in CASES:
        file.launch(kernel, [16], {"x": X, "y": y, "FAST": 0, "BLOCK": 64})
    examine_new(file.path, lambda _task: None)
    return file


@pytest.mark.parametrize("board", ["host"], indirect=True)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_on_the_host(board, folder, capture, case):
    spec = load_kernel(task_name(capture.path, capture.keys[case]))
    problem = make_problem(spec, {})
    store = ArtifactStore(folder / "builds")
    request = BuildRequest(spec.load_name, problem.shape, problem.dtype, board.info.target, store)
    builder = KernelBuilder(request)
    honest, other = (
        builder.build(Config({**problem.default_config, "FAST": fast})) for fast in (0, 1)
    )
    assert board.measure(honest, 1, 20.0).status == "correct"
    if not isinstance(other, BuildFailure):
        other = board.measure(other, 1, 20.0)
    assert other.status == "wrong"
    assert CASES[case][2] in other.reason
