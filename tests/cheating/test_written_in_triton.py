"""Kernels of a user's own file that only seem right are built as any other, and get no time."""

from __future__ import annotations

from pathlib import Path

import pytest
from cheats import skip_if_starved

from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from kernels.registry import load_kernel, make_problem
from rvv_runner import ElfArtifact

FILE = Path(__file__).parent / "written_in_triton.py"
LIMIT_S = 200.0
SHORT_S = 1.0
KERNELS = [
    ("right", "correct", ""),
    ("unmasked", "runtime", "x_ptr has 1002 elements: out of bounds"),
    pytest.param(
        "unmasked_load", "runtime", "x_ptr has 1002 elements: out of bounds", marks=pytest.mark.long
    ),
    pytest.param("far", "runtime", "out of bounds", marks=pytest.mark.long),
    pytest.param(
        "before",
        "wrong",
        "it wrote y_ptr[-1], and y_ptr has 1002 elements: out of bounds",
        marks=pytest.mark.long,
    ),
    ("marking", "wrong", "it wrote y_ptr[1003], and y_ptr has 1002 elements: out of bounds"),
    pytest.param("minimum", "wrong", "y_ptr[0] is -inf and should be", marks=pytest.mark.long),
    ("maximum", "wrong", "y_ptr[0] is inf and should be"),
    pytest.param("partial", "wrong", "y_ptr[1001] is inf and should be", marks=pytest.mark.long),
    ("memorising", "wrong", "in a timed run, which has other inputs"),
    ("redirecting", "runtime", "the kernel wrote to the table of its arguments"),
    pytest.param(
        "remembering",
        "runtime",
        "the kernel wrote to the table of its arguments",
        marks=pytest.mark.long,
    ),
    pytest.param("endless", "timeout", "it did not finish within 1 s", marks=pytest.mark.long),
    ("nan", "wrong", "y_ptr[0] is inf and should be nan"),
    ("outlier", "wrong", "y_ptr[1] is 0.5 and should be 0"),
]


@pytest.fixture
def outcome(board, folder):
    """Builds a kernel of the file as the tuner does, and measures it."""

    def measure(name: str):
        problem = make_problem(load_kernel(f"{FILE}:{name}_kernel"), {})
        request = BuildRequest(
            problem.spec.load_name,
            problem.shape,
            problem.dtype,
            board.info.target,
            ArtifactStore(folder / "builds"),
        )
        built = KernelBuilder(request).build(problem.default_config)
        assert isinstance(built, ElfArtifact), built.reason
        return board.measure(built, 3, SHORT_S if name == "endless" else LIMIT_S)

    return measure


@pytest.mark.parametrize(("name", "status", "reason"), KERNELS)
def test_on_the_emulated_board(outcome, name, status, reason):
    measurement = outcome(name)
    skip_if_starved(measurement)
    assert measurement.status == status, measurement.reason
    assert reason in measurement.reason


@pytest.mark.long
@pytest.mark.parametrize("board", ["host", "over_ssh"], indirect=True)
@pytest.mark.parametrize(("name", "status", "reason"), KERNELS)
def test_on_other_boards(outcome, name, status, reason):
    measurement = outcome(name)
    skip_if_starved(measurement)
    assert measurement.status == status, measurement.reason
    assert reason in measurement.reason
