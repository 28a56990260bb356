"""One configuration at several shapes: joined outcomes, and a study that is of no single shape."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import FakeBoard, FakeBuilder
from search_helpers import IDENTITY, SPACE, run, time_of

from engine.results.joint_table import shape_lines
from engine.results.trials_table import trials_table
from engine.run.budget import Budget
from engine.run.loop import TuningLoop
from engine.run.outcome import Outcome
from engine.run.shape_times import ShapeTimes
from engine.run.summary import summarise
from engine.search import Search
from engine.study.history import history_of
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from engine.study.stored_trial import StoredTrial
from engine.winners.stored import stored_studies
from engine.workers.artifacts import BuildFailure
from engine.workers.board_pool import BoardPool
from engine.workers.board_seat import BoardSource
from engine.workers.builders import BuilderPool
from engine.workers.joint import JointArtifact, JointBoard, JointBuilder, JointMeasurement, joined
from foundation.config import Config
from foundation.errors import UserError
from rvv_runner.measurement import Artifact, Measurement
from search_spaces.space import Parameter, SearchSpace

CONFIG = Config({"time_ms": 2})
SHAPES = ("M=8", "M=64")


def right(*times_s: float, **counters: float) -> Measurement:
    return Measurement("correct", times_s, counters, board="b", max_abs_error=times_s[0])


class ScriptedBoard(FakeBoard):
    """Gives these outcomes one after another, and keeps what it was asked."""

    def __init__(self, *outcomes: Measurement) -> None:
        super().__init__()
        self.outcomes = list(outcomes)
        self.asked: list[tuple[int, float]] = []

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        self.asked.append((repeats, timeout_s))
        return self.outcomes.pop(0)


def built() -> JointArtifact:
    artifact = JointBuilder(dict.fromkeys(SHAPES, FakeBuilder)).build(CONFIG)
    assert isinstance(artifact, JointArtifact)
    return artifact


def test_times_and_counters_are_geometric_means() -> None:
    parts = {
        "M=8": right(1.0, 4.0, cycles=2, misses=0, here=1),
        "M=64": right(9.0, 16.0, cycles=8, misses=5),
    }
    together = joined(parts)
    assert together.times_s == pytest.approx((3.0, 8.0))
    assert together.time_s == pytest.approx((2.5 * 12.5) ** 0.5)  # of the medians
    assert together.counters == pytest.approx({"cycles": 4.0, "misses": 0.0})
    assert together.max_abs_error == 9.0


def test_more_runs_are_added_shape_by_shape() -> None:
    first = joined({"M=8": right(1.0, 1.0), "M=64": right(4.0, 4.0)})
    both = first.plus(joined({"M=8": right(9.0), "M=64": right(16.0)}))
    assert isinstance(both, JointMeasurement)
    assert both.parts["M=8"].times_s == (1.0, 1.0, 9.0)
    assert both.times_s == pytest.approx((2.0, 2.0, 12.0))


def test_the_first_failure_is_the_outcome_and_says_where() -> None:
    wrong = Measurement("wrong", reason="c[3] is 1", board="b")
    board = ScriptedBoard(wrong, right(1.0))
    outcome = JointBoard(board).measure(built(), 2, 20.0)
    assert (outcome.status, outcome.reason) == ("wrong", "at M=8: c[3] is 1")
    assert outcome.time_s is None
    assert len(board.outcomes) == 1  # the second shape was not run


def test_a_limit_is_for_all_shapes_together() -> None:
    late = Measurement("timeout", reason="it did not finish within 3 s")
    board = ScriptedBoard(right(1.0), late)
    outcome = JointBoard(board).measure(built(), 2, 20.0)
    assert outcome.reason == "at M=64: all shapes together did not finish within 20 s"
    assert [repeats for repeats, _ in board.asked] == [2, 2]
    assert board.asked[1][1] < board.asked[0][1] <= 20.0


def test_a_build_that_fails_at_one_shape_fails() -> None:
    failing = SearchSpace.from_configs([{"build": "fail"}])
    (config,) = failing.valid_configs()
    assert JointBuilder({"M=8": FakeBuilder}).build(config) == BuildFailure(
        "at M=8: it does not compile"
    )


def stored(number: int, *times_s: float) -> StoredTrial:
    """A trial with a time at each shape, as the loop stores it."""
    measurement = joined({s: right(t) for s, t in zip(SHAPES, times_s, strict=True)})
    attributes = Outcome(measurement, built()).attributes()
    config = Config({"time_ms": number})
    return StoredTrial(number, config, "correct", measurement.time_s, attributes)


def test_a_trial_keeps_what_is_needed_to_run_it_again() -> None:
    outcome = Outcome(joined({"M=8": right(1.0), "M=64": right(4.0)}), built())
    attributes = outcome.attributes()
    assert attributes["run_command"] == " && ".join(["kernel.elf data --grid 1,1,1"] * 2)
    assert "elf_sha256" not in attributes  # there is one for each shape
    shapes = attributes["shapes"]
    assert isinstance(shapes, Mapping)
    assert [shapes[shape]["time_s"] for shape in SHAPES] == [1.0, 4.0]
    assert shapes["M=8"]["elf_sha256"] == "0" * 64
    assert "1 s at M=8" in outcome.note()


def test_the_summary_says_what_the_winner_costs_at_each_shape() -> None:
    trials = [stored(0, 4.0, 9.0), stored(1, 2.0, 2.0), stored(2, 1.0, 16.0)]
    summary = summarise(trials, trials[0].config)
    assert summary.winner is trials[1]
    assert summary.shapes == {"M=8": ShapeTimes(2.0, 4.0, 1.0), "M=64": ShapeTimes(2.0, 9.0, 2.0)}
    assert summary.shapes["M=8"].cost == pytest.approx(1.0)
    assert summary.shapes["M=64"].speedup == pytest.approx(4.5)
    mean = dict(field.split("=", 1) for field in shape_lines(summary.shapes)[-1].split("\t"))
    assert float(mean["time_s"]) == pytest.approx(summary.winner.time_s)
    assert float(mean["default_time_s"]) == pytest.approx(trials[0].time_s)
    assert list(trials_table(trials)["time_s at M=64"]) == [9.0, 2.0, 16.0]


JOINT = replace(IDENTITY, more_shapes=({"M": 128, "N": 32},))


def tune(storage: str, identity: StudyIdentity = JOINT) -> None:
    search = Search(SPACE, "random", 1, open_study(storage, identity, SPACE))
    assert len(list(run(search, 12))) == 12


def test_no_reader_takes_the_study_for_one_of_a_single_shape(tmp_path: Path) -> None:
    storage = str(tmp_path / "j.journal")
    tune(storage)
    assert stored_studies(storage) == []
    assert history_of(open_study(storage, IDENTITY, SPACE), IDENTITY, SPACE) is None
    with pytest.raises(UserError, match="is about shape M=64,N=32 and M=128,N=32, not M=64,N=32"):
        open_study(storage, IDENTITY, SPACE, JOINT.name)
    with pytest.raises(UserError, match="is about shape M=64,N=32, not M=64,N=32 and M=128,N=32"):
        open_study(storage, JOINT, SPACE, IDENTITY.name)


def test_it_begins_with_the_study_that_is_near_all_its_shapes(tmp_path: Path) -> None:
    storage = str(tmp_path / "j.journal")
    near_one, near_all = {"M": 64, "N": 16}, {"M": 256, "N": 32}
    for shape in (near_one, near_all):
        tune(storage, replace(IDENTITY, shape=shape))
    wide = replace(IDENTITY, more_shapes=({"M": 1024, "N": 32},))
    past = history_of(open_study(storage, wide, SPACE), wide, SPACE)
    assert past is not None
    assert past.name == replace(IDENTITY, shape=near_all).name
    assert past.trials[0][1] == min(map(time_of, [config for config, _ in past.trials]))


def race(storage: str, noise: float, configs: Sequence[int]) -> Search:
    space = SearchSpace((Parameter("time_ms", tuple(configs)),), default=Config({"time_ms": 30}))
    search = Search(space, "random", 0, open_study(storage, JOINT, space))
    builder = functools.partial(JointBuilder, dict.fromkeys(SHAPES, FakeBuilder))
    board = functools.partial(JointBoard, FakeBoard(noise=noise))
    TuningLoop(
        search,
        BuilderPool(builder, jobs=1),
        BoardPool([BoardSource("fake", board)]),
        budget=Budget(len(configs)),
        in_flight=2,
        repeats=10,
    ).run()
    return search


@pytest.mark.long
@pytest.mark.usefixtures("workers_here")
def test_leaders_are_raced_and_compared_by_all_shapes(tmp_path: Path) -> None:
    search = race(str(tmp_path / "j.journal"), 0.005, (10, 20, 30, 60))
    default, slow = (
        next(t for t in search.trials() if t.config == {"time_ms": ms}) for ms in (30, 60)
    )
    assert (len(default.times_s), len(slow.times_s)) == (10, 2)
    shapes = default.attributes["shapes"]
    assert isinstance(shapes, Mapping)
    assert [len(shapes[shape]["times_s"]) for shape in SHAPES] == [10, 10]
    assert search.comparison is not None
    assert search.comparison.winner.config == {"time_ms": 10}
