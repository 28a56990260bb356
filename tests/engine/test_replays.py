"""Recorded spaces that are replayed, and the scores, ranks and tables made of replays."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import random

import numpy as np
import pytest

from engine.replays.ranks import differences, ranks_of
from engine.replays.recorded_space import RecordedSpace
from engine.replays.scores import Scores
from engine.replays.shipped import PARTS, SPACES, family_of, shipped_files, split
from engine.replays.space_file import Result, read_results, read_space, write_space
from engine.replays.tables import shown
from foundation.config import Config

TIMES_S = {1: 4.0, 2: None, 4: 1.0, 8: 2.0, 16: 3.0}


def small_space(costs_s=()):
    table = {Config({"BLOCK": block}): time_s for block, time_s in TIMES_S.items()}
    return RecordedSpace("small", table, costs_s=dict(zip(table, costs_s, strict=False)))


def test_the_random_curve_is_the_mean_over_all_orders() -> None:
    of = small_space()
    times = [of.worst_s if time_s is None else time_s for time_s in TIMES_S.values()]
    orders = np.array(list(itertools.permutations(times)))
    expected = np.minimum.accumulate(orders, axis=1).mean(axis=0)
    assert of.random_curve(5) == pytest.approx(expected)


def test_the_score_is_1_for_the_optimum_at_once_and_0_for_random_search() -> None:
    of = small_space()
    assert of.scores([of.best_so_far([2], 4)]) == pytest.approx(np.ones((1, 4)))
    assert of.scores([of.random_curve(4)]) == pytest.approx(np.zeros((1, 4)))


def test_scores_are_printed_as_they_are() -> None:
    assert [shown(mean, 0.104) for mean in (0.25, -0.25, -10.638, 10.638)] == [
        *(".25 (.10)", "-.25 (.10)", "-10.64 (.10)", "10.64 (.10)")
    ]


def test_a_search_that_ends_early_stays_where_it_was() -> None:
    assert small_space().best_so_far([1, None, 4], 5).tolist() == [4.0, 4.0, 3.0, 3.0, 3.0]


def test_a_costly_trial_counts_by_its_time() -> None:
    of = small_space([1.0, 1.0, 4.0, 1.0, 3.0])  # two seconds on average
    quick, slow = (of.performance_by_time(tried, 4) for tried in ([3, 2], [2, 3]))
    assert quick is not None
    assert slow is not None
    # By 4 seconds, the second one has the optimum and the first not yet.
    assert (slow[24], quick[24] < 1) == (pytest.approx(1.0), True)
    # Before that the first one leads, since its cheap trial has ended.
    assert quick[10] > slow[10]
    assert quick[-1] == slow[-1] == pytest.approx(1.0)


def test_a_written_space_is_read_as_it_was(tmp_path) -> None:
    path = tmp_path / "space.json.gz"
    results = {
        Config({"BLOCK": 8, "ORDER": "rows", "FUSED": True}): Result(1.5e-6, cost_s=2.5),
        Config({"BLOCK": 16, "ORDER": "rows", "FUSED": True}): Result(None, "compile", 1.0),
        Config({"BLOCK": 32, "ORDER": "columns", "FUSED": False}): Result(
            3e-6, cost_s=0.5, code_bytes=640
        ),
    }
    write_space(path, {"kernel": "mine", "default": {"BLOCK": 8}}, results)
    about, read = read_results(path)
    assert about["kernel"] == "mine"
    assert read == results
    space = read_space(path)
    assert (space.name, space.default, space.mean_cost_s) == ("space", {"BLOCK": 8}, 4 / 3)


def test_a_cache_of_kernel_tuner_has_times_and_costs(tmp_path) -> None:
    durations = {"compile_time": 1000.0, "verification_time": 200.0, "benchmark_time": 300.0}
    cache = {
        "tune_params_keys": ["x"],
        "kernel_name": "mine",
        "cache": {
            "1": {"x": 1, "time": 5.0, **durations},
            "2": {"x": 2, "time": "RuntimeFailedConfig", **durations},
        },
    }
    path = tmp_path / "cache.json"
    path.write_text(json.dumps(cache))
    of = read_space(path)
    assert list(of.table.values()) == [0.005, None]
    assert list(of.costs_s.values()) == pytest.approx([1.5, 1.5])
    assert family_of(of.about["kernel"]) == "mine"


def test_shipped_spaces_are_as_the_schema_says() -> None:
    files = pytest.importorskip("kernel_tuner.file_utils", reason="kernel_tuner is not installed")
    jsonschema = pytest.importorskip("jsonschema")
    path = SPACES / "emulated-x60" / "jacobi-M256-N256-fp32.json.gz"
    document = json.loads(gzip.decompress(path.read_bytes()))
    jsonschema.validate(document, files.output_file_schema("results")[1])


def test_the_halves_are_those_that_were_drawn() -> None:
    halves, seed = split().halves, 20261126
    assert sorted([*halves["development"], *halves["test"]]) == sorted(split().families)
    drawn = sorted([*halves["development"][:6], *halves["test"][:6]])
    random.Random(seed).shuffle(drawn)
    assert list(halves["development"][:6]) == drawn[:6]
    for half, families in halves.items():
        for family in families[6:]:
            assert random.Random(f"{seed} {family}").choice(("development", "test")) == half


def test_every_shipped_space_is_in_one_half_of_one_set() -> None:
    parts = [shipped_files(part) for part in PARTS]
    assert sorted(itertools.chain(*parts)) == sorted(SPACES.glob("*/*.json.gz"))
    for path in itertools.chain(*parts):
        about, _ = read_results(path)
        assert family_of(about["kernel"]) == family_of(path.name.partition("-")[0]), path


def test_the_test_half_is_what_it_was() -> None:
    """Figures of two versions can be compared only if both are of the same times."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in shipped_files("test")))
    assert digest.hexdigest()[:16] == "3d092317a032beb4"


def scores(search, means, seeds=4):
    """Scores of a search with these means on spaces a, b, ..."""
    rng = np.random.default_rng(len(search))
    curves = {
        name: mean + rng.normal(0, 0.01, (seeds, 1))
        for name, mean in zip("abcdef", means, strict=False)
    }
    return Scores(search, curves, {}, curves, None)


def test_an_interval_over_few_spaces_holds_what_it_says() -> None:
    """By the 2.5th and the 97.5th percentile, 87 of these 100 hold the mean."""
    rng = np.random.default_rng(0)
    held = 0
    for leads in rng.normal(0.2, 0.2, (100, 5)):
        [found] = differences([scores("a", leads), scores("other", [0] * 5)], list("abcde"), 1)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.2 <= found.high
    assert held >= 91
    [few] = differences([scores("a", [1] * 4), scores("other", [0] * 4)], list("abcd"), 1)
    assert (few.mean > 0.9, few.low, few.high, few.is_significant) == (True, None, None, False)


def test_a_clear_lead_is_significant_and_a_mixed_one_is_not() -> None:
    first = scores("first", [0.8, 0.7, 0.9, 0.6, 0.7])
    worse = scores("worse", [0.5, 0.4, 0.7, 0.2, 0.4])
    mixed = scores("mixed", [0.9, 0.6, 0.8, 0.68, 0.72])
    clear, even = differences([first, worse, mixed], list("abcde"), 1)
    assert clear.is_significant
    assert clear.mean == pytest.approx(0.3, abs=0.02)
    assert not even.is_significant
    assert ranks_of([first, worse, mixed], list("abcd"), 1) is None  # nor is there an interval
    ranks = ranks_of([first, worse, mixed], list("abcde"), 1)
    assert ranks is not None
    assert ranks.mean == pytest.approx({"first": 1.6, "worse": 3.0, "mixed": 1.4})
    # Nemenyi's quantile for three is 2.343 (Demsar 2006, table 5).
    assert ranks.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 5)), abs=2e-3)
