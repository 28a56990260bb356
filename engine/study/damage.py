"""Lines of a journal that say nothing Optuna can use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optuna.storages.journal._storage import JournalStorageReplayResult

from foundation.errors import UserError
from foundation.programs import python_command

__all__ = ["DamagedJournalError", "JournalLine", "damaged_line", "journal_lines"]


class DamagedJournalError(UserError):
    """A journal with a damaged line; it has not been touched."""

    def __init__(self, path: Path, line: int) -> None:
        command = f"{python_command('engine.repair')} {path}"
        super().__init__(
            f"line {line} of {path} is damaged: `{command}` writes what is whole into a new file"
        )


@dataclass(frozen=True)
class JournalLine:
    """A line of a journal.

    Args:
        number: from 1; 0 for a line that is in no file yet.
        text: without its end.
        operation: what it says; None if it is damaged.
    """

    number: int
    text: bytes
    operation: Mapping[str, Any] | None


def damaged_line(path: Path) -> int | None:
    """The number of the first damaged line, from 1; None if all are whole.

    Raises:
        OSError: if the file cannot be read.
    """
    return next(
        (line.number for line in journal_lines(path.read_bytes()) if line.operation is None), None
    )


def journal_lines(journal: bytes) -> Iterator[JournalLine]:
    """The lines in the bytes of a journal."""
    content = journal.split(b"\n")
    replay = JournalStorageReplayResult("")
    for number, text in enumerate(content if content[-1] else content[:-1], 1):
        operation = _parsed(text)
        if operation is not None:
            try:
                replay.apply_logs([operation])
            except Exception:  # Optuna takes the values apart in many ways
                operation = None
        yield JournalLine(number, text, operation)


# What Optuna reads of each operation besides its code and its worker, by JournalOperation.
_FIELDS: Mapping[int, Mapping[str, type]] = {
    0: {"study_name": str, "directions": list},
    1: {"study_id": int},
    2: {"study_id": int, "user_attr": dict},
    3: {"study_id": int, "system_attr": dict},
    4: {"study_id": int, "datetime_start": object},
    5: {"trial_id": int, "param_name": str, "param_value_internal": object, "distribution": str},
    6: {"trial_id": int, "state": int, "values": object},
    7: {"trial_id": int, "step": int, "intermediate_value": object},
    8: {"trial_id": int, "user_attr": dict},
    9: {"trial_id": int, "system_attr": dict},
    10: {},
}
_NUMBERS = ("study_id", "trial_id")


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The operation that a line of a journal says; None if the line is damaged."""
    try:
        operation = json.loads(line.decode())  # of bytes, it would skip a byte order mark
    except (ValueError, RecursionError):
        return None
    if not isinstance(operation, dict) or not isinstance(operation.get("worker_id"), str):
        return None
    code = operation.get("op_code")
    fields = _FIELDS.get(code) if isinstance(code, int) else None
    if fields is None:
        return None
    is_whole = all(name in operation and isinstance(operation[name], of_type)
                   for name, of_type in fields.items())  # fmt: skip
    # Optuna takes a negative number for one that is counted from the end.
    named = [operation[name] for name in _NUMBERS if name in fields]
    return operation if is_whole and all(number >= 0 for number in named) else None
