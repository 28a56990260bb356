"""Opens a table's file, which anyone may have written: a mistake in it is one sentence."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from foundation.bounded_text import bounded_text
from foundation.errors import UserError

__all__ = ["Members", "TableFile", "open_table"]

_LISTS = (".yaml", ".yml")


class Members(dict[str, object]):
    """An object of a JSON file, which knows the names that it has twice.

    Attributes:
        repeated: such names; the last value of each counts, as in Python's own reader.
    """

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs)
        self.repeated = frozenset(name for name, count in counts.items() if count > 1)


@dataclass(frozen=True)
class TableFile:
    """The parts of a file.

    Args:
        path: as the user gave it.
        document: of a JSON file, its value; None of any other.
        columns, lines: of a CSV file.
    """

    path: Path
    document: object = None
    columns: tuple[str, ...] = ()
    lines: tuple[tuple[int, Mapping[str, str]], ...] = field(default=())

    @property
    def is_list(self) -> bool:
        """Whether it is YAML, which the document's own reader opens."""
        return self.path.suffix in _LISTS


def open_table(path: Path) -> TableFile:
    """Read a file.

    Raises:
        UserError: if it cannot be read, or is not what its name says.
    """
    if path.suffix in _LISTS:
        return TableFile(path)
    text = _text(path)
    return _opened_csv(path, text) if path.suffix == ".csv" else TableFile(path, _json(path, text))


def _text(path: Path) -> str:
    try:
        return bounded_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UserError(f"{path} cannot be read ({reason}): give another file") from error


def _json(path: Path, text: str) -> object:
    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number in JSON")

    # Kernel Tuner leaves out the last two brackets while it writes.
    for closed in (text, text.rstrip().rstrip(",") + "}\n}"):
        try:
            value: object = json.loads(closed, object_pairs_hook=Members, parse_constant=refuse)
        except (ValueError, RecursionError) as error:
            problem = error
        else:
            return value
        if '"tune_params_keys"' not in text:
            break
    reason = "it is nested too deeply" if isinstance(problem, RecursionError) else str(problem)
    shown = reason if text.strip() else "it is empty"
    raise UserError(f"{path} is not JSON ({shown}): give a file that a tuner wrote") from problem


def _opened_csv(path: Path, text: str) -> TableFile:
    reader = csv.DictReader(io.StringIO(text, newline=""), restval="")
    try:
        lines = tuple((reader.line_num, row) for row in reader)
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: {error}: write CSV") from error
    columns = tuple(name.strip() for name in reader.fieldnames or ())
    cleaned = tuple(
        (number, {str(name).strip(): str(value).strip() for name, value in row.items() if name})
        for number, row in lines
    )
    return TableFile(path, None, columns, cleaned)
