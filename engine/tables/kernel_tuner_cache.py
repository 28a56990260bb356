"""Kernel Tuner's caches: every configuration that was tried, with its time in ms.

Read in `process_cache` and `read_cache` of Kernel Tuner 1.5's util.py, November 2026.
"""

from __future__ import annotations

from engine.tables.table import Fault, Row, Table, as_config, seconds
from engine.tables.table_file import Members, TableFile
from foundation.config import Config
from foundation.shapes import Shape

__all__ = ["SIZE", "read"]

SIZE = "size"  # of a problem whose dimensions have no names: "size0", "size1"

_MS = 1e-3
_ERROR = "__error__"


def read(file: TableFile) -> Table | None:
    """The rows, if the file is a cache."""
    document = file.document
    if not isinstance(document, Members):
        return None
    names, cache = document.get("tune_params_keys"), document.get("cache")
    if not isinstance(names, list) or not isinstance(cache, Members):
        return None
    named = [str(name) for name in names]
    rows = tuple(_row(document, named, key, entry) for key, entry in cache.items())
    return Table(file.path, "Kernel Tuner's cache", rows)


def _row(document: Members, names: list[str], key: str, entry: object) -> Row:
    wants = {"gpu": str(document.get("device_name", ""))}
    kernel, shape = str(document.get("kernel_name", "")), _shape(document.get("problem_size"))
    values = entry if isinstance(entry, Members) else Members([])
    config = as_config({name: values[name] for name in names if name in values})
    faults: list[Fault] = []
    if config is None or len(config) != len(names):
        faults.append(Fault("invalid", f"it does not have every one of {', '.join(names)[:200]}"))
    elif key != ",".join(str(config[name]) for name in names):
        faults.append(Fault("never hit", "its key is not its values in the order of the names"))
    else:
        faults += _untried(document, config)
    time_s = seconds(values.get("time"), _MS)
    if time_s is None and _ERROR not in values:
        faults.append(Fault("invalid", f"it has no time, and no {_ERROR}"))
    return Row(key, key, wants, kernel, shape, "", config, time_s, tuple(faults))


def _untried(document: Members, config: Config) -> list[Fault]:
    known = document.get("tune_params")
    if not isinstance(known, Members):
        return []
    odd = [
        f"{name}={value}"
        for name, value in config.items()
        if isinstance(listed := known.get(name), list) and value not in listed
    ]
    return [Fault("never hit", f"{', '.join(odd)} is none of tune_params")] if odd else []


def _shape(value: object) -> Shape:
    sizes = value if isinstance(value, list) else [value]
    if not all(type(size) is int and 0 < size < 2**63 for size in sizes):
        return {}
    return {f"{SIZE}{place}": size for place, size in enumerate(sizes)}
