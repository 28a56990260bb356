"""Winners of several kernels at one shape, the fastest first, as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.box import SIMPLE
from rich.table import Table

from engine.results.rates import gigabytes_per_s, teraflops
from engine.results.units import time_text
from engine.winners.at_shape import AtShape
from foundation.shapes import shape_text
from rvv_runner.emulated.limits import Limits

__all__ = ["bound_lines", "kernel_table"]


def kernel_table(rows: Sequence[AtShape]) -> Table:
    """One row for each kernel and type with a winner; "-" for what is not known."""
    tuned = [(row, row.found.winner) for row in rows if row.found is not None]
    first, winner = tuned[0]
    note = f", {winner.estimate}" if winner.estimate else ""
    table = Table(title=f"{shape_text(first.problem.shape)} on {winner.device}{note}", box=SIMPLE)
    for heading in ("kernel", "type"):
        table.add_column(heading, no_wrap=True)
    for heading in ("time", "Gop/s", "GB/s", "of bound"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row, winner in tuned:
        operations = teraflops(row.problem, winner.time_s)
        table.add_row(
            row.problem.spec.name,
            row.problem.dtype,
            time_text(winner.time_s),
            "-" if operations is None else f"{operations * 1000:.3g}",
            f"{gigabytes_per_s(row.problem, winner.time_s):.3g}",
            "-" if row.bound is None else f"{row.bound:.0%}",
        )
    return table


def bound_lines(rows: Sequence[AtShape], limits: Limits | None) -> list[str]:
    """What the bound is, and which winners another compiler made."""
    lines = []
    if limits is not None:
        arithmetic = (
            f"{limits.float_operations_per_s / 1e9:.3g} Gop/s of fp32 multiply-adds, "
            f"{limits.integer_operations_per_s / 1e9:.3g} of 16-bit integers, and "
        )
        lines.append(
            f"bound: {arithmetic if math.isfinite(limits.float_operations_per_s) else ''}"
            f"{limits.bytes_per_s / 1e9:.2g} GB/s from DRAM for what L2 does not hold (estimated)"
        )
    stale = [row for row in rows if row.found is not None and row.found.differs]
    for row in stale:
        assert row.found is not None
        lines.append(
            f"note: {row.problem.spec.name} in {row.problem.dtype} was made with another "
            f"{' and another '.join(row.found.differs)}"
        )
    return lines
