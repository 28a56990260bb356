"""Which stored winner serves a shape, over studies in Optuna's own storages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import engine
import engine.winners.lookup as lookup_module
from engine import find
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from engine.winners.lookup import Found, NotTunedError, wanted
from engine.winners.stored import FEWEST_TRIALS, key_of
from foundation.config import Config
from foundation.errors import UserError
from foundation.shapes import distance
from search_spaces import vector_add
from search_spaces.space import Parameter, SearchSpace

SPACE = SearchSpace((Parameter("BLOCK_SIZE", tuple(range(1, 100))),))
DEVICE = "emulated:x60"


def store(
    storage: Path | str,
    n: int,
    times_s: Mapping[int, float | None],
    *,
    dtype: str = "fp32",
    compiler: str = "",
    sampler: str = "auto",
) -> None:
    """A study of vector_add at N = n: the time of each block size, None for a failure."""
    made_with = dict(wanted("vector_add", {"N": n}, None, "emulated").made_with)
    if compiler:
        made_with["compiler"] = compiler
    identity = StudyIdentity("vector_add", {"N": n}, dtype, DEVICE, sampler, made_with)
    trials = open_study(str(storage), identity, SPACE)
    for block, time_s in times_s.items():
        number = trials.start(Config({"BLOCK_SIZE": block}), SPACE, {})
        attributes = {"estimated": True, "elf_sha256": f"{block:064}", "board": DEVICE}
        trials.finish(number, time_s, "wrong" if time_s is None else "correct", attributes)


def lookup(storage: Path, n: int, max_key_cost: float = 0.05) -> Found:
    return engine.lookup(
        "vector_add", storage=str(storage), device="emulated", max_key_cost=max_key_cost, N=n
    )


def enough(best: int, time_s: float) -> dict[int, float | None]:
    """As many trials as a check needs, the best of which is `best`."""
    others = (block for block in range(50, 99) if block != best)
    return {next(others): 2 * time_s for _ in range(FEWEST_TRIALS)} | {best: time_s}


@pytest.fixture(autouse=True)
def any_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Today's search space is the one that the studies here were made with."""
    monkeypatch.setattr(vector_add, "space", lambda problem, board: SPACE)


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return tmp_path / "tuner.journal"


@pytest.mark.parametrize(("default_s", "use"), [(1.01e-6, 16), (2e-6, 8)])
def test_of_a_tie_the_default_is_used_and_it_is_said(
    storage: Path,
    default_s: float,
    use: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store(storage, 1000, {8: 1e-6, 16: default_s})
    today = replace(SPACE, default=Config({"BLOCK_SIZE": 16}))
    monkeypatch.setattr(vector_add, "space", lambda problem, board: today)
    found = lookup(storage, 1000)
    assert found.config == {"BLOCK_SIZE": use}
    says = "the default are tied" if use == 16 else "Use the winner: 2.00x the default"
    assert says in str(found)
    assert f". At N=1000: {found.winner.advice}" in str(lookup(storage, 1010))
    arguments = ["vector_add", "--shape", "N=1000", "--storage", str(storage), "--json"]
    assert find.main(arguments) == 0
    assert says in json.loads(capsys.readouterr().out)["advice"]


def test_shape_that_was_tuned_has_its_own_winner(storage: Path) -> None:
    store(storage, 1000, {16: 3e-6, 32: 2e-6, 64: None})
    store(storage, 1024, {8: 1e-6})
    found = lookup(storage, 1000)
    assert found.how == "exact"
    assert found.config == {"BLOCK_SIZE": 32}
    assert found.distance == 0
    assert found.winner.elf_sha256 == f"{32:064}"
    assert found.winner.estimated
    assert str(found) == (
        "BLOCK_SIZE=32 for N=1000: tuned at this shape. Use the winner; its gain is not known, "
        "since the default was not measured."
    )


def test_best_of_all_samplers_wins_and_other_types_do_not(storage: Path) -> None:
    store(storage, 1000, {16: 3e-6})
    store(storage, 1000, {32: 2e-6}, sampler="random")
    store(storage, 1000, {64: 1e-6}, dtype="fp16")
    assert lookup(storage, 1000).config == {"BLOCK_SIZE": 32}


def test_old_compiler_serves_only_where_there_is_no_other_and_says_so(storage: Path) -> None:
    store(storage, 1000, {16: 1e-6}, compiler="old")
    assert lookup(storage, 1000).differs == ("compiler",)
    assert "made with another compiler" in str(lookup(storage, 1000))
    store(storage, 1000, {32: 2e-6})
    assert lookup(storage, 1000).config == {"BLOCK_SIZE": 32}
    assert not lookup(storage, 1000).differs


def test_key_that_was_never_checked_is_not_used(storage: Path) -> None:
    store(storage, 1024, {32: 1e-6})
    store(storage, 900, {16: 1e-6})
    found = lookup(storage, 901)
    assert (found.how, found.config["BLOCK_SIZE"]) == ("nearest", 16)
    assert "no check with today's toolchain" in found.key_rejected
    assert found.distance == pytest.approx(distance({"N": 901}, {"N": 900}))


def test_key_is_used_where_checks_found_it_cheap(storage: Path) -> None:
    store(storage, 1024, {32: 1e-6})
    store(storage, 700, {**enough(16, 1e-6), 32: 1.04e-6})
    found = lookup(storage, 701)
    assert (found.how, found.config["BLOCK_SIZE"]) == ("power-of-two", 32)
    (cost,) = found.key_costs
    assert cost.cost == pytest.approx(0.04)
    assert (cost.shape, cost.key, cost.trials) == ({"N": 700}, {"N": 1024}, FEWEST_TRIALS + 2)
    assert "checked at 1 shape, cost at most 4.0%" in str(found)
    dear = lookup(storage, 701, max_key_cost=0.03)
    assert dear.how == "nearest"
    assert "costs too much: N=700: the winner of N=1024 takes 4.0% longer" in dear.key_rejected


def test_one_dear_check_is_enough_to_reject_the_key(storage: Path) -> None:
    store(storage, 1024, {32: 1e-6})
    store(storage, 700, {**enough(16, 1e-6), 32: 1.04e-6})
    store(storage, 800, {**enough(16, 1e-6), 32: None})
    found = lookup(storage, 701)
    assert found.how == "nearest"
    assert "fails" in " ".join(map(str, found.key_costs))


def test_best_of_few_trials_checks_nothing(storage: Path) -> None:
    store(storage, 1024, {32: 1e-6})
    store(storage, 700, {16: 1e-6, 32: 1e-6})
    assert "no check with today's toolchain" in lookup(storage, 701).key_rejected


def test_check_made_with_another_compiler_is_void(storage: Path) -> None:
    store(storage, 1024, {32: 1e-6})
    store(storage, 700, {**enough(16, 1e-6), 32: 1.0e-6}, compiler="old")
    assert lookup(storage, 701).how == "nearest"


def test_nothing_stored_says_what_to_run(storage: Path) -> None:
    with pytest.raises(NotTunedError, match=r"engine.tune vector_add --shape N=1000"):
        lookup(storage, 1000)
    assert not storage.exists()
    store(storage, 1000, {16: None})
    with pytest.raises(NotTunedError):
        lookup(storage, 1000)


def test_where_all_failed_it_says_how_many(storage: Path) -> None:
    store(storage, 1024, {32: None, 64: None})
    with pytest.raises(
        NotTunedError, match=r"no winner yet for .*: of 2 configurations .* holds none that"
    ):
        lookup(storage, 1024)


def test_what_is_stored_later_is_seen(storage: Path) -> None:
    store(storage, 1000, {16: 3e-6})
    assert lookup(storage, 1000).config == {"BLOCK_SIZE": 16}
    store(storage, 1000, {32: 2e-6})
    assert lookup(storage, 1000).config == {"BLOCK_SIZE": 32}


def test_sqlite_serves_as_well(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/tuner.db"
    with pytest.raises(NotTunedError):
        engine.lookup("vector_add", storage=url, N=1000)
    assert not list(tmp_path.iterdir())
    store(url, 1000, {16: 3e-6})
    assert engine.lookup("vector_add", storage=url, N=1000).how == "exact"


def test_command_prints_the_sentence_or_json(
    storage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["vector_add", "--storage", str(storage), "--shape", "N=1000"]
    assert find.main(command) == 1
    assert re.search(
        f"^there is no storage {storage}; "
        "nothing is tuned .* --shape N=1000 --dtype fp32 --device emulated$",
        capsys.readouterr().out.strip(),
    )
    store(storage, 900, {16: 3e-6})
    assert find.main(command) == 0
    assert "the nearest shape N=900, 0.15 doublings away" in capsys.readouterr().out
    assert find.main([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["how"] == "nearest"
    assert record["tuned_shape"] == {"N": 900}
    with pytest.raises(UserError, match=r"^--max-key-cost: must be a percentage, not -1 "):
        find.main([*command, "--max-key-cost", "-1"])


def test_key_rounds_each_size_up() -> None:
    assert key_of({"M": 1, "N": 24, "K": 32}) == {"M": 1, "N": 32, "K": 32}
    assert distance({"M": 16, "N": 8}, {"M": 4, "N": 16}) == 3


def test_a_server_is_asked_anew(storage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no file whose time of change would tell."""
    monkeypatch.setattr(lookup_module, "storage_file", lambda storage: None)
    store(storage, 1000, {16: 3e-6})
    assert lookup(storage, 1000).config == {"BLOCK_SIZE": 16}
    store(storage, 1000, {32: 2e-6}, sampler="random")
    assert lookup(storage, 1000).config == {"BLOCK_SIZE": 32}
