"""Builds for GPUs on a machine without one: what is built, what is shared, and what fails."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from gpus import H200, MI300X

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.gpu_board import loading_gpu
from engine.workers.gpu_builder import GpuBuildRequest, GpuKernelBuilder
from engine.workers.workbench import build_limit_s
from foundation.config import Config
from gpu_runner.artifact import GpuArtifact
from kernels.on_device import ProblemArguments
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo

TILE = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8}
CONFIG = Config({**TILE, "num_warps": 4, "num_stages": 3})


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))


def builder(
    folder: Path, gpu: BoardInfo = H200, kernel: str = "matmul", **shape: int
) -> GpuKernelBuilder:
    problem = make_problem(load_kernel(kernel), shape, "fp16")
    source = ProblemArguments.of(problem)
    return GpuKernelBuilder(GpuBuildRequest(source, gpu, ArtifactStore(folder / "builds")))


def built(result: GpuArtifact | BuildFailure) -> GpuArtifact:
    assert isinstance(result, GpuArtifact), result
    return result


def test_a_boards_process_starts_without_waiting_for_torch(tmp_path: Path) -> None:
    sources = [ProblemArguments.of(make_problem(load_kernel("matmul"), {}, "fp16"))]
    load = pickle.dumps(loading_gpu(H200, sources, CONFIG))
    code = "import pickle, sys; pickle.load(sys.stdin.buffer); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], input=load, capture_output=True, check=True)
    assert done.stdout == b"False\n"


@pytest.mark.parametrize(("gpu", "suffix"), [(H200, ".cubin"), (MI300X, ".hsaco")])
def test_machine_code_is_made_without_a_gpu(tmp_path: Path, gpu: BoardInfo, suffix: str) -> None:
    artifact = built(builder(tmp_path, gpu, M=512, N=512, K=512).build(CONFIG))
    assert artifact.binary[:4] == b"\x7fELF"
    assert artifact.path.read_bytes() == artifact.binary
    assert artifact.path.suffix == suffix
    assert json.loads(artifact.metadata)["num_warps"] == 4
    assert artifact.grid == (64, 1, 1)
    assert artifact.needs == f"a GPU of the kind {gpu.backend}-{gpu.cpu}"
    assert {path.suffix for path in artifact.texts()} >= {".ttgir"}


def test_a_build_serves_every_shape_with_sizes_divisible_alike(tmp_path: Path) -> None:
    first = built(builder(tmp_path, M=64, N=512, K=512).build(CONFIG))
    made_at = first.path.stat().st_mtime_ns
    for m in (16, 128, 8192):
        other = built(builder(tmp_path, M=m, N=512, K=512).build(CONFIG))
        assert (other.path, other.path.stat().st_mtime_ns) == (first.path, made_at)
    assert built(builder(tmp_path, M=8192, N=512, K=512).build(CONFIG)).grid != first.grid
    for m in (1, 50):  # a constant, and a size that is no multiple of 16
        assert built(builder(tmp_path, M=m, N=512, K=512).build(CONFIG)).path != first.path
    wider = Config({**CONFIG, "num_warps": 8})
    assert built(builder(tmp_path, M=64, N=512, K=512).build(wider)).path != first.path


def test_what_does_not_fit_or_is_unknown_is_the_configurations_failure(tmp_path: Path) -> None:
    makes = builder(tmp_path, M=512, N=512, K=512)
    large = Config({**CONFIG, "BLOCK_SIZE_M": 128, "BLOCK_SIZE_K": 256, "num_stages": 4})
    failure = makes.build(large)
    assert isinstance(failure, BuildFailure)
    assert failure.status == "compile"
    assert "bytes of shared memory, and a program on NVIDIA H200 has at most 232448" in (
        failure.reason
    )
    failure = makes.build(Config({**CONFIG, "waves_per_eu": 2}))
    assert isinstance(failure, BuildFailure)
    assert failure.reason == (
        "waves_per_eu is neither a parameter of the kernel nor an option of cuda-sm_90"
    )
    failure = makes.build(Config({**CONFIG, "num_warps": 3}))
    assert isinstance(failure, BuildFailure)
    assert "num_warps must be a power of 2" in failure.reason


def test_the_rvv_back_end_stays_beside_those_for_gpus(tmp_path: Path) -> None:
    from triton.backends import backends

    assert "rvv" in backends
    built(builder(tmp_path, M=512, N=512, K=512).build(CONFIG))


PRODUCT = {"M": 17, "N": 3000, "K": 1000}


@pytest.mark.parametrize(
    ("kernel", "shape", "loads"),
    [
        ("matmul", PRODUCT, "cp.async.cg.shared.global"),
        ("softmax", {"M": 8, "N": 5000}, "ld.global.v4.b32"),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                ("batched_matmul", {"B": 2, **PRODUCT}, "cp.async.cg.shared.global"),
                ("split_k_matmul", PRODUCT, "cp.async.cg.shared.global"),
                ("layernorm_fwd", {"M": 8, "N": 5000}, "ld.global.v4.b32"),
                ("cross_entropy", {"M": 8, "N": 5000}, "ld.global.v4.b32"),
            )
        ),
    ],
)
def test_multiples_of_8_are_loaded_16_bytes_at_a_time(
    tmp_path: Path, kernel: str, shape: dict[str, int], loads: str
) -> None:
    problem = make_problem(load_kernel(kernel), shape, "fp16")
    default = problem.space(H200).default
    assert default is not None
    request = GpuBuildRequest(ProblemArguments.of(problem), H200, ArtifactStore(tmp_path))
    artifact = built(GpuKernelBuilder(request).build(default))
    assert loads in artifact.path.with_suffix(".ptx").read_text()


def test_a_build_does_not_get_the_time_that_its_arguments_would_take() -> None:
    """A program's argument takes minutes to make; a build for a GPU needs its type alone."""
    problem = make_problem(load_kernel("vector_add"), {})
    slow = replace(problem, spec=replace(problem.spec, arguments_limit_s=240.0))
    assert build_limit_s(slow, H200) == build_limit_s(problem, H200)
    processor = replace(H200, gpu=None)
    assert build_limit_s(slow, processor) == build_limit_s(problem, processor) + 240
