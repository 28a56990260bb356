"""The loop over a real search and real workers, with a builder and a board that do as told."""

from __future__ import annotations

import copy
import functools
import math
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
from fakes import FakeBoard, FakeBuilder
from optuna.artifacts import get_all_artifact_meta
from optuna.trial import Trial
from search_helpers import IDENTITY

from engine.run import time_limit as time_limit_module
from engine.run.budget import Budget, EndingBuilds
from engine.run.events import Event, RunEnded, RunStarted, StageStarted, TrialFinished
from engine.run.loop import TuningLoop
from engine.search import Search
from engine.study.storage import open_study
from engine.workers.artifacts import BuildFailure
from engine.workers.board_pool import BoardPool
from engine.workers.board_seat import BoardSource
from engine.workers.builders import BuilderPool
from foundation.config import Config, ParameterValue
from rvv_runner import verdict
from rvv_runner.board import BoardError
from rvv_runner.measurement import Status
from search_spaces.space import Parameter, SearchSpace

pytestmark = pytest.mark.usefixtures("ray_for_tests")

WIDE = SearchSpace(
    (Parameter("time_ms", tuple(range(1, 41))), Parameter("x", (1, 2, 3))),
    default=Config({"time_ms": 30, "x": 1}),
)


FAULTY: list[Mapping[str, ParameterValue]] = [{"run": "board", "time_ms": n} for n in range(1, 6)]
HANGING: list[Mapping[str, ParameterValue]] = [{"build": "hang", "time_ms": n} for n in range(1, 4)]


def table(*rows: Mapping[str, ParameterValue]) -> SearchSpace:
    return SearchSpace.from_configs(
        [{"build": "well", "run": "correct", "time_ms": 1, **row} for row in rows]
    )


class Run:
    """One run of the loop, and the events it told of."""

    def __init__(
        self,
        space: SearchSpace,
        *,
        search: Search | None = None,
        trials: int = 100,
        timeout_s: float | None = None,
        begun_s: float | None = None,
        boards: Iterable[FakeBoard] = (FakeBoard(),),
        builder: FakeBuilder | None = None,
        in_flight: int = 3,
        jobs: int = 1,
        build_limit_s: float = 100,
        deterministic: bool = True,
        ending_builds: EndingBuilds = "none",
    ) -> None:
        self.events: list[Event] = []
        self.search = search or Search(space, seed=1)
        self.loop = TuningLoop(
            self.search,
            BuilderPool(
                functools.partial(copy.copy, builder or FakeBuilder()), jobs, limit_s=build_limit_s
            ),
            BoardPool(
                [BoardSource("fake", functools.partial(copy.copy, board)) for board in boards]
            ),
            budget=Budget(trials, timeout_s, begun_s, ending_builds=ending_builds),
            in_flight=in_flight,
            repeats=1,
            deterministic=deterministic,
            listeners=[self.events.append],
        )

    def configs(self) -> list[str]:
        return [str(event.config) for event in self.finished()]

    def finished(self) -> list[TrialFinished]:
        return [event for event in self.events if isinstance(event, TrialFinished)]


def test_tells_of_its_beginning_each_trial_and_its_end() -> None:
    run = Run(WIDE, trials=6)
    ended = run.loop.run()
    assert isinstance(run.events[0], RunStarted)
    assert run.events[-1] == ended
    assert [event.standing.tried for event in run.finished()] == [1, 2, 3, 4, 5, 6]
    assert (ended.reason, ended.tried, ended.measured) == ("trials", 6, 6)
    first, last = run.finished()[0], run.finished()[-1]
    assert first.config == WIDE.default
    assert last.standing.default_time_s == pytest.approx(0.030)
    assert last.standing.best is not None
    assert last.standing.best[1] == min(event.measurement.time_s or 1 for event in run.finished())


def test_a_small_space_is_counted_to_its_size_and_the_first_build_is_told() -> None:
    run = Run(table({"time_ms": 1}, {"time_ms": 2}, {"time_ms": 3}), trials=50)
    assert run.loop.run().reason == "exhausted"
    standings = [event.standing for event in run.finished()]
    assert [(standing.tried, standing.trials) for standing in standings] == [(1, 3), (2, 3), (3, 3)]
    assert run.events[1] == StageStarted("building the first configuration")


def test_a_bad_configuration_keeps_its_status_and_reason_and_the_run_goes_on() -> None:
    bad: list[Mapping[str, ParameterValue]] = [
        {"build": "fail"},
        {"build": "die"},
        {"run": "runtime"},
        {"run": "timeout"},
        {"run": "wrong"},
    ]
    run = Run(table(*bad, {"time_ms": 7}))
    assert run.loop.run().reason == "exhausted"
    stored = {
        (str(trial.config["build"]), str(trial.config["run"])): trial
        for trial in run.search.trials()
    }
    assert {key: trial.status for key, trial in stored.items()} == {
        ("fail", "correct"): "compile",
        ("die", "correct"): "compile",
        ("well", "runtime"): "runtime",
        ("well", "timeout"): "timeout",
        ("well", "wrong"): "wrong",
        ("well", "correct"): "correct",
    }
    assert stored["well", "wrong"].attributes["reason"] == "the fake board says wrong"
    best = run.search.best()
    assert best is not None
    assert best[1] == pytest.approx(0.007)


def test_a_build_that_hangs_ends_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "_LEAST_SHARE", 1e-9)  # it hangs on a busy machine, too
    # Alone: on a slow machine the others would reach its limit while their process starts.
    run = Run(table({"build": "hang"}), build_limit_s=8)
    assert run.loop.run().reason == "exhausted"
    (trial,) = run.search.trials()
    assert trial.status == "compile"
    assert trial.attributes["reason"] == "the build took longer than 8 s"


def test_where_order_matters_others_wait_for_a_slow_build() -> None:
    space = table({"build": "hang"}, *({"time_ms": n} for n in range(1, 9)))
    # The grid begins with the slow one.
    run = Run(space, search=Search(space, "grid"), in_flight=2, jobs=2, build_limit_s=3)
    assert run.loop.run().reason == "exhausted"
    assert [event.config["build"] for event in run.finished()].index("hang") == 0


def test_where_order_does_not_matter_nobody_waits_for_a_slow_build(tmp_path: Path) -> None:
    others = [{"time_ms": n} for n in range(1, 9)]
    space = table({"build": "after-8"}, *others)
    run = Run(
        space,
        search=Search(space, "grid"),
        boards=[FakeBoard(log=tmp_path / "log")],
        builder=FakeBuilder(log=tmp_path / "log"),
        in_flight=2,
        jobs=2,
        deterministic=False,
    )
    assert run.loop.run().reason == "exhausted"
    builds = [event.config["build"] for event in run.finished()]
    assert builds == [*["well"] * len(others), "after-8"]


def test_what_no_board_can_measure_twice_is_set_aside_and_given_back(tmp_path: Path) -> None:
    rows: list[Mapping[str, ParameterValue]] = [{"time_ms": n} for n in (1, 2, 3)]
    space = table({"run": "board"}, *rows)
    run = Run(space, in_flight=1)
    ended = run.loop.run()
    assert (ended.reason, ended.tried) == ("exhausted", 3)
    assert [e.measurement.status for e in run.finished()].count("board") == 2
    assert run.search.ask() is not None  # it is free again, for the next run


def test_boards_that_measure_nothing_end_the_run() -> None:
    run = Run(table(*FAULTY), in_flight=1)
    with pytest.raises(BoardError, match="3 configurations in a row"):
        run.loop.run()
    assert run.search.tried == 0


def test_boards_that_measure_now_and_then_are_not_blamed(tmp_path: Path) -> None:
    space = table(*({"time_ms": n} for n in range(1, 7)))
    run = Run(space, in_flight=1, boards=[FakeBoard(tmp_path / "log", faults=(0, 1, 3, 4))])
    ended = run.loop.run()
    assert (ended.reason, ended.tried) == ("exhausted", 2)


def test_a_default_that_had_bad_luck_is_measured_after_all(tmp_path: Path) -> None:
    space = table({"build": "starve-once", "time_ms": 4}, *({"time_ms": n} for n in range(5, 9)))
    default = Config({"build": "starve-once", "run": "correct", "time_ms": 4})
    run = Run(
        replace(space, default=default),
        trials=3,
        in_flight=1,
        build_limit_s=5,
        builder=FakeBuilder(tmp_path / "log"),
    )
    assert run.loop.run().tried == 3
    assert [event.measurement.status for event in run.finished()].count("board") == 1
    assert run.search.default_time_s == pytest.approx(0.004)


def test_the_end_is_told_after_an_error_too() -> None:
    run = Run(table(*FAULTY), in_flight=1)
    with pytest.raises(BoardError):
        run.loop.run()
    assert isinstance(run.events[-1], RunEnded)
    assert run.events[-1].reason == "failed"


def test_candidates_get_ten_times_as_long_as_the_default_took_in_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_limit_module, "_LEAST_LIMIT_S", 0.0)
    log, storage = tmp_path / "log", str(tmp_path / "t.journal")

    def limits_s(trials: int) -> list[float]:
        log.unlink(missing_ok=True)
        search = Search(WIDE, seed=1, trials=open_study(storage, IDENTITY, WIDE))
        Run(WIDE, search=search, trials=trials, boards=[FakeBoard(log, delay_s=0.2)]).loop.run()
        lines = log.read_text().splitlines()
        return [float(line.split()[1]) for line in lines if line.startswith("limit ")]

    of_default_s, *of_others_s = limits_s(4)
    assert of_default_s == 600
    assert len(of_others_s) == 3
    assert len(set(of_others_s)) == 1
    assert 2 <= of_others_s[0] < 100
    assert limits_s(6) == of_others_s[:2]


def test_every_trial_has_a_note_and_those_that_led_their_assembly(tmp_path: Path) -> None:
    for suffix in (".s", ".llir"):
        (tmp_path / f"kernel{suffix}").write_text(suffix)
    storage = tmp_path / "t.journal"
    search = Search(WIDE, seed=1, trials=open_study(str(storage), IDENTITY, WIDE))
    builder = FakeBuilder(elf=tmp_path / "kernel.elf")
    Run(WIDE, search=search, trials=12, builder=builder).loop.run()
    best_s, led = math.inf, []
    for trial in search.trials():
        assert trial.time_s is not None
        if trial.time_s < best_s:
            best_s = trial.time_s
            led.append(trial.number)
    stored = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(storage))
    )
    study = optuna.load_study(study_name=IDENTITY.name, storage=stored)
    kept = {
        trial.number: {meta.filename for meta in get_all_artifact_meta(trial, storage=stored)}
        for trial in study.trials
    }
    # It takes a second to import, which every process of tests would spend.
    from optuna_dashboard import get_note

    notes = {trial.number: get_note(Trial(study, trial._trial_id)) for trial in study.trials}
    assert all(note.startswith("**correct**") for note in notes.values())
    assert all("kernel.elf" in note and "vector_inst" in note for note in notes.values())
    assert {number for number, names in kept.items() if names} == set(led)
    assert all(kept[number] == {"kernel.s", "kernel.llir"} for number in led)
    assert 1 < len(led) < 12


def test_the_same_run_twice_whichever_board_is_quicker() -> None:
    boards = (FakeBoard(delay_s=0.002), FakeBoard(delay_s=0.05))
    runs = [Run(WIDE, trials=16, boards=order) for order in (boards, boards[::-1])]
    for run in runs:
        run.loop.run()
    assert runs[0].configs() == runs[1].configs()
    assert len(set(runs[0].configs())) == 16


def test_boards_measure_at_the_same_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run = Run(WIDE, trials=5, boards=[FakeBoard(log, delay_s=1.0)] * 2, in_flight=4)
    run.loop.run()
    measuring, most = 0, 0
    for line in log.read_text().splitlines():
        measuring += line.startswith("measure ") - line.startswith("measured ")
        most = max(most, measuring)
    assert most == 2


def test_a_stop_ends_what_is_under_way_and_gives_it_back() -> None:
    run = Run(WIDE, boards=[FakeBoard(delay_s=600)])
    threading.Timer(1.0, run.loop.stop).start()
    assert run.loop.run().reason == "interrupted"
    assert run.search.tried == 0
    assert run.search.ask() == WIDE.default
    assert run.events[-2] == StageStarted("stopping, what was measured is kept")


def stop_once_one_is_measured(run: Run, log: Path) -> None:
    def stop() -> None:
        deadline_s = time.monotonic() + 200
        while "measured " not in log.read_text() and time.monotonic() < deadline_s:
            time.sleep(0.05)
        time.sleep(0.5)  # for the answer to travel
        run.loop.stop()

    log.touch()
    threading.Thread(target=stop).start()
    assert run.loop.run().reason == "interrupted"


def test_a_stop_keeps_what_is_measured_already(tmp_path: Path) -> None:
    """The first of two is still under way, and the second is done."""
    log = tmp_path / "log"
    space = table({"time_ms": 1}, {"time_ms": 2})
    boards = [FakeBoard(log, delay_s=600, quick_after=1)] * 2
    run = Run(space, boards=boards, in_flight=2, deterministic=False)
    stop_once_one_is_measured(run, log)
    [finished] = run.finished()
    assert finished.measurement.status == "correct"
    assert run.search.tried == 1
    assert run.search.ask() not in (finished.config, None)  # the other one is free again


def test_where_order_matters_a_stop_leaves_no_gap(tmp_path: Path) -> None:
    """A search that is resumed asks for the first again, from what was known then."""
    log = tmp_path / "log"
    space = table({"build": "hang"}, {"time_ms": 1}, {"time_ms": 2})
    search = Search(space, "grid")
    run = Run(space, search=search, boards=[FakeBoard(log)], in_flight=2, jobs=2)
    stop_once_one_is_measured(run, log)
    assert (run.finished(), search.tried) == ([], 0)


def test_nothing_new_starts_after_the_time_is_up() -> None:
    run = Run(WIDE, timeout_s=1.0, boards=[FakeBoard(delay_s=0.3)], in_flight=2)
    ended = run.loop.run()
    assert ended.reason == "timeout"
    assert 1 <= ended.measured <= 6
    assert ended.measured == run.search.tried


@pytest.mark.parametrize(("ending", "measured"), [("all", 0), ("all but the first", 1)])
def test_builds_end_with_the_time_where_asked(ending: EndingBuilds, measured: int) -> None:
    """The first takes longer than that, and the others would not end."""
    space = table({}, *HANGING)
    first = Config({"build": "well", "run": "correct", "time_ms": 1})
    run = Run(
        replace(space, default=first),
        builder=FakeBuilder(delay_s=0.5),
        timeout_s=0.2,
        in_flight=3,
        jobs=2,
        ending_builds=ending,
        deterministic=False,
    )
    assert run.loop.run().measured == measured
    assert run.search.tried == measured
    assert [trial.config for trial in run.search.trials()] == [first] * measured
    assert run.search.ask() is not None  # it was given back


@pytest.mark.parametrize(("ending", "measured"), [("all", 0), ("all but the first", 1)])
def test_a_time_that_is_over_at_once_has_room_for_the_first(
    ending: EndingBuilds, measured: int
) -> None:
    run = Run(WIDE, timeout_s=1.0, begun_s=time.monotonic() - 2.0, ending_builds=ending)
    ended = run.loop.run()
    assert (ended.reason, ended.measured) == ("timeout", measured)


def test_the_first_build_does_not_go_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.run.budget._MORE_FOR_FIRST_S", 0.3)
    run = Run(
        table(*HANGING), timeout_s=0.2, ending_builds="all but the first", deterministic=False
    )
    ended = run.loop.run()
    assert (ended.reason, ended.measured) == ("timeout", 0)


def test_a_build_under_way_ends_with_the_time() -> None:
    pool = BuilderPool(FakeBuilder, jobs=1)
    try:
        assert not isinstance(pool.build(Config({})), BuildFailure)  # its process is there
        left = pool.build(Config({"build": "hang"}), end_s=time.monotonic() + 0.5)
        assert isinstance(left, BuildFailure)
        assert (left.status, "time of the run was over" in left.reason) == ("board", True)
        assert not isinstance(pool.build(Config({})), BuildFailure)
    finally:
        pool.close()


@pytest.mark.parametrize("outcome", ["correct", "board"])
def test_the_last_trial_may_be_another_tuners(tmp_path: Path, outcome: Status) -> None:
    """Two tuners make no more trials together than one; what the other gives back is made here."""
    storage = str(tmp_path / "j.journal")
    theirs = Search(WIDE, seed=1, trials=open_study(storage, IDENTITY, WIDE))
    held = theirs.ask()
    assert held is not None
    ours = Search(WIDE, seed=2, trials=open_study(storage, IDENTITY, WIDE))
    run = Run(WIDE, trials=5, search=ours)

    def end_theirs() -> None:
        while len(run.finished()) < 4:
            time.sleep(0.05)
        time.sleep(1)  # in which no fifth is begun
        assert len(run.finished()) == 4
        theirs.tell(held, 0.03 if outcome == "correct" else None, status=outcome)

    other = threading.Thread(target=end_theirs)
    other.start()
    ended = run.loop.run()
    other.join()
    assert (ended.reason, ended.tried) == ("trials", 5)
    assert ended.measured == (4 if outcome == "correct" else 5)
