"""Tuning and lookups name the same winner, also after the search space has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import engine
from engine.jobs.config_checks import add_to_study
from engine.repeats.comparison import Comparison, Contender, leaders
from engine.results.advice import advice
from engine.run import tuning
from engine.run.identity import identity_of
from engine.run.request import SearchOptions, StudyOptions, TuningRequest, WorkOptions
from engine.run.stored_summary import stored_summary
from engine.run.summary import Summary
from engine.run.tuning import TuningResult
from engine.search import Search
from engine.study.last_space import keep_space, note_on_removed
from engine.study.storage import open_study, read_studies
from engine.study.trials import StoredTrials
from engine.winners.lookup import NotTunedError
from foundation.config import Config
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo
from rvv_runner.devices import load_board
from search_spaces import problem, vector_add
from search_spaces.space import Parameter, Rule, SearchSpace

pytestmark = pytest.mark.usefixtures("workers_here")

Shortened = Callable[..., None]

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


@pytest.fixture
def shortened(monkeypatch: pytest.MonkeyPatch) -> Shortened:
    """Lists the block sizes of the kernel's search space, the first of which is the default."""

    def shortened(*blocks: int) -> None:
        today = SearchSpace(
            (Parameter("BLOCK_SIZE", blocks),), default=Config({"BLOCK_SIZE": blocks[0]})
        )
        monkeypatch.setattr(vector_add, "space", lambda problem, board: today)

    return shortened


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
    search.keep_comparison(_comparison(contenders, search.space.default))
    return order


def _comparison(contenders: list[Contender], default: Config | None) -> Comparison:
    among = default in {contender.config for contender in contenders}
    return Comparison(tuple(contenders), noise=0.01, default=default if among else None)


def read_later() -> Summary:
    """The study as reports and exports sum it up, which do not import the kernel's file."""
    (stored,) = read_studies("t.journal")
    return stored_summary(stored, [t for t in stored.changes() if t.has_outcome])


def stored_times(times_s: Mapping[int, float], default: int) -> None:
    """A study of these block sizes, all compared in turns, which the default lost."""
    space, stored = study()
    for block, time_s in times_s.items():
        config = Config({"BLOCK_SIZE": block})
        number = stored.start(config, space, {})
        attributes = {"estimated": False, **({"wall_s": 1.0} if block == default else {})}
        stored.finish(number, time_s, "correct", attributes)
    order = sorted(times_s, key=lambda block: times_s[block])
    slower = [times_s[block] / times_s[order[0]] - 1 for block in order]
    contenders = [
        Contender(Config({"BLOCK_SIZE": block}), times_s[block], 1, 1, more, more, more, 9)
        for block, more in zip(order, slower, strict=True)
    ]
    search = Search(space, "random", trials=stored)
    search.keep_comparison(_comparison(contenders, Config({"BLOCK_SIZE": default})))
    keep_space(stored, space)


def test_what_is_removed_wins_nowhere_and_what_is_left_stays_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shortened: Shortened
) -> None:
    monkeypatch.chdir(tmp_path)
    shortened(16, 64, 256, 1024)
    stored_times({16: 4e-6, 64: 3e-6, 256: 2e-6, 1024: 1e-6}, default=16)
    assert looked_up() == {"BLOCK_SIZE": 1024}
    assert read_later().to_use is not None

    shortened(16, 256, 1024)  # a loser goes: the others were compared all the same
    found = engine.lookup("vector_add", storage="t.journal", N=5000)
    assert "Use the winner: 4.00x the default, 4.00x to 4.00x" in str(found)

    shortened(64, 256)  # the winner goes, and the default: the file's first is the default now
    space, stored = study()
    keep_space(stored, space)
    (note,) = note_on_removed(stored)
    assert note.startswith("of the study's 4 trials, 2 are of configurations that the search space")
    assert Search(space, "random", trials=stored).comparison is None
    found = engine.lookup("vector_add", storage="t.journal", N=5000)
    assert found.config == {"BLOCK_SIZE": 256}
    assert "Use the winner: 1.50x the default. How sure that is was not measured." in str(found)
    summary = read_later()
    assert [trial.config["BLOCK_SIZE"] for trial in summary.best] == [256, 64]
    assert summary.default is summary.best[1]
    assert advice(summary) == found.winner.advice


def test_another_default_among_the_same_is_compared_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shortened: Shortened
) -> None:
    """The default wins unless another is significantly faster: which one that is counts."""
    monkeypatch.chdir(tmp_path)
    shortened(16, 64)
    stored_times({16: 4e-6, 64: 3e-6}, default=16)
    space, stored = study()
    assert Search(space, "random", trials=stored).comparison is not None
    shortened(64, 16)
    space, stored = study()
    assert Search(space, "random", trials=stored).comparison is None


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
