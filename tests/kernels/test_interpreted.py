"""How many runs of a kernel are interpreted, by what compiled ones say."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernels.own import interpreted as module
from kernels.own.accesses import Accesses
from kernels.own.interpreted import interpreted
from kernels.own.reference_runs import RunFailed, Way

INTERPRETED, COMPILED = Way(True, True, ""), Way(False, True, "")


@pytest.fixture
def ways(monkeypatch):
    """The ways of all runs; compiled ones are off by `ways.off`, or fail where it is None."""

    class Ways(list):
        off: float | None = 0.0

    ways = Ways()

    def runs(_launch: Any, starts: Any, way: Way) -> list[dict[str, torch.Tensor]]:
        if not way.interprets and ways.off is None:
            raise RunFailed
        ways.extend(["interpreted" if way.interprets else "compiled"] * len(starts))
        off = 0.0 if way.interprets else ways.off
        return [{"y": start["x"] + off, "n": torch.tensor([3])} for start in starts]

    monkeypatch.setattr(module, "runs", runs)
    monkeypatch.setattr(module, "accesses_of", lambda _: Accesses())
    return ways


def starts() -> list[dict[str, Any]]:
    return [{"x": torch.full((20,), 1 + step)} for step in (0.0, 0.0, 1e-3, -1e-3, 1e-3, -1e-3)]


def test_one_run_is_interpreted_where_compiled_ones_agree(ways):
    ways.off = 1e-7
    first, after = interpreted(None, starts(), INTERPRETED, COMPILED)
    assert ways == ["interpreted"] + 6 * ["compiled"]
    assert first["y"][0] == 1
    assert len(after) == 6


@pytest.mark.parametrize("off", [1e-2, float("nan"), None])
def test_all_are_where_they_do_not(ways, off):
    ways.off = off
    _, after = interpreted(None, starts(), INTERPRETED, COMPILED)
    assert ways.count("interpreted") == 7
    assert torch.equal(after[2]["y"], starts()[2]["x"])


def test_one_run_alone_is_compared_with_nothing(ways):
    interpreted(None, starts()[:1], INTERPRETED, COMPILED)
    assert ways == ["interpreted"]
