"""Studies as a GPU leaves them, without one: one configuration is the fastest, another is slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.run.identity import identity_of
from engine.run.measured_on import store_measured_on
from engine.search import Search
from engine.study.storage import open_study
from foundation.config import Config, ParameterValue
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo
from search_spaces.space import SearchSpace

BLOCKS: Mapping[str, ParameterValue] = {
    "BLOCK_SIZE_M": 64,
    "BLOCK_SIZE_N": 128,
    "BLOCK_SIZE_K": 64,
    "GROUP_SIZE_M": 8,
    "num_warps": 4,
    "num_stages": 3,
}
SCALED: Mapping[str, ParameterValue] = {
    **BLOCKS,
    "BLOCK_SIZE_K": 128,
    "NUM_KSPLIT": 1,
    "cache_modifier": "",
    "B_COLUMN_MAJOR": True,
}


def study_of(
    storage: str,
    board: BoardInfo,
    kernel: str,
    shape: Mapping[str, int],
    dtype: str,
    fastest: Mapping[str, ParameterValue] = BLOCKS,
    *,
    time_s: float = 1e-5,
    sampler: str = "grid",
    others: Sequence[tuple[Mapping[str, ParameterValue], float]] = (),
) -> str:
    """Store a study with two configurations, and others with their times; its name."""
    problem = make_problem(load_kernel(kernel), shape, dtype)
    slow = Config({**fastest, "num_warps": 8})
    known = {slow: 3 * time_s, Config(fastest): time_s, **{Config(c): t for c, t in others}}
    space = SearchSpace.from_configs(list(known))
    stored = open_study(storage, identity_of(problem, board, sampler), space)
    store_measured_on(stored, board)
    search = Search(space, "grid", trials=stored)
    while (config := search.ask()) is not None:
        times_s = [known[config]] * 2
        search.tell(config, times_s[0], attributes={"board": board.name, "times_s": times_s})
    return stored.study_name
