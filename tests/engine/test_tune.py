"""The tuning command on the emulated board: results, resuming, stopping, dying, repeating."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command_here import run_here

import engine.run.identity as identity_module
from engine.run.identity import identity_of
from engine.run.request import SearchOptions, TuningRequest
from engine.run.tuning import tune
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board

pytestmark = pytest.mark.usefixtures("ray_for_tests")

PROBLEM = ["matmul", "--shape", "M=32,N=64,K=32", "--seed", "3"]
TRIALS = 6
BUDGET = ["--trials", str(TRIALS)]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "engine.tune", *PROBLEM, *arguments]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In this process and with its Ray."""
    return run_here(folder, "tune", *PROBLEM, *arguments)


def environment() -> dict[str, str]:
    paths = [str(Path(__file__).parents[2]), os.environ["PYTHONPATH"]]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@dataclass(frozen=True)
class Finished:
    """A run of some trials in a folder of its own, and what it printed."""

    folder: Path
    record: dict[str, Any]
    progress: list[dict[str, str]]


def fields(line: str) -> dict[str, str]:
    return dict(field.split("=", 1) for field in line.split("\t"))


def trial_lines(text: str) -> list[dict[str, str]]:
    return [fields(line) for line in text.splitlines() if line.startswith("trial=")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, ray_for_tests: None) -> Finished:
    folder = tmp_path_factory.mktemp("tuned")
    done = run(folder, *BUDGET, "--json")
    assert done.returncode == 0, done.stderr
    return Finished(folder, json.loads(done.stdout), trial_lines(done.stderr))


def test_json_names_the_winner_and_the_elf_that_was_measured(finished: Finished) -> None:
    record = finished.record
    winner = record["winner"]
    assert winner == record["best"][0]
    assert winner["estimated"] is True
    robustness = record["robustness"]
    assert robustness["mean_loss"] <= robustness["default_choice_mean_loss"]
    assert winner["models_s"]["default"] == winner["time_s"]
    speedup = record["default"]["time_s"] / winner["time_s"]
    assert winner["speedup_over_default"] == pytest.approx(speedup)
    times_s = [float(line["time_s"]) for line in finished.progress if "time_s" in line]
    fastest_s = robustness["models"][0]["fastest_time_s"]
    assert fastest_s == pytest.approx(min(times_s), abs=1e-9)
    assert max(times_s) > 2 * fastest_s
    assert winner["counters"]["u_mode_cycle"] > 0
    elf = Path(winner["elf_path"]).read_bytes()
    assert elf.startswith(b"\x7fELF")
    assert winner["elf_sha256"] == hashlib.sha256(elf).hexdigest()
    assert {path.suffix for path in Path(winner["elf_path"]).parent.iterdir()} == {
        ".elf", ".json", ".llir", ".o", ".s", ".sha256", ".ttir"
    }  # fmt: skip
    assert sum(record["statuses"].values()) == record["tried"] == TRIALS


def test_progress_is_a_parseable_line_a_trial(finished: Finished) -> None:
    assert [line["trial"] for line in finished.progress] == [
        f"{n}/{TRIALS}" for n in range(1, TRIALS + 1)
    ]
    best = finished.progress[-1]["leader_time_s"]
    assert float(best) == pytest.approx(finished.record["winner"]["time_s"], abs=1e-9)


def test_the_same_command_again_measures_nothing(finished: Finished) -> None:
    done = run(finished.folder, *BUDGET)
    assert done.returncode == 0
    assert trial_lines(done.stdout) == []
    assert done.stdout.startswith(f"ended=trials\ttried={TRIALS}\n")
    best = [fields(line) for line in done.stdout.splitlines() if line.startswith("best=")]
    assert [float(line["time_s"]) for line in best] == pytest.approx(
        [trial["time_s"] for trial in finished.record["best"]], abs=1e-9
    )


def test_times_of_another_compiler_or_board_model_are_not_gone_on_with(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    def name() -> str:
        identity = identity_of(problem, info, finished.record["sampler"], seed=3)
        assert identity.made_with["board model"] == info.kind
        return identity.name

    problem = make_problem(load_kernel("matmul"), {"M": 32, "N": 64, "K": 32})
    info = load_board("emulated").info
    before = name()
    assert finished.record["study"] == before
    monkeypatch.setattr(identity_module, "toolchain_versions", lambda backend: {backend: "changed"})
    after = name()
    info = dataclasses.replace(info, kind="another")
    assert len({before, after, name()}) == 3


@pytest.mark.long
def test_two_runs_with_one_seed_are_the_same_run(finished: Finished, tmp_path: Path) -> None:
    done = run(tmp_path, *BUDGET, "--json")
    assert trial_lines(done.stderr) == finished.progress
    again = json.loads(done.stdout)
    same = ("config", "time_s", "counters", "elf_sha256")
    assert [[trial[name] for name in same] for trial in again["best"]] == [
        [trial[name] for name in same] for trial in finished.record["best"]
    ]


def test_ctrl_c_ends_the_workers_and_prints_what_is_known(tmp_path: Path) -> None:
    with started(tmp_path, "--trials", "500", "--jobs", "1") as process:
        seen = wait_for_trials(process, 2)
        os.killpg(process.pid, signal.SIGINT)
        rest, errors = process.communicate(timeout=200)
        assert process.returncode == 0
        assert "ended=interrupted" in rest
        assert "best=1" in rest
        assert [line for line in errors.splitlines() if not line.startswith("stage=")] == [
            line for line in errors.splitlines() if line.startswith("study=")
        ]
        assert left_in_session(process.pid) == []
    more = ["--trials", str(len(trial_lines(rest)) + len(seen) + 1), "--jobs", "1"]
    again = run(tmp_path, *more)
    assert again.returncode == 0
    known = [line["config"] for line in seen + trial_lines(rest)]
    new = [line["config"] for line in trial_lines(again.stdout)]
    assert len(new) == 1
    assert len({*known, *new}) == len(known) + 1


@pytest.mark.long
def test_kill_9_loses_no_trial_and_none_is_measured_twice(tmp_path: Path) -> None:
    with started(tmp_path, "--trials", "10", "--jobs", "1") as process:
        seen = wait_for_trials(process, 4)
        process.kill()
        rest = process.communicate(timeout=200)[0]
        seen += trial_lines(rest)
        wait_until_empty(process.pid)
    done = run(tmp_path, "--trials", "10", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    new = trial_lines(done.stdout)
    known = [line["config"] for line in seen]
    # One trial may have been stored and not printed.
    assert 10 - len(known) - 1 <= len(new) <= 10 - len(known)
    assert len({*known, *(line["config"] for line in new)}) == len(known) + len(new)
    assert new[0]["trial"].split("/")[0] == str(10 - len(new) + 1)
    assert "ended=trials\ttried=10" in done.stdout


@contextlib.contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A run in a session of its own, whose processes are all killed at the end."""
    process = subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        for pid in left_in_session(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()


def wait_for_trials(process: subprocess.Popen[str], count: int) -> list[dict[str, str]]:
    lines: list[dict[str, str]] = []
    while len(lines) < count:
        line = next_line(process)
        assert line, "the run ended early"
        lines += trial_lines(line)
    return lines


def next_line(process: subprocess.Popen[str]) -> str:
    """Of its output. `communicate` passes over what `readline` would read ahead, this does not."""
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(process.stdout.fileno(), 1)):
        line += byte
    return line.decode()


def wait_until_empty(session: int) -> None:
    """Wait until every process of a session has ended, as it has to soon after its leader.

    Two of Ray's own, which do no work, give up only a minute after.
    """
    deadline_s = time.monotonic() + 200
    while working := [pid for pid in left_in_session(session) if "Agent" not in title(pid)]:
        assert time.monotonic() < deadline_s, [title(pid) for pid in working]
        time.sleep(0.1)


def title(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def left_in_session(session: int) -> list[int]:
    """Processes of a session that have not ended."""
    left = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
            state, session_of_it = after_name[0], int(after_name[3])
            if session_of_it == session and state != "Z":
                left.append(int(folder.name))
    return left


def test_sizes_that_were_left_out_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for shape, notes in (
        ({}, ()),
        ({"M": 32}, ("sizes that were not given are the kernel's defaults: N=512,K=256",)),
    ):
        request = TuningRequest("matmul", (shape,), search=SearchOptions(trials=0))
        assert tune(request, []).notes == notes
