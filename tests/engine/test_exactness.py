"""A winner that is far less exact than the default is told of."""

from __future__ import annotations

import pytest

from engine.run.exactness import note_on_exactness
from engine.run.outcome import Outcome
from engine.run.summary import summarise
from engine.study.stored_trial import StoredTrial
from foundation.config import Config
from rvv_runner.measurement import Measurement

DEFAULT, OTHER = Config({"EXACT": 1}), Config({"EXACT": 0})


def trial(
    number: int, config: Config, time_s: float, error: float | None, share: float | None = None
) -> StoredTrial:
    measured = Measurement("correct", (time_s,), max_abs_error=error, max_share=share)
    return StoredTrial(number, config, "correct", time_s, Outcome(measured).attributes())


@pytest.mark.parametrize(
    ("usual", "error", "other_s", "told"),
    [
        (1e-6, 1e-4, 1.0, True),
        (1e-6, 1e-5, 1.0, False),
        (1e-6, 1e-4, 3.0, False),
        (0.0, 1e-4, 1.0, False),
        (None, 1e-4, 1.0, False),
        (1e-6, None, 1.0, False),
    ],
    ids=["far less", "a bit less", "not the winner", "exact default", "no default's", "none"],
)
def test_a_winner_far_less_exact_than_the_default_is_told_of(usual, error, other_s, told):
    trials = [trial(0, DEFAULT, 2.0, usual), trial(1, OTHER, other_s, error)]
    notes = note_on_exactness(summarise(trials, DEFAULT))
    if told:
        assert notes == (
            "EXACT=0 is less exact: the largest error of its outputs is 0.0001, 100 times as much "
            "as of the default configuration (1e-06)",
        )
    else:
        assert notes == ()


@pytest.mark.parametrize(("share", "told"), [(0.05, True), (0.01, False)])
def test_small_elements_count_by_their_tolerance(share, told):
    trials = [trial(0, DEFAULT, 2.0, 1e-6, 1e-3), trial(1, OTHER, 1.0, 1e-6, share)]
    notes = note_on_exactness(summarise(trials, DEFAULT))
    assert notes == told * (
        "EXACT=0 is less exact: an element of its outputs is off by 0.05 of its tolerance, 50 "
        "times as much as of the default configuration (0.001)",
    )


def test_without_a_default_nothing_is_told():
    assert note_on_exactness(summarise([trial(0, OTHER, 1.0, 1e-4)], None)) == ()
