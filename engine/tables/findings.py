"""What is wrong with a table's rows on a device, and beside what studies measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.tables.table import Fault, Row, Table

__all__ = ["Comparison", "Finding", "findings"]

# What a row may want, in words.
_WORDS = {"arch": "gfx", "units": "cu_num", "gpu": "device_name", "triton": "Triton"}


@dataclass(frozen=True)
class Comparison:
    """A row's configuration and the default, as a study measured both.

    Args:
        study: its name.
        time_s, default_s: in seconds.
    """

    study: str
    time_s: float
    default_s: float


@dataclass(frozen=True)
class Finding:
    """Something wrong with a row."""

    row: Row
    fault: Fault


def findings(
    table: Table,
    device: Mapping[str, str],
    measured: Callable[[Row], Comparison | None] = lambda row: None,
) -> list[Finding]:
    """Everything that is wrong, in the order of the rows.

    Args:
        table: the table.
        device: what a lookup would ask for: "arch", "units", "gpu", "triton"; what is left out is
            not compared.
        measured: what a study knows of a row; None if nothing.
    """
    return [
        Finding(row, fault)
        for row in table.rows
        for fault in (*row.faults, *_on(device, row), *_worth(measured(row)))
    ]


def _on(device: Mapping[str, str], row: Row) -> list[Fault]:
    faults = []
    for name, wanted in row.wants.items():
        here = device.get(name)
        if here is None or _same(name, wanted, here):
            continue
        why = f"{_WORDS[name]} is {wanted[:60] or 'empty'}, and here it is {here}"
        faults.append(Fault("another version" if name == "triton" else "never hit", why))
    return faults


def _same(name: str, wanted: str, here: str) -> bool:
    if name == "gpu":  # in names of files without spaces; of the H200 family, vLLM's say only that
        one, other = wanted.replace(" ", "_"), here.replace(" ", "_")
        return one == other or (one == "NVIDIA_H200" and "H200" in other.split("_"))
    return wanted == here


def _worth(comparison: Comparison | None) -> list[Fault]:
    if comparison is None or comparison.time_s < comparison.default_s:
        return []
    slower = comparison.time_s / comparison.default_s - 1
    why = f"{comparison.study} measured it {slower:.1%} slower than the default"
    return [Fault("no better", why)]
