"""A study that an earlier version stored: it is found, read, resumed and begun from as before.

`recorded/vector_add.journal` is what `engine.tune vector_add --shape N=1000 --trials 5 --storage
vector_add.journal` left at commit f057d85. Its name ends in a digest of that day's compiler, so it
is opened with the identity that it holds.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pandas
import pytest

from engine import export
from engine.search import Search
from engine.study.history import history_of
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from engine.winners.stored import stored_studies
from foundation.config import Config
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board
from search_spaces.space import SearchSpace

RECORDED = Path(__file__).with_name("recorded") / "vector_add.journal"
IDENTITY = StudyIdentity(
    kernel="vector_add",
    shape={"N": 1000},
    dtype="fp32",
    device="emulated:x60",
    sampler="auto",
    made_with={
        "board model": "emulated-x60-vlen256-model-09095549",
        "compiler": "7dcf92ff7befa96a",
        "kernel source": "e78c4f2b21daf31b",
    },
)
NAME = "vector_add-N1000-fp32-emulated:x60-auto-ec907bd8"
# By BLOCK_SIZE, in the order of trying.
TIMES_S = {
    1024: 2.022875e-06,
    8: 2.594375e-06,
    64: 9.210625e-07,
    256: 1.153375e-06,
    32: 1.3304374999999999e-06,
}


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return str(shutil.copy(RECORDED, tmp_path))


@pytest.fixture(scope="module")
def space() -> SearchSpace:
    problem = make_problem(load_kernel("vector_add"), {"N": 1000})
    return problem.space(load_board("emulated").info)


def times_s(search: Search) -> dict[int, float | None]:
    return {int(trial.config["BLOCK_SIZE"]): trial.time_s for trial in search.trials()}


def test_it_is_found_under_its_name() -> None:
    assert IDENTITY.name == NAME.replace(":", "-")
    assert IDENTITY.name_among([]) == IDENTITY.name
    assert IDENTITY.name_among([IDENTITY.name, NAME]) == NAME


def test_many_sizes_are_short_in_its_name() -> None:
    """As of a captured kernel: its tensors' sizes fill a line."""
    sizes = {f"x_ptr_{axis}{number}": 1024 for axis in "ij" for number in range(4)}
    identity = replace(IDENTITY, shape=sizes)
    assert re.fullmatch(r"vector_add-[0-9a-f]{8}-fp32-emulated-x60-auto-\w{8}", identity.name)
    other = replace(IDENTITY, shape={**sizes, "x_ptr_i0": 512})
    assert other.name != identity.name
    for earlier in ("emulated:x60", "emulated-x60"):
        kept = "-".join(f"{name}{size}" for name, size in sizes.items())
        name = f"vector_add-{kept}-fp32-{earlier}-auto-{identity.name[-8:]}"
        assert identity.name_among([identity.name, name]) == name
        changed = name.replace(name[-8:], "0" * 8)
        assert identity.other_parts(changed, {"made_with": {}}) == tuple(sorted(identity.made_with))


def test_it_is_resumed(storage: str, space: SearchSpace) -> None:
    search = Search(space, "auto", 0, open_study(storage, IDENTITY, space))
    assert times_s(search) == TIMES_S
    assert search.best() == ({"BLOCK_SIZE": 64}, TIMES_S[64])
    assert search.default_time_s == TIMES_S[1024]
    rest = []
    while (config := search.ask()) is not None:
        search.tell(config, 1.0)
        rest.append(config)
    assert len(rest) == search.size - 5
    assert {int(config["BLOCK_SIZE"]) for config in rest}.isdisjoint(TIMES_S)
    again = Search(space, "auto", 0, open_study(storage, IDENTITY, space))
    assert times_s(again) == {**TIMES_S, **{int(config["BLOCK_SIZE"]): 1.0 for config in rest}}


def test_its_winner_is_read(storage: str) -> None:
    (study,) = stored_studies(storage)
    winner = study.winner(None)
    assert winner is not None
    assert (winner.study, winner.made_with) == (NAME, IDENTITY.made_with)
    assert (winner.kernel, winner.shape, winner.dtype) == ("vector_add", {"N": 1000}, "fp32")
    assert (winner.config, winner.time_s) == ({"BLOCK_SIZE": 64}, TIMES_S[64])
    assert winner.estimated
    assert winner.times_s == {Config({"BLOCK_SIZE": b}): t for b, t in TIMES_S.items()}


def test_it_is_exported_with_its_counters(storage: str, tmp_path: Path) -> None:
    assert export.main(["--storage", storage, "--out", str(tmp_path / "out")]) == 0
    table = pandas.read_csv(tmp_path / "out" / NAME.replace(":", "-") / "trials.csv")
    assert dict(zip(table["BLOCK_SIZE"], table["time_s"], strict=True)) == TIMES_S
    cycles = dict(zip(table["BLOCK_SIZE"], table["counter.u_mode_cycle"], strict=True))
    assert (cycles[64], cycles[1024]) == (1473.7, 3236.6)


def test_another_study_is_warm_started_from_it(storage: str, space: SearchSpace) -> None:
    today = replace(IDENTITY, made_with={**IDENTITY.made_with, "compiler": "another"})
    stored = open_study(storage, today, space)
    assert today.other_parts(NAME, dict(stored.other_studies())[NAME]) == ("compiler",)
    past = history_of(stored, today, space)
    assert past is not None
    assert past.name == NAME
    search = Search(space, "auto", 0, stored, past.trials)
    assert [search.ask(), search.ask()] == [space.default, {"BLOCK_SIZE": 64}]
