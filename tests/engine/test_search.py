"""What every sampler has to keep to, whichever proposes."""

from __future__ import annotations

import time
import warnings
from itertools import islice
from pathlib import Path
from typing import get_args

import pytest
from optuna.distributions import CategoricalDistribution, IntDistribution
from pairs import in_turn
from search_helpers import IDENTITY, SPACE, run, time_of

from engine.repeats.preference import preference
from engine.search import Search
from engine.search.samplers.encoding import Encoding
from engine.search.samplers.registry import SAMPLERS
from engine.study.storage import open_study
from foundation.config import Config
from foundation.errors import UserError
from rvv_runner.measurement import Status
from search_spaces.space import Parameter, Rule, SearchSpace

AVOIDING = ("auto", "gp", "tpe", "ga")  # what fails; cmaes takes more trials to learn that
LEARNING = (*AVOIDING, "cmaes")
VALID = frozenset(SPACE.valid_configs())


# Of Optuna's own; what they keep between proposals beyond their trials, a new process begins anew.
FOREIGN = ("optuna.samplers.NSGAIISampler", "optuna.samplers.QMCSampler")
FORGETFUL = ("optuna.samplers.QMCSampler",)


ALL = (*sorted(SAMPLERS), *FOREIGN)
FAILURES = [status for status in get_args(Status) if status not in ("correct", "board")]


# What no sampler has of its own is shown by the default, by the simplest and by one of Optuna's.
SHORT = ("auto", "random", "optuna.samplers.NSGAIISampler")


@pytest.fixture(
    params=[pytest.param(name, marks=() if name in SHORT else pytest.mark.long) for name in ALL]
)
def sampler(request: pytest.FixtureRequest) -> str:
    return request.param


# A tree is asked for each configuration, which takes seconds where all are wanted.
@pytest.mark.parametrize(
    "sampler",
    [pytest.param(name, marks=pytest.mark.long if name == "tpe" else ()) for name in ALL],
)
def test_every_valid_configuration_comes_once_and_no_other(sampler: str) -> None:
    asked = list(run(Search(SPACE, sampler), 10_000))
    assert len(asked) == len(VALID)
    assert frozenset(asked) == VALID


def test_after_the_last_there_is_none(sampler: str) -> None:
    search = Search(SPACE, sampler)
    asked = list(iter(search.ask, None))
    assert len(asked) == len(VALID)
    assert search.ask() is None
    search.tell(asked[3], 1.0)
    assert search.ask() is None
    search.tell(asked[4], None, status="board")
    assert search.ask() == asked[4]


def test_the_default_comes_first_and_its_time_is_known(sampler: str) -> None:
    search = Search(SPACE, sampler, seed=5)
    assert search.default_time_s is None
    first = search.ask()
    assert first == SPACE.default
    search.tell(first, 0.25)
    assert search.default_time_s == 0.25
    assert search.ask() != SPACE.default


def test_open_proposals_differ(sampler: str) -> None:
    search = Search(SPACE, sampler)
    list(run(search, 15))
    batch = [search.ask() for _ in range(12)]
    assert len(set(batch)) == 12
    for config in reversed(batch):
        search.tell(config, time_of(config))
    assert search.tried == 27


def test_a_batch_is_so_many_at_once(sampler: str) -> None:
    one_by_one, batched = Search(SPACE, sampler, 1), Search(SPACE, sampler, 1)
    batch = batched.ask(6)
    assert batch == [one_by_one.ask() for _ in range(6)]
    for config in batch:
        batched.tell(config, time_of(config))
    rest = batched.ask(20)
    assert len({*batch, *rest}) == len(batch) + len(rest) == 26


@pytest.mark.parametrize("name", ["auto", pytest.param("random", marks=pytest.mark.long)])
def test_a_batch_ends_with_the_space(name: str) -> None:
    search = Search(SPACE, name)
    assert frozenset(search.ask(10_000)) == VALID
    assert search.ask(3) == []


@pytest.mark.parametrize(("sampler", "status"), in_turn(ALL, FAILURES))
def test_a_failure_is_not_tried_again(sampler: str, status: Status) -> None:
    search = Search(SPACE, sampler)
    failed = set()
    for _ in range(20):
        config = search.ask()
        assert config not in failed
        failed.add(config)
        search.tell(config, None, status=status, attributes={"reason": "it is made to fail"})
    assert search.best() is None
    assert search.tried == (0 if status == "constraint" else 20)
    rest = list(run(search, search.tried + 20))
    assert len(rest) == 20
    assert failed.isdisjoint(rest)
    assert search.best() == min(((c, time_of(c)) for c in rest), key=lambda pair: pair[1])


def test_a_fault_of_the_board_gives_the_configuration_back(sampler: str) -> None:
    search = Search(SPACE, sampler)
    list(run(search, 12))
    lost = search.ask()
    search.tell(lost, None, status="board")
    assert search.tried == 12
    assert lost in run(search, 10_000)


def fastest(tried: list[Config]) -> tuple[Config, float]:
    """The fastest, of equally fast ones the one that is preferred."""
    config = min(tried, key=lambda config: (time_of(config), preference(config)))
    return config, time_of(config)


def test_the_best_is_the_fastest(sampler: str) -> None:
    search = Search(SPACE, sampler)
    asked = list(run(search, 30))
    assert search.best() == fastest(asked)
    assert [trial.config for trial in search.trials()] == asked


def test_one_seed_gives_one_sequence(sampler: str) -> None:
    once, again = (list(run(Search(SPACE, sampler, seed=3), 30)) for _ in range(2))
    assert once == again


@pytest.mark.parametrize(
    "name",
    [
        *SAMPLERS,
        *FOREIGN,
        "optuna.samplers.TPESampler",
        "optuna.samplers.CmaEsSampler",
        "optuna.samplers.GPSampler",
    ],
)
def test_no_sampler_warns(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(run(Search(SPACE, name), 13))) == 13


def test_another_seed_gives_another_sequence(sampler: str) -> None:
    if sampler in ("grid", "spread", "optuna.samplers.QMCSampler"):
        pytest.skip("there is no chance in it")
    assert list(run(Search(SPACE, sampler, 3), 12)) != list(run(Search(SPACE, sampler, 4), 12))


def test_the_order_of_telling_does_not_matter(sampler: str) -> None:
    forwards, backwards = Search(SPACE, sampler, 1), Search(SPACE, sampler, 1)
    for _ in range(10):
        batch = [forwards.ask() for _ in range(4)]
        assert [backwards.ask() for _ in range(4)] == batch
        for config in batch:
            forwards.tell(config, time_of(config))
        for config in reversed(batch):
            backwards.tell(config, time_of(config))


@pytest.mark.parametrize(
    "sampler",
    [
        pytest.param(name, marks=() if name in (*SHORT, "tpe", "cmaes") else pytest.mark.long)
        for name in ALL
    ],
)
def test_a_resumed_study_goes_on_as_if_it_had_not_stopped(sampler: str, tmp_path: Path) -> None:
    whole = list(run(Search(SPACE, sampler, 2), 45))
    parts: list[Config] = []
    for upto in (1, 13, 30, 45):
        study = open_study(str(tmp_path / "j.journal"), IDENTITY, SPACE)
        search = Search(SPACE, sampler, 2, study)
        assert search.tried == len(parts)
        parts += run(search, upto)
    assert len(set(parts)) == 45
    if sampler in FORGETFUL:
        return
    assert parts == whole
    assert search.best() == fastest(whole)


def test_a_space_of_one(sampler: str) -> None:
    search = Search(SearchSpace.from_configs([{"BLOCK": 8}]), sampler)
    assert search.ask() == {"BLOCK": 8}
    assert search.ask() is None
    search.tell({"BLOCK": 8}, 1.0)
    assert search.best() == ({"BLOCK": 8}, 1.0)


def test_an_empty_space_says_what_emptied_it(sampler: str) -> None:
    space = SearchSpace(
        (Parameter("BLOCK", (1, 2, 3)),),
        (
            Rule("even", "it is odd", lambda c: c["BLOCK"] % 2 == 0),
            Rule("odd", "it is even", lambda c: c["BLOCK"] % 2 == 1),
        ),
    )
    with pytest.raises(UserError, match=r"of 3 comb.* even removed 2 \(it is odd\); odd removed 1"):
        Search(space, sampler)


def test_a_table_is_a_space(sampler: str) -> None:
    rows = [{"A": a, "B": b} for a in range(10) for b in range(10) if (a * b) % 7 == 1]
    asked = list(iter(Search(SearchSpace.from_configs(rows), sampler).ask, None))
    assert sorted(map(str, asked)) == sorted(str(Config(row)) for row in rows)


@pytest.mark.parametrize("name", in_turn(LEARNING, turns=2))
def test_samplers_that_learn_do_better_than_chance(name: str) -> None:
    def mean_best(sampler: str) -> float:
        searches = [Search(SPACE, sampler, seed) for seed in range(2)]
        for search in searches:
            list(run(search, 30))
        return sum(search.best()[1] for search in searches) / len(searches)

    assert mean_best(name) < 0.9 * mean_best("random")


@pytest.mark.parametrize("name", in_turn(AVOIDING, turns=2))
def test_samplers_that_learn_avoid_what_fails(name: str) -> None:
    def failures(sampler: str) -> int:
        count = 0
        for seed in range(2):
            search = Search(SPACE, sampler, seed)
            for _ in range(35):
                config = search.ask()
                fails = config["ORDER"] == "blocks" or config["ROWS"] == 8
                count += fails
                search.tell(config, None if fails else 1.0)
        return count

    assert failures(name) < 0.8 * failures("random")


def test_a_table_of_a_huge_product_is_quick() -> None:
    rows = [{f"P{p}": (row * (p + 3)) % 50 for p in range(12)} for row in range(50)]
    assert len(list(iter(Search(SearchSpace.from_configs(rows), "random").ask, None))) == 50


@pytest.mark.parametrize(
    "sampler",
    [
        pytest.param(name, marks=[] if name == "random" else pytest.mark.long)
        for name in [*sorted(SAMPLERS), *FOREIGN]
    ],
)
def test_a_space_too_large_to_list_is_sampled(
    sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 10**15 combinations, of which a rule forbids half."""
    # Fewer, since the rule looks at each.
    monkeypatch.setattr("search_spaces.enumeration._DRAWN_ROWS", 10_000)
    parameters = tuple(Parameter(f"P{p}", tuple(range(10))) for p in range(15))
    even = Rule("even", "its sum is odd", lambda config: sum(map(int, config.values())) % 2 == 0)
    default = Config({parameter.name: 3 for parameter in parameters[:-1]} | {"P14": 2})
    space = SearchSpace(parameters, (even,), default)
    searches = [Search(space, sampler, seed=1) for _ in range(2)]
    assert searches[0].size > 4_000
    once, again = (list(islice(iter(search.ask, None), 6)) for search in searches)
    assert once == again
    assert once[0] == default
    assert len(set(once)) == 6
    assert all(space.violation(config) is None for config in once)


def test_ordered_parameters_may_be_ranks() -> None:
    config = Config({"ROWS": 8, "COLUMNS": 2, "UNROLLED": True, "ORDER": "blocks"})
    ranks, categories = Encoding(SPACE, ranks=True), Encoding(SPACE)
    assert ranks.encode(config) == {"ROWS": 2, "COLUMNS": 0, "UNROLLED": 1, "ORDER": "blocks"}
    assert categories.encode(config) == config
    for encoding in (ranks, categories):
        assert encoding.decode(encoding.encode(config)) == config
        assert set(encoding.distributions) == set(config)
    assert ranks.distributions["ROWS"] == IntDistribution(0, 3)
    assert isinstance(ranks.distributions["ORDER"], CategoricalDistribution)
    assert isinstance(categories.distributions["ROWS"], CategoricalDistribution)


def test_an_unknown_sampler_names_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean tpe"):
        Search(SPACE, "tpee")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("optuna.samplers.GridSampler", "needs search_space, which cannot be given here"),
        ("optuna.samplers.NoSampler", "has no sampler NoSampler: did you mean"),
        ("no_such_module.Sampler", "no_such_module"),
        ("engine.search.Search", r"has to be a subclass of optuna.samplers.BaseSampler"),
        ("..", "there is no sampler"),
    ],
)
def test_a_class_that_cannot_be_a_sampler_is_refused(name: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        Search(SPACE, name)


def test_what_was_measured_unasked_can_be_told() -> None:
    search = Search(SPACE, "random")
    config = max(VALID, key=time_of)
    assert search.take(config)
    assert not search.take(config)
    assert not search.take({**config, "ROWS": 3})
    search.tell(config, 1.0)
    assert not search.take(config)
    assert search.best() == (config, 1.0)


def test_a_default_that_a_rule_forbids_is_refused() -> None:
    default = Config({**SPACE.default, "ROWS": 16, "COLUMNS": 32})
    with pytest.raises(ValueError, match="tile-fits"):
        Search(SearchSpace(SPACE.parameters, SPACE.rules, default))


def test_only_what_is_open_can_be_told() -> None:
    search = Search(SPACE, "random")
    with pytest.raises(ValueError, match="not open"):
        search.tell(SPACE.default, 1.0)
    config = search.ask()
    search.tell(config, 1.0)
    with pytest.raises(ValueError, match="not open"):
        search.tell(config, 1.0)


@pytest.mark.parametrize(
    ("seconds", "status"),
    [(float("nan"), None), (float("inf"), None), (0.0, None), (1.0, "timeout"), (None, "correct")],
)
def test_a_time_and_a_status_have_to_agree(seconds: float | None, status: Status | None) -> None:
    search = Search(SPACE, "random")
    config = search.ask()
    with pytest.raises(ValueError, match="time"):
        search.tell(config, seconds, status=status)
    search.tell(config, 1.0)


def test_what_a_rule_forbids_is_stored_with_its_rule(tmp_path: Path) -> None:
    study = open_study(str(tmp_path / "j.journal"), IDENTITY, SPACE)
    list(run(Search(SPACE, "tpe", 0, study), 60))
    stored = list(open_study(str(tmp_path / "j.journal"), IDENTITY, SPACE).changes())
    pruned = [trial for trial in stored if trial.status == "constraint"]
    assert pruned
    for trial in pruned:
        assert SPACE.violation(trial.config).name == trial.attributes["constraint"]
    assert len(stored) - len(pruned) == 60


def test_rules_may_change_between_runs(tmp_path: Path) -> None:
    """Trials outside the new rules are left aside, and a rule that went frees what it forbade."""
    storage = str(tmp_path / "j.journal")
    before = list(run(Search(SPACE, "tpe", 0, open_study(storage, IDENTITY, SPACE)), 40))
    narrow = SearchSpace(
        (*SPACE.parameters[:2], Parameter("UNROLLED", (False,)), SPACE.parameters[3]),
        (Rule("tile-fits", "", lambda c: c["ROWS"] * c["COLUMNS"] <= 64),),
        SPACE.default,
    )
    search = Search(narrow, "tpe", 0, open_study(storage, IDENTITY, narrow))
    assert 0 < search.tried < 40
    list(run(search, 10_000))
    assert {trial.config for trial in search.trials()} == set(narrow.valid_configs())
    wide = Search(SPACE, "tpe", 0, open_study(storage, IDENTITY, SPACE))
    assert wide.tried == len({*before, *narrow.valid_configs()} & VALID) > 40


def test_asks_take_little_work() -> None:
    """Proposing must stay far below what a measurement costs; a generous bound of CPU time."""
    search = Search(SPACE, "tpe")
    start_s = time.process_time()
    assert len(list(run(search, 60))) == 60
    assert (time.process_time() - start_s) / 60 < 0.2
