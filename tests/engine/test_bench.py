"""The command that compares searches on recorded spaces."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from engine import bench, export
from engine.replays.labels import search_labels
from engine.replays.runs import replay
from engine.replays.shipped import SPACES
from engine.replays.space_file import Result, read_space, write_space
from engine.search import Search
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from foundation.config import Config
from foundation.errors import UserError
from foundation.version import project_version
from search_spaces.space import Parameter, SearchSpace


def test_a_strategy_of_kernel_tuner_pays_for_its_trials() -> None:
    pytest.importorskip("kernel_tuner", reason="kernel_tuner is not installed")
    of = read_space(SPACES / "emulated-x60" / "jacobi-M256-N256-fp32.json.gz")
    run = replay(of, "kernel_tuner:random_sample", 0, 8)
    assert len(set(run.tried)) == 8
    assert None not in run.tried
    with pytest.raises(UserError, match="did you mean random_sample"):
        replay(of, "kernel_tuner:randomsample", 0, 8)


def test_kernel_tuner_is_not_charged_for_what_it_asks_for_again() -> None:
    pytest.importorskip("kernel_tuner", reason="kernel_tuner is not installed")
    of = read_space(SPACES / "emulated-x60" / "jacobi-M256-N256-fp32.json.gz")
    run = replay(of, "kernel_tuner:simulated_annealing", 0, 30)
    assert run.repeated
    assert len(set(run.tried)) == len(run.tried)


MISTAKES = [
    (["--families", "nosuch"], "there is no family of spaces named nosuch: choose one of "),
    (["--families", "produts"], "did you mean products"),
    (["--families", "products"], "--spaces test has no space of these families: add --spaces all"),
    (
        ["--families", "rope", "--spaces", f"all,{SPACES / 'gpus'}"],
        f"--families is for shipped spaces: leave it out, or {SPACES / 'gpus'}",
    ),
    (["--samplers", "auot"], "there is no sampler named auot: did you mean auto"),
    (["--samplers", "kernel_tuner"], "name one, such as kernel_tuner:pso_small"),
    (["--samplers", "no_file.py:make"], "there is no file no_file.py: write FILE.py:FACTORY"),
    (["--spaces", "no_folder"], "there are no spaces no_folder: give test, development, test-2"),
    (["--samplers", "random,,grid"], "random,,grid has a comma too many"),
    (["--trials", "100000"], "no space has 200000 configurations: give fewer --trials"),
    (["--quick", "--full"], "not allowed with argument --quick"),
]


@pytest.mark.parametrize(("arguments", "sentence"), MISTAKES, ids=lambda part: str(part)[:30])
def test_a_mistake_is_one_sentence(arguments, sentence) -> None:
    with pytest.raises(UserError) as raised:
        bench.main(arguments)
    assert sentence in str(raised.value)


# Each name is a factory with another mistake.
MISTAKEN = """
class Search:
    def __init__(self, proposed):
        self.proposed = proposed

    def ask(self):
        return self.proposed or 1 / 0

    def tell(self, config, time_s):
        raise KeyError(time_s)

def making(space, seed):
    raise ValueError("no seed")

def asking(space, seed):
    return Search(None)

def telling(space, seed):
    return Search({"A": 0})

def listing(space, seed):
    return Search([0])

def nothing(space, seed):
    return None
"""


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("making", "mine.py:13 fails in making: ValueError: no seed"),
        ("asking", "mine.py:7 fails in ask: ZeroDivisionError: division by zero"),
        ("telling", "mine.py:10 fails in tell: KeyError: 1.0"),
        ("listing", "mine.py: ask returns [0]: return a dictionary of parameters, or None to end"),
        ("nothing", "mine.py: what nothing returns has no method ask and no tell: it needs ask()"),
        ("askin", "mine.py has no function askin: did you mean asking"),
    ],
)
def test_a_mistake_in_a_file_names_its_line(tmp_path, name, sentence) -> None:
    (tmp_path / "mine.py").write_text(MISTAKEN)
    results = {Config({"A": a}): Result(1.0 + a) for a in range(4)}
    write_space(tmp_path / "space.json", {}, results)
    with pytest.raises(UserError) as raised:
        replay(read_space(tmp_path / "space.json"), f"{tmp_path / 'mine.py'}:{name}", 0, 3)
    assert sentence in str(raised.value)


def test_a_file_without_a_function_is_refused_before_anything_is_replayed(tmp_path, capsys) -> None:
    (tmp_path / "mine.py").write_text(MISTAKEN)
    with pytest.raises(UserError, match=r"has no function mak: did you mean making\?"):
        bench.main(["--samplers", f"auto,{tmp_path / 'mine.py'}:mak"])
    with pytest.raises(UserError, match=r"mine.py is a file: name the function .* \S+mine.py:make"):
        bench.main(["--samplers", str(tmp_path / "mine.py")])
    assert capsys.readouterr().err == ""


def test_names_are_as_short_as_tells_them_apart() -> None:
    own = ["mine.py:make", "auto.py:make", "b.py:make", "b.py:other", "x/c.py:make", "y/c.py:make"]
    assert search_labels(["auto", *own, "optuna.samplers.TPESampler"]) == {
        "auto": "auto",
        "mine.py:make": "mine",
        "auto.py:make": "auto:make",
        "b.py:make": "b:make",
        "b.py:other": "b:other",
        "x/c.py:make": "x/c.py:make",
        "y/c.py:make": "y/c.py:make",
        "optuna.samplers.TPESampler": "TPESampler",
    }


# Ends its process, as a crash or a lack of memory does.
CRASHING = """
import os

import optuna

def crash(space, seed):
    os._exit(9)

class Abstract(optuna.samplers.BaseSampler):
    pass
"""


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("{}/crashing_bench.py:crash", "a process that replays searches was killed, as where"),
        ("crashing_bench.Abstract", "the sampler crashing_bench.Abstract cannot be made: Can't in"),
    ],
)
def test_a_sampler_that_cannot_run_is_one_sentence(tmp_path, monkeypatch, name, sentence) -> None:
    (tmp_path / "crashing_bench.py").write_text(CRASHING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    write_space(tmp_path / "space.json", {}, {Config({"A": a}): Result(1.0) for a in range(4)})
    command = ["--spaces", str(tmp_path / "space.json"), "--trials", "2", "--seeds", "1"]
    command += ["--samplers", name.format(tmp_path), "--out", str(tmp_path / "out")]
    with pytest.raises(UserError) as raised:
        bench.main(command)
    assert str(raised.value).startswith(sentence)


# Asks for each value twice, then for one that is not there, and ends.
REPEATING = """
class Repeating:
    def __init__(self, space):
        self.left = [c for c in list(space.valid_configs())[:4] for _ in range(2)] + [{"A": 99}]

    def ask(self):
        return self.left.pop(0) if self.left else None

    def tell(self, config, time_s):
        pass

def make(space, seed):
    return Repeating(space)
"""


def test_repeats_failures_and_early_ends_are_printed(tmp_path, capsys) -> None:
    (tmp_path / "mine.py").write_text(REPEATING)
    results = {Config({"A": a}): Result(1.0 + a) for a in range(20)}
    write_space(tmp_path / "space.json", {}, results)
    command = ["--spaces", str(tmp_path / "space.json"), "--trials", "10", "--seeds", "2"]
    command += ["--samplers", f"{tmp_path / 'mine.py'}:make,random", "--jobs", "1"]
    for _ in range(2):  # the second time from what is kept
        assert bench.main([*command, "--out", str(tmp_path / "out")]) == 0
        out = capsys.readouterr().out
        assert "mine: 8 of 18 asks repeated a configuration (44%); a repeat costs no trial" in out
        assert "mine: 2 of 10 trials are not in the space and count as failures" in out
        assert "mine: 2 of 2 searches ended before 10 trials; they are scored as if" in out
        assert out.count("\nrandom: ") == 1
    mine, random = json.loads((tmp_path / "out" / "bench.json").read_text())["searches"]
    assert (mine["repeated_asks"], mine["ended_early"]) == (8, 2)
    assert (random["repeated_asks"], random["ended_early"]) == (0, 0)


# Asks for every value in turn, and tells a file of each search.
SEARCH = """
import pathlib

class InTurn:
    def __init__(self, space):
        self.left = list(space.valid_configs())

    def ask(self):
        return self.left.pop(0) if self.left else None

    def tell(self, config, time_s):
        assert time_s is None or time_s > 0

def in_turn(space, seed):
    with (pathlib.Path(__file__).parent / "searches.txt").open("a") as file:
        file.write(f"{seed}\\n")
    return InTurn(space)
"""


def test_searches_are_compared_and_not_replayed_again(tmp_path, capsys) -> None:
    (tmp_path / "mine.py").write_text(SEARCH)
    for number in range(3):
        results = {
            Config({"A": a, "B": b}): Result(1.0 + abs(a - number) + abs(b - 3), cost_s=1.0)
            for a in range(4)
            for b in range(5)
        }
        write_space(tmp_path / "spaces" / f"study{number}" / "t4.json", {}, results)
    (tmp_path / "spaces" / "study0" / "t1.json").write_text('{"General": {}}')
    names = f"spread,{tmp_path / 'mine.py'}:in_turn,random"
    command = ["--spaces", str(tmp_path / "spaces"), "--samplers", names, "--trials", "10"]
    command += ["--seeds", "2", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert bench.main(command) == 0
    output, progress = capsys.readouterr()
    assert progress.startswith("left out: 1 file of folders, neither T4 nor a cache of Kernel Tune")
    assert "3 spaces, 2 searches of each" in output
    assert re.search(r"spread against mine: \S+ at P@10 \(fewer than 5 spaces, so with", output)
    assert "mean ranks: fewer than 5 spaces, so without Friedman's test" in output
    started = (tmp_path / "searches.txt").read_text()
    assert len(started.splitlines()) == 6

    record = json.loads((tmp_path / "out" / "bench.json").read_text())
    scores = {one["search"].rpartition(":")[2]: one["all"]["10"] for one in record["searches"]}
    spaces = [read_space(path) for path in sorted((tmp_path / "spaces").glob("*/t4.json"))]
    curves = [(of, of.best_so_far(range(10), 10)) for of in spaces]
    expected = np.mean([of.scores(curve[None])[0, -1] for of, curve in curves])
    assert scores["in_turn"] == [pytest.approx(expected), 0.0]
    best = (tmp_path / "out" / "best.csv").read_text().splitlines()
    assert len(best) == 1 + 3 * 3 * 2 * 10
    assert best[1].startswith("spread,study0/t4,0,1,")
    page = (tmp_path / "out" / "bench.html").read_text()
    assert all(f'"filename": "{name}"' in page for name in ("By-trials", "study2-t4"))
    assert all(f"<h2>{title}</h2>" in page for title in ("By trials", "By time", "study2/t4"))

    # A killed run leaves half a line; that search alone is replayed again.
    runs = tmp_path / "out" / "runs.jsonl"
    lines = runs.read_text().splitlines(keepends=True)
    lost = next(line for line in lines if "in_turn" in line)
    runs.write_text("".join(line for line in lines if line != lost) + lost[:40])
    for _ in range(2):  # the second time nothing is left to replay
        assert bench.main(command) == 0
        assert len((tmp_path / "searches.txt").read_text().splitlines()) == 7
        assert capsys.readouterr().out == output


def test_a_file_that_cannot_be_written_is_named(tmp_path) -> None:
    results = {Config({"A": a}): Result(1.0 + a) for a in range(20)}
    write_space(tmp_path / "space.json", {}, results)
    out = tmp_path / "out"
    command = ["--spaces", str(tmp_path / "space.json"), "--samplers", "random,grid", "--out"]
    command += [str(out), "--trials", "5", "--seeds", "1", "--jobs", "1"]
    out.mkdir()
    runs = out / "runs.jsonl"
    runs.symlink_to("/dev/full")
    with pytest.raises(UserError) as raised:
        bench.main(command)
    assert str(raised.value).startswith(f"{runs} cannot be written (No space left on device): ")
    runs.unlink()
    assert bench.main(command) == 0
    (out / "best.csv").unlink()
    (out / "best.csv").mkdir()
    scores = (out / "scores.csv").read_bytes()
    with pytest.raises(UserError, match=f"{out / 'best.csv'} cannot be written: "):
        bench.main(command)
    assert (out / "scores.csv").read_bytes() == scores
    assert {path.name for path in out.iterdir()} == {
        *("scores.csv", "curves.csv", "best.csv", "bench.json", "bench.html", "runs.jsonl")
    }


# The first search ends, the others wait for a file.
WAITING = """
import pathlib
import time

HERE = pathlib.Path(__file__).parent

class Waiting:
    def __init__(self, space, seed):
        self.left, self.seed = list(space.valid_configs()), seed

    def ask(self):
        if self.seed >= 1000 and not (HERE / "go").exists():
            (HERE / "waits").touch()
            time.sleep(600)
        return self.left.pop(0)

    def tell(self, config, time_s):
        pass

def waiting(space, seed):
    return Waiting(space, seed)
"""


def test_ctrl_c_ends_searches_under_way_and_keeps_the_others(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(WAITING)
    table = {Config({"A": a, "B": b}): Result(1.0 + a + b) for a in range(4) for b in range(4)}
    write_space(tmp_path / "space.json", {}, table)
    names = f"random,{tmp_path / 'mine.py'}:waiting"
    command = ["--spaces", str(tmp_path / "space.json"), "--samplers", names, "--trials", "5"]
    command += ["--seeds", "3", "--jobs", "1", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "engine.bench", *command],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    runs = tmp_path / "out" / "runs.jsonl"
    try:
        while not ((tmp_path / "waits").exists() and len(runs.read_text().splitlines()) >= 3):
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, err = process.communicate(timeout=200)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 1
    assert err.splitlines()[-1].endswith("stopped")
    assert "Traceback" not in err
    kept = runs.read_text()
    assert len(kept.splitlines()) == 3
    (tmp_path / "go").touch()
    assert bench.main(command) == 0
    assert runs.read_text().startswith(kept)
    assert len(runs.read_text().splitlines()) == 6


def test_both_exports_of_a_study_are_one_space(tmp_path, capsys) -> None:
    storage = str(tmp_path / "t.journal")
    space = SearchSpace((Parameter("A", tuple(range(30))),))
    identity = StudyIdentity("k", {"N": 8}, "fp32", "board", "grid", {"compiler": "c"})
    search = Search(space, "grid", trials=open_study(storage, identity, space))
    while (config := search.ask()) is not None:
        a = int(config["A"])
        search.tell(config, None if a == 7 else 1e-3 * (1 + abs(a - 20)))
    for name in ("t4", "kernel-tuner"):
        out = str(tmp_path / "exports")
        assert export.main(["--storage", storage, "--format", name, "--out", out]) == 0
    capsys.readouterr()
    command = ["--spaces", str(tmp_path / "exports"), "--samplers", "random,spread"]
    command += ["--trials", "10", "--seeds", "2", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert bench.main(command) == 0
    output, progress = capsys.readouterr()
    left_out = r"left out: \S+/kernel_tuner_cache.json, which holds the same .*/t4.json"
    assert re.search(left_out, progress)
    name = identity.name  # not the file's, which all studies' exports have
    last = rf"replayed 2 of 4 searches, the last by \w+ on {name}; about \d+ s left"
    assert re.search(last, progress)
    assert "1 space, 2 searches of each" in output
    record = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert record["recorded"][name]["made_with"] == {"compiler": "c"}
    (cache,) = (tmp_path / "exports").rglob("kernel_tuner_cache.json")
    assert read_space(cache).name == name
    assert record["versions"]["tuner"] == project_version()
    of = read_space(next((tmp_path / "exports").rglob("t4.json")))
    lines = (tmp_path / "out" / "runs.jsonl").read_text().splitlines()
    for one in record["searches"]:
        assert "optuna" in record["versions"]["searches"][one["search"]]
        tried = [row["tried"] for row in map(json.loads, lines) if row["search"] == one["search"]]
        curves = np.array([of.best_so_far(run, 10) for run in tried])
        assert one["median"]["10"] == pytest.approx(np.median(of.performance(curves).mean(axis=1)))
        near = (curves[:, -1] <= 1.05 * of.optimum_s).mean()
        assert one["near_optimum"]["10"] == near
        median = f"{one['median']['10']:.2f}".replace("0.", ".", 1)
        assert f"median P@10 {median}, {near:.0%} of searches within 5% of the optimum" in output
