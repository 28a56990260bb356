"""This machine as a board: statuses, limits, its own times, and runs that were disturbed."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from kernels.registry import load_kernel, make_problem
from launchers import Argument
from rvv_runner import host_lock
from rvv_runner.devices import board_names, load_board
from rvv_runner.host import HostBoard
from rvv_runner.host_conditions import HostWatch
from rvv_runner.host_lock import building, measuring
from rvv_runner.measurement import ElfArtifact
from rvv_runner.usage import Usage
from triton_rvv.targets.host_target import host_target

TIMEOUT_S = 200.0
COUNT = 1000
SCALE = "float *v = (float *)args[0]; for (int i = 0; i < 1000; i++) v[i] *= 2;"


def doubled() -> list[Argument]:
    values = np.arange(COUNT, dtype=np.float32)
    return [Argument("v", "*fp32", values, values * 2)]


@pytest.fixture
def host_board() -> Iterator[HostBoard]:
    board = load_board("host")
    assert isinstance(board, HostBoard)
    board.open()
    yield board
    board.close()


@pytest.fixture
def build(build_kernel):
    return partial(build_kernel, target=host_target())


def test_it_is_a_device_by_name(host_board):
    info = host_board.info
    assert "host" in board_names()
    assert (info.name, info.estimated, info.deterministic) == ("host", False, False)
    assert info.target == host_target()
    assert (info.vlen_bits, info.kind) == (host_target().vector_bits, str(host_target()))
    assert info.cores == len(os.sched_getaffinity(0))


def test_a_right_kernel_is_timed_by_the_clock(host_board, build):
    artifact = build(f"{SCALE} int usleep(unsigned); usleep(2000);", doubled())
    measurement = host_board.measure(artifact, 3, TIMEOUT_S)
    assert (measurement.status, measurement.reason) == ("correct", "")
    assert len(measurement.times_s) == 3
    assert min(measurement.times_s) >= 0.002
    assert not measurement.estimated
    assert measurement.counters == {}
    assert measurement.max_abs_error == 0
    assert {"before_load", "after_load", "preemptions"} <= set(measurement.conditions)


def test_an_executable_that_is_gone_is_not_the_kernels_fault(host_board, build):
    artifact = build(SCALE, doubled())
    missing = dataclasses.replace(artifact, elf_path=artifact.elf_path.with_suffix(".gone"))
    assert host_board.measure(missing, 1, TIMEOUT_S).status == "board"


SPIN = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nprint(flush=True)\nwhile 1: 0"


def test_a_disturbed_run_says_so(host_board, build):
    core = max(os.sched_getaffinity(0))
    artifact = build('for (long i = 0; i < 50000000; i++) __asm__ volatile("");' + SCALE, doubled())
    rival = subprocess.Popen([sys.executable, "-c", SPIN, str(core)], stdout=subprocess.PIPE)
    try:
        assert rival.stdout is not None
        rival.stdout.readline()
        measurement = host_board.measure(artifact, 2, TIMEOUT_S)
    finally:
        rival.kill()
        rival.communicate()
    assert measurement.status == "correct"
    assert str(measurement.conditions["disturbed"]).startswith("other programs ")


def held_up(runs: str) -> str:
    """A kernel that takes 40 ms, and 400 ms in runs of these numbers, the check's being 1."""
    return f"{SCALE} static int run; int usleep(unsigned); run++; usleep({runs} ? 400000 : 40000);"


@pytest.mark.parametrize(
    ("runs", "repeats", "left", "is_told"),
    [
        ("run == 4", 2, 1, True),  # the check, two to warm up, and two that are timed
        ("run == 7", 5, 5, False),  # of five, one does not move the median
        ("(run > 6 && run < 10)", 5, 2, True),
    ],
)
def test_runs_that_were_held_up_are_no_time_of_the_kernel(
    host_board, build, runs, repeats, left, is_told
):
    measurement = host_board.measure(build(held_up(runs), doubled()), repeats, TIMEOUT_S)
    assert measurement.status == "correct"
    assert measurement.time_s < 0.2
    assert len(measurement.times_s) == left
    told = str(measurement.conditions.get("disturbed", ""))
    assert ("times as long as the fastest and are left out" in told) == is_told


def test_a_program_that_sleeps_disturbs_nobody():
    watch = HostWatch([max(os.sched_getaffinity(0))])
    subprocess.run(["sleep", "0.2"], check=True)
    watch.stop()
    assert "took its cores" not in watch.doubt


def test_builds_and_measurements_keep_apart(tmp_path, monkeypatch):
    """Two builds at once; a measurement waits for both, and the next build for it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    log: list[str] = []

    def measure():
        with measuring():
            log.append("measuring")
            time.sleep(0.2)
            log.append("measured")

    measurer = threading.Thread(target=measure)
    with building(), building():
        measurer.start()
        time.sleep(0.2)
        log.append("built")
    while len(log) < 2:
        time.sleep(0.001)
    with building():
        log.append("built again")
    measurer.join()
    assert log == ["built", "measuring", "measured", "built again"]


def test_a_lock_that_hangs_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(host_lock, "_PATIENCE_S", 0.2)
    with building(), measuring():
        pass


def test_a_triton_kernel_goes_all_the_way(host_board, tmp_path):
    problem = make_problem(load_kernel("vector_add"), {"N": 5000})
    store = ArtifactStore(tmp_path)
    request = BuildRequest("vector_add", problem.shape, problem.dtype, host_target(), store)
    artifact = KernelBuilder(request).build(problem.default_config)
    assert isinstance(artifact, ElfArtifact), artifact
    measurement = host_board.measure(artifact, 5, TIMEOUT_S)
    assert (measurement.status, measurement.reason) == ("correct", "")
    assert 0 < min(measurement.times_s) < 0.1
    assert artifact.provenance["target"] == str(host_target())


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="it takes two processors")
def test_programs_run_at_once_on_the_last_two_processors(build):
    """Each of two programs waits for the other one."""
    together = """
        uint32_t *there = (uint32_t *)args[0];
        __atomic_fetch_add(&there[x], 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&there[1 - x], __ATOMIC_RELAXED) == 0) ;
    """
    there = [Argument("there", "*u32", np.zeros(2, np.uint32), np.ones(2, np.uint32))]
    board = HostBoard(Usage(2))
    board.open()
    artifact = build(together, there, (2, 1, 1))
    measurement = board.measure(dataclasses.replace(artifact, ordered=True), 2, TIMEOUT_S)
    assert (measurement.status, measurement.reason) == ("correct", "")
    assert (measurement.board, len(measurement.times_s)) == ("host@2cores", 2)
    assert board.info.kind.endswith("@2cores")
