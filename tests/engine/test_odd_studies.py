"""Studies that make no sense, in a storage that others write to as well, are passed over."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from optuna.trial import TrialState
from search_helpers import IDENTITY, SPACE, time_of

from engine.repeats.comparison import kept_comparison
from engine.run.counters import counters_of
from engine.search import Search
from engine.study.history import history_of
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from engine.study.trials import StoredTrials
from engine.winners.stored import stored_studies
from foundation.config import Config

CONFIGS = list(SPACE.valid_configs())[:8]


def study(storage: Path, name: str, identity: StudyIdentity = IDENTITY) -> StoredTrials:
    """A study with a time for each of a few configurations."""
    trials = open_study(str(storage), identity, SPACE, name)
    for config in CONFIGS:
        trials.finish(trials.start(config, SPACE, {}), time_of(config), "correct", {})
    return trials


@pytest.mark.parametrize("shape", [{"N": 0}, {"N": -4}, {"N": "x"}, {"N": [1]}, {"N": True}, [], 7])
def test_a_shape_that_is_none_is_passed_over(
    shape: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = tmp_path / "t.journal"
    names = dict.fromkeys(IDENTITY.shape, "odd")
    odd = {**names, **shape} if isinstance(shape, dict) else shape
    study(storage, "odd").set_attribute("shape", odd)
    study(storage, "good")
    sentence = "the study odd was passed over, since its sizes are none"
    assert [found.name for found in stored_studies(str(storage))] == ["good"]
    assert [message.startswith(sentence) for message in caplog.messages] == [True]
    caplog.clear()
    fresh = open_study(str(storage), IDENTITY, SPACE, "new")
    past = history_of(fresh, IDENTITY, SPACE)
    assert past is not None
    assert past.name == "good"
    assert [message.startswith(sentence) for message in caplog.messages] == [True]


def test_a_study_of_several_shapes_is_not_odd(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = tmp_path / "t.journal"
    study(storage, "joint").set_attribute("shape", [dict(IDENTITY.shape)] * 2)
    assert stored_studies(str(storage)) == []
    assert caplog.messages == []


@pytest.mark.parametrize("time_s", [-5.0, 0.0, math.inf])
def test_a_time_that_is_none_does_not_win(time_s: float, tmp_path: Path) -> None:
    trials = study(tmp_path / "t.journal", "mine")
    config = list(SPACE.valid_configs())[20]
    number = trials.start(config, SPACE, {})
    trials._storage.set_trial_state_values(trials._trial_id(number), TrialState.COMPLETE, [time_s])
    best = Search(SPACE, trials=trials).best()
    assert best is not None
    assert best[0] == min(CONFIGS, key=time_of)


@pytest.mark.parametrize("values", ['{"N":[1]}', "[]", '["fast"]', "[[1]]", "null"])
def test_values_that_are_no_times_are_no_outcome(values: str, tmp_path: Path) -> None:
    storage = tmp_path / "t.journal"
    study(storage, "mine")
    config = CONFIGS[0]
    time = f'"values":[{time_of(config)!r}]'
    whole = storage.read_text()
    assert whole.count(time) == 1
    storage.write_text(whole.replace(time, f'"values":{values}'))
    found = [trial.config for trial in open_study(str(storage), IDENTITY, SPACE, "mine").changes()
             if trial.has_outcome]  # fmt: skip
    assert found == CONFIGS[1:]


def test_counters_that_are_no_numbers_are_none(tmp_path: Path) -> None:
    trials = study(tmp_path / "t.journal", "mine")
    config = Config(list(SPACE.valid_configs())[20])
    number = trials.start(config, SPACE, {})
    trials.finish(number, 1e-3, "correct", {"counters": {"cycles": 7, "loads": {"N": 0}, "x": "y"}})
    (stored,) = (trial for trial in trials.changes() if trial.number == number)
    assert counters_of(stored) == {"cycles": 7.0}


@pytest.mark.parametrize("stages", [7, [1.0], {"link": {"a": 1}}, {"link": -1.0}, {}])
def test_stages_that_are_no_times_are_none(stages: object, tmp_path: Path) -> None:
    trials = study(tmp_path / "t.journal", "mine")
    config = Config(list(SPACE.valid_configs())[20])
    number = trials.start(config, SPACE, {})
    trials.finish(number, 1e-3, "correct", {"build_stages_s": stages})
    (stored,) = (trial for trial in trials.changes() if trial.number == number)
    assert stored.build_s is None


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"contenders": 7, "noise": 0.1, "confidence": 0.95},
        {"contenders": [{"config": {}}], "noise": 0.1, "confidence": 0.95},
        {"contenders": [], "noise": "much", "confidence": 0.95},
    ],
)
def test_a_garbled_comparison_counts_as_none(stored: object) -> None:
    assert kept_comparison(stored, [], None) is None


def test_runs_that_are_no_times_are_none(tmp_path: Path) -> None:
    trials = study(tmp_path / "t.journal", "mine")
    config = Config(list(SPACE.valid_configs())[20])
    number = trials.start(config, SPACE, {})
    trials.finish(number, 1e-3, "correct", {"times_s": [1e-3, "x"]})
    (stored,) = (trial for trial in trials.changes() if trial.number == number)
    assert stored.times_s == ()
