"""Cores whose constants nobody published: emulated ones with several constants changed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from rvv_runner.board_file import BoardFile
from rvv_runner.cores.core import base_costs
from rvv_runner.cores.emulated_file import CoreFacts, emulated_file
from rvv_runner.emulated.costs import CostTable

__all__ = ["CHANGES", "Change", "drawn_changes", "hidden_core"]


@dataclass(frozen=True)
class Change:
    """A constant of the hidden core.

    Args:
        part: of the cost table.
        name: of the entry, with "/latency" or "/occupancy" for one column of a class.
        factor: times the constant of the core that it was made from.
    """

    part: str
    name: str
    factor: float

    def value(self, table: CostTable) -> float:
        """The constant in a cost table, in cycles or pieces; of a class, of e32 and m1."""
        entry, _, column = self.name.partition("/")
        if column:
            return float(getattr(table.classes[entry], column)[32][3])
        if entry == "load_latency":
            return float(table.classes["v_load"].latency[32][3])
        return float(table.parameters[entry]) / (1 if entry in _PIECES else 100)


_SETS = ("l1d_sets", "l2_sets")
_PIECES = ("tlb_ways", "l1d_sets", "l2_sets", "streams", "store_misses")

CHANGES: Sequence[Change] = (
    Change("scalar", "load/latency", 4 / 3),
    Change("scalar", "multiply/latency", 0.6),
    Change("scalar", "fp_fma/latency", 1.4),
    Change("scalar", "vset/latency", 1.4),
    Change("vector", "v_int/occupancy", 1.5),
    Change("vector", "v_int/latency", 1.5),
    Change("vector", "v_fma/occupancy", 1.5),
    Change("vector", "v_fma/latency", 1.6),
    Change("vector", "v_to_scalar/latency", 1.5),
    Change("vector_memory", "load_latency", 5 / 3),
    Change("vector_memory", "v_load/occupancy", 1.3),
    Change("vector_memory", "v_store/occupancy", 0.8),
    Change("vector_memory", "v_load_strided/occupancy", 0.7),
    Change("memory", "l1d_sets", 2),
    Change("memory", "l2_sets", 2),
    Change("memory", "tlb_ways", 0.75),
    Change("memory", "tlb_miss", 1.6),
    Change("memory", "streams", 1.25),
    Change("memory", "l2_random", 1.4),
    Change("memory", "l2_streamed", 1.5),
    Change("memory", "l2_streamed_scalar", 0.8),
    Change("memory", "l2_written", 1.5),
    Change("memory", "dram_random", 1.4),
    Change("memory", "dram_read", 1.4),
    Change("memory", "dram_write", 1.5),
    Change("memory", "dirty_eviction", 1.4),
    Change("memory", "store_misses", 1.5),
    Change("pipeline", "store_drain", 1.5),
    Change("branches", "mispredict", 1.4),
)


def drawn_changes(seed: int) -> list[Change]:
    """The constants of CHANGES, each times a factor between a half and two that is drawn at random;
    of a cache's sets a power of two."""
    draw = random.Random(seed)
    return [
        replace(
            change,
            factor=draw.choice((0.5, 1, 2)) if change.name in _SETS else 2 ** draw.uniform(-1, 1),
        )
        for change in CHANGES
    ]


def hidden_core(like: BoardFile, changes: Sequence[Change] = CHANGES) -> str:
    """The board file of a core like `like` but for the changes."""
    assert like.emulation is not None
    assert like.l1d_bytes is not None
    assert like.l2_bytes is not None
    costs: dict[str, Any] = deepcopy(dict(like.emulation.costs))
    costs.pop("vlen_bits", None)
    whole = base_costs(like)
    for change in changes:
        entry, _, column = change.name.partition("/")
        part = costs.setdefault(change.part, {})
        if not column:
            part[entry] = _whole_if_it_was(whole[change.part][entry], change.factor)
            continue
        of_class = part.setdefault(entry, deepcopy(whole[change.part][entry]))
        for key in [key for key in of_class if key.partition("_")[0] == column]:
            of_class[key] = _times(of_class[key], change.factor)
    factors: Mapping[str, float] = {change.name: change.factor for change in changes}
    facts = CoreFacts(
        like.vlen_bits,
        like.cores,
        like.frequency_hz,
        round(like.l1d_bytes * factors.get("l1d_sets", 1)),
        round(like.l2_bytes * factors.get("l2_sets", 1)),
    )
    return emulated_file("A made-up core.", facts, costs)


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [_times(item, factor) for item in value]
    return round(value * factor, 2)


def _whole_if_it_was(value: float, factor: float) -> float:
    return round(value * factor) if isinstance(value, int) else round(value * factor, 2)
