"""Which tasks of a captured program are examined, and when: within a budget, by its turns."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import SimpleNamespace

import captured_kernels as kernels
import pytest
import torch
from capture_files import CaptureFile
from small_captures import add_to, normal, tune

import engine.tune as tune_command
from engine.programs import captured_program, examining, spaces, tuning
from engine.programs import command as tune_program_command
from engine.programs.captured_program import examine_new, unexamined
from engine.study.storage import read_studies
from engine.workers.ray_session import ray_session
from foundation.errors import UserError
from kernels.captured.examination import Examiner, examine_here
from kernels.captured.examined import Examined, keep_examined, read_examined
from kernels.captured.names import task_name
from kernels.captured.task_file import read_capture
from kernels.registry import load_kernel

pytestmark = pytest.mark.timeout(400)

UNEXAMINED = "the run ended before it was examined: run the command again, or give it more time"


def test_a_kernel_that_crashes_is_refused(
    capture: CaptureFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kernels.captured.examination import examine

    key = add_to(capture)
    good = add_to(capture, n=128)
    monkeypatch.setattr("kernels.captured.examination.EXAMINATION_LIMIT_S", 0.01)
    examine(capture.path, [key])
    assert "ran longer than 0.05 s or took" in read_examined(capture.path)[key].required().unseen
    monkeypatch.undo()
    other = capture.path.parent / "kernels"  # which hides no module of this program
    (other / "captured").mkdir(parents=True)
    for name in ("__init__.py", "captured/examining.py"):
        (other / name).touch()
    monkeypatch.chdir(capture.path.parent)
    values = {"x": normal(9), "y": normal(9), "out": torch.zeros(9), "n": 9, "BLOCK": 3}
    bad = capture.launch(kernels.add_kernel, [3], values)
    examine(capture.path, [key, good, bad])
    examined = read_examined(capture.path)
    refusals = {one: entry.required().unseen for one, entry in examined.items()}
    assert not refusals[key]
    assert not refusals[good]
    assert refusals[bad].startswith("add_kernel fails on its captured arguments: ")
    assert "arange's range must be a power of 2" in refusals[bad]


def test_a_table_waits_for_the_tasks_that_take_the_time(
    capture: CaptureFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, longest, long = (
        add_to(capture, n=n, time_s=time_s) for n, time_s in ((100, 0.04), (128, 0.6), (200, 0.36))
    )
    asked: list[str] = []

    def examine(_capture: object, keys: Sequence[str], *_: object, **__: object) -> Sequence[str]:
        asked.extend(keys)
        return keys

    monkeypatch.setattr(captured_program, "examine", examine)
    space_of = spaces.spaces_in(capture.path)
    assert asked == [longest, long]
    (row,) = (task for task in read_capture(capture.path).tasks if task.key == short)
    assert space_of(row) is None


def test_blocks_that_no_run_takes_are_named_before_tuning(capture: CaptureFile) -> None:
    add_to(capture, n=128)
    (task,) = read_capture(capture.path).tasks
    space_of = spaces.spaces_in(capture.path)
    values = (8, 16, 32, 64, 128, 256)

    def notes(*known: int) -> str:
        grids = tuple({"BLOCK": value} for value in known) or None
        space = space_of(replace(task, grid_values=grids))
        assert space is not None
        return "\n".join(map(str, space.parameters))

    assert "BLOCK varies: 8, 16, 32, 64, 128" in notes()
    assert "runs with winners" not in notes() + notes(*values)
    assert "BLOCK stays in runs with winners: torch.compile launches it" in notes(64)
    assert "write the winner's at its launch" in notes(64, 128)


@pytest.mark.parametrize(("ended", "said"), [("SEGV", "(Segmentation fault)"), ("TERM", "")])
def test_only_what_a_task_does_to_the_process_is_kept(
    capture: CaptureFile, monkeypatch: pytest.MonkeyPatch, ended: str, said: str
) -> None:
    """What ends the command reaches the process that examines, too."""
    key = add_to(capture)
    python = capture.path.with_name("python")
    python.write_text(f"#!/bin/sh\nread key\nkill -{ended} $$\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    assert examine_new(capture.path, lambda task: None) == ([] if said else [key])
    examined = read_examined(capture.path).values()
    assert all(said in entry.required().unseen for entry in examined)


def test_an_examination_that_is_stopped_is_one_sentence(
    capture: CaptureFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = ["sh", "-c", "read key; kill -TERM $$"]

    def start(_: Examiner) -> subprocess.Popen[str]:
        return subprocess.Popen(stopped, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(Examiner, "_started", start)
    with pytest.raises(UserError, match="examines add_kernel was stopped: run the command again"):
        load_kernel(task_name(capture.path, add_to(capture)))


def test_a_process_that_was_begun_early_is_the_first_to_examine(
    capture: CaptureFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []

    def start(_: Examiner) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        examining = ["sh", "-c", "while read key end; do echo $key; done"]
        begun.append(subprocess.Popen(examining, stdin=pipe, stdout=pipe, text=True))
        return begun[-1]

    monkeypatch.setattr(Examiner, "_started", start)
    with Examiner(capture.path) as examiner:
        examiner.prepare()
        examiner.examine([add_to(capture)])
    assert [child.poll() for child in begun] == [-signal.SIGKILL]


@pytest.mark.usefixtures("ray_for_tests")
def test_the_budget_covers_the_examination_and_has_room_for_one_trial(
    capture: CaptureFile, capsys: pytest.CaptureFixture[str]
) -> None:
    key = add_to(capture)
    command = [str(capture.path), "--budget", "0.01s", "--jobs", "1", "--json", "--device", "host"]
    assert tune_command.main(command) == 1
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["tried"] == 0
    assert task["not_reached"] == UNEXAMINED
    assert not read_examined(capture.path)
    assert not read_studies(str(capture.path.parent / "studies" / "tuner.journal"))
    examine_here(capture.path, key, widens=False)
    assert tune_command.main(command) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["tried"] == 1


def test_an_examination_ends_with_the_budget(
    capture: CaptureFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one, too: what was kept stays, and nothing else is."""
    times_s = itertools.chain([0.0], itertools.repeat(2.0))
    clock = SimpleNamespace(monotonic=lambda: next(times_s))
    monkeypatch.setattr("kernels.captured.examination.time", clock)
    keys = [add_to(capture), add_to(capture, n=8192)]
    kept = {keys[0]: Examined("", None, "found in less time", within_s=1.0)}
    keep_examined(capture.path, kept)
    with Examiner(capture.path) as examiner:
        assert examiner.examine(keys, end_s=1.0) == []
    assert read_examined(capture.path) == kept


def test_constants_for_which_no_time_is_left_are_tried_with_twice_as_much(
    capture: CaptureFile,
) -> None:
    values = {"x": normal(40), "out": torch.zeros(40), "n": 40, "BLOCK": 4, "TURNS": 2}
    key = capture.launch(kernels.turns_kernel, [5], values)
    examine_here(capture.path, key, widens=False, tries_end_s=time.monotonic())
    found = read_examined(capture.path)[key]
    assert [f.obstacle for f in found.required().freedoms].count("untried") == 1
    assert [f.varies for f in found.required().freedoms].count(True) == 1
    keep_examined(capture.path, {key: replace(found, within_s=30.0)})
    assert unexamined(capture.path, given_s=59.0) == []
    assert unexamined(capture.path, given_s=60.0) == unexamined(capture.path) == [key]
    keep_examined(capture.path, {key: replace(found, within_s=None)})
    assert unexamined(capture.path) == []


def ray_after_an_examination(capture: CaptureFile) -> Callable[..., AbstractContextManager[None]]:
    """Ray that takes to start until a task has been examined."""

    @contextlib.contextmanager
    def session(cpus: int, address: str | None = None) -> Iterator[None]:
        deadline_s = time.monotonic() + 200
        while not read_examined(capture.path) and time.monotonic() < deadline_s:
            time.sleep(0.1)
        assert read_examined(capture.path)
        with ray_session(cpus, address):
            yield

    return session


@pytest.mark.usefixtures("workers_here")
def test_the_heaviest_task_gets_trials_before_others_are_examined(
    capture: CaptureFile, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little of the budget is left for examinations, as on a busy machine."""
    light = add_to(capture, launches=900, time_s=1e-3)
    heavy = add_to(capture, n=8192, launches=1000, time_s=1e-3)
    monkeypatch.setattr(examining, "EXAMINED_PART", 0.0)
    monkeypatch.setattr(tuning, "ray_session", ray_after_an_examination(capture))
    record, (left, tuned) = tune(capture, capsys, "--budget", "300s", "--trials", "2")
    assert [task["key"] for task in record["tasks"]] == [heavy, light]
    assert tuned["tried"] == 2
    assert left["not_reached"] == UNEXAMINED
    assert read_examined(capture.path).keys() == {heavy}
    # The same command examines the other one, from which more is to be expected by now.
    monkeypatch.setattr(examining, "EXAMINED_PART", 0.5)
    tune(capture, capsys, "--budget", "300s", "--trials", "3")
    assert read_examined(capture.path).keys() == {heavy, light}


class CutOffAtHalf(Examiner):
    """One whose tasks take longer than the half of a budget that examinations get."""

    def examine(
        self, keys: Sequence[str], end_s: float = math.inf, tries_end_s: float = math.inf
    ) -> list[str]:
        is_half = end_s - time.monotonic() < 0.6 * 300.0
        return [] if is_half else super().examine(keys, end_s, tries_end_s)


@pytest.mark.usefixtures("workers_here")
def test_what_half_of_a_budget_left_is_examined_if_nothing_else_is_to_do(
    capture: CaptureFile, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"x": normal(2048), "out": torch.zeros(2048), "n": 2048, "BLOCK": 64}
    capture.launch(kernels.listed_kernel, [32], values, launches=1000)  # of two configurations
    add_to(capture, n=128)
    monkeypatch.setattr(tune_program_command, "Examiner", CutOffAtHalf)
    _, tasks = tune(capture, capsys, "--budget", "300s", "--trials", "3")
    assert [task["tried"] for task in tasks] == [2, 1]
