"""What was counted while a user's own program ran, as data and as a table like perf stat's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rvv_runner.error_band import ErrorBand

__all__ = ["TIME", "ProgramCounts", "Scope", "counts_text"]


@dataclass(frozen=True)
class Scope:
    """A part of a program and its counts.

    Args:
        name: which part, such as "the whole program".
        time_s: how long it took; None if that is not known.
        counts: by event; None for one that could not be counted.
    """

    name: str
    time_s: float | None
    counts: Mapping[str, float | None]


@dataclass(frozen=True)
class ProgramCounts:
    """A run of a program.

    Args:
        status: its exit status; 128 and more if a signal ended it.
        scopes: what was counted; none if the run left no counts.
        estimated: the events that come from a model and not from a counter, and TIME if it does.
        bands: how far time and cycles of each scope may be off; None where that is not known.
        notes: what else to know, one sentence each.
        stdout, stderr: its outputs, None where it has written them itself.
    """

    status: int
    scopes: tuple[Scope, ...]
    estimated: frozenset[str] = frozenset()
    bands: tuple[ErrorBand | None, ...] = ()
    notes: tuple[str, ...] = ()
    stdout: str | None = None
    stderr: str | None = None


TIME = "time"

_WIDTH = 20
_CYCLES = ("u_mode_cycle", "cycles")
_FIRST = (*_CYCLES, "instructions", "branch_misses")
_LEVELS = ("l1d", "l2", "tlb")


def counts_text(counts: ProgramCounts, command: str, device: str) -> str:
    """A table for each part that was counted, and the notes; an unreadable count is empty."""
    lines: list[str] = []
    bands = counts.bands or (None,) * len(counts.scopes)
    for scope, band in zip(counts.scopes, bands, strict=True):
        lines += ["", f" {command} on {device}, {scope.name}:", ""]
        lines += _scope_lines(scope, band, counts.estimated)
    lines += ["", *(f"note: {note}" for note in counts.notes)] if counts.notes else [""]
    return "\n".join(lines)


def _scope_lines(scope: Scope, band: ErrorBand | None, estimated: frozenset[str]) -> list[str]:
    banded = "estimated" if band is None else f"estimated, ±{band.error:.0%}"
    lines = []
    if scope.time_s is not None:
        lines.append(_line(f"{scope.time_s:.9f}", "s", banded if TIME in estimated else ""))
    for name in sorted(scope.counts, key=_place):
        value = scope.counts[name]
        remark = ""
        if value is None:
            remark = "cannot be counted"
        elif name in estimated:
            remark = banded if name in _CYCLES else "estimated"
        elif name == "instructions":
            remark = _per_cycle(scope)
        lines.append(_line("" if value is None else f"{value:,.0f}", name, remark))
    return lines


def _place(name: str) -> tuple[int, int]:
    """Where an event stands: cycles and instructions, then memory level by level, then others."""
    if name in _FIRST:
        return 0, _FIRST.index(name)
    levels = [number for number, level in enumerate(_LEVELS) if name.lower().startswith(level)]
    return (1, levels[0]) if levels else (2, 0)


def _line(value: str, name: str, remark: str) -> str:
    return f"{value:>{_WIDTH}}  {name:<22}{f'({remark})' if remark else ''}".rstrip()


def _per_cycle(scope: Scope) -> str:
    cycles = next((scope.counts[name] for name in _CYCLES if scope.counts.get(name)), None)
    instructions = scope.counts.get("instructions")
    return f"{instructions / cycles:.2f} per cycle" if cycles and instructions else ""
