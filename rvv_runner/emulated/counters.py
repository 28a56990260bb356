"""Parses the plug-in's report and gives its counts the names of the K1's performance events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "MODELLED_EVENTS",
    "Region",
    "parse_report",
    "processes_started",
    "reports_whole",
    "unpaired_marks",
]

# The K1's event name -> the plug-in's counts. Events that count cycles are estimates.
_K1_EVENTS = {
    "u_mode_cycle": ("busy_cycles",),  # of all cores, as perf counts them
    "vector_inst": ("vector_instructions",),
    "vector_load_inst": ("vector_loads",),
    "vector_store_inst": ("vector_stores",),
    "vector_micro_op": ("vector_micro_operations",),
    "eu_vfpu_full": ("vector_fp_wait_cycles",),
    "vidu_total_cycle": ("vector_unit_busy_cycles",),
    "l1d_access": ("l1d_load_access", "l1d_store_access"),
    "l1d_miss": ("l1d_load_miss", "l1d_store_miss"),
    "l1d_load_access": ("l1d_load_access",),
    "l1d_load_miss": ("l1d_load_miss",),
    "l2_access": ("l2_load_access", "l2_store_access"),
    "l2_miss": ("l2_load_miss", "l2_store_miss"),
    "l2_load_access": ("l2_load_access",),
    "l2_store_access": ("l2_store_access",),
}

# Counts for which a K1 has no event, by the plug-in's names.
_OWN_COUNTERS = (
    "instructions",
    "scalar_loads",
    "scalar_stores",
    "whole_register_loads",
    "whole_register_stores",
    "vector_mf8",
    "vector_mf4",
    "vector_mf2",
    "vector_m1",
    "vector_m2",
    "vector_m4",
    "vector_m8",
    "l1d_dirty_eviction",
    "tlb_miss",
    "branch_misses",
    "software_prefetch",
)


# What comes from the models of core and memory; the other counts are exact.
MODELLED_EVENTS = frozenset(
    {
        "u_mode_cycle",
        "eu_vfpu_full",
        "vidu_total_cycle",
        "l1d_miss",
        "l1d_load_miss",
        "l2_access",
        "l2_miss",
        "l2_load_access",
        "l2_store_access",
        "l1d_dirty_eviction",
        "tlb_miss",
        "branch_misses",
    }
)


@dataclass(frozen=True)
class Region:
    """One measured region.

    Args:
        cycles: the estimate.
        counters: by event name.
        unresolved: counts of what the plug-in could not determine, by its own names; usually
            empty. A count here means that the estimate is incomplete.
        raw: all counts of the plug-in, by its own names.
        models: the estimate under each model of the family, the default's first.
    """

    cycles: float
    counters: Mapping[str, float]
    unresolved: Mapping[str, float]
    raw: Mapping[str, float]
    models: tuple[float, ...]


def parse_report(text: str) -> tuple[Region, ...]:
    """The regions of a report, in the order in which they ran.

    Raises:
        ValueError: if the text is not a complete report.
    """
    try:
        entries = json.loads(text)["regions"]
        return tuple(_region(entry) for entry in entries)
    except (KeyError, TypeError) as error:
        raise ValueError(f"the plug-in's report lacks an entry: {error}") from error


def reports_whole(text: str) -> bool:
    """Whether the only region of a report is the whole program."""
    return bool(json.loads(text)["whole"])


def unpaired_marks(text: str) -> int:
    """How often a report's program marked a start within a region, or a stop outside of one."""
    return int(json.loads(text)["unpaired_marks"])


def processes_started(text: str) -> int:
    """How many processes a report's program has started; what they did is not in the report."""
    return int(json.loads(text)["processes"])


def _region(entry: Mapping[str, Any]) -> Region:
    raw = {name: value for name, value in entry.items() if name != "models"}
    counters = {
        event: float(sum(raw[name] for name in names)) for event, names in _K1_EVENTS.items()
    }
    counters |= {name: float(raw[name]) for name in _OWN_COUNTERS}
    unresolved = {
        name: float(raw[name])
        for name in ("unknown_vector_type", "software_prefetch_unresolved")
        if raw[name]
    }
    models = tuple(map(float, entry["models"]))
    return Region(float(raw["cycles"]), counters, unresolved, raw, models)
