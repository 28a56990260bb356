"""Studies that an H200 left, from recorded_h200.json, stored as they were without one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpus import H200

from engine.repeats.comparison import COMPARISON
from engine.run.identity import identity_of
from engine.search import Search
from engine.study.storage import open_study
from foundation.config import Config
from kernels.registry import load_kernel, make_problem
from search_spaces.space import SearchSpace

__all__ = ["store_recorded"]

_FILE = Path(__file__).with_suffix(".json")


def store_recorded(
    storage: str, kernel: str, chosen: Callable[[Config], bool] | None = None
) -> list[str]:
    """Store the recorded studies of a kernel, with the Triton that compiled them; their names.

    Args:
        storage: where.
        kernel: its name.
        chosen: whether a configuration is stored; without it, all are, and the comparison of the
            leaders too.
    """
    recorded = json.loads(_FILE.read_text())
    return [
        _store(storage, one, recorded["triton"], chosen)
        for one in recorded["studies"]
        if one["kernel"] == kernel
    ]


def _store(
    storage: str, study: dict[str, Any], triton: str, chosen: Callable[[Config], bool] | None
) -> str:
    *_, last = study["rows"]
    count = len(last) - 3  # behind the parameters: status, time in seconds, times of the runs
    rows = [
        (Config(dict(zip(study["parameters"], row[:count], strict=True))), *row[count:])
        for row in study["rows"]
    ]
    rows = [row for row in rows if chosen is None or chosen(row[0])]
    problem = make_problem(load_kernel(study["kernel"]), study["shape"], study["dtype"])
    space = SearchSpace.from_configs([config for config, *_ in rows])
    stored = open_study(storage, identity_of(problem, H200, "auto"), space)
    stored.set_attribute("measured_on", {"gpu": asdict(H200.gpu), "triton": triton})
    search = Search(space, "random", trials=stored)
    for number, (config, status, time_s, times_s) in enumerate(rows):
        assert search.take(config)
        about = {"board": H200.name, "times_s": times_s}
        if number == 0:
            about["wall_s"] = 1.0  # the default came first
        search.tell(config, time_s, status=status, attributes=about)
    if chosen is None:
        stored.set_attribute(COMPARISON, study["comparison"])
    return stored.study_name
