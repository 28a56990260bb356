"""A user's own list of configurations on a GPU: options of the compiler count."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpus import H200

from engine.workers.artifacts import ArtifactStore
from engine.workers.gpu_builder import GpuBuildRequest, GpuKernelBuilder
from gpu_runner.artifact import GpuArtifact
from kernels.on_device import ProblemArguments
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.autotune(
    [
        triton.Config({"BLOCK": 256}, num_warps=2),
        triton.Config({"BLOCK": 256}, num_warps=8),
        triton.Config({"BLOCK": 512}, num_warps=4, num_stages=1),
    ],
    key=["n"],
)
@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def arguments(n=1000):
    return {"x_ptr": torch.ones(n), "y_ptr": torch.empty(n), "n": n}


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def reference(x_ptr):
    return {"y_ptr": x_ptr}
"""


def test_entries_that_differ_in_warps_are_several_on_a_gpu_only(tmp_path: Path) -> None:
    path = tmp_path / "copy.py"
    path.write_text(KERNEL)
    problem = make_problem(load_kernel(str(path)), {})
    space = problem.space(H200)
    assert list(space.valid_configs()) == [
        {"BLOCK": 256, "num_warps": 2, "num_stages": 3},
        {"BLOCK": 256, "num_warps": 8, "num_stages": 3},
        {"BLOCK": 512, "num_warps": 4, "num_stages": 1},
    ]
    assert space.default == {"BLOCK": 256, "num_warps": 2, "num_stages": 3}
    assert problem.launch_options(space.default) == {"num_warps": 2, "num_stages": 3}
    assert problem.constants(space.default) == {"BLOCK": 256}
    on_processor = problem.space(load_board("emulated").info)
    assert list(on_processor.valid_configs()) == [{"BLOCK": 256}, {"BLOCK": 512}]


def test_a_build_makes_no_contents_and_does_not_run_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    path = tmp_path / "copy.py"
    text = KERNEL.replace('return {"y_ptr": x_ptr}', 'raise RuntimeError("it ran")')
    devices = tmp_path / "devices"
    noted = (
        f"    with open({str(devices)!r}, 'a') as file: print(torch.ones(1).device, file=file)\n"
    )
    path.write_text(text.replace("(n=1000):\n", f"(n=1000):\n{noted}"))
    problem = make_problem(load_kernel(str(path)), {})
    store = ArtifactStore(tmp_path / "builds")
    builder = GpuKernelBuilder(GpuBuildRequest(ProblemArguments.of(problem), H200, store))
    config = problem.space(H200).default
    assert config is not None
    devices.unlink()
    assert isinstance(builder.build(config), GpuArtifact)
    assert set(devices.read_text().split()) == {"meta"}
