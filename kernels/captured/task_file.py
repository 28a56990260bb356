"""The file of a capture: one JSON record a line, which processes of the program append.

Each process of the program writes its own tasks, and now and then how often it launched them. So a
program that is killed leaves what it did until then, and its last line may be cut off. Tuning
appends winners to the same file.
"""

from __future__ import annotations

import dataclasses
import fcntl
import functools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foundation.config import Config
from foundation.errors import UserError
from foundation.programs import MAKE_CAPTURE
from kernels.captured.task import Task
from kernels.captured.task_record import task_of
from kernels.captured.winner import Winner

__all__ = [
    "CAPTURE_HEAD",
    "Capture",
    "append_record",
    "append_winner",
    "is_capture_file",
    "read_capture",
]

CAPTURE_HEAD = b'{"record": "capture"'  # how a capture's file begins
_VERSION = 1


@dataclass(frozen=True)
class Capture:
    """What a file holds.

    Args:
        path: the file.
        commands: the command line of each process that launched a kernel, in their order.
        tasks: the one that took the longest first; those that were not timed last, by launches.
        every_winner: of each task one for each device that it was tuned for, the last that was
            written.
        unrecorded: by kernel, why launches of it could not be recorded.
        updating: by kernel, the tensors that its autotuner's measurements change in place.
        running: the kernels that processes ran when they ended.
        dropped_lines: how many lines could not be read, as the last of a killed process.
        ran_s: seconds that the program ran, from its start to its end; None in older files.
        steady_s: seconds of its processes since their first launches, without what they do once:
            compiling, and autotuners' measurements; None in older files.
        storage: the path of the journal with its tasks' studies; None if it was not tuned.
    """

    path: Path
    commands: tuple[tuple[str, ...], ...]
    tasks: tuple[Task, ...]
    every_winner: tuple[Winner, ...]
    unrecorded: Mapping[str, str]
    updating: Mapping[str, Sequence[str]]
    running: tuple[str, ...] = ()
    dropped_lines: int = 0
    ran_s: float | None = None
    steady_s: float | None = None
    storage: str | None = None

    @property
    def winners(self) -> dict[str, Winner]:
        """What the program runs with, by the task's key: of winners for several devices that of
        the kind on which the task was captured, else the last that was written."""
        own = [one for one in self.every_winner if one not in self._foreign]
        return {winner.task: winner for winner in (*self._foreign, *own)}

    @property
    def foreign_devices(self) -> list[str]:
        """Of those winners, the devices of another kind than the one the task was captured on."""
        used = self.winners.values()
        return sorted({winner.device for winner in self._foreign if winner in used})

    @functools.cached_property
    def _foreign(self) -> list[Winner]:
        kinds = {task.key: "host" if task.device == "host" else "gpu" for task in self.tasks}
        # Capturing again keeps winners of tasks that the file no longer has; they are of no use.
        known = (one for one in self.every_winner if one.task in kinds)
        return [one for one in known if one.device_kind != kinds[one.task]]

    @property
    def time_s(self) -> float:
        """Of all launches that were timed."""
        return sum(task.time_s or 0.0 for task in self.tasks)

    def share(self, task: Task) -> float | None:
        """The task's share of that time, from 0 to 1; None if it was not timed."""
        if task.time_s is None or not self.time_s:
            return None
        return task.time_s / self.time_s


def is_capture_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as captures do."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(CAPTURE_HEAD)) == CAPTURE_HEAD
    except OSError:
        return False


def read_capture(path: str | os.PathLike[str]) -> Capture:
    """Read what the processes of a program, and tuning, wrote.

    Raises:
        UserError: if there is no such file, or it is no capture.
    """
    path = Path(path)
    if not path.exists():
        raise UserError(f"there is no file {path}: {MAKE_CAPTURE}")
    if not is_capture_file(path):
        raise UserError(f"{path} is not a capture file: make one with the command capture")
    records, dropped = _records(path)
    if records and records[0].get("version") != _VERSION:
        raise UserError(f"{path} was written by another version: capture the program again")
    kinds: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        kinds.setdefault(record["record"], []).append(record)
    try:
        return Capture(
            path=path,
            commands=tuple(tuple(process["argv"]) for process in kinds.get("process", ())),
            tasks=tuple(sorted(_tasks(kinds), key=_order)),
            every_winner=_latest(map(_winner, kinds.get("winner", ()))),
            unrecorded={record["kernel"]: record["why"] for record in kinds.get("unrecorded", ())},
            updating={record["kernel"]: record["tensors"] for record in kinds.get("updating", ())},
            running=_running(kinds.get("running", ())),
            dropped_lines=dropped,
            ran_s=next((record["time_s"] for record in kinds.get("ran", ())), None),
            storage=next((one["storage"] for one in reversed(kinds.get("tuned", []))), None),
            steady_s=_steady_s(kinds.get("steady", ())),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error!r}): capture the program again") from error


def _running(records: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The kernels that the last records of processes name."""
    last = {record["process"]: record["kernel"] for record in records}
    return tuple(dict.fromkeys(filter(None, last.values())))


def _steady_s(records: Iterable[Mapping[str, Any]]) -> float | None:
    """The sum of the last records of processes; None if there is none."""
    last = {record["process"]: float(record["time_s"]) for record in records}
    return sum(last.values()) if last else None


def append_winner(path: str | os.PathLike[str], winner: Winner) -> None:
    """Add a task's winner to the file; one that is there for the task and device no longer counts.

    Raises:
        OSError: if the file cannot be written.
    """
    values = {**dataclasses.asdict(winner), "config": dict(winner.config)}
    append_record(path, {"record": "winner", **values})


def append_record(path: str | os.PathLike[str], record: Mapping[str, Any]) -> None:
    """Add a record, which readers that do not know its kind pass over.

    Raises:
        OSError: if the file cannot be written.
    """
    # Begins with a line's end, for the line before may be cut off.
    line = f"\n{json.dumps(record)}\n".encode()
    with Path(path).open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(line)


def _latest(winners: Iterable[Winner]) -> tuple[Winner, ...]:
    """The last for each task and device, in the order of writing."""
    latest = dict[tuple[str, str], Winner]()
    for winner in winners:
        latest.pop((winner.task, winner.device), None)
        latest[winner.task, winner.device] = winner
    return tuple(latest.values())


def _records(path: Path) -> tuple[list[dict[str, Any]], int]:
    records, dropped = [], 0
    with path.open("rb") as file:
        for line in file:
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError:
                dropped += 1
                continue
            if isinstance(record, dict) and "record" in record:
                records.append(record)
            else:
                dropped += 1
    return records, dropped


def _tasks(kinds: Mapping[str, list[dict[str, Any]]]) -> Iterator[Task]:
    sources = {record["digest"]: record["text"] for record in kinds.get("source", ())}
    times: dict[str, dict[str, dict[str, Any]]] = {}
    for record in kinds.get("times", ()):
        times.setdefault(record["key"], {})[record["process"]] = record
    tasks: dict[str, dict[str, Any]] = {}
    for record in kinds.get("task", ()):
        tasks.setdefault(record["key"], record)
    raised = {record["key"] for record in kinds.get("raised", ())}
    for key, record in tasks.items():
        if key in times or key not in raised:
            yield task_of(record, sources, *_summed(times.get(key, {}).values()))


def _summed(times: Iterable[Mapping[str, Any]]) -> tuple[int, int, float | None]:
    """Launches, timed launches, and the time of all launches in seconds, over the processes."""
    launches = timed = 0
    time_s = 0.0
    for one in times:
        launches += one["launches"]
        timed += one["timed"]
        if one["timed"]:
            time_s += one["time_s"] * one["launches"] / one["timed"]
    # A process is killed at its first launch before it says how often it launched.
    return max(launches, 1), timed, time_s if timed else None


def _order(task: Task) -> tuple[float, int, str]:
    return (-(task.time_s or 0.0), -task.launches, task.key)


def _winner(record: Mapping[str, Any]) -> Winner:
    # Files of earlier versions have none of these.
    given = {"loads": {}, "untold": (), "tied": False, **record}
    values = {field.name: given[field.name] for field in dataclasses.fields(Winner)}
    grid = values["grid"]
    return Winner(
        **{
            **values,
            "config": Config(values["config"]),
            "grid": None if grid is None else tuple(grid),
            "loads": {name: tuple(block) for name, block in values["loads"].items()},
            "untold": tuple(values["untold"]),
        }
    )
