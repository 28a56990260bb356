"""What every board does alike, on a GPU: checks, times, and outlives each way to fail."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.workers.artifacts import ArtifactStore
from engine.workers.devices import load_board
from engine.workers.gpu_board import loading_gpu
from engine.workers.gpu_builder import GpuBuildRequest, GpuKernelBuilder
from foundation.config import Config, ParameterValue
from gpu_runner.artifact import GpuArtifact
from gpu_runner.target import GpuTarget
from kernels.on_device import ProblemArguments
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import Board

pytestmark = pytest.mark.gpu

FAULTY = Path(__file__).with_name("faulty.py")
DESCRIBED = Path(__file__).with_name("described.py")
REMEMBERED = Path(__file__).with_name("remembered.py")
DULL = Path(__file__).parents[1] / "cheating" / "written_with_dull_inputs.py"
LIMIT_S = 200.0
MATMUL = {
    "BLOCK_SIZE_M": 64,
    "BLOCK_SIZE_N": 64,
    "BLOCK_SIZE_K": 32,
    "GROUP_SIZE_M": 8,
    "num_warps": 4,
    "num_stages": 3,
}


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    board = load_board("cuda")
    board.open()
    yield board
    board.close()


@pytest.fixture
def build(board: Board, tmp_path: Path) -> Callable[..., GpuArtifact]:
    """Builds a configuration of a kernel for the GPU."""

    def built(
        kernel: str, config: Mapping[str, ParameterValue], dtype: str | None = None, **shape: int
    ) -> GpuArtifact:
        problem = make_problem(load_kernel(kernel), shape, dtype)
        request = GpuBuildRequest(ProblemArguments.of(problem), board.info, ArtifactStore(tmp_path))
        artifact = GpuKernelBuilder(request).build(Config(config))
        assert isinstance(artifact, GpuArtifact), artifact
        return artifact

    return built


def doubled(build: Callable[..., GpuArtifact], way: str = "right") -> GpuArtifact:
    return build(str(FAULTY), {"BLOCK": 1024, "WAY": way})


@pytest.mark.parametrize("name", ["bias", "power", "length", "overflow", "described"])
def test_what_the_files_inputs_do_not_show_is_found(name, board, build):
    kernel = f"{DULL}:{name}_kernel"
    builds = [build(kernel, {"FAST": fast, "BLOCK": 64}) for fast in (0, 1)]
    statuses = [board.measure(artifact, 1, LIMIT_S).status for artifact in builds]
    assert statuses == ["correct", "wrong"]


def test_a_right_kernel_is_timed(board, build):
    measurement = board.measure(doubled(build), 4, LIMIT_S)
    assert (measurement.status, measurement.reason) == ("correct", "")
    assert len(measurement.times_s) == 4
    assert 5e-7 < measurement.time_s < 1e-3
    assert measurement.board == board.info.name
    assert not measurement.estimated
    assert measurement.max_abs_error == 0
    assert measurement.conditions["registers_per_thread"] > 0
    assert measurement.counters == {}


@pytest.mark.parametrize(
    ("way", "status", "reason"),
    [
        ("wrong", "wrong", r"y_ptr\[\d+\] is .* and should be"),
        ("unfinished", "wrong", r"y_ptr\[50000\] is (nan|inf) and should be"),
        ("far", "runtime", "illegal memory access"),
        ("beside", "wrong", "it writes after the array y_ptr"),
    ],
)
def test_a_bad_kernel_gets_its_status_and_the_next_is_measured(board, build, way, status, reason):
    measurement = board.measure(doubled(build, way), 1, LIMIT_S)
    assert measurement.status == status
    assert re.search(reason, measurement.reason)
    assert measurement.times_s == ()
    assert board.measure(doubled(build), 1, LIMIT_S).status == "correct"


def test_the_timed_runs_have_other_data_than_the_check(board, build):
    measurement = board.measure(build(str(REMEMBERED), {"BLOCK": 1024}), 1, LIMIT_S)
    assert measurement.status == "wrong"
    assert measurement.reason.startswith("y_ptr[0] is 2 and should be 4; ")


def test_a_kernel_that_hangs_is_ended_in_time(board, build):
    measurement = board.measure(doubled(build, "hangs"), 1, 2.0)
    assert (measurement.status, measurement.reason) == ("timeout", "it did not finish within 2 s")
    assert board.measure(doubled(build), 1, LIMIT_S).status == "correct"


def test_a_process_that_others_kill_is_no_fault_of_the_configuration(board, build):
    artifact = doubled(build)
    assert board.measure(artifact, 1, LIMIT_S).status == "correct"
    (process,) = measuring_processes(os.getpid())
    os.kill(process, signal.SIGKILL)
    measurement = board.measure(artifact, 1, LIMIT_S)
    assert (measurement.status, measurement.reason) == (
        "board",
        "its process was killed from outside",
    )
    assert board.measure(artifact, 1, LIMIT_S).status == "correct"


def test_arguments_that_were_made_ahead_are_those_that_are_measured(board, build):
    artifact = build("matmul", MATMUL, "fp16", M=512, N=512, K=512)
    ahead = loading_gpu(board.info, [artifact.source], artifact.config)(board.info.name)
    assert ahead.info == board.info
    ahead.open()
    try:
        measurement = ahead.measure(artifact, 2, LIMIT_S)
        assert (measurement.status, measurement.reason) == ("correct", "")
    finally:
        ahead.close()


def test_more_shared_memory_than_there_is_is_the_configurations_fault(board, build):
    artifact = doubled(build)
    greedy = json.loads(artifact.metadata) | {"shared": 1 << 20}
    measurement = board.measure(replace(artifact, metadata=json.dumps(greedy)), 1, LIMIT_S)
    assert measurement.status == "runtime"
    assert "shared memory" in measurement.reason
    assert board.measure(artifact, 1, LIMIT_S).status == "correct"


def test_memory_that_another_program_holds_is_no_fault_of_the_configuration(board, build):
    artifact = build("vector_add", {"BLOCK_SIZE": 1024, "num_warps": 4}, "fp32", N=1 << 26)
    free_bytes, _ = torch.cuda.mem_get_info()
    held = torch.empty(free_bytes - (1 << 30), dtype=torch.uint8, device="cuda")
    measurement = board.measure(artifact, 1, LIMIT_S)
    assert measurement.status == "board"
    assert re.search("memory ran out: .*; other programs hold .* GiB of it", measurement.reason)
    del held
    torch.cuda.empty_cache()
    assert board.measure(artifact, 1, LIMIT_S).status == "correct"


def test_memory_that_a_kernel_asks_for_and_does_not_get_is_its_fault(board, build):
    artifact = doubled(build)
    greedy = json.loads(artifact.metadata) | {"global_scratch_size": 1 << 32}
    measurement = board.measure(replace(artifact, metadata=json.dumps(greedy)), 1, LIMIT_S)
    assert measurement.status == "runtime"
    assert "memory ran out" in measurement.reason
    assert board.measure(artifact, 1, LIMIT_S).status == "correct"


def test_code_for_another_gpu_is_refused(board, build):
    other = replace(doubled(build), target=GpuTarget("hip", "gfx942", 64))
    refused = board.measure(other, 1, LIMIT_S)
    assert refused.status == "board"
    assert refused.reason == f"it is a cuda-{board.info.cpu}, not a GPU of the kind hip-gfx942"


def test_measuring_needs_an_open_board(build):
    closed = load_board("cuda")
    with pytest.raises(RuntimeError, match="not open"):
        closed.measure(doubled(build), 1, LIMIT_S)


def test_the_process_ends_with_the_board(build):
    board = load_board("cuda")
    board.open()
    assert board.measure(doubled(build), 1, LIMIT_S).status == "correct"
    before = measuring_processes(os.getpid())
    board.close()
    assert len(measuring_processes(os.getpid())) == len(before) - 1


@pytest.mark.parametrize("timing", ["warm", "graph"])
def test_other_ways_of_timing(build, timing):
    board = load_board(f"cuda@{timing}")
    assert board.info.kind.endswith(f"-{timing}")
    board.open()
    try:
        cold_or_not = build("softmax", {"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": 512, "num_warps": 4})
        measurement = board.measure(cold_or_not, 3, LIMIT_S)
        assert (measurement.status, measurement.reason) == ("correct", "")
        assert 5e-7 < measurement.time_s < 1e-3
    finally:
        board.close()


# Of the last shape, N and K are multiples of 8 and not of 16.
@pytest.mark.parametrize("kernel", ["matmul", "split_k_matmul"])
@pytest.mark.parametrize(("m", "n", "k"), [(512, 512, 1024), (17, 512, 1024), (100, 504, 1000)])
def test_products_of_all_sizes_are_right(board, build, kernel, m, n, k):
    config = MATMUL if kernel == "matmul" else {**MATMUL, "SPLIT_K": 4}
    artifact = build(kernel, config, "fp16", M=m, N=n, K=k)
    measurement = board.measure(artifact, 3, LIMIT_S)
    assert (measurement.status, measurement.reason) == ("correct", "")


def test_a_study_on_two_gpus_outlives_the_process_of_one(tmp_path):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    words = ["matmul", "--shape", "M=512,N=512,K=512", "--dtype", "fp16", "--trials", "60"]
    command = [sys.executable, "-m", "engine.tune", *words, "--device", "cuda:all", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as study:
        journal = tmp_path / "studies" / "tuner.journal"
        while not (journal.is_file() and journal.read_text().count('"correct"') >= 10):
            assert study.poll() is None
            time.sleep(0.05)
        processes = measuring_processes(study.pid)
        assert len(processes) == torch.cuda.device_count()
        os.kill(processes[0], signal.SIGKILL)
        output, _ = study.communicate(timeout=200)
    assert study.returncode == 0
    assert json.loads(output)["statuses"] == {"correct": 60}


def test_a_study_goes_on_after_every_fault(tmp_path):
    command = [sys.executable, "-m", "engine.tune", str(FAULTY), "--device", "cuda", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    study = json.loads(done.stdout)
    assert study["statuses"] == {"correct": 1, "wrong": 3, "runtime": 1, "timeout": 1}


def measuring_processes(ancestor: int) -> list[int]:
    """The numbers of those that run below a process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"gpu_runner.measuring" in words and is_below(int(folder.name), ancestor):
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended
    return found


def is_below(pid: int, ancestor: int) -> bool:
    """Whether a process was started by another, or by one that it started."""
    while pid > 1 and pid != ancestor:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid == ancestor


@pytest.mark.parametrize(("m", "n"), [(64, 64), (64, 32), (16, 64)])
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_descriptors_that_the_host_makes(board, build, m: int, n: int, dtype: str):
    blocks = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": 32, "PROGRAMS": 4}
    config = {**blocks, "num_warps": 4, "num_stages": 2}
    for shape in ({}, {"M": 1}, {"M": 33, "N": 8, "K": 8}):
        measurement = board.measure(build(str(DESCRIBED), config, dtype, **shape), 2, LIMIT_S)
        assert (measurement.status, measurement.reason) == ("correct", "")
