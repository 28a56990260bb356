"""The models under which an emulated board estimates each run: a default, and what else may be."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rvv_runner.emulated.costs import CostTable
from rvv_runner.emulated.instruction_costs import InstructionCost

__all__ = [
    "DEFAULT_MODEL",
    "FAMILY_FILE",
    "WITHOUT_PREFETCHES",
    "Model",
    "family_tables",
    "family_text",
    "models",
]

FAMILY_FILE = Path(__file__).with_name("family.toml")
DEFAULT_MODEL = "default"
WITHOUT_PREFETCHES = "prefetch-ignored"
_MAX_MODELS = 8  # lanes.h
# Where several cores run, their bus is as much slower or faster as that of one.
_BUS_OF = {"bus_read": "dram_read", "bus_write": "dram_write"}
_LOADS = ("v_load", "v_load_whole")
_FREE = frozenset(  # what may differ between the models of one run: see memories.c and LANE_TIMES
    {
        *("tlb_miss", "l2_random", "l2_streamed", "l2_streamed_scalar", "l2_written"),
        *("dram_random", "dram_read", "dram_write", "dram_unmerged", "dram_ahead"),
        *("dirty_eviction", "store_misses", "write_stream_lines", "l2_sets", "l2_ways"),
        *("streams", "store_streams"),
        *("l2_keeps_one_in", "l2_keeps_unforeseen"),
        *("prefetch_works", "prefetch_late", "prefetch_needs_page", "prefetch_buffers"),
    }
)


@dataclass(frozen=True)
class Model:
    """One model of the family: what it assumes, beside the default.

    Args:
        name: as studies store it.
        says: what it assumes, after "if".
        reason: why it may be so, with its source.
        set: figures of the memory in place of the core's, by their names in the cost table.
        times: factors on figures of the memory.
        loads: factor on the occupancy of unit-stride vector loads.
    """

    name: str
    says: str
    reason: str
    set: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    loads: float = 1.0

    def memory_figures(self, default: CostTable) -> dict[str, float]:
        """The figures of [memory] that differ from a core's own, as its cost table has them."""
        table = self.table(default)
        return {name: table.memory_figure(name) for name in (*self.set, *self.times)}

    def table(self, default: CostTable) -> CostTable:
        """A core's costs in this model."""
        parameters = {**default.parameters, **self.set}
        for name, factor in self.times.items():
            parameters[name] = max(1, round(parameters[name] * factor))
        classes = dict(default.classes)
        for name in _LOADS if self.loads != 1 else ():
            classes[name] = _slower(classes[name], self.loads)
        sharing = dict(default.sharing)
        for name, own in _BUS_OF.items() if default.cores > 1 else ():
            sharing[name] = max(1, round(sharing[name] * self.times.get(own, 1.0)))
        return replace(default, parameters=parameters, classes=classes, sharing=sharing)


@functools.cache
def models() -> tuple[Model, ...]:
    """The family, the default first.

    Raises:
        ValueError: if the file is wrong; the message names the entry.
    """
    found = tuple(
        Model(**entry) for entry in tomllib.loads(FAMILY_FILE.read_text(encoding="utf-8"))["model"]
    )
    if not 1 <= len(found) <= _MAX_MODELS or found[0].name != DEFAULT_MODEL:
        raise ValueError(f"the family has up to {_MAX_MODELS} models, {DEFAULT_MODEL} first")
    for model in found:
        if unknown := {*model.set, *model.times} - _FREE:
            raise ValueError(f"{model.name} may not change {', '.join(sorted(unknown))}")
        if not model.reason.strip():
            raise ValueError(f"{model.name} has no reason")
    return found


def family_tables(
    default: CostTable, left_out: Sequence[str] = ()
) -> tuple[tuple[Model, CostTable], ...]:
    """The models of a core with its costs in each, the default first.

    Models that are the same as an earlier one on this core are left out.

    Args:
        default: the core's own costs.
        left_out: names of models that a board has ruled out.

    Raises:
        ValueError: if a name is not in the family, or is the default's.
    """
    possible = {model.name for model in models()} - {DEFAULT_MODEL}
    if unknown := set(left_out) - possible:
        raise ValueError(
            f"{', '.join(sorted(unknown))} cannot be ruled out: choose among "
            f"{', '.join(sorted(possible))}"
        )
    found: list[tuple[Model, CostTable]] = []
    for model in models():
        table = model.table(default)
        if model.name not in left_out and all(table != other for _, other in found):
            found.append((model, table))
    return tuple(found)


def family_text(tables: Sequence[tuple[Model, CostTable]]) -> str:
    """The tables in the format of `costs.c`: the first whole, of the others what differs."""
    first = tables[0][1].plugin_text()
    known = set(first.splitlines())
    text = [first]
    for model, table in tables[1:]:
        text.append(f"member {model.name}\n")
        text += [f"{line}\n" for line in table.plugin_text().splitlines() if line not in known]
    return "".join(text)


def _slower(cost: InstructionCost, factor: float) -> InstructionCost:
    occupancy = {
        sew_bits: tuple(cycles * factor for cycles in values)
        for sew_bits, values in cost.occupancy.items()
    }
    return replace(cost, occupancy=occupancy)
