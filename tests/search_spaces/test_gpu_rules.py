"""What the rules for GPUs forbid, judged by spaces that were measured on one without them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from engine.replays.on_gpus import origin_of, recorded_on_gpus
from engine.replays.recorded_space import RecordedSpace
from engine.replays.shipped import SPACES
from engine.replays.space_file import space_name
from foundation.config import Config
from search_spaces.space import SearchSpace

Spaces = Mapping[str, tuple[RecordedSpace, SearchSpace]]
NAMES = [space_name(path) for path in sorted((SPACES / "gpus").glob("*.json.gz"))]
# It forbids what is the same as another configuration, which may be the best one.
SAME = "group-has-effect"
TOO_LARGE = "shared-memory"
# An assertion of LLVM in Triton 3.6 fails (BoUpSLP), which ends the compiler; 3.7 builds them.
CRASHES = [
    Config({"BLOCK_SIZE_D": 4, "BLOCK_SIZE_H": 2, "BLOCK_SIZE_W": 512, "num_warps": 1}),
    Config({"BLOCK_SIZE_D": 4, "BLOCK_SIZE_H": 2, "BLOCK_SIZE_W": 1024, "num_warps": 2}),
]


@pytest.fixture(scope="module")
def spaces() -> Spaces:
    """Each with the space as of today, whose rules are judged."""
    return {each.name: (each, origin_of(each).space()) for each in recorded_on_gpus()}


def test_there_are_recorded_spaces(spaces: Spaces) -> None:
    assert len(spaces) >= 11
    assert spaces.keys() == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_finds_what_todays_space_proposes(spaces: Spaces, name: str) -> None:
    recorded, space = spaces[name]
    assert space.default is not None
    assert {next(space.valid_configs()), space.default} <= recorded.table.keys()


@pytest.mark.parametrize("name", NAMES)
def test_no_rule_forbids_one_of_the_best_percent(spaces: Spaces, name: str) -> None:
    recorded, space = spaces[name]
    rules = {rule.name: rule for rule in (*space.constraints, *space.guesses)}
    same = rules.pop(SAME, None)
    timed = sorted(
        (time_s, str(config), config)
        for config, time_s in recorded.table.items()
        if time_s is not None and not (same and same.forbids(config))
    )
    best = [config for _, _, config in timed[: max(len(timed) // 100, 5)]]
    wrongly = {name: [c for c in best if rule.forbids(c)] for name, rule in rules.items()}
    assert not any(wrongly.values()), wrongly


def test_what_needs_too_much_shared_memory_has_failed(spaces: Spaces) -> None:
    judged = 0
    for recorded, space in spaces.values():
        for rule in space.constraints:
            if rule.name == TOO_LARGE:
                forbidden = [config for config in recorded.table if rule.forbids(config)]
                assert forbidden, recorded.name
                timed = [config for config in forbidden if recorded.table[config] is not None]
                assert timed == [], recorded.name
                judged += 1
    assert judged >= 4


@pytest.mark.parametrize("name", NAMES)
def test_what_the_rules_allow_was_measured_and_runs(spaces: Spaces, name: str) -> None:
    recorded, space = spaces[name]
    names = next(iter(recorded.table))
    # What has one value today may not have been a parameter then.
    allowed = {
        config: Config({name: config[name] for name in names}) for config in space.valid_configs()
    }
    assert len(set(allowed.values())) == len(allowed)
    assert [
        c for c, then in allowed.items() if not recorded.table.get(then) and c not in CRASHES
    ] == []
