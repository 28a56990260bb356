"""Builders and boards in worker processes: failures, hangs, deaths and faults."""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import functools
import importlib
import itertools
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import ray
from fakes import FakeBoard, FakeBuilder, wait_until_ended
from ray.exceptions import OutOfMemoryError, RayActorError

from engine.arguments.options import jobs_advice
from engine.run.checked_file import checked_file
from engine.workers import builders, ray_session, workbench, worker
from engine.workers.artifacts import BuildFailure
from engine.workers.board_pool import BoardPool
from engine.workers.board_seat import BoardSource
from engine.workers.builders import BuilderPool
from engine.workers.devices import load_board
from engine.workers.ray_nodes import this_node
from foundation.config import Config
from foundation.errors import UserError
from foundation.programs import python_command
from kernels.registry import load_kernel, make_problem
from rvv_runner.measurement import ElfArtifact

pytestmark = pytest.mark.usefixtures("ray_for_tests")


@pytest.mark.long
def test_a_build_that_fails_hangs_or_dies_is_a_reason_and_the_pool_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine, a build that hangs may get a small share too.
    monkeypatch.setattr(builders, "was_starved", lambda cpu_s, limit_s: cpu_s < 0.02 * limit_s)
    log = tmp_path / "log"
    pool = BuilderPool(functools.partial(FakeBuilder, log), jobs=1, limit_s=2)
    try:
        outcomes = {
            how: pool.build(Config({"build": how}))
            for how in ("fail", "hang", "starve", "die", "die-once")
        }
        assert isinstance(pool.build(Config({"build": "well"})), ElfArtifact)
    finally:
        pool.close()
    assert outcomes["fail"] == BuildFailure("it does not compile")
    assert outcomes["hang"] == BuildFailure("the build took longer than 2 s")
    assert outcomes["starve"] == BuildFailure(
        "in 2 s, the build got a processor for 0.0 s only", "board"
    )
    assert outcomes["die"] == BuildFailure("the build ended its process 2 times")
    assert isinstance(outcomes["die-once"], ElfArtifact)


def test_ray_leaves_sigterm_to_this_program() -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    try:
        with ray_session._own_sigterm():  # while it starts
            ray._private.utils.set_sigterm_handler(lambda number, frame: None)
            os.kill(os.getpid(), signal.SIGTERM)
            ctypes.CDLL(None).signal(signal.SIGTERM, 1)  # SIG_IGN, as C sets it
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == [signal.SIGTERM] * 2


def test_tasks_that_share_processes_are_told_of_the_first_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def told(stage: str) -> None:
        raise InterruptedError(stage)

    monkeypatch.setattr(workbench, "has_libc", lambda backend: False)
    problem, info = make_problem(load_kernel("vector_add"), {"N": 64}), load_board("host").info
    with (
        pytest.raises(InterruptedError, match="building the C library"),
        workbench.shared_workbench(problem, ["host"], info, jobs=1, tell=told),
    ):
        pass


def test_the_first_link_for_runs_here_is_told_before_a_users_file_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A board's own C library does not serve for them."""
    # Where Ray's workers, which import this file, do not look.
    from own_kernel_files import TWICE

    path = tmp_path / "twice.py"
    path.write_text(TWICE)
    monkeypatch.setattr(workbench, "has_libc", lambda backend: backend == "rvv")
    built: list[str] = []
    monkeypatch.setattr(workbench, "warm_up", built.append)
    problem = make_problem(load_kernel(str(path)), {})
    said = dataclasses.replace(problem.spec, check=lambda problem: (",".join(built),))
    stages: list[str] = []
    problem = dataclasses.replace(problem, spec=said)
    assert checked_file(problem, load_board("emulated:x60").info, stages.append) == ("host",)
    first, second = stages
    assert first.startswith("building the C library for static links of this machine, once")
    assert second.startswith("running twice in Triton's interpreter")  # it has no reference


def test_a_death_is_the_machines_where_it_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray ends all workers of a machine before the machine stops to answer."""
    assert worker._still_starts(this_node())
    assert not worker._still_starts("a" * len(this_node()))
    monkeypatch.setattr(worker, "_still_starts", lambda _node: False)
    pool = BuilderPool(FakeBuilder, jobs=1)
    try:
        failure = pool.build(Config({"build": "die"}))
    finally:
        pool.close()
    assert failure == BuildFailure("3 machines were lost while they built it", "board")


class TellingBuilder(FakeBuilder):
    """Fails with the number of its process where it is asked to."""

    def build(self, config: Config) -> ElfArtifact | BuildFailure:
        if config.get("build") == "tell":
            return BuildFailure(str(os.getpid()))
        return super().build(config)


def test_a_builder_killed_between_two_builds_blames_neither(tmp_path: Path) -> None:
    pool = BuilderPool(functools.partial(TellingBuilder, tmp_path / "log"), jobs=1)
    try:
        told = pool.build(Config({"build": "tell"}))
        assert isinstance(told, BuildFailure)
        os.kill(int(told.reason), signal.SIGKILL)
        wait_until_ended(int(told.reason))
        built = pool.build(Config({"build": "die-once"}))
    finally:
        pool.close()
    assert isinstance(built, ElfArtifact)


@pytest.mark.long
def test_a_late_build_whose_process_is_gone_is_not_the_configurations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where Ray does not tell that a process has ended."""
    readings = iter([0.0, None])
    monkeypatch.setattr(worker, "used_cpu_s", lambda _, **_more: next(readings))
    pool = BuilderPool(FakeBuilder, jobs=1, limit_s=1)
    try:
        failure = pool.build(Config({"build": "hang"}))
    finally:
        pool.close()
    assert failure == BuildFailure(
        "the build gave no answer in 1 s, and its process ended", "board"
    )


@pytest.mark.parametrize(
    ("why", "kind"),
    [
        ("OSError: no", worker.WorkerDied),
        ("ModuleNotFoundError: No module named 'helper'", worker.WorkerLacks),
    ],
)
def test_a_worker_that_cannot_begin_says_why(
    monkeypatch: pytest.MonkeyPatch, why: str, kind: type
) -> None:
    lines = f"The actor died because of an error raised in its creation task\n  ...\n{why}"

    def get(*arguments: object, **options: object) -> None:
        raise RayActorError(error_msg=lines, actor_init_failed=True)

    monkeypatch.setattr(ray, "get", get)
    with pytest.raises(worker.WorkerDied, match=f"^{why}$") as raised:
        worker.Worker._get(None, 1.0)
    assert type(raised.value) is kind


class Importing:
    def open(self) -> None:
        importlib.import_module("module_of_a_program")

    def call(self) -> object:
        return importlib.import_module("module_of_a_program").answer, python_command("rvv_runner")


def test_workers_find_modules_and_name_commands_as_the_program_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module_of_a_program.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.argv", ["/bin/rvv-tune"])
    one = worker.Worker(worker.Blueprint(Importing, cpus=0), 1)
    try:
        one.wait_open()
        answer, command = one.call("call", timeout_s=20)
        assert answer == 42
        assert command.endswith("rvv-tune boards")
    finally:
        one.kill()


def test_a_module_that_workers_miss_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other program is in the way, and a second process would find no more."""
    starts = []

    def lacks(one: worker.Worker) -> None:
        starts.append(one)
        raise worker.WorkerLacks("ModuleNotFoundError: No module named 'helper'")

    monkeypatch.setattr(worker.Worker, "wait_open", lacks)
    pool = BuilderPool(FakeBuilder, jobs=1, limit_s=1)
    try:
        with pytest.raises(UserError, match=r"cannot begin \(.*'helper'\): install what"):
            pool.build(Config({}))
    finally:
        pool.close()
    assert len(starts) == 1


def builder_of_which_one_starts_slowly(folder: Path) -> FakeBuilder:
    """The first of a pool to start waits until a file says that it may go on."""
    try:
        (folder / "first").mkdir()
    except FileExistsError:
        return FakeBuilder()
    deadline_s = time.monotonic() + 200
    while not (folder / "go").exists() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    (folder / "ready").touch()
    return FakeBuilder()


def test_no_build_waits_for_a_worker_that_starts_while_another_is_free(tmp_path: Path) -> None:
    pool = BuilderPool(functools.partial(builder_of_which_one_starts_slowly, tmp_path), jobs=2)
    try:
        for number in range(3):
            assert isinstance(pool.build(Config({"number": number})), ElfArtifact)
        assert not (tmp_path / "ready").exists()
        (tmp_path / "go").touch()
        with ThreadPoolExecutor(2) as threads:
            last = list(threads.map(pool.build, map(Config, ({"number": 4}, {"number": 5}))))
    finally:
        pool.close()
    assert all(isinstance(built, ElfArtifact) for built in last)


def slow_builder(delay_s: float) -> FakeBuilder:
    time.sleep(delay_s)
    return FakeBuilder()


def test_a_busy_machine_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_OPEN_LIMIT_S", 0.5)
    monkeypatch.setattr("os.getloadavg", lambda: (1e6, 0.0, 0.0))
    monkeypatch.setattr(worker, "_WAITS_WHILE_BUSY", 100)
    pool = BuilderPool(functools.partial(slow_builder, 2.0), jobs=1)
    try:
        assert isinstance(pool.build(Config({"build": "well"})), ElfArtifact)
    finally:
        pool.close()


@pytest.mark.parametrize(
    ("load", "jobs", "sentence"),
    [
        (1e6, 2, "not ready after 1 s, since this machine is busy: end other programs, or give"),
        pytest.param(
            *(1e6, 1, "not ready after 1 s, since this machine is busy: end other programs$"),
            marks=pytest.mark.long,
        ),
        (0.0, 2, "not ready after 0 s, though this machine is not busy: run the command again$"),
    ],
)
def test_a_worker_that_is_not_ready_is_told_with_advice_that_fits(
    load: float, jobs: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_OPEN_LIMIT_S", 0.4)
    monkeypatch.setattr(worker, "_WAITS_WHILE_BUSY", 2)
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    pool = BuilderPool(functools.partial(slow_builder, 30.0), jobs=1)
    arguments = argparse.Namespace(jobs=jobs)
    try:
        with pytest.raises(UserError, match=sentence), jobs_advice(arguments):
            pool.build(Config({"build": "well"}))
    finally:
        pool.close()


def test_a_board_gets_a_processor_before_builds_do(tmp_path: Path) -> None:
    class Nice:
        def build(self, config: Config) -> BuildFailure:
            return BuildFailure(str(os.nice(0)))

    builds = BuilderPool(Nice, jobs=1)
    log = tmp_path / "log"
    boards = BoardPool([BoardSource("fake", functools.partial(FakeBoard, log))])
    try:
        boards.wait_open()
        board = os.getpriority(os.PRIO_PROCESS, int(log.read_text().split()[1]))
        assert builds.build(Config({})) == BuildFailure(str(board + 5))
    finally:
        builds.close()
        boards.close()
    assert board == os.nice(0)


def test_a_build_that_memory_ran_out_in_is_not_the_configurations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kills = itertools.count()
    monkeypatch.setattr(builders, "memory_kills", lambda: next(kills))
    pool = BuilderPool(FakeBuilder, jobs=2)
    try:
        failure = pool.build(Config({"build": "die"}))
        assert isinstance(pool.build(Config({"build": "well"})), ElfArtifact)
    finally:
        pool.close()
    assert failure == BuildFailure(
        "this machine's memory ran out in the build: 1 builder goes on", "board"
    )


def test_a_builder_that_ray_ends_for_its_memory_is_not_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit_s, get = 33.0, ray.get

    def get_until_memory_is_out(reference: object, timeout: float) -> object:
        if timeout == limit_s:
            raise OutOfMemoryError("the node runs out of memory")
        return get(reference, timeout=timeout)

    pool = BuilderPool(FakeBuilder, jobs=2, limit_s=limit_s)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(ray, "get", get_until_memory_is_out)
            failure = pool.build(Config({"build": "well"}))
        assert isinstance(pool.build(Config({"build": "well"})), ElfArtifact)
    finally:
        pool.close()
    assert failure == BuildFailure(
        "this machine's memory ran out in the build: 1 builder goes on", "board"
    )
