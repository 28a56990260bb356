"""Ties end alike in every tuning: by machine code, then by values."""

from __future__ import annotations

import itertools

import pytest

from engine.export import main as export
from engine.repeats.comparison import compare
from engine.repeats.preference import preference
from engine.search import Search
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from foundation.config import Config
from search_spaces.space import Parameter, SearchSpace

SPACE = SearchSpace((Parameter("BLOCK", (8, 16, 128)), Parameter("ORDER", ("rows", "columns"))))
IDENTITY = StudyIdentity("k", {"N": 8}, "fp32", "board", "random", {"compiler": "c"})
LEAST_CODE = Config({"BLOCK": 128, "ORDER": "rows"})


def test_numbers_are_compared_as_numbers_and_names_before_order():
    configs = [Config({"B": 1, "A": 128}), Config({"A": 16, "B": 4}), Config({"A": 16, "B": "x"})]
    assert sorted(configs, key=preference) == [configs[1], configs[2], configs[0]]
    assert preference(configs[0], 100) < preference(configs[1], 200) < preference(configs[1])


BLOCKS = [Config({"BLOCK": block}) for block in (16, 128, 8)]


def swaying(phase):
    """Rounds in which each is in turn 1% faster and slower than the others."""
    rounds = itertools.count(phase)

    def measure(order):
        sign = (-1) ** next(rounds)
        return [1e-3 * (1 + sign * (0.01 if c == BLOCKS[phase] else -0.01)) for c in order]

    return measure


@pytest.mark.parametrize("phase", range(3))
def test_the_interval_decides_who_is_tied_and_the_rule_who_wins(phase):
    code_bytes = {BLOCKS[0]: 900, BLOCKS[1]: 900, BLOCKS[2]: 1000}
    found = compare(BLOCKS, swaying(phase), 0, code_bytes=code_bytes)
    assert not any(contender.is_significantly_slower for contender in found.contenders)
    assert found.winner.config == BLOCKS[0]
    assert compare(BLOCKS, swaying(phase), 0).winner.config == BLOCKS[2]  # sizes are not known
    stands = compare(BLOCKS, swaying(phase), 0, BLOCKS[1], code_bytes)
    assert stands.winner.config == BLOCKS[1]


def test_the_rule_does_not_choose_what_is_estimated_to_be_much_slower():
    """One of the ties is 8% slower in one round and 2% faster in the next."""
    rounds = itertools.count()

    def measure(order):
        slow = 1.08 if next(rounds) % 2 else 0.98
        return [1e-3 * (slow if config == BLOCKS[0] else 1) for config in order]

    found = compare(BLOCKS[:2], measure, 0, code_bytes={BLOCKS[0]: 1, BLOCKS[1]: 2})
    assert not any(contender.is_significantly_slower for contender in found.contenders)
    assert found.winner.config == BLOCKS[1]


def tuned(folder, seed):
    """What is exported of a study whose times are all the same, tried in an order of its own."""
    storage = str(folder / f"{seed}.journal")
    search = Search(SPACE, "random", seed, open_study(storage, IDENTITY, SPACE))
    while (config := search.ask()) is not None:
        code_bytes = 80 if config == LEAST_CODE else 100
        search.tell(config, 1e-3, attributes={"board": "b", "code_bytes": code_bytes})
    assert search.best() == (LEAST_CODE, 1e-3)
    assert export(["--storage", storage, "--format", "triton", "--out", str(folder)]) == 0
    order = [trial.config for trial in search.trials()]
    return order, next(folder.glob("*/triton_configs.py")).read_text()


def test_two_tunings_export_the_same_file(tmp_path):
    (one, first), (other, second) = tuned(tmp_path, 1), tuned(tmp_path, 2)
    assert one != other
    assert first == second
    assert first.index('"BLOCK": 128, "ORDER": \'rows\'') < first.index('"BLOCK": 8,')
