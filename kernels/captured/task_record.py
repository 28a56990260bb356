"""A task from its record in a capture's file, which `triton_rvv.launches` writes."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

from foundation.config import Config
from kernels.captured.drawn import Drawn
from kernels.captured.task import Grid, GridSample, Kernel, Recorded, Storage, Task
from kernels.captured.task_values import (
    Constant,
    Descriptor,
    Named,
    Scalar,
    Tensor,
    TupleValue,
    Value,
)
from triton_rvv.frontend.tuples import named

__all__ = ["task_of"]


def task_of(
    record: Mapping[str, Any],
    sources: Mapping[str, str],
    launches: int,
    timed_launches: int,
    time_s: float | None,
) -> Task:
    """The task of a record.

    Args:
        record: of the kind "task".
        sources: texts of files, and definitions, by their digests.
        launches, timed_launches, time_s: as in `Task`.
    """
    kernel = dict(record["kernel"])
    for name in ("module_source", "definition"):
        kernel[name] = sources.get(kernel.get(name, ""), "")
    configurations = record["configurations"]
    return Task(
        key=record["key"],
        call_key=record["call_key"],
        family=record["family"],
        call_family=record["call_family"],
        sizes=tuple(record["sizes"]),
        kernel=Kernel(**kernel),
        arguments={name: _value(value) for name, value in record["arguments"].items()},
        constants={name: _constant(value) for name, value in record["constants"].items()},
        options=record["options"],
        storages=tuple(map(_storage, record["storages"])),
        grid=_grid(record["grid"]),
        is_grid_callable=record["is_grid_callable"],
        grid_samples=tuple(map(_sample, record["grid_samples"])),
        configurations=None if configurations is None else tuple(map(Config, configurations)),
        autotune_key=tuple(record["autotune_key"]),
        heuristics=tuple(record["heuristics"]),
        wrappers=tuple(record["wrappers"]),
        launches=launches,
        time_s=time_s,
        timed_launches=timed_launches,
        device=record["device"],
        target=record["target"],
        launched_at=record.get("launched_at", ""),
        grid_values=_grid_values(record.get("grid_values")),
    )


def _grid(sizes: list[int]) -> Grid:
    x, y, z = sizes
    return (x, y, z)


def _grid_values(entries: list[dict[str, Any]] | None) -> tuple[dict[str, Constant], ...] | None:
    if entries is None:  # as in files of earlier versions
        return None
    return tuple({n: _constant(value) for n, value in entry.items()} for entry in entries)


def _sample(record: Mapping[str, Any]) -> GridSample:
    changed = {name: _constant(value) for name, value in record["changed"].items()}
    return GridSample(changed, _grid(record["grid"]))


def _storage(record: Mapping[str, Any]) -> Storage:
    contents = record["contents"]
    made: Recorded | Drawn | None = None
    if contents is not None:
        data = contents.get("data")
        made = Drawn(**contents) if data is None else Recorded(zlib.decompress(_bytes(data)))
    return Storage(record["dtype"], record["elements"], made, record.get("front", 0))


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def _constant(value: Any) -> Constant:
    if isinstance(value, dict):
        ((kind, name),) = value.items()
        if kind == "named_tuple":
            return named(map(_constant, name["parts"]), name["fields"])
        return Named(kind, name)
    return tuple(map(_constant, value)) if isinstance(value, list) else value


def _value(value: Any) -> Value:
    if value is None:
        return None
    ((kind, parts),) = value.items()
    if kind == "scalar":
        return Scalar(**parts)
    if kind == "tensor":
        return _tensor(parts)
    if kind == "descriptor":
        sizes = {name: tuple(parts[name]) for name in ("shape", "strides", "block_shape")}
        return Descriptor(_tensor(parts["base"]), **sizes, padding=parts["padding"])
    if kind == "tuple":
        return TupleValue(tuple(map(_part, parts)))
    if kind == "named_tuple":
        return TupleValue(tuple(map(_part, parts["parts"])), tuple(parts["fields"]))
    return Named(kind, parts)


def _part(value: Any) -> Value | Constant:
    """An element of a tuple, which may be a constant."""
    return _value(value) if isinstance(value, dict) else _constant(value)


def _tensor(parts: Mapping[str, Any]) -> Tensor:
    sizes = {name: tuple(parts[name]) for name in ("shape", "strides")}
    return Tensor(**{**parts, **sizes})
