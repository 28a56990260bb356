"""The table perf_stats.csv: written on a board reached by hand, read here."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["COUNTED", "RECORDED", "append_row", "read_rows"]

# Events that perf stat counts, and those that perf record samples, in the order of the columns.
COUNTED = (
    "u_mode_cycle",
    "eu_vfpu_full",
    "vidu_total_cycle",
    "vector_micro_op",
    "vector_load_inst",
    "vector_store_inst",
    "vector_inst",
    "l1d_load_miss",
    "l1d_load_access",
    "l1d_access",
    "l1d_miss",
)
RECORDED = ("l2_access", "l2_miss", "l2_load_access", "l2_store_access")

_BEFORE = ("Timestamp", "ELF Name")
_TIMES = ("Valid Output", "Kernel Time (s)", "Total Time (s)")
# The last columns are those that engine.collect also needs.
_AFTER = ("Kernel Times (s)", "Max Abs Error", "Status", "Reason", "ELF SHA256")


def append_row(path: Path, parameters: Sequence[str], row: Mapping[str, str]) -> None:
    """Add a row to the table, which is created if missing; the row is on disk at return.

    Args:
        path: of the table.
        parameters: names of the tuned values, which are columns too.
        row: values by column; a missing column stays empty.
    """
    columns = [*_BEFORE, *parameters, *_TIMES, *COUNTED, *RECORDED, *_AFTER]
    is_new = not path.exists() or path.stat().st_size == 0
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)
        file.flush()
        os.fsync(file.fileno())


def read_rows(path: Path) -> list[Mapping[str, str]]:
    """The rows of the table, none if there is no table; an incomplete last row is left out.

    Raises:
        ValueError: if it lacks columns of such a table.
    """
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    rows: list[Mapping[str, str]] = list(csv.DictReader(text[: text.rfind("\n") + 1].splitlines()))
    for row in rows:
        if any(column not in row for column in (*_BEFORE, *_TIMES, *_AFTER)):
            raise ValueError(f"{path} lacks columns that run_perf.py writes")
    return rows
