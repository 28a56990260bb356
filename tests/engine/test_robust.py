"""Trials with times under several models: how they are ordered, and what is said of the winner."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from rich.console import Console

from engine import regret
from engine.results.advice import advice
from engine.results.robust_table import robust_lines, robust_record, robust_table
from engine.run.summary import summarise
from engine.search import Search
from engine.search.model.candidates import Candidates
from engine.search.model.mean_regret import by_mean_regret
from engine.search.model.search_state import SearchState
from engine.study.identity import StudyIdentity
from engine.study.robust import ROBUST, model_regrets, score_s
from engine.study.storage import open_study
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from engine.winners.lookup import wanted
from foundation.config import Config
from foundation.errors import UserError
from search_spaces import vector_add
from search_spaces.space import Parameter, SearchSpace

NAMES = ("default", "prefetch-ignored", "fast-dram")
# The first is best under two models and bad under one; the second nearly as good under all.
TIMES_S = {
    8: (1.0, 3.0, 0.9),
    16: (1.02, 1.0, 0.92),
    32: (1.2, 0.98, 1.0),
    64: (4.0, 4.0, 4.0),
}
SPACE = SearchSpace((Parameter("BLOCK_SIZE", tuple(TIMES_S)),))


def models_s(block: int) -> dict[str, float]:
    return dict(zip(NAMES, TIMES_S[block], strict=True))


def trial(number: int, block: int, times_s: Mapping[str, float] | None = None) -> StoredTrial:
    found = models_s(block) if times_s is None else times_s
    attributes = {"models_s": found, "estimated": True}
    config = Config({"BLOCK_SIZE": block})
    return StoredTrial(number, config, "correct", TIMES_S[block][0], attributes)


TRIALS = [trial(number, block) for number, block in enumerate(TIMES_S)]


@pytest.mark.parametrize(("robust", "block"), [("mean", 16), ("worst", 16), ("off", 8)])
def test_the_winner_is_the_one_that_is_asked_for(robust, block):
    summary = summarise(TRIALS, None, robust=robust)
    assert summary.winner is not None
    assert summary.winner.config["BLOCK_SIZE"] == block


def test_regrets_are_over_the_fastest_under_each_model():
    regrets = model_regrets(TRIALS)
    assert regrets is not None
    assert regrets.of(TRIALS[0]) == {
        "default": 0,
        "prefetch-ignored": pytest.approx(3 / 0.98 - 1),
        "fast-dram": 0,
    }
    assert regrets.worst(TRIALS[2]) == pytest.approx(0.2)
    expected = (1.02 * (1 / 0.98) * (0.92 / 0.9)) ** (1 / 3) - 1
    assert regrets.mean(TRIALS[1]) == pytest.approx(expected)


def test_between_equal_means_the_lower_worst_regret_wins():
    even = {"default": 1.01, "prefetch-ignored": 1.01, "fast-dram": 1.01}
    uneven = {"default": 1.0, "prefetch-ignored": 1.029, "fast-dram": 1.0}
    floor = {"default": 2.0, "prefetch-ignored": 1.0, "fast-dram": 2.0}
    trials = [trial(0, 8, uneven), trial(1, 16, even), trial(2, 32, floor)]
    regrets = model_regrets(trials)
    assert regrets is not None
    assert regrets.mean(trials[0]) < regrets.mean(trials[1])
    assert regrets.weighted_mean(trials[0]) == pytest.approx(1.029 ** (3 / 5) - 1)
    assert summarise(trials, None).winner is trials[1]
    free = np.zeros(len(TIMES_S), dtype=bool)
    known = {each.number: each.models_s for each in trials}
    times_s = {each.number: each.time_s for each in trials}
    state = SearchState(
        Candidates(SPACE), free, list(known), times_s, np.random.default_rng(0), models_s=known
    )
    assert by_mean_regret(replace(state, robust="mean")).fastest(1) == [1]
    assert by_mean_regret(state) is state


def test_the_third_trial_has_the_largest_blocks_where_models_count():
    def third(robust):
        values = tuple(range(1, 17))
        parameters = Parameter("A", values), Parameter("B", values)
        space = SearchSpace(parameters, default=Config({"A": 4, "B": 4}))
        return [Search(space, seed=seed, robust=robust).ask(3)[2] for seed in range(3)]

    assert third("mean") == 3 * [Config({"A": 16, "B": 16})]
    assert third("off") != third("mean")


def test_a_search_sees_the_order_of_the_mean_regrets_before_the_fastest_are_known():
    regrets = model_regrets(TRIALS)
    assert regrets is not None
    by_score = sorted(TRIALS, key=lambda each: score_s(each, "mean", {}) or math.inf)
    assert by_score == sorted(TRIALS, key=regrets.mean)


def test_for_the_worst_regret_a_search_weighs_models_by_a_reference():
    reference = models_s(32)
    scores = [score_s(each, "worst", reference) for each in TRIALS]
    assert scores == [pytest.approx(1.2 * ratio) for ratio in (3 / 0.98, 1 / 0.98, 1.0, 4 / 0.98)]


def test_the_worst_regret_is_looked_for_by_each_models_times_and_not_near_the_default():
    # The default is best under one model and far from it under the other, so times over its own
    # would have the other count too little.
    def times_s(a: int, b: int) -> dict[str, float]:
        far = abs(a - 2) / 5 + abs(b - 5) / 10, abs(a - 8) / 5 + abs(b - 10) / 10
        return {"default": math.exp(far[0]), "prefetch-ignored": 9 * math.exp(far[1])}

    sixteen = tuple(range(16))
    parameters = Parameter("A", sixteen), Parameter("B", sixteen)
    search = Search(SearchSpace(parameters, default=Config({"A": 2, "B": 5})), robust="worst")
    worst = []
    for _ in range(12):
        config = search.ask()
        assert config is not None
        found = times_s(int(config["A"]), int(config["B"]))
        search.tell(config, found["default"], attributes={"models_s": found})
        worst.append(max(found["default"], found["prefetch-ignored"] / 9))
    assert min(worst) < 2.8  # 2.46 is the least there is


def test_times_of_a_clock_are_left_alone():
    clocked = [trial(number, block, {}) for number, block in enumerate(TIMES_S)]
    summary = summarise(clocked, None)
    assert summary.winner is clocked[0]
    assert summary.robustness is None
    assert [score_s(each, "mean", {}) for each in clocked] == [each.time_s for each in clocked]


def test_trials_of_other_families_are_ordered_by_time_alone():
    mixed = [*TRIALS, trial(9, 8, {"default": 1.0, "another": 2.0})]
    assert model_regrets(mixed) is None


def test_a_winner_that_holds_is_called_safe_and_one_that_does_not_says_what_to_measure():
    safe = summarise(TRIALS, None).robustness
    assert safe is not None
    assert safe.is_safe
    assert safe.verdict == "holds under all 3 models: it loses at most 2.2%"
    assert safe.to_measure == ()
    alone = summarise(TRIALS[:1], None).robustness
    assert alone is not None
    assert alone.verdict == (
        "is the fastest trial under all 3 models; if software prefetches do nothing, it takes 3.0 "
        "times as long"
    )
    bold = summarise(TRIALS, None, robust="off").robustness
    assert bold is not None
    assert not bold.is_safe
    assert bold.worst.name == "prefetch-ignored"
    assert "if software prefetches do nothing, it loses 206%" in bold.verdict
    assert [each.config["BLOCK_SIZE"] for each in bold.to_measure] == [8, 32]


def test_a_winner_that_is_slower_by_the_default_model_says_what_it_is_for():
    times_s = {8: (1.0, 3.0, 0.9), 16: (1.1, 1.0, 0.99)}
    trials = [
        trial(number, block, dict(zip(NAMES, times, strict=True)))
        for number, (block, times) in enumerate(times_s.items())
    ]
    found = summarise(trials, None).robustness
    assert found is not None
    assert found.verdict == (
        "is 10% slower than another one by the default model of the core, which loses 200% if "
        "software prefetches do nothing; measure these two on a board"
    )
    assert [each.config["BLOCK_SIZE"] for each in found.to_measure] == [16, 8]


@pytest.mark.parametrize(
    ("winner_s", "says"),
    [
        ((1.0, 1.0, 1.0), "; if {no}, the winner runs at an estimated 0.97x the default's speed."),
        ((1.0, 0.9, 1.0), "checked."),  # also without prefetches it gains
        (
            (1.0, 1.0, 1.45),
            "; if DRAM is 30% faster, the winner runs at an estimated 0.94x the default's speed, "
            "and the choice changes under 1 other model, too.",
        ),
    ],
)
def test_what_a_gain_over_the_default_rests_on_is_told(winner_s, says):
    """The winner takes no more than 1.25 times as long without prefetches: the default decides."""
    default = trial(0, 64, dict(zip(NAMES, (1.5, 0.97, 1.36), strict=True)))
    trials = [replace(default, time_s=1.5), trial(1, 8, dict(zip(NAMES, winner_s, strict=True)))]
    summary = summarise(trials, trials[0].config, robust="off")
    assert advice(summary).startswith("Use the winner: 1.50x the default, by a model that no real")
    assert advice(summary).endswith(says.format(no="software prefetches do nothing"))


@pytest.mark.parametrize(("ignored_s", "ratio"), [(1.2, ""), (2.8, "2.8")])
@pytest.mark.parametrize("board", ["emulated:x60", "emulated:x100"])
def test_the_time_without_prefetches_stands_beside_one_that_it_differs_from(
    board, ignored_s, ratio
):
    one = trial(0, 64, dict(zip(NAMES, (1.0, ignored_s, 1.0), strict=True)))
    one = replace(one, attributes={**one.attributes, "estimated": True, "board": board})
    summary = summarise([one], one.config)
    says = f"{ratio} times as long if software prefetches do nothing"
    assert summary.estimate.endswith(f", {says}") == bool(ratio)
    assert advice(summary).endswith(f" It takes {says}.") == bool(ratio)
    assert "prefetches" not in summary.estimate_of_all


@pytest.mark.parametrize(
    ("default_s", "use", "says"),
    [
        ((1.15, 1.15, 1.15), 8, "12% or more."),
        ((1.15, 0.97, 1.15), 8, "the winner runs at an estimated 0.97x the default's speed."),
        ((1.08, 1.08, 1.08), 64, "differ by less than 12%: use the default."),
    ],
)
def test_a_gain_that_published_pairs_confirm_is_no_tie(default_s, use, says):
    counts = {"vector_inst": 9.0, "vector_load_inst": 4.0, "scalar_loads": 2.0}  # computing
    more = {"board": "emulated:x60", "counters": {"u_mode_cycle": 1e6, **counts}}
    times_s = {8: (1.0, 1.0, 1.0), 64: default_s}
    trials = [
        replace(found, time_s=times[0], attributes={**found.attributes, **more})
        for number, (block, times) in enumerate(times_s.items())
        for found in [trial(number, block, dict(zip(NAMES, times, strict=True)))]
    ]
    summary = summarise(trials, trials[1].config, robust="off")
    assert summary.to_use is not None
    assert summary.to_use.config["BLOCK_SIZE"] == use
    assert summary.tied(trials[1]) == (use == 64)
    assert advice(summary).endswith(says)


def test_lines_and_json_say_the_same():
    found = summarise(TRIALS, None).robustness
    assert found is not None
    lines, record = robust_lines(found), robust_record(found)
    assert len(lines) == len(NAMES) + 1
    assert "winner_loses=0.0200\tdefault_choice_loses=0.0000" in lines[0]
    assert record["safe"] is True
    assert record["worst_loss"] == pytest.approx(0.92 / 0.9 - 1)
    models = record["models"]
    assert isinstance(models, list)
    assert [each["name"] for each in models] == list(NAMES)


def test_what_the_table_is_ordered_by_is_a_row_of_it():
    found = summarise(TRIALS, None).robustness
    assert found is not None
    console = Console(file=io.StringIO(), width=120)
    console.print(robust_table(found, str))
    printed = " ".join(cast("io.StringIO", console.file).getvalue().split())
    # Over 0.98 under the second model and 0.9 under the third; the worst counts three times.
    weighted = (1.02 * (1 / 0.98) * (0.92 / 0.9) ** 3) ** (1 / 5) - 1
    assert f"weighted mean {weighted:.1%} " in printed
    assert "the lowest weighted mean loss, the worst counted three times" in printed
    assert f"\tweighted_mean_loss={weighted:.4f}\t" in robust_lines(found)[-1]


def test_a_search_learns_scores_and_names_the_robust_winner():
    def best(robust):
        trials = StoredTrials.in_memory()
        search = Search(SPACE, "random", 0, trials, robust=robust)
        while (config := search.ask()) is not None:
            block = int(config["BLOCK_SIZE"])
            times_s = models_s(block)
            search.tell(config, times_s["default"], attributes={"models_s": times_s})
        found = search.best()
        assert found is not None
        return search.order, *found

    assert best("mean") == ("weighted_mean_loss", Config({"BLOCK_SIZE": 16}), 1.02)
    assert best("off") == ("time", Config({"BLOCK_SIZE": 8}), 1.0)


def _store(storage, robust=None):
    about = wanted("vector_add", {"N": 64}, None, "emulated:x60")
    identity = StudyIdentity("vector_add", {"N": 64}, "fp32", about.device, "auto", about.made_with)
    trials = open_study(str(storage), identity, SPACE)
    for block in TIMES_S:
        number = trials.start(Config({"BLOCK_SIZE": block}), SPACE, {})
        attributes = {"estimated": True, "models_s": models_s(block)}
        trials.finish(number, TIMES_S[block][0], "correct", attributes)
    if robust is not None:
        trials.set_attribute(ROBUST, robust)


@pytest.mark.parametrize(("robust", "block"), [(None, 16), ("worst", 16), ("off", 8)])
def test_the_stored_winner_is_the_one_that_the_run_named(monkeypatch, tmp_path, robust, block):
    monkeypatch.setattr(vector_add, "space", lambda problem, board: SPACE)
    _store(tmp_path / "t.journal", robust)
    import engine

    found = engine.lookup(
        "vector_add", N=64, device="emulated", storage=str(tmp_path / "t.journal")
    )
    assert found.config["BLOCK_SIZE"] == block


def test_regret_compares_the_models_of_one_emulated_board(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(vector_add, "space", lambda problem, board: SPACE)
    _store(tmp_path / "t.journal")
    words = ["vector_add", "--storage", str(tmp_path / "t.journal"), "--out", str(tmp_path)]
    assert regret.main([*words, "--device", "emulated"]) == 0
    said = capsys.readouterr().out
    assert "least worst: BLOCK_SIZE=16 (at most 2% slower)" in said
    assert "winner of prefetch-ignored: BLOCK_SIZE=32" in said


def test_regret_of_one_real_board_is_refused(tmp_path):
    with pytest.raises(UserError, match="give several with --device NAME,NAME"):
        regret.main(["vector_add", "--device", "host", "--out", str(tmp_path)])


def test_robust_where_times_are_measured_is_refused():
    import engine

    with pytest.raises(UserError, match="measures times and has no models: leave out --robust"):
        engine.tune("vector_add", device="host", robust="worst", trials=1)
    with pytest.raises(UserError, match="no value of robust named best"):
        engine.tune("vector_add", robust=cast("Any", "best"), trials=1)
