"""Tuning and lookups name the same winner, also after the search space has changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import engine
from engine.jobs.config_checks import add_to_study
from engine.repeats.comparison import Comparison, Contender, leaders
from engine.run import tuning
from engine.run.identity import identity_of
from engine.run.request import SearchOptions, StudyOptions, TuningRequest, WorkOptions
from engine.run.tuning import TuningResult
from engine.search import Search
from engine.study.storage import open_study
from engine.study.trials import StoredTrials
from engine.winners.lookup import NotTunedError
from foundation.config import Config
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo
from rvv_runner.devices import load_board
from search_spaces import problem, vector_add
from search_spaces.space import Rule, SearchSpace

pytestmark = pytest.mark.usefixtures("workers_here")

PROBLEM = make_problem(load_kernel("vector_add"), {"N": 5000}, None)
SPACE_OF = vector_add.space
TRIALS = 6

Forbid = Callable[..., None]


@pytest.fixture
def forbid(monkeypatch: pytest.MonkeyPatch) -> Forbid:
    """Adds a rule to the kernel's search space, as somebody who edits its file does."""

    def forbid(*blocks: object) -> None:
        rule = Rule("not-these", "by a new rule", lambda config: config["BLOCK_SIZE"] not in blocks)

        def space(problem: problem.Problem, board: BoardInfo) -> SearchSpace:
            today = SPACE_OF(problem, board)
            default = today.default if today.default and rule.allows(today.default) else None
            return replace(today, rules=(*today.rules, rule), default=default)

        monkeypatch.setattr(vector_add, "space", space)

    return forbid


def tuned(trials: int = TRIALS) -> TuningResult:
    """The study as `engine.tune` resumes it."""
    request = TuningRequest(
        kernel="vector_add",
        shapes=({"N": 5000},),
        search=SearchOptions(sampler="random", trials=trials),
        study=StudyOptions(storage="t.journal"),
        work=WorkOptions(jobs=1),
    )
    return tuning.tune(request, [])


def winner_of(result: TuningResult) -> Config:
    assert result.summary.winner is not None
    return result.summary.winner.config


def looked_up() -> Config:
    return engine.lookup("vector_add", storage="t.journal", N=5000).config


def study() -> tuple[SearchSpace, StoredTrials]:
    info = load_board("emulated").info
    space = PROBLEM.space(info)
    return space, open_study("t.journal", identity_of(PROBLEM, info, "random"), space)


def compared(search: Search) -> list[Config]:
    """Store a comparison that the second in time won; the leaders, that one first."""
    first, second, *others = leaders(search.trials())
    order = [second, first, *others]
    contenders = [Contender(config, 1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 9) for config in order]
    search.keep_comparison(Comparison(tuple(contenders), noise=0.01))
    return order


@pytest.mark.long
def test_rules_and_comparisons_count_alike_in_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forbid: Forbid
) -> None:
    monkeypatch.chdir(tmp_path)
    assert winner_of(tuned()) == looked_up()
    space, stored = study()
    search = Search(space, "random", trials=stored)
    order = compared(search)
    assert winner_of(tuned()) == looked_up() == order[0]

    slow = next(t.config for t in reversed(search.trials()) if t.config not in order)
    forbid(slow["BLOCK_SIZE"])
    assert winner_of(tuned(TRIALS - 1)) == looked_up() == order[0]

    forbid(slow["BLOCK_SIZE"], order[0]["BLOCK_SIZE"])
    assert winner_of(tuned(TRIALS - 2)) == looked_up() == order[1]


@pytest.mark.long
def test_one_more_configuration_that_a_rule_forbids_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forbid: Forbid
) -> None:
    """As `engine.check_key` measures it."""
    monkeypatch.chdir(tmp_path)
    forbid(4)
    result = tuned()
    space, stored = study()
    order = compared(Search(space, "random", trials=stored))
    add_to_study(result, Config({"BLOCK_SIZE": 4}), "emulated")
    assert winner_of(tuned()) == looked_up() == order[0]


def test_nothing_is_found_where_rules_forbid_all_that_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forbid: Forbid
) -> None:
    monkeypatch.chdir(tmp_path)
    default = winner_of(tuned(trials=1))
    assert looked_up() == default
    forbid(default["BLOCK_SIZE"])
    with pytest.raises(NotTunedError):
        looked_up()
