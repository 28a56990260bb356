"""Recorded spaces as files: T4 1.0.0, also compressed, and Kernel Tuner's caches.

The schema of T4 is github.com/odgaard/TuningSchema. Its metadata is free; this project writes there
what was recorded (`RecordedSpace.about`) and the default, and the unit of times.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from engine.replays.recorded_space import RecordedSpace
from engine.tables.table import as_config, seconds
from foundation.config import Config, ParameterValue
from foundation.errors import UserError

__all__ = [
    "SUFFIXES",
    "NoSpaceError",
    "Result",
    "read_results",
    "read_space",
    "space_name",
    "write_space",
]

SUFFIXES = (".json", ".json.gz")

_VERSION = "1.0.0"
_STUDY = "study"  # of a file that a study was exported to
_UNITS_S = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6}
_MS = 1e-3
_MOST_BYTES = 1 << 28

# The durations of one trial in a cache of Kernel Tuner, and in T4, in the unit of times.
_CACHE_DURATIONS = ("compile_time", "verification_time", "benchmark_time")
_T4_DURATIONS = ("compilation_time", "validation")


class NoSpaceError(UserError):
    """A file that can be read and is in another format."""


@dataclass(frozen=True)
class Result:
    """One row of a recorded space.

    Args:
        time_s: in seconds, None for a failure.
        invalidity: T4's word for what became of it, "correct" with a time.
        cost_s: what the trial took in seconds; None if it was not recorded.
        code_bytes: the size of its machine code; None if it was not recorded.
    """

    time_s: float | None
    invalidity: str = "correct"
    cost_s: float | None = None
    code_bytes: int | None = None


def space_name(path: Path) -> str:
    """The name of the space in a file: the file's, without its ending."""
    return path.name.removesuffix(".gz").removesuffix(".json")


def read_space(path: Path) -> RecordedSpace:
    """A recorded space from a file, named after the study that was exported to it, or the file.

    Raises:
        NoSpaceError: if the file is in another format.
        UserError: if it cannot be read, or holds no time.
    """
    about, results = read_results(path)
    if all(result.time_s is None for result in results.values()):
        raise UserError(f"{path} holds no time: give a recorded space")
    try:
        default = about.get("default")
        known = {config: result.cost_s for config, result in results.items()}
        costs_s = {config: cost_s for config, cost_s in known.items() if cost_s is not None}
        space = RecordedSpace(
            str(about.get(_STUDY) or space_name(path)),
            {config: result.time_s for config, result in results.items()},
            as_config(default) if default else None,
            costs_s if len(costs_s) == len(known) else {},
            about,
        )
        _ = space.space
    except ValueError as error:  # rows with different parameters
        raise UserError(f"{path} is not one space: {error}") from error
    return space


def read_results(path: Path) -> tuple[Mapping[str, object], dict[Config, Result]]:
    """What a file says it recorded, and its rows; of a repeated configuration the last counts.

    Raises:
        NoSpaceError: if the file is in another format.
        UserError: if it cannot be read.
    """
    document = _document(path)
    rows: Iterable[tuple[object, Result]]
    if isinstance(document.get("results"), list) and "schema_version" in document:
        rows = _t4_rows(document)
    elif isinstance(document.get("cache"), dict):
        rows = _cache_rows(document)
    else:
        raise NoSpaceError(f"{path} is neither T4 nor a cache of Kernel Tuner: give such a file")
    found = {}
    for values, result in rows:
        config = as_config(values)
        if config is None:
            raise UserError(f"{path} has a row that is no configuration: {str(values)[:100]}")
        found[config] = result
    return _about(document), found


def _about(document: Mapping[str, object]) -> Mapping[str, object]:
    """T4's metadata; of a cache of Kernel Tuner, the kernel and the device."""
    if "cache" in document:
        tuner = document.get("tuner")
        study = tuner.get(_STUDY) if isinstance(tuner, dict) else None
        of = {"kernel": document.get("kernel_name"), "device": document.get("device_name")}
        return {**of, **({_STUDY: study} if study else {})}
    about = document.get("metadata")
    return about if isinstance(about, dict) else {}


def _document(path: Path) -> Mapping[str, object]:
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UserError(f"{path} has more than {_MOST_BYTES >> 20} MiB: give another file")
        document = json.loads(content)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, RecursionError) as error:
        raise UserError(f"{path} is not JSON: {error}") from error
    return document if isinstance(document, dict) else {}


def _t4_rows(document: Mapping[str, object]) -> Iterable[tuple[object, Result]]:
    metadata = document.get("metadata")
    unit = metadata.get("timeunit", "milliseconds") if isinstance(metadata, dict) else None
    unit_s = _UNITS_S.get(str(unit), _MS)
    for row in cast(list[object], document["results"]):
        if not isinstance(row, dict):
            yield None, Result(None)
            continue
        measured = row.get("measurements")
        measured = measured if isinstance(measured, list) else []
        named = {str(m.get("name")): m for m in measured if isinstance(m, dict)}
        times = row["times"] if isinstance(row.get("times"), dict) else {}
        correct = row.get("invalidity", "correct") == "correct"
        time_s = _t4_time_s(named, times, unit_s) if correct else None
        yield (
            row.get("configuration"),
            Result(
                time_s,
                str(row.get("invalidity", "correct")) if time_s or not correct else "runtime",
                _t4_cost_s(named, times, unit_s),
                _integer(named.get("code_bytes", {}).get("value")),
            ),
        )


def _t4_time_s(
    named: Mapping[str, Mapping[str, object]], times: Mapping[str, object], unit_s: float
) -> float | None:
    """The objective; in a file that does not have it, the mean of the runs."""
    if "time" in named:
        return seconds(named["time"].get("value"), unit_s)
    runs = times.get("runtimes")
    known = [seconds(run, unit_s) for run in runs] if isinstance(runs, list) else []
    whole = [time_s for time_s in known if time_s is not None]
    return math.fsum(whole) / len(whole) if whole and len(whole) == len(known) else None


def _t4_cost_s(
    named: Mapping[str, Mapping[str, object]], times: Mapping[str, object], unit_s: float
) -> float | None:
    """The measurement "cost", or the sum of the steps if the build's is there."""
    if "cost" in named:
        return seconds(named["cost"].get("value"), 1.0)
    if _T4_DURATIONS[0] not in times:
        return None
    runs = times.get("runtimes")
    steps = [times.get(name) for name in _T4_DURATIONS]
    return _sum_s([*steps, *(runs if isinstance(runs, list) else [])], unit_s)


def _cache_rows(document: Mapping[str, object]) -> Iterable[tuple[object, Result]]:
    names = document.get("tune_params_keys")
    names = [str(name) for name in names] if isinstance(names, list) else []
    for entry in cast(dict[str, object], document["cache"]).values():
        values = entry if isinstance(entry, dict) else {}
        time_s = seconds(values.get("time"), _MS)
        cost_s = _sum_s([values[name] for name in _CACHE_DURATIONS if name in values], _MS)
        config = {name: values[name] for name in names if name in values}
        yield config, Result(time_s, "correct" if time_s else "runtime", cost_s or None)


def _sum_s(durations: Iterable[object], unit_s: float) -> float:
    """The sum of those that are positive numbers."""
    return math.fsum(seconds(duration, unit_s) or 0.0 for duration in durations)


def _integer(value: object) -> int | None:
    return value if type(value) is int else None


def write_space(path: Path, about: Mapping[str, object], results: Mapping[Config, Result]) -> None:
    """Write a space as T4, compressed if the path ends in .gz; one result per line.

    The bytes depend on the arguments alone.

    Args:
        path: the file.
        about: what was recorded; JSON values only.
        results: by configuration.
    """
    head = {"schema_version": _VERSION, "metadata": {"timeunit": "milliseconds", **about}}
    lines = ",\n".join(json.dumps(_row(*pair)) for pair in results.items())
    text = f'{json.dumps(head)[:-1]}, "results": [\n{lines}\n]}}\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data)


def _row(config: Config, result: Result) -> dict[str, object]:
    measurements: list[dict[str, object]] = []
    runs: Sequence[float] = []
    if result.time_s is not None:
        time_ms = float(f"{result.time_s / _MS:.12g}")
        runs = [time_ms]
        measurements.append({"name": "time", "value": time_ms, "unit": "ms"})
    if result.cost_s is not None:
        measurements.append({"name": "cost", "value": result.cost_s, "unit": "s"})
    if result.code_bytes is not None:
        measurements.append({"name": "code_bytes", "value": result.code_bytes, "unit": "bytes"})
    values: dict[str, ParameterValue] = dict(config)
    return {
        "configuration": values,
        "times": {"runtimes": runs},
        "invalidity": result.invalidity,
        "correctness": int(result.invalidity == "correct"),
        "measurements": measurements,
    }
