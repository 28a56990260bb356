"""Where a search begins, what it sees in values, and what it makes of many failures."""

from __future__ import annotations

import itertools
import math

import pytest

from engine.search import Search
from engine.search.model.candidates import Candidates
from engine.search.model.columns import columns_of
from foundation.config import Config
from search_spaces.space import Parameter, Rule, SearchSpace

SIZES = tuple(2**power for power in range(7))
SQUARE = SearchSpace((Parameter("A", SIZES), Parameter("B", SIZES)))


@pytest.mark.parametrize("sampler", ["auto", "gp", "tpe", "ga", "cmaes"])
def test_the_first_proposal_is_the_middle(sampler: str) -> None:
    for seed in range(3):
        assert Search(SQUARE, sampler, seed).ask() == {"A": 8, "B": 8}


def test_after_the_middle_a_surrogate_tries_a_corner() -> None:
    for seed in range(10):
        _, second = Search(SQUARE, seed=seed).ask(2)
        assert {second["A"], second["B"]} <= {1, 64}


def test_the_middle_is_that_of_the_valid_configurations() -> None:
    small = Rule("small", "it is large", lambda config: config["A"] <= 4 and config["B"] <= 16)
    assert Search(SearchSpace(SQUARE.parameters, (small,))).ask() == {"A": 2, "B": 4}


def test_the_middle_follows_a_default() -> None:
    search = Search(SearchSpace(SQUARE.parameters, default=Config({"A": 1, "B": 64})))
    assert search.ask(2) == [{"A": 1, "B": 64}, {"A": 8, "B": 8}]


def test_the_commonest_category_is_the_middle() -> None:
    wide = Rule("wide", "", lambda config: config["ORDER"] == "rows" or config["A"] == 1)
    space = SearchSpace((Parameter("A", SIZES), Parameter("ORDER", ("columns", "rows"))), (wide,))
    first = Search(space).ask()
    assert first is not None
    assert first["ORDER"] == "rows"


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ((16, 32, 48, 64), [0, 1, 0, 2]),
        ((1, 2, 3, 4, 5, 6), [0, 1, 0, 2, 0, 1]),
        ((1, 2, 4, 8), None),
        ((0, 1, 2, 3), None),
        ((0.5, 1.0, 1.5), None),
        ((False, True), None),
        ((3, 5, 7), None),
    ],
)
def test_alignment_is_seen_where_order_does_not_tell_it(
    values: tuple[int, ...], levels: list[int] | None
) -> None:
    columns = columns_of([Parameter("BLOCK", values)])
    assert [column.levels.tolist() for column in columns[1:]] == ([levels] if levels else [])


def test_sizes_are_expected_to_matter_more_than_switches_and_alignments() -> None:
    levels = Candidates(
        SearchSpace(
            (
                Parameter("BLOCK", (16, 32, 48, 64)),
                Parameter("ORDER", ("rows", "columns", "blocks")),
                Parameter("PACKED", (0, 1)),
            )
        )
    ).levels
    block, order, packed, alignment = levels.scale_priors[:, 0]
    assert max(block, order) < min(packed, alignment)


def test_where_most_fails_neighbours_of_what_works_come_next() -> None:
    """Only the middle works: after the first trials three of its neighbours are tried."""
    search = Search(SQUARE)
    asked: list[Config] = []
    while len(asked) < 7:
        config = search.ask()
        assert config is not None
        asked.append(config)
        search.tell(config, 1.0 if config == {"A": 8, "B": 8} else None)
    neighbours = [{"A": 4, "B": 8}, {"A": 16, "B": 8}, {"A": 8, "B": 4}, {"A": 8, "B": 16}]
    assert [config in neighbours for config in asked] == 3 * [False] + 3 * [True] + [False]


def test_the_other_half_of_the_proposals_before_the_first_outcome_is_spread_out() -> None:
    asked = Search(SQUARE).ask(12)
    asked = asked[:4] + asked[5::2]
    places = [tuple(SIZES.index(int(config[name])) for name in "AB") for config in asked]
    assert all(math.dist(*pair) > 1 for pair in itertools.combinations(places, 2))


def test_half_of_the_proposals_before_the_first_outcome_are_beside_the_default() -> None:
    default = Config({"A": 1, "B": 64})
    asked = Search(SearchSpace(SQUARE.parameters, default=default)).ask(12)
    beside = [sum(config[name] == default[name] for name in "AB") == 1 for config in asked]
    assert all(beside[4::2])


def test_a_default_without_neighbours_leaves_those_of_the_middle() -> None:
    default = Config({"A": 1, "B": 64})
    alone = Rule("alone", "", lambda c: c == default or (c["A"] > 1 and c["B"] < 64))
    asked = Search(SearchSpace(SQUARE.parameters, (alone,), default=default)).ask(12)
    middle = asked[1]
    assert all(sum(config[name] == middle[name] for name in "AB") == 1 for config in asked[4::2])


def test_where_most_fails_the_search_finds_what_works() -> None:
    """One region of a cube works, 27 configurations of 512."""
    space = SearchSpace(tuple(Parameter(name, tuple(range(1, 9))) for name in "ABC"))

    def working(name: str) -> int:
        found = 0
        for seed in range(3):
            search = Search(space, name, seed)
            for _ in range(60):
                config = search.ask()
                assert config is not None
                works = all(int(value) >= 6 for value in config.values())
                search.tell(config, 1.0 + 0.1 * int(config["A"]) if works else None)
                found += works
        return found

    assert working("auto") > 2 * working("random")
