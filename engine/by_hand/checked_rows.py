"""The rows that came back from a board, with all that can be checked of them."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from engine.by_hand.perf_table import COUNTED, RECORDED, read_rows
from foundation.bounded_text import bounded_text
from foundation.errors import UserError
from rvv_runner.measurement import Status

__all__ = ["CheckedRow", "checked_rows"]

_PERF_FOLDER = "copy the folder perf from the board again"
# run_perf.py writes nine digits behind the point of each time and of their median.
_ROUNDING_S = 1.5e-9


@dataclass(frozen=True)
class CheckedRow:
    """One measurement of one executable.

    Args:
        config: its tuned values; None if the executable is not of this folder.
        status: how it ended.
        checked: whether its outputs were compared and right.
        time_s: median of the timed runs; None if there were none.
        times_s: the timed runs, in order.
        counters: those that were read, by name.
        max_abs_error: of the outputs; None if unknown.
        reason, elf_sha256: as run_perf.py wrote them.
    """

    config: Mapping[str, object] | None
    status: Status
    checked: bool
    time_s: float | None
    times_s: tuple[float, ...]
    counters: Mapping[str, float]
    max_abs_error: float | None
    reason: str
    elf_sha256: str


def checked_rows(run: Path) -> list[CheckedRow]:
    """The rows of the table in the folder `run`.

    Raises:
        UserError: if a file is damaged; names it, and the line.
    """
    path = run / "configs.json"
    try:
        configs = json.loads(bounded_text(path))
        parameters = list(configs["parameters"])
        table = run / configs["perf_files"]["stat"]
        variants = {
            (Path(variant["elf_path"]).name, variant["sha256"]): {
                name: variant[name] for name in parameters
            }
            for variant in configs["variants"]
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged ({error!r}): build the folder again") from error
    try:
        rows = read_rows(table)
    except ValueError as error:
        raise UserError(f"{table} is damaged ({error}): {_PERF_FOLDER}") from error
    checked = []
    for line, row in enumerate(rows, start=2):  # the names of the columns are the first
        try:
            checked.append(_checked(row, variants, parameters))
        except ValueError as error:
            raise UserError(
                f"{table}, line {line}, is damaged ({error}): {_PERF_FOLDER}"
            ) from error
    return checked


def _checked(
    row: Mapping[str, str],
    variants: Mapping[tuple[str, str], Mapping[str, Any]],
    parameters: Sequence[str],
) -> CheckedRow:
    """A row, or a ValueError that says what is wrong with it."""
    if None in row or None in row.values():
        raise ValueError("it has too many or too few columns")
    if row["Status"] not in get_args(Status):
        raise ValueError(f"there is no status {row['Status']!r}")
    config = variants.get((row["ELF Name"], row["ELF SHA256"]))
    if config is not None:
        for name in parameters:
            if row[name] != str(config[name]):
                raise ValueError(f"its {name} is {row[name]}, and that of its executable is "
                                 f"{config[name]}")  # fmt: skip
    times_s = tuple(_number(text) for text in row["Kernel Times (s)"].split())
    if any(time_s <= 0 for time_s in times_s):
        raise ValueError("a time is not positive")
    time_s = _number(row["Kernel Time (s)"]) if row["Kernel Time (s)"] else None
    if times_s and (time_s is None or abs(time_s - statistics.median(times_s)) > _ROUNDING_S):
        raise ValueError(
            f"its Kernel Time (s) is {row['Kernel Time (s)'] or 'missing'}, and the median of its "
            f"Kernel Times (s) is {statistics.median(times_s):.9f}"
        )
    error = row["Max Abs Error"]
    return CheckedRow(
        config=config,
        status=cast(Status, row["Status"]),
        checked=row["Valid Output"] == "YES",
        time_s=time_s,
        times_s=times_s,
        counters={name: _number(row[name]) for name in (*COUNTED, *RECORDED) if row[name]},
        max_abs_error=float(error) if error else None,
        reason=row["Reason"],
        elf_sha256=row["ELF SHA256"],
    )


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no number")
    return value
