"""`engine.tune(...)`: a call from Python with the command's arguments, and results that show."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from command_here import run_here

import engine
import engine.tune as tune_command
from engine.results.shown import ShownResult
from engine.run.events import Event, RunEnded, TrialFinished
from engine.run.stop_signals import stopped_by_signals
from engine.run.tuning import TuningResult
from foundation.errors import UserError

pytestmark = pytest.mark.usefixtures("ray_for_tests")

SHAPE = {"N": 1000}
TRIALS = 3
# Of the command alone: how it prints, and several studies at once.
ONLY_TYPED = {"budget", "help", "json", "missing", "mixed", "together", "widen", "with_report"}


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("called")


@pytest.fixture(scope="module")
def result(folder: Path, events: list[Event]) -> ShownResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return engine.tune("vector_add", shape=SHAPE, trials=TRIALS, jobs=1, progress=events.append)


@pytest.fixture
def in_folder(folder: Path, result: ShownResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder is the one with the study of `result`."""
    monkeypatch.chdir(folder)


def test_a_call_tunes_and_tells_of_each_trial(result: ShownResult, events: list[Event]) -> None:
    assert isinstance(result, TuningResult)
    assert result.summary.winner is not None
    assert result.problem.shape == SHAPE
    assert result.device == "emulated:x60"
    assert sum(isinstance(event, TrialFinished) for event in events) == TRIALS
    assert isinstance(events[-1], RunEnded)


def test_the_command_resumes_the_study_of_a_call(result: ShownResult, in_folder: None) -> None:
    words = ["vector_add", "--shape", "N=1000", "--trials", str(TRIALS)]
    done = run_here(Path.cwd(), "tune", *words)
    assert done.returncode == 0
    assert done.stdout.startswith(f"ended=trials\ttried={TRIALS}\n")
    assert f"study={result.study}" in done.stdout


IMPORTS = (
    "import engine; f = engine.tune",
    "import engine.tune; f = engine.tune",
    "from engine import tune as f",
    "import engine, engine.tune, importlib; f = importlib.import_module('engine').tune",
)


@pytest.mark.long
def test_it_is_callable_however_it_was_imported() -> None:
    """Each in a process of its own, a fork of one that has imported what takes seconds."""
    script = (
        "import os, sys, torch, triton, optuna\n"
        f"for script in {IMPORTS}:\n"
        "    if os.fork() == 0:\n"
        "        exec(script)\n"
        "        try: f('matmull')\n"
        "        except Exception as error: print(type(error).__name__, f.main)\n"
        "        sys.stdout.flush(); os._exit(0)\n"
        "    os.wait()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(IMPORTS)
    assert all(line.startswith("UserError <function main") for line in lines)


def test_it_has_every_argument_of_the_command_with_its_default() -> None:
    typed = vars(tune_command._parse(["matmul"]))
    ours = inspect.signature(engine.tune).parameters
    # These the command writes in another way.
    assert (typed["shape"], ours["shape"].default) == ([], None)
    assert (typed["device"], ours["device"].default) == (("emulated",), "emulated")
    assert (typed["use_history"], ours["no_history"].default) == (True, False)
    assert (typed["jobs"], ours["jobs"].default) == (len(os.sched_getaffinity(0)), None)
    assert (typed["objective"], ours["objective"].default) == (("time_s",), "time_s")
    assert (typed["cores"], ours["cores"].default) == ((), None)
    apart = {"kernel", "shape", "device", "jobs", "objective", "cores"}
    assert {name: typed[name] for name in typed.keys() - ONLY_TYPED - apart - {"use_history"}} == {
        name: ours[name].default
        for name in ours.keys() - apart - {"no_history", "shapes", "progress"}
    }


def test_the_module_travels_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(engine.tune)) is tune_command


def test_several_shapes_are_one_study(in_folder: None) -> None:
    joint = engine.tune("vector_add", shapes=[{"N": 500}, {"N": 600}], trials=2, jobs=1)
    assert set(joint.summary.shapes) == {"N=500", "N=600"}
    assert "The winner at each shape" in str(joint)


def test_it_can_be_called_in_a_thread_and_prints_nothing_where_there_is_no_terminal(
    in_folder: None, capfd: pytest.CaptureFixture[str]
) -> None:
    results: list[ShownResult] = []

    def call() -> None:
        results.append(engine.tune("vector_add", shape={"N": 700}, trials=1, jobs=1))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert [found.ended.tried for found in results] == [1]
    assert capfd.readouterr() == ("", "")


MISTAKES = [
    ({"kernel": "matmull"}, "there is no kernel named matmull: did you mean matmul"),
    ({"shape": {"M": 0}}, "the size of M is 0: give it a positive one"),
    ({"shape": {"M": 1.5}}, "shape: the size of M is not an integer: 1.5"),
    ({"shape": "M=2"}, "the shape 'M=2' is not a mapping: write it like {'M': 256, 'N': 512}"),
    ({"shape": {"Q": 2}}, "matmul has no dimension Q: choose one of K, M, N"),
    ({"shape": {}, "shapes": [{}]}, "shape and shapes are both given: leave one of them out"),
    ({"shapes": []}, "shapes is empty: give at least one shape"),
    ({"dtype": "f33"}, "matmul does not take f33: did you mean fp32 or fp16?"),
    ({"device": "emulatd"}, "there is no device named emulatd: did you mean emulated"),
    ({"device": "emulated,host"}, "the boards are of different kinds (emulated:x60: emulated; "),
    ({"sampler": "tpa"}, "there is no sampler named tpa: did you mean tpe?"),
    ({"trails": 3}, "engine.tune takes no trails: did you mean trials or until?"),
    ({"trials": 0}, "trials: must be a positive integer, not 0"),
    ({"until": "done"}, "there is no way to end named done: choose converged"),
    ({"timeout": -1}, "timeout: must be a positive number, not -1"),
    ({"seed": "x"}, "seed: must be an integer, not x"),
    ({"seed": -1}, "seed: must not be negative, and -1 is"),
    (
        {"objective": "size"},
        "objective: there is no objective size: give time_s or time_s,code_bytes",
    ),
    (
        {"objective": "time_s,code_bytes", "until": "converged"},
        "until and shapes minimise the time alone: leave out them or objective",
    ),
    (
        {"objective": "time_s,code_bytes", "sampler": "tpe"},
        "the sampler tpe minimises the time alone: for several objectives choose one of ",
    ),
    ({"jobs": 0}, "jobs: must be a positive integer, not 0"),
    ({"ray_address": "here"}, "ray_address: here is not HOST:PORT"),
]


@pytest.mark.parametrize(("arguments", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence(
    arguments: dict[str, Any], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=re.escape(sentence)) as raised:
        engine.tune(**{"kernel": "matmul", **arguments})
    assert "\n" not in str(raised.value)


def test_a_result_is_a_line_in_lists_and_tables_in_print(result: ShownResult) -> None:
    line = repr([result])
    assert "\n" not in line
    assert len(line) < 200
    assert f"<TuningResult of {result.study}: BLOCK_SIZE=" in line
    assert "(estimated, ±" in line
    text = str(result)
    assert f"The best of {TRIALS} configurations" in text
    assert f"study: {result.study}" in text
    assert "\x1b" not in text


class Tags(HTMLParser):
    """The tags of a fragment, which have to end in the order in which they began."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(fragment: str) -> set[str]:
    parser = Tags()
    parser.feed(fragment)
    assert parser.open == []
    return parser.seen


def rows_of(table: ElementTree.Element) -> list[list[str]]:
    return [[cell.text or "" for cell in row] for row in table.iter("tr")]


def test_a_notebook_shows_tables_and_takes_no_text_for_markup(result: ShownResult) -> None:
    page = result._repr_html_()
    assert tags(page) == {"p", "table", "thead", "tbody", "tr", "th", "td"}
    fastest, models = map(rows_of, ElementTree.fromstring(f"<div>{page}</div>").iter("table"))
    assert fastest[0][:2] == ["", "BLOCK_SIZE"]
    best = [str(trial.config["BLOCK_SIZE"]) for trial in result.summary.best]
    assert [row[1] for row in fastest[1:]][: len(best)] == best
    assert {row[0] for row in fastest} & {"default", "default tied"}
    assert result.summary.robustness is not None
    assert [row[0] for row in models[1:]] == [m.name for m in result.summary.robustness.under]
    hostile = ShownResult(**{**vars(result), "study": "<script>[bold]"})
    assert tags(hostile._repr_html_()) == tags(page)
    assert "&lt;script&gt;[bold]" in hostile._repr_html_()
    assert result.best == dict(result.summary.best[0].config)


def test_a_notebook_shows_progress_in_one_output(
    result: ShownResult, in_folder: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a notebook here, with what its kernel has: IPython, whose shell has a kernel."""
    shown: list[dict[str, str]] = []

    class DisplayHandle:
        def display(self, bundle: dict[str, str], *, raw: bool) -> None:
            assert raw
            assert not shown
            shown.append(bundle)

        def update(self, bundle: dict[str, str], *, raw: bool) -> None:
            assert raw
            shown.append(bundle)

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    display = SimpleNamespace(DisplayHandle=DisplayHandle)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    engine.tune("vector_add", shape={"N": 500}, trials=2, jobs=1)
    texts = [bundle["text/plain"] for bundle in shown]
    assert "opening the study" in texts
    assert any(text.startswith("2/2, best ") for text in texts)
    assert '<progress value="1" max="2">' in str(shown)
    assert texts[-1] == ""


def test_every_trial_is_a_row_of_the_frame(result: ShownResult, in_folder: None) -> None:
    frame = result.trials
    assert len(frame) == TRIALS
    assert result.summary.winner is not None
    assert frame["time_s"].min() == result.summary.winner.time_s


def test_what_lookup_finds_shows_itself(result: ShownResult, in_folder: None) -> None:
    found = engine.lookup("vector_add", N=SHAPE["N"])
    assert repr([found]) == f"[<Found {found}>]"
    assert tags(found._repr_html_()) == {"p", "table", "tr", "th", "td"}
    winner = result.summary.winner
    assert winner is not None
    assert f"<td>{winner.config['BLOCK_SIZE']}</td>" in found._repr_html_()
    assert f"{winner.time_s:.4g} s ({result.summary.estimate}) at N=1000" in found._repr_html_()
    assert "±" in result.summary.estimate


def test_a_second_ctrl_c_leaves_the_callers_process_alive() -> None:
    """A notebook's kernel, say; a command ends at once."""

    class Loop:
        stopped = 0

        def stop(self) -> None:
            self.stopped += 1

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    loop: Any = Loop()
    with stopped_by_signals(loop, owns_process=False):
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    assert loop.stopped == 1
