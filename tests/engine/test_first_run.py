"""What a newcomer sees of a run, from its first line to what may be pasted from its last."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import pytest
import triton
from command_here import run_here

from engine.results.advice import advice
from engine.results.closing_lines import closing_lines
from engine.results.json import study_record
from engine.results.paste import measure_command, triton_config
from engine.results.progress import LOADING
from engine.results.shown import shown as shown_result
from engine.results.table import print_result
from engine.results.units import count_text
from engine.run.events import Event, RunStarted, StageStarted, StudyOpened, TrialFinished
from engine.run.request import SearchOptions, StudyOptions, TuningRequest, WorkOptions
from engine.run.tuning import TuningResult, tune
from foundation.config import Config

SHAPE = {"M": 8, "N": 8, "K": 8}  # seven configurations are valid
TUNE = "matmul --shape M=8,N=8,K=8 --jobs 1"


@dataclass(frozen=True)
class Finished:
    """A run that exhausted its space, in a folder of its own."""

    folder: Path
    stdout: list[str]
    stderr: list[str]

    def values(self, name: str) -> list[str]:
        """Of the lines that begin with this field."""
        return [line.partition("=")[2] for line in self.stdout if line.startswith(f"{name}=")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, ray_for_tests: None) -> Finished:
    folder = tmp_path_factory.mktemp("tuned")
    done = run_here(folder, "tune", *TUNE.split(), "--until", "converged")
    assert done.returncode == 0, done.stderr
    return Finished(folder, done.stdout.splitlines(), done.stderr.splitlines())


def test_each_stage_is_told_from_the_imports_on(finished: Finished) -> None:
    first, opening, study, *others = finished.stderr
    assert first == f"stage={LOADING.text}"
    assert opening == "stage=opening the study"
    assert study.startswith("study=matmul-M8-N8-K8-fp32-emulated-x60-auto-")
    assert study.endswith("\ttried=0")
    assert others == [
        "stage=starting Ray",
        "stage=opening the board emulated",
        "stage=building the first configuration",
    ]


def test_the_first_line_comes_before_what_takes_seconds_to_import() -> None:
    script = (
        "import sys; from engine import tune\n"
        "class Stderr:\n"
        "    def isatty(self): return False\n"
        "    def write(self, text):\n"
        "        print(text.strip(), *{'torch', 'triton', 'ray', 'optuna'} & sys.modules.keys())\n"
        "        sys.stdout.flush(); import os; os._exit(0)\n"
        "sys.stderr = Stderr(); tune.main(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "matmul", "--sampler", "gp"],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.stdout == f"stage={LOADING.text}\n"


def test_a_small_space_counts_to_its_size_and_is_exhausted(finished: Finished) -> None:
    trials = finished.values("trial")
    assert [trial.split("\t")[0] for trial in trials] == [f"{n}/7" for n in range(1, 8)]
    assert "ended=exhausted\ttried=7" in finished.stdout
    again = run_here(finished.folder, "tune", *TUNE.split(), "--until", "converged")
    assert again.stdout.splitlines()[0] == "ended=exhausted\ttried=7"
    assert again.stderr.splitlines()[-1].endswith("\ttried=7")


def test_what_is_printed_to_be_pasted_is_the_winner(
    finished: Finished, ray_for_tests: None
) -> None:
    best = finished.values("best")[0].partition("config=")[2]
    (config,) = finished.values("triton_config")
    pasted = eval(config, {"triton": triton})
    assert ",".join(f"{name}={value}" for name, value in pasted.kwargs.items()) == best
    python, _, command, *words = shlex.split(finished.values("measure_command")[0])
    assert Path(python) == Path(sys.executable)
    assert command == "engine.measure"
    measured = run_here(finished.folder, "measure", *words, "--json")
    record = json.loads(measured.stdout)
    assert record["config"] == pasted.kwargs
    assert (record["status"], record["dtype"], record["shape"]) == ("correct", "fp32", SHAPE)
    assert (
        f"{record['times_s'][0]:.9f}"
        == dict(field.split("=", 1) for field in f"best={finished.values('best')[0]}".split("\t"))[
            "time_s"
        ]
    )


def test_its_report_says_where_cycles_went(finished: Finished, ray_for_tests: None) -> None:
    (study,) = finished.values("study")
    done = run_here(finished.folder, "report", study)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    page = (finished.folder / done.stdout.strip()).read_text()
    (cycles,) = {best.split("cycles=")[1].split()[0] for best in finished.values("best")[:1]}
    assert f"winner: {count_text(float(cycles))} cycles" in page
    assert "<code>matmul.py:" in page


@pytest.fixture(scope="module")
def listened(
    tmp_path_factory: pytest.TempPathFactory, finished: Finished, ray_for_tests: None
) -> tuple[list[Event], TuningResult]:
    """A second study in the same storage, begun in this process with a listener."""
    events: list[Event] = []
    storage = finished.folder / "studies/tuner.journal"
    request = TuningRequest(
        kernel="matmul",
        shapes=({"M": 8, "N": 8, "K": 4},),
        search=SearchOptions(trials=1),
        study=StudyOptions(str(storage)),
        work=WorkOptions(jobs=1),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("listened"))
        return events, tune(request, [events.append])


def test_python_callers_are_told_the_stages_too(
    listened: tuple[list[Event], TuningResult], finished: Finished
) -> None:
    events, result = listened
    opened = next(event for event in events if isinstance(event, StudyOpened))
    assert opened == StudyOpened(result.study, 0, result.warm_started_from)
    assert str(opened.warm_started_from).startswith("matmul-M8-N8-K8-")
    kinds = [type(event) for event in events]
    assert kinds[:5] == [StageStarted, StudyOpened, StageStarted, StageStarted, RunStarted]
    assert kinds[5:7] == [StageStarted, TrialFinished]


@pytest.mark.parametrize("columns", [80, 160])
def test_the_tables_say_what_they_shorten(
    columns: int, listened: tuple[list[Event], TuningResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = printed(listened[1], columns, monkeypatch)
    winner = listened[1].summary.winner
    assert winner is not None
    full = str(winner.config).replace(",", " ")
    assert (full in shown) == (columns == 160)
    assert ("M is BLOCK_SIZE_M" in shown) == (columns == 80)
    assert f"measure the winner: {measure_command(listened[1], winner.config)}\n" in shown
    assert "warm-started from: matmul-M8-N8-K8-" in shown
    assert "pruned by rule: " in shown
    assert "The best of 1 configuration" in shown
    several = printed(replace(listened[1], cores=4), columns, monkeypatch)
    assert ("cycles of" in several, "cycles of" in shown) == (True, False)


@pytest.mark.parametrize(("slower", "use"), [(1, "default"), (9, "winner"), (0, "default")])
def test_the_default_is_to_be_used_where_it_is_tied(
    slower: float,
    use: str,
    listened: tuple[list[Event], TuningResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    summary = listened[1].summary
    winner = summary.winner
    assert winner is not None
    assert winner.time_s is not None
    config = Config({**winner.config, "GROUP_SIZE_M": 77})
    default = replace(winner, config=config, time_s=winner.time_s * slower)
    default = default if slower else winner
    summary = replace(summary, best=(winner, default), default=default)
    result = shown_result(replace(listened[1], summary=summary))
    used = default if use == "default" else winner
    pasted, says = triton_config(used.config), advice(summary)
    assert f"se the {use}" in says
    terminal = printed(result, 160, monkeypatch).splitlines()
    assert {says, f"use the {use}: {pasted}"} <= set(terminal)
    line = f"use={use}\tconfig={used.config}\tadvice={says}"
    assert {line, f"triton_config={pasted}"} <= set(closing_lines(result))
    record = study_record(result)
    assert (record["use"], record["advice"]) == (dict(used.config), says)
    assert escape(says) in result._repr_html_()
    assert result.best == dict(used.config)


def printed(result: TuningResult, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a terminal of this width shows of a result."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    print_result(result, stream)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
