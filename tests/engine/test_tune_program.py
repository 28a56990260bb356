"""A captured program is tuned: within one budget, resumed, killed, with winners in its file."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from operator import itemgetter
from pathlib import Path
from typing import Any

import captured_kernels as kernels
import pytest
import torch
from capture_files import CaptureFile
from small_captures import add_to, normal, tune

import engine.find as find_command
import engine.tune as tune_command
from engine.arguments.problem import on_default_cores
from engine.explained.study import problem_of
from engine.programs import tuning
from engine.programs.budget import ProgramBudget
from engine.programs.captured_program import examine_new, program_tasks
from engine.programs.command import after_first_link, default_device_note
from engine.run.request import TuningRequest
from engine.run.tuning import tune as tune_one
from engine.study.storage import read_studies, study_named
from foundation.config import Config
from foundation.errors import UserError
from foundation.processors import cores
from kernels.captured.examined import read_examined
from kernels.captured.names import task_name
from kernels.captured.task_file import append_winner, read_capture
from kernels.captured.winner import Winner
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardError
from rvv_runner.devices import on_cores

pytestmark = pytest.mark.timeout(400)


@pytest.mark.long
@pytest.mark.usefixtures("ray_for_tests")
@pytest.mark.parametrize("device", ["emulated:x60", "host"])
def test_a_program_is_tuned_and_its_file_holds_the_winners(
    capture: CaptureFile, capsys: pytest.CaptureFixture[str], device: str
) -> None:
    x = normal(2048)
    add_to(capture, launches=50)
    capture.launch(kernels.scale_kernel, [32], {"x": x, "n": 2048, "factor": 0.5, "BLOCK": 64})
    capture.launch(
        kernels.total_kernel,
        [32],
        {"x": x.bfloat16(), "out": torch.ones(1), "n": 2048, "BLOCK": 64},
    )
    capture.launch(
        kernels.softmax_kernel,
        [8],
        {"x": normal(8, 100, dtype=torch.bfloat16), "out": torch.zeros(8, 100).bfloat16()}
        | {"x_step": 100, "out_step": 100, "columns": 100, "BLOCK": 128},
    )
    values = {"x": x, "out": torch.zeros(2048), "n": 2048, "BLOCK": 64}
    capture.launch(kernels.listed_kernel, [32], values)
    ones = torch.ones(50)  # in the memory of the output, so that it cannot be tuned
    capture.launch(kernels.running_sum_kernel, [1], {"x": ones, "out": ones, "n": 50}, time_s=1.0)
    record, (*tasks, refused) = tune(capture, capsys, "--trials", "30", "--device", device)
    assert "arguments that share memory" in refused["refusal"]
    assert refused["tried"] == 0
    assert sum(task["tried"] for task in tasks) <= 30
    assert [task["tried"] > 0 for task in tasks] == [True] * 5
    assert tasks[0]["tried"] >= max(task["tried"] for task in tasks[1:])
    assert tasks[3]["tried"] == 1  # a block that covers a row leaves nothing to try
    assert tasks[4]["tried"] == 2
    assert record["program_s"] <= record["program_before_s"]
    winners = read_capture(capture.path).winners
    for task in tasks:
        winner = winners[task["key"]]
        assert winner.time_s == task["time_s"]
        assert winner.device_kind == ("host" if device == "host" else "board")
        assert winner.is_estimated == task["estimated"] == (device != "host")
    sizes = "n | x.shape[0] | 4096 | y.shape[0] | out.shape[0]"
    assert winners[capture.keys[0]].grid == (f"cdiv({sizes}, BLOCK)", "1", "1")
    assert winners[capture.keys[3]].grid is None


def test_winners_are_found_with_the_command_that_uses_them(
    capture: CaptureFile, capsys: pytest.CaptureFixture[str]
) -> None:
    key = add_to(capture)
    assert find_command.main([str(capture.path), "--device", "host"]) == 1
    out = capsys.readouterr().out
    host = on_cores("host", cores())  # a program runs its kernels on all
    assert f"no winner for {host}: tune them by `rvv-tune tune {capture.path} --device" in out
    winner = Winner(key, Config({"BLOCK": 128}), None, 2e-5, 1e-5, False, host, "host", "study")
    append_winner(capture.path, winner)
    assert find_command.main([str(capture.path), "--device", "host"]) == 0
    out = capsys.readouterr().out
    assert "add 4096 fp32: BLOCK=128, 2.00x the deployed speed" in out
    assert f"to use them, run: rvv-tune run --with {capture.path} -- COMMAND" in out
    assert on_default_cores(["host"], task_name(capture.path, key)) == (host,)  # a task, too
    assert find_command.main([str(capture.path), "--json"]) == 1  # of the default board
    assert json.loads(capsys.readouterr().out) == {"winners": []}
    if cores() > 1:
        assert find_command.main([str(capture.path), "--device", "host", "--cores", "1"]) == 1
        out = capsys.readouterr().out
        assert f"holds 1 task and no winner for host but for {host}: " in out
        assert out.endswith(" --device host --cores 1`\n")
    with pytest.raises(UserError, match="have their own shapes"):
        find_command.main([str(capture.path), "--shape", "n=8"])


@pytest.mark.usefixtures("workers_here")
def test_a_board_that_fails_on_one_task_ends_that_task_and_the_others_resume(
    capture: CaptureFile, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = [add_to(capture, launches=1000)]
    good = add_to(capture, n=128)

    def tune_where_the_board_works(request: TuningRequest, *args: Any, **kwargs: Any) -> Any:
        if request.search.trials and request.kernel.endswith(tuple(failing)):
            raise BoardError("3 configurations in a row could not be measured")
        return tune_one(request, *args, **kwargs)

    monkeypatch.setattr(tuning, "tune", tune_where_the_board_works)
    _, (refused, fine) = tune(capture, capsys, "--trials", "1")
    assert refused["refusal"] == "3 configurations in a row could not be measured"
    assert fine["tried"] == 1
    assert read_capture(capture.path).winners.keys() == {good}
    part = "add-x_i128-"  # of the name of its study
    stored = study_named(str(capture.path.parent / "studies" / "tuner.journal"), part)
    assert problem_of(stored, None).spec.load_name == task_name(capture.path, good)
    _, (_, more) = tune(capture, capsys, "--trials", "2")
    assert more["tried"] == 2
    studies = read_studies(str(capture.path.parent / "studies" / "tuner.journal"))
    (study,) = [study for study in studies if study.study_name.startswith("add-x_i128")]
    assert sum(trial.has_outcome for trial in study.changes()) == 2
    assert more["time_s"] <= fine["time_s"]
    assert read_capture(capture.path).winners[good].time_s == more["time_s"]
    failing.append(good)
    no_bench = contextlib.nullcontext(lambda problem: None)
    monkeypatch.setattr(tuning, "shared_workbench", lambda *args, **kwargs: no_bench)
    with pytest.raises(BoardError, match="3 configurations in a row"):
        tune_command.main([str(capture.path), "--trials", "4", "--jobs", "1"])


@pytest.mark.long
@pytest.mark.usefixtures("ray_for_tests")
def test_a_task_of_the_same_kernel_starts_from_what_was_found(
    capture: CaptureFile, capsys: pytest.CaptureFixture[str]
) -> None:
    add_to(capture, launches=1000)
    add_to(capture, n=8192)
    _, (_, second) = tune(capture, capsys, "--trials", "14")
    assert second["tried"] > 0
    storage = str(capture.path.parent / "studies" / "tuner.journal")
    started_from = {study.study_name: study.attribute("history") for study in read_studies(storage)}
    (history,) = [h for name, h in started_from.items() if name.startswith("add-x_i8192")]
    assert isinstance(history, dict)
    assert history["study"].startswith("add-x_i4096")


def test_options_of_a_single_study_are_refused(capture: CaptureFile) -> None:
    add_to(capture)
    with pytest.raises(UserError, match="leave out --shape and --study"):
        tune_command.main([str(capture.path), "--shape", "N=3", "--study", "mine"])
    with pytest.raises(UserError, match=f"`rvv-tune run --with {capture.path} -- "):
        find_command.main([str(capture.path), "--autotune-cache"])


def test_a_task_has_no_other_sizes_than_the_captured_ones(capture: CaptureFile) -> None:
    key = add_to(capture)
    spec = load_kernel(task_name(capture.path, key))
    assert make_problem(spec, spec.default_shape).shape == spec.default_shape
    name = next(iter(spec.default_shape))
    with pytest.raises(UserError, match="has the sizes that were captured: leave out --shape, or"):
        make_problem(spec, {name: spec.default_shape[name] + 1})


def test_a_budget_is_for_programs() -> None:
    with pytest.raises(UserError, match="--budget is for a capture file"):
        tune_command.main(["vector_add", "--budget", "3m"])


def test_a_machines_first_static_link_takes_nothing_of_a_budget() -> None:
    begun = ProgramBudget(None, 60.0, time.monotonic() - 10.0)
    later_s = after_first_link(begun, lambda: time.sleep(0.1)).end_s() - begun.end_s()
    assert later_s > 0.05


def test_a_program_of_this_processor_on_the_default_device_is_told_of_the_other(
    capture: CaptureFile,
) -> None:
    add_to(capture, launches=1)
    tasks = read_capture(capture.path).tasks
    assert "--device host" in default_device_note(tasks, ("emulated",))
    assert not default_device_note(tasks, ("emulated:x60",))
    assert not default_device_note(tasks, ("host",))


def test_widen_is_for_programs() -> None:
    with pytest.raises(UserError, match="--widen is for a capture file"):
        tune_command.main(["vector_add", "--widen"])


@pytest.mark.long
def test_widened_once_a_task_stays_so(capture: CaptureFile) -> None:
    values = {"x": normal(2048), "out": torch.zeros(2048), "n": 2048, "BLOCK": 64}
    key = capture.launch(kernels.listed_kernel, [32], values)
    assert not examine_new(capture.path, lambda task: None, widens=True)
    wide = freedoms_of(capture, key)
    assert {64, 128, 256, 512} <= set(wide)
    assert [task.is_wide for task in program_tasks(capture.path)] == [True]
    assert not examine_new(capture.path, lambda task: None)
    assert freedoms_of(capture, key) == wide


def freedoms_of(capture: CaptureFile, key: str) -> tuple[object, ...]:
    (freedom,) = read_examined(capture.path)[key].required().freedoms
    return freedom.values


def test_a_capture_without_launches_is_refused(capture: CaptureFile) -> None:
    with pytest.raises(UserError, match="holds no launch of a Triton kernel"):
        tune_command.main([str(capture.path)])


def test_a_capture_in_the_place_of_a_kernel_is_told_apart(capture: CaptureFile) -> None:
    with pytest.raises(UserError, match=r"there is no file other\.capture: make a capture with"):
        load_kernel("other.capture")
    with pytest.raises(
        UserError, match=r"name a task of .*program\.capture as .*#KEY: `.*tasks .*` lists"
    ):
        load_kernel(str(capture.path))


def test_a_changed_kernel_is_refused(capture: CaptureFile) -> None:
    key = add_to(capture, digest="0" * 16)
    with pytest.raises(UserError, match=r"the kernel add_kernel of .* has changed"):
        load_kernel(task_name(capture.path, key))


@pytest.mark.long
def test_a_kernel_of_the_program_itself_is_made_of_its_source(capture: CaptureFile) -> None:
    key = add_to(capture, module="__main__")
    problem = make_problem(load_kernel(task_name(capture.path, key)), {})
    assert problem.spec.kernel.__module__.startswith("captured_")
    assert problem.name == "add-x_i4096-y_i4096-out_i4096-fp32"
    assert problem.default_config == {"BLOCK": 64}


@pytest.mark.long
def test_what_a_killed_command_found_is_kept(
    capture: CaptureFile, capsys: pytest.CaptureFixture[str], ray_for_tests: None
) -> None:
    add_to(capture, launches=10)
    add_to(capture, n=8192)
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "engine.tune", str(capture.path), "--jobs", "1"]
    folders = [str(root), str(root / "tests" / "kernels"), os.environ["PYTHONPATH"]]
    tuner = subprocess.Popen(
        [*command, "--trials", "100"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not read_capture(capture.path).winners:
            assert tuner.poll() is None
            time.sleep(0.2)
    finally:
        os.kill(tuner.pid, signal.SIGKILL)
        tuner.wait()
    kept = read_capture(capture.path).winners[capture.keys[0]]
    _, (first, _) = tune(capture, capsys, "--trials", "7")
    assert first["tried"] >= 5
    assert first["time_s"] <= kept.time_s


@pytest.mark.usefixtures("ray_for_tests")
def test_a_task_of_little_time_gets_its_default_and_something_else(
    capture: CaptureFile, capsys: pytest.CaptureFixture[str]
) -> None:
    add_to(capture, launches=1000)
    add_to(capture, n=2048)
    command = [str(capture.path), "--trials", "5", "--jobs", "1", "--json"]
    assert tune_command.main(command) == 0
    printed = capsys.readouterr()
    tried = {task["key"]: task["tried"] for task in json.loads(printed.out)["tasks"]}
    assert [tried[key] for key in capture.keys] == [3, 2]
    assert "--trials 5 is for all 2 tasks together" in " ".join(printed.err.split())


@pytest.mark.long
@pytest.mark.usefixtures("ray_for_tests")
def test_a_budget_is_for_trials_and_for_the_comparison(
    capture: CaptureFile, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the host, whose times vary."""
    add_to(capture, n=1 << 20, launches=1000)
    add_to(capture, n=1 << 16)  # a thousandth of the program
    _, (heavy, light) = tune(capture, capsys, "--budget", "60s", "--device", "host")
    assert heavy["tried"] > 0
    for task in filter(itemgetter("tried"), (heavy, light)):
        assert task["speedup"] == 1.0 or task["compared_in_turns"]


def test_several_numbers_of_cores_are_refused_in_a_sentence(capture: CaptureFile) -> None:
    add_to(capture)
    message = "one number of cores at a time, not for emulated, emulated@4cores: run the command"
    with pytest.raises(UserError, match=message):
        tune_command.main([str(capture.path), "--device", "emulated", "--cores", "1,4"])
