"""Reads a core's cost table from TOML and writes it in the plug-in's simple format."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from foundation.errors import nearest
from rvv_runner.emulated.instruction_costs import (
    REFERENCE_VLEN_BITS,
    SEW_BITS,
    TICKS_PER_CYCLE,
    InstructionCost,
    memory_cost,
    scalar_cost,
    ticks,
    vector_cost,
)

__all__ = ["CostTable", "read_cost_table"]

_MEMORY_CYCLES = (
    "tlb_miss",
    "l2_random",
    "l2_streamed",
    "l2_streamed_scalar",
    "l2_written",
    "dram_random",
    "dram_read",
    "dram_write",
    "dram_unmerged",
    "dram_ahead",
    "dirty_eviction",
)
_MEMORY_COUNTS = (
    "streams",
    "l2_keeps_one_in",
    "l2_keeps_unforeseen",
    "store_misses",
    "store_streams",
    "write_stream_lines",
    "prefetch_works",
    "prefetch_late",
    "prefetch_needs_page",
    "prefetch_buffers",
)
_PIPELINE_CYCLES = ("scalar_to_vector", "store_data_late", "store_drain")
_MEMORY_SIZES = (
    "line_bytes",
    "l1d_sets",
    "l1d_ways",
    "l2_sets",
    "l2_ways",
    "page_bytes",
    "tlb_sets",
    "tlb_ways",
)
# Of out-of-order cores, with the largest that the model takes (window.h).
_WINDOW_LIMITS = {"issue_width": 16, "window_entries": 1024, "load_misses": 64}
_IN_ORDER = "vectors_in_order"  # 1 where vector arithmetic starts in program order
_CORE_KEYS = {
    *("vlen_bits", "memory", "pipeline", "branches", "scalar", "vector", "vector_memory"),
    "cores",
}
# What several cores share, in cycles.
_SHARED_CYCLES = ("l2_line", "bus_read", "bus_write", "snoop", "far_snoop")
_POWERS_OF_TWO = ("line_bytes", "l1d_sets", "l2_sets", "page_bytes", "tlb_sets")
_MAX_STREAMS = 32


@dataclass(frozen=True)
class CostTable:
    """A core's costs for one vector length.

    Args:
        vlen_bits: bits in a vector register.
        classes: by the class names of `costs.h`.
        parameters: sizes, and times in hundredths of a cycle, by the names of `costs.h`.
        window: of an out-of-order core, by the names of `costs.h`; empty for one in order.
        sharing: times of what several cores share, in hundredths of a cycle, by the names of
            `costs.h`.
        cores, cores_per_l2: how many cores there are, and how many share an L2.
    """

    vlen_bits: int
    classes: Mapping[str, InstructionCost]
    parameters: Mapping[str, int]
    window: Mapping[str, int] = field(default_factory=dict)
    sharing: Mapping[str, int] = field(default_factory=dict)
    cores: int = 1
    cores_per_l2: int = 1

    def for_cores(self, cores: int, cores_per_l2: int) -> CostTable:
        """The same costs, for so many cores, whose bus is at least as fast as one of them."""
        own = {"bus_read": "dram_read", "bus_write": "dram_write"}
        bus = {name: min(self.sharing[name], self.parameters[one]) for name, one in own.items()}
        sharing = {**self.sharing, **bus}
        return replace(self, sharing=sharing, cores=cores, cores_per_l2=cores_per_l2)

    def cycles(self, name: str) -> float:
        """A time among `parameters` and `sharing`, in cycles."""
        return {**self.parameters, **self.sharing}[name] / TICKS_PER_CYCLE

    def memory_figure(self, name: str) -> float:
        """A figure of the table's [memory], as it stands there: in cycles, or a count."""
        return self.cycles(name) if name in _MEMORY_CYCLES else self.parameters[name]

    def plugin_text(self) -> str:
        """The table in the format of `costs.c`; times are in hundredths of a cycle."""
        lines = [f"param {name} {value}" for name, value in self.parameters.items()]
        lines += [f"window {name} {value}" for name, value in self.window.items()]
        if self.cores > 1:
            counts = {"cores": self.cores, "cores_per_l2": self.cores_per_l2}
            lines += [
                f"shared {name} {value}" for name, value in {**counts, **self.sharing}.items()
            ]
        for name, cost in self.classes.items():
            numbers = [
                str(ticks(cycles))
                for sew_bits in SEW_BITS
                for column in (cost.latency[sew_bits], cost.occupancy[sew_bits])
                for cycles in column
            ]
            percents = [str(round(factor * 100)) for factor in cost.masked]
            rest = " ".join([str(ticks(cost.masked_adds)), *percents, *numbers])
            lines.append(f"cost {name} {cost.unit} {cost.chained:d} {rest}")
        return "\n".join(lines) + "\n"


def read_cost_table(
    path: Path, vlen_bits: int, core: Mapping[str, Any] = MappingProxyType({})
) -> CostTable:
    """The costs of the core described in `path`, for a vector length of `vlen_bits`.

    Costs that scale with the number of elements are computed for that length and each element
    width; the others depend only on LMUL.

    Args:
        path: a whole table.
        vlen_bits: bits in a vector register.
        core: what another core has instead, as the table has it; classes are replaced as a whole.
            "vlen_bits" is the vector length that its lists hold for, "out_of_order" its window.

    Raises:
        ValueError: if a table is wrong; the message names the entry.
        OSError: if the file cannot be read.
    """
    if unknown := set(core) - {*_CORE_KEYS, "out_of_order"}:
        raise ValueError(f"there is no part named {', '.join(sorted(unknown))}")
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    lists_for = core.get("vlen_bits", REFERENCE_VLEN_BITS)
    for part in _CORE_KEYS - {"vlen_bits"}:
        table[part] = {**table[part], **core.get(part, {})}

    def relative_vlen(part: str, name: str) -> float:
        return vlen_bits / (lists_for if name in core.get(part, {}) else REFERENCE_VLEN_BITS)

    classes = {name: scalar_cost(name, entry) for name, entry in table["scalar"].items()}
    for name, entry in table["vector"].items():
        classes[name] = vector_cost(name, entry, relative_vlen("vector", name))
    memory_entries = dict(table["vector_memory"])
    load_latency = memory_entries.pop("load_latency")
    for name, entry in memory_entries.items():
        relative = relative_vlen("vector_memory", name)
        classes[name] = memory_cost(name, entry, load_latency, relative)
    window = _window(core.get("out_of_order", {}))
    sharing = _sharing(table["cores"])
    return CostTable(vlen_bits, classes, _parameters(table, vlen_bits), window, sharing)


def _window(entry: Mapping[str, Any]) -> dict[str, int]:
    """The window of an out-of-order core; empty for one that issues in order."""
    if not entry:
        return {}
    if set(entry) - {_IN_ORDER} != {*_WINDOW_LIMITS, "source"}:
        needed = ", ".join(_WINDOW_LIMITS)
        raise ValueError(f"out_of_order needs {needed} and source, and may have {_IN_ORDER}")
    for name, limit in _WINDOW_LIMITS.items():
        if not 1 <= entry[name] <= limit:
            raise ValueError(f"{name} is {entry[name]}: make it 1 to {limit}")
    if (in_order := entry.get(_IN_ORDER, 0)) not in (0, 1):
        raise ValueError(f"{_IN_ORDER} is {in_order}: make it 0 or 1")
    return {**{name: entry[name] for name in _WINDOW_LIMITS}, _IN_ORDER: in_order}


def _sharing(entry: Mapping[str, Any]) -> dict[str, int]:
    """What several cores share."""
    if set(entry) != set(_SHARED_CYCLES):
        raise ValueError(f"[cores] needs exactly {', '.join(_SHARED_CYCLES)}")
    return {name: ticks(entry[name]) for name in _SHARED_CYCLES}


def _instead(unknown: str, expected: Collection[str]) -> str:
    """What to write for an entry of [memory] that there is not."""
    cache = unknown.removesuffix("_bytes")
    if f"{cache}_sets" in expected:
        return f"write {cache}_sets, and {cache}_bytes at the top of the board file"
    return nearest(unknown, expected)


def _parameters(table: Mapping[str, Any], vlen_bits: int) -> dict[str, int]:
    memory = table["memory"]
    pipeline = table["pipeline"]
    branches = table["branches"]
    expected = {*_MEMORY_SIZES, *_MEMORY_CYCLES, *_MEMORY_COUNTS}
    if unknown := sorted(set(memory) - expected):
        raise ValueError(f"[memory] has no entry {unknown[0]}: {_instead(unknown[0], expected)}")
    if missing := sorted(expected - set(memory)):
        raise ValueError(f"[memory] lacks {', '.join(missing)}")
    for name in _POWERS_OF_TWO:
        if memory[name] <= 0 or memory[name] & (memory[name] - 1):
            raise ValueError(f"{name} is {memory[name]}: make it a power of two")
    entries = branches["predictor_entries"]
    if entries <= 0 or entries & (entries - 1):
        raise ValueError(f"predictor_entries is {entries}: make it a power of two")
    for name in ("streams", "store_streams"):
        if not 0 <= memory[name] <= _MAX_STREAMS:
            raise ValueError(f"{name} is {memory[name]}: make it 0 to {_MAX_STREAMS}")
    return {
        "vlen_bits": vlen_bits,
        **{name: memory[name] for name in _MEMORY_SIZES},
        **{name: ticks(memory[name]) for name in _MEMORY_CYCLES},
        **{name: memory[name] for name in _MEMORY_COUNTS},
        **{name: ticks(pipeline[name]) for name in _PIPELINE_CYCLES},
        "mispredict": ticks(branches["mispredict"]),
        "predictor_entries": entries,
    }
