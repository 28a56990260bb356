"""What earlier studies are worth to a new one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from search_helpers import IDENTITY, SPACE, run, time_of

from engine.search import Search
from engine.search.model.candidates import Candidates
from engine.search.model.search_state import SearchState
from engine.search.model.transfer_model import transfer_model
from engine.search.model.warm_start import History
from engine.search.samplers.bayesian import BayesianSearch
from engine.search.samplers.registry import SAMPLERS
from engine.study.history import history_of
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from foundation.config import Config, ParameterValue
from search_spaces.space import Parameter, SearchSpace

ORDER = sorted(SPACE.valid_configs(), key=time_of)
GOOD = [(config, 7 * time_of(config)) for config in ORDER]  # as on a slower board
MISLEADING = [(config, 1 / time_of(config)) for config in ORDER]


def tell(search: Search, count: int) -> list[Config]:
    return list(run(search, search.tried + count))


@pytest.mark.parametrize("sampler", sorted(SAMPLERS))
def test_the_best_of_a_short_history_come_early(sampler: str) -> None:
    search = Search(SPACE, sampler, history=reversed(GOOD[:19]))
    asked = tell(search, 6)
    assert asked[0] == SPACE.default
    assert [time_of(config) for config in asked[1:]] == [time_of(config) for config in ORDER[:5]]
    assert search.best() == (ORDER[0], time_of(ORDER[0]))


@pytest.mark.parametrize("sampler", ["auto", "gp"])
def test_a_model_finds_what_the_history_only_points_at(sampler: str) -> None:
    asked = tell(Search(SPACE, sampler, history=GOOD[12:]), 4)
    assert asked[:2] == [SPACE.default, ORDER[12]]
    assert ORDER[0] in asked[2:]


def test_what_the_history_expects_to_be_slow_is_not_looked_at_first() -> None:
    """Two trials that took the same say nothing about it."""
    candidates = Candidates(SPACE)
    transfer = transfer_model(candidates, GOOD)
    assert transfer is not None
    order = np.argsort(transfer.expected).tolist()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        taken = tuple(int(number) for number in rng.choice(len(candidates), 2, replace=False))
        free = ~np.isin(np.arange(len(candidates)), taken)
        times_s = dict.fromkeys(taken, 1e-3)
        proposed = BayesianSearch()(
            SearchState(candidates, free, taken, times_s, rng, transfer=transfer)
        )
        assert order.index(proposed) < 15


def test_an_infinite_time_is_a_failure_and_a_negative_one_a_mistake() -> None:
    failed = [(config, math.inf if n % 2 else t) for n, (config, t) in enumerate(GOOD)]
    none = [(config, None if time_s == math.inf else time_s) for config, time_s in failed]
    assert tell(Search(SPACE, history=failed), 6) == tell(Search(SPACE, history=none), 6)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="has to be positive"):
            Search(SPACE, history=[(ORDER[0], wrong)])


def test_proposals_before_the_first_outcome_come_from_the_history() -> None:
    search = Search(SPACE, "auto", history=GOOD)
    asked = search.ask(5)
    assert asked[:2] == [SPACE.default, ORDER[0]]
    assert all(config in ORDER[:20] for config in asked[2:])


def test_proposals_before_the_first_outcome_are_not_alike() -> None:
    """A misleading history would else fill all places that builds have with the same mistake."""
    candidates = Candidates(SPACE)
    transfer = transfer_model(candidates, GOOD)
    assert transfer is not None
    order = np.argsort(transfer.expected).tolist()
    proposed: list[int] = []
    for _ in range(5):
        free = ~np.isin(np.arange(len(candidates)), proposed)
        rng = np.random.default_rng(0)
        state = SearchState(candidates, free, tuple(proposed), {}, rng, transfer=transfer)
        proposed.append(BayesianSearch()(state))
    assert max(order.index(number) for number in proposed) < len(candidates) / 10 + 5

    def apart(numbers: list[int]) -> float:
        points = candidates.points[numbers]
        return float(np.linalg.norm(points[:, None] - points, axis=2).mean())

    assert apart(proposed) > 1.1 * apart(order[:5])


def test_one_proposal_of_three_of_the_first_does_not_know_of_the_history() -> None:
    candidates = Candidates(SPACE)
    transfer = transfer_model(candidates, MISLEADING)
    auto = SAMPLERS["auto"]()
    knowing = []
    for seed, tried in itertools.product(range(8), (6, 7, 8)):
        rng = np.random.default_rng(seed)
        taken = tuple(int(n) for n in rng.choice(len(candidates), tried, replace=False))
        times_s = {number: time_of(candidates.config(number)) for number in taken}
        free = ~np.isin(np.arange(len(candidates)), taken)
        state = SearchState(candidates, free, taken, times_s, rng, transfer=transfer)
        cold = candidates.config(BayesianSearch()(replace(state, transfer=None)))
        proposed = auto(state)()
        if tried % 3 == 2:
            assert proposed == cold
        else:
            knowing.append(proposed != cold)
    assert sum(knowing) >= 4


@pytest.mark.parametrize(("sampler", "known"), [("auto", 96), ("auto", 19), ("tpe", 96)])
def test_a_misleading_history_costs_one_trial(sampler: str, known: int) -> None:
    """Of the first trials; later a model may try one of them to find out."""
    asked = tell(Search(SPACE, sampler, 3, history=MISLEADING[-known:]), 30)
    worst = ORDER[:-6:-1]
    assert [config in worst for config in asked[:7]] == [0, 1, 0, 0, 0, 0, 0]
    assert len(set(asked)) == 30


def test_what_a_history_leads_to_expect_does_not_depend_on_its_unit() -> None:
    candidates = Candidates(SPACE)
    here, slower = (
        transfer_model(candidates, [(c, k * time_of(c)) for c in ORDER]) for k in (1, 7)
    )
    assert here is not None
    assert slower is not None
    np.testing.assert_allclose(here.expected, slower.expected, atol=1e-6)
    expected = [here.expected[candidates.number(config)] for config in ORDER]
    assert expected[0] < min(expected[5:])


def test_the_shortest_time_of_a_configuration_counts() -> None:
    candidates = Candidates(SPACE)
    twice = [*GOOD, *((config, None) for config in ORDER), *((c, 9 * t) for c, t in GOOD)]
    once, again = transfer_model(candidates, GOOD), transfer_model(candidates, twice)
    assert once is not None
    assert again is not None
    np.testing.assert_array_equal(once.expected, again.expected)


def test_twenty_times_make_a_model() -> None:
    assert transfer_model(Candidates(SPACE), GOOD[:20]) is not None


@pytest.mark.parametrize(
    "history",
    [GOOD[:19], [(config, 1.0) for config in ORDER], [(config, None) for config in ORDER]],
    ids=["short", "all-the-same", "failures"],
)
def test_a_history_without_much_to_tell_makes_no_model(history: History) -> None:
    assert transfer_model(Candidates(SPACE), history) is None


def test_a_history_of_failures_and_strangers_is_none() -> None:
    failed = [(config, None) for config in ORDER]
    strangers: list[tuple[Mapping[str, ParameterValue], float]] = [
        ({"ROWS": 4}, 1.0),
        ({**SPACE.default, "ORDER": "spiral"}, 1.0),
    ]
    cold = tell(Search(SPACE, "auto"), 12)
    assert tell(Search(SPACE, "auto", history=[*failed, *strangers]), 12) == cold


def test_values_that_do_not_exist_here_become_the_nearest() -> None:
    space = SearchSpace(
        (Parameter("M", (1, 4, 16)), Parameter("N", (512,)), Parameter("X", ("a", "b")))
    )
    history: History = [({"M": 64, "N": 128, "X": "b"}, 1.0), ({"M": 3, "N": 9, "X": "a"}, 2.0)]
    search = Search(space, "random", 5, history=history)
    assert search.ask() != {"M": 16, "N": 512, "X": "b"}
    assert search.ask() == {"M": 16, "N": 512, "X": "b"}


def study(
    storage: Path,
    *,
    trials: int,
    shape: Mapping[str, int] | None = None,
    space: SearchSpace = SPACE,
    **changes: Any,
) -> tuple[StudyIdentity, Search]:
    """A study of this problem, or of one on another space, with so many trials."""
    identity = replace(IDENTITY, shape=shape or IDENTITY.shape, **changes)
    search = Search(space, "random", 1, open_study(str(storage), identity, space))
    for number in range(trials):
        config = search.ask()
        assert config is not None
        search.tell(config, time_of(config) if space is SPACE else 1.0 + number)
    return identity, search


def nearest_of(storage: Path, **changes: Any) -> str | None:
    identity = replace(IDENTITY, **changes)
    past = history_of(open_study(str(storage), identity, SPACE), identity, SPACE)
    return None if past is None else past.name


def test_the_nearest_study_of_the_kernel_is_the_history(tmp_path: Path) -> None:
    storage = tmp_path / "j.journal"
    near, search = study(storage, shape={"M": 64, "N": 64}, trials=30)
    study(storage, shape={"M": 1024, "N": 512}, trials=40)
    study(storage, shape={"M": 64, "N": 33}, trials=4)
    study(storage, kernel="softmax", trials=30)
    study(storage, shape={"M": 64}, trials=30)
    opened = open_study(str(storage), IDENTITY, SPACE)
    past = history_of(opened, IDENTITY, SPACE)
    assert past is not None
    assert past.name == near.name
    best = search.best()
    assert best is not None
    assert past.trials[0] == best
    assert set(past.trials) == {(trial.config, trial.time_s) for trial in search.trials()}


@pytest.mark.parametrize(
    "sister",
    [
        {"kernel": "another"},
        {"trials": 19},
        {"shape": {"M": 64, "K": 64}},
        {"device": "emulated:c908"},
        {"space": SearchSpace((Parameter("ROWS", tuple(range(1, 31))),))},
    ],
    ids=[
        "of-another-name",
        "short",
        "of-other-dimensions",
        "of-another-board",
        "of-other-parameters",
    ],
)
def test_a_study_of_a_kernel_that_is_no_sister_is_no_history(
    tmp_path: Path, sister: dict[str, Any]
) -> None:
    storage = tmp_path / "j.journal"
    study(storage, **{"kernel": f"{IDENTITY.kernel}_bias", "trials": 30, **sister})
    assert nearest_of(storage) is None


def test_without_a_study_of_the_kernel_it_is_the_sisters_that_shares_most(tmp_path: Path) -> None:
    storage = tmp_path / "j.journal"
    (first, *others), fewer = SPACE.parameters, replace(SPACE, default=None)
    most = replace(fewer, parameters=(first, *others, Parameter("STAGES", (1, 2))))
    shared = replace(fewer, parameters=(first, *others[:-1]), rules=())
    study(storage, kernel=f"{IDENTITY.kernel}_some", trials=30, space=shared)
    most_like = f"{IDENTITY.kernel}_most"
    near, _ = study(storage, kernel=most_like, shape={"M": 9, "N": 9}, trials=20, space=most)
    assert nearest_of(storage) == near.name
    own, _ = study(storage, shape={"M": 4096, "N": 4096}, device="emulated:c908", trials=5)
    assert nearest_of(storage, dtype="fp16") == own.name


def test_of_parameters_that_a_history_does_not_name_nothing_is_expected() -> None:
    sizes = [Parameter(name, (1, 2, 4, 8, 16)) for name in ("M", "N")]
    # Not even a condition that reads them matters.
    spread = replace(sizes[1], only_if=lambda config: config["STAGES"] != 3)
    candidates = Candidates(SearchSpace((sizes[0], Parameter("STAGES", (1, 2, 3)), spread)))
    rows = [(c, float(c["M"] + 3 / c["N"])) for c in SearchSpace(tuple(sizes)).combinations()]
    transfer = transfer_model(candidates, rows)
    assert transfer is not None
    expected = {candidates.config(n): transfer.expected[n] for n in range(len(candidates))}
    assert all(
        value == expected[Config({**config, "STAGES": 1})] for config, value in expected.items()
    )
    assert min(expected, key=expected.__getitem__) == {"M": 1, "STAGES": 1, "N": 16}


def test_of_a_long_study_the_fastest_and_the_latest_are_kept(tmp_path: Path) -> None:
    columns = Parameter("COLUMNS", tuple(range(1, 301)))
    space = SearchSpace((columns,))
    storage = str(tmp_path / "j.journal")
    identity = replace(IDENTITY, shape={"M": 64, "N": 64})
    search = Search(space, "random", 1, open_study(storage, identity, space))
    while (config := search.ask()) is not None:
        search.tell(config, None if config["COLUMNS"] == 7 else float(config["COLUMNS"]))
    past = history_of(open_study(storage, IDENTITY, SPACE), IDENTITY, SPACE)
    assert past is not None
    assert len(past.trials) == 200
    kept = [time_s for _, time_s in past.trials]
    assert kept[:100] == [float(n) for n in range(1, 102) if n != 7]
    latest = [t.time_s for t in search.trials() if t.time_s not in kept[:100]][-100:]
    assert set(kept[100:]) == set(latest)


def test_a_flag_for_no_history_counts_where_a_study_begins(tmp_path: Path) -> None:
    storage = tmp_path / "j.journal"
    first, _ = study(storage, shape={"M": 256, "N": 32}, trials=20)
    cold = open_study(str(storage), IDENTITY, SPACE, "cold")
    assert history_of(cold, IDENTITY, SPACE, may_warm_start=False) is None
    assert history_of(cold, IDENTITY, SPACE) is None
    warm = open_study(str(storage), IDENTITY, SPACE, "warm")
    assert history_of(warm, IDENTITY, SPACE).name == first.name
    assert history_of(warm, IDENTITY, SPACE, may_warm_start=False).name == first.name


def test_what_is_near_to_several_shapes_is_so_on_average(tmp_path: Path) -> None:
    """The sum over shapes would make little of another element type."""
    storage = tmp_path / "j.journal"
    near, _ = study(storage, trials=20)
    study(storage, shape={"M": 128, "N": 32}, trials=40, dtype="fp16")
    assert nearest_of(storage, more_shapes=({"M": 256, "N": 32},) * 3) == near.name


@pytest.mark.parametrize(
    "nearer",
    [
        {"made_with": {"compiler": "another"}},
        {"dtype": "fp16"},
        {"shape": {"M": 128, "N": 64}},
    ],
)
def test_another_board_is_farther_than(nearer: Mapping[str, Any], tmp_path: Path) -> None:
    storage = tmp_path / "j.journal"
    study(storage, device="laptop", trials=40)
    expected, _ = study(storage, trials=10, **nearer)
    assert nearest_of(storage) == expected.name


def test_a_study_keeps_the_history_it_began_with(tmp_path: Path) -> None:
    storage = tmp_path / "j.journal"
    first, _ = study(storage, shape={"M": 256, "N": 32}, trials=20)
    assert nearest_of(storage) == first.name
    study(storage, shape={"M": 64, "N": 64}, trials=20)
    assert nearest_of(storage) == first.name


def test_a_study_that_began_without_a_history_stays_without(tmp_path: Path) -> None:
    storage = tmp_path / "j.journal"
    study(storage, trials=3)
    study(storage, shape={"M": 64, "N": 64}, trials=20)
    assert nearest_of(storage) is None
    assert nearest_of(tmp_path / "empty.journal") is None


def test_the_default_is_no_suggestion() -> None:
    """It comes first anyway, so a suggestion is what comes second."""
    assert SPACE.default is not None
    history = [(SPACE.default, 1.0), (ORDER[2], 2.0)]
    assert tell(Search(SPACE, "random", history=history), 2) == [SPACE.default, ORDER[2]]
