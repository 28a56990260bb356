"""What a table of tuned configurations holds, whatever its format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from foundation.config import Config, ParameterValue
from foundation.shapes import Shape

__all__ = ["Fault", "FaultKind", "Row", "Table", "as_config", "fault_of_config", "seconds"]

# What can be wrong with a row: no lookup finds it; another row is found in its place; it is there
# twice; another version was tuned; it does not pay; its consumer cannot use it.
FaultKind = Literal["never hit", "shadowed", "duplicate", "another version", "no better", "invalid"]

# Larger numbers are no sizes of blocks, and no numbers of warps.
_LARGEST = 2**31
_LONGEST = 1e15  # in any unit that files have


@dataclass(frozen=True)
class Fault:
    """What is wrong with a row.

    Args:
        kind: in short.
        why: a part of a sentence.
    """

    kind: FaultKind
    why: str


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Args:
        place: where it stands, for people: "line 3", "M_LEQ_64".
        key: what its consumer looks it up by, within the file.
        wants: what has to be so that it is looked up: "arch", "units", "gpu" and "triton", as the
            file writes them.
        kernel, shape, dtype: what it is for, in the words of the tuner; empty as far as the file
            does not say, or the tuner has no such kernel.
        config: what it says; None for a kernel that has no configuration, or if it is none.
        time_s: in seconds, if the file says.
        faults: those that show without knowing the device.
    """

    place: str
    key: str
    wants: Mapping[str, str] = field(default_factory=dict)
    kernel: str = ""
    shape: Shape = field(default_factory=dict)
    dtype: str = ""
    config: Config | None = None
    time_s: float | None = None
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True)
class Table:
    """A file.

    Args:
        path: as the user gave it.
        format: name of its format, for people.
        rows: in the order of the file.
    """

    path: Path
    format: str
    rows: tuple[Row, ...]


def as_config(value: object) -> Config | None:
    """A configuration from a file that anyone may have written; None if it is none."""
    if not isinstance(value, Mapping) or not value:
        return None
    # AITER writes null where its kernels take no cache modifier.
    values = {str(name): "" if item is None else item for name, item in value.items()}
    return Config(values) if all(map(_is_value, values.values())) else None


def _is_value(value: object) -> bool:
    if isinstance(value, str | bool):
        return True
    return isinstance(value, int | float) and -_LARGEST < value < _LARGEST


def seconds(value: object, unit_s: float) -> float | None:
    """A time from a file that anyone may have written; None if it is none.

    Args:
        value: in units of `unit_s` seconds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) * unit_s if 0 < value < _LONGEST else None


def fault_of_config(config: Config | None) -> tuple[Fault, ...]:
    """Why no kernel can run with a configuration; empty if nothing shows."""
    if config is None:
        return (Fault("invalid", "it is no configuration of names with numbers, truths or texts"),)
    odd = [f"{name}={value}" for name, value in config.items() if not _may_be(name, value)]
    return (Fault("invalid", f"{', '.join(odd)} must be a power of two"),) if odd else ()


def _may_be(name: str, value: ParameterValue) -> bool:
    """Whether Triton can take it: `tl.arange` and warps come in powers of two."""
    if not name.startswith("BLOCK_") and name != "num_warps":
        return True
    return type(value) is int and value > 0 and value & (value - 1) == 0
