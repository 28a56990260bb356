"""Finding the valid configurations: the same as by looking at each, only faster."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
import triton
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.search import Search
from engine.search.model.candidates import Candidates
from foundation.config import Config
from foundation.errors import UserError
from search_spaces.enumeration import broken, take_census
from search_spaces.space import Parameter, Rule, SearchSpace


def configs(space: SearchSpace) -> list[Config]:
    return [space.config_of(row) for row in take_census(space).ranks.tolist()]


@st.composite
def spaces(draw: st.DrawFn) -> SearchSpace:
    """Up to four parameters, and rules that read some of them, now and then by way of others."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    names = [f"P{number}" for number in range(len(sizes))]
    parameters = tuple(
        Parameter(name, tuple(range(size))) for name, size in zip(names, sizes, strict=True)
    )
    default = Config(
        {name: draw(st.integers(0, s - 1)) for name, s in zip(names, sizes, strict=True)}
    )

    def rule(number: int) -> Rule:
        first, second, third = (draw(st.sampled_from(names)) for _ in range(3))
        limit = draw(st.integers(0, 6))
        spares = draw(st.sampled_from((None, default)))
        return Rule(
            f"rule-{number}",
            "",
            lambda c: c[third] != 1 if c[first] > limit % 3 else c[first] + c[second] <= limit,
            spares,
        )

    return SearchSpace(parameters, tuple(rule(n) for n in range(draw(st.integers(0, 3)))), default)


@settings(max_examples=150, deadline=None)
@given(spaces())
def test_it_is_what_looking_at_each_combination_gives(space: SearchSpace) -> None:
    census = take_census(space)
    assert configs(space) == list(space.valid_configs())
    assert census.is_complete
    assert census.valid == len(census.ranks)
    assert census.valid + sum(census.removed.values()) == census.combinations
    assert set(census.removed) <= {rule.name for rule in space.rules}


def test_a_conditional_parameter_has_one_value_where_it_has_no_effect() -> None:
    space = SearchSpace(
        (
            Parameter("PREFETCH", (False, True)),
            Parameter("STAGES", (1, 2, 4), only_if=lambda config: bool(config["PREFETCH"])),
        )
    )
    assert [tuple(config.values()) for config in configs(space)] == [
        (False, 1), (True, 1), (True, 2), (True, 4)
    ]  # fmt: skip
    rule = space.violation(Config({"PREFETCH": False, "STAGES": 2}))
    assert rule is not None
    assert rule.name == "stages-has-an-effect"
    assert take_census(space).removed == {"stages-has-an-effect": 2}


def test_order_is_what_numbers_have_and_names_have_not_unless_it_is_said() -> None:
    space = SearchSpace(
        (
            Parameter("SIZE", (1, 2, 4)),
            Parameter("LAYOUT", (0, 1, 2), ordered=False),
            Parameter("EFFORT", ("none", "some", "all"), ordered=True),
            Parameter("KIND", ("a", "b")),
        )
    )
    assert [parameter.is_ordered for parameter in space.parameters] == [True, False, True, False]
    near, far = (
        {"SIZE": 1, "LAYOUT": 0, "EFFORT": effort, "KIND": "a"} for effort in ("some", "all")
    )
    candidates = Candidates(space)
    start = candidates.distances({**near, "EFFORT": "none"})
    numbers = [candidates.number(config) for config in (near, far)]
    assert start[numbers[0]] < start[numbers[1]]
    layouts = [candidates.number({**near, "LAYOUT": layout}) for layout in (1, 2)]
    distances = candidates.distances(near)
    assert distances[layouts[0]] == pytest.approx(distances[layouts[1]])


def test_millions_of_combinations_take_little_work() -> None:
    parameters = tuple(Parameter(f"P{p}", tuple(2**e for e in range(10))) for p in range(7))
    fits = Rule("fits", "it does not fit", lambda c: c["P0"] * c["P1"] * c["P2"] <= 64)
    equal = Rule("equal", "they differ", lambda c: c["P3"] == c["P4"])
    start_s = time.process_time()
    census = take_census(SearchSpace(parameters, (fits, equal)))
    assert time.process_time() - start_s < 5
    triples = sum(a + b + c <= 6 for a in range(10) for b in range(10) for c in range(10))
    assert census.valid == len(census.ranks) == triples * 10 * 100
    assert census.combinations == 10**7


def test_a_space_beyond_that_is_sampled_though_few_are_valid() -> None:
    """One in ten thousand of 10**12, which drawing at random would hardly find."""
    parameters = tuple(Parameter(f"P{p}", tuple(range(10))) for p in range(12))

    def alike(place: int) -> Rule:
        return Rule(f"pair-{place}", "", lambda c: c[f"P{place}"] == c[f"P{place + 1}"])

    rules = tuple(map(alike, range(0, 8, 2)))
    space = SearchSpace(parameters, rules, Config({p.name: 9 for p in parameters}))
    census = take_census(space)
    assert not census.is_complete
    assert len(census.ranks) > 50_000
    assert census.valid == pytest.approx(10**8, rel=0.05)
    assert census.valid + sum(census.removed.values()) == pytest.approx(10**12, rel=0.05)
    rows = census.ranks[::5000].tolist()
    assert all(space.violation(space.config_of(row)) is None for row in rows)
    assert (take_census(space).ranks == census.ranks).all()
    # Every value of the last parameters is as likely as any other.
    assert np.bincount(census.ranks[:, 11]).min() > len(census.ranks) / 12
    assert Candidates(space).number(space.default or {}) is not None


def test_an_empty_space_says_what_emptied_it() -> None:
    space = SearchSpace(
        (Parameter("M", (1, 2)), Parameter("N", (1, 2, 4))),
        (
            Rule("small-m", "M is too large", lambda c: c["M"] == 1),
            Rule("large-m", "M times N is too small", lambda c: c["M"] * c["N"] > 4),
        ),
    )
    with pytest.raises(
        UserError,
        match=r"of 6 combinations small-m removed 3 \(M is too large\); large-m removed 3",
    ):
        Candidates(space)


def test_configurations_of_triton_are_a_space() -> None:
    listed = [triton.Config({"M": m, "CAUSAL": False}, num_warps=1) for m in (4, 8, 8, 16)]
    assert [dict(config) for config in configs(SearchSpace.from_configs(listed))] == [
        {"M": m, "CAUSAL": False} for m in (4, 8, 16)
    ]


def test_a_soft_rule_puts_off_and_does_not_forbid() -> None:
    doubted = Rule("small", "it is large", lambda c: c["M"] <= 8, soft=True)
    space = SearchSpace(
        (Parameter("M", tuple(range(16))), Parameter("N", tuple(range(8)))), (doubted,)
    )
    assert take_census(space).valid == 128
    assert broken(space.guesses, space, take_census(space).ranks).sum() == 7 * 8
    search = Search(space, "gp")
    start = [search.ask() for _ in range(5)]
    assert all(config is not None and config["M"] <= 8 for config in start)
    for config in start:
        assert config is not None
        search.tell(config, 1.0)
    found = []
    for _ in range(60):
        config = search.ask()
        assert config is not None
        search.tell(config, math.exp(-0.1 * int(config["M"])))
        found.append(config["M"])
    assert 15 in found
