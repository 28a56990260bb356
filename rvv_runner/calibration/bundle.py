"""A bundle: the raw results of a calibration in one file, with where they are from."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from foundation.errors import UserError
from foundation.scratch import UNFINISHED, scratch_folder
from rvv_runner.calibration.readings import Reading, Readings
from triton_rvv.targets.target import SUPPORTED_VLEN_BITS

__all__ = ["BUNDLE_FORMAT", "Bundle", "read_bundle", "write_bundle"]

BUNDLE_FORMAT = "triton-rvv-tuner calibration 1"

_LARGEST = 2**53
_HEAD_BYTES = 200  # that hold the format

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Bundle:
    """The results of one core.

    Args:
        name: what the core is called where nothing else is said.
        device: the board that was measured, as its owner names it.
        cpu: the core's name in its board file.
        vlen_bits, cores, frequency_hz: of the board.
        l1d_bytes, l2_bytes: sizes of its caches as its board file has them; None if it does not.
        provenance: when, with which version, on what; JSON values.
        readings: all of them, failed ones too.
    """

    name: str
    device: str
    cpu: str
    vlen_bits: int
    cores: int
    frequency_hz: int
    l1d_bytes: int | None
    l2_bytes: int | None
    provenance: Mapping[str, Any]
    readings: Readings


def write_bundle(path: Path, bundle: Bundle) -> None:
    """Write a bundle; the file appears whole or not at all.

    Raises:
        UserError: if it cannot be written.
    """
    about = {name: value for name, value in vars(bundle).items() if name != "readings"}
    head = json.dumps({"format": BUNDLE_FORMAT, **about}, indent=1)
    rows = ",\n".join(json.dumps(vars(reading)) for reading in bundle.readings)
    text = f'{head[:-2]},\n "readings": [\n{rows}\n ]\n}}\n'
    try:
        with scratch_folder(UNFINISHED, path.absolute().parent) as folder:
            written = folder / path.name
            written.write_text(text, encoding="utf-8")
            written.replace(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error


def read_bundle(path: Path) -> Bundle | None:
    """The bundle in a file; None if the file is something else, or cannot be opened.

    Raises:
        UserError: if it is a bundle with something wrong.
    """
    try:
        with path.open("rb") as file:
            if BUNDLE_FORMAT.encode() not in file.read(_HEAD_BYTES):
                return None
    except OSError:
        return None
    try:
        return _bundle(json.loads(path.read_bytes()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{path} is a damaged bundle of a calibration: {error!r}") from error


def _bundle(values: Mapping[str, Any]) -> Bundle:
    vlen_bits = _integer(values["vlen_bits"])
    if vlen_bits not in SUPPORTED_VLEN_BITS:
        raise ValueError(f"vlen_bits is {vlen_bits}")
    return Bundle(
        name=str(values["name"]),
        device=str(values["device"]),
        cpu=str(values["cpu"]),
        vlen_bits=vlen_bits,
        cores=_integer(values["cores"]),
        frequency_hz=_integer(values["frequency_hz"]),
        l1d_bytes=_optional(_integer, values["l1d_bytes"]),
        l2_bytes=_optional(_integer, values["l2_bytes"]),
        provenance=dict(values["provenance"]),
        readings=Readings([_reading(entry) for entry in values["readings"]]),
    )


def _reading(entry: Mapping[str, Any]) -> Reading:
    parameters = {str(name): int(value) for name, value in entry["parameters"].items()}
    if parameters["iterations"] < 1:
        raise ValueError("a reading has no iterations")
    return Reading(
        kernel=str(entry["kernel"]),
        parameters=parameters,
        copies=_integer(entry["copies"]),
        status=str(entry["status"]),
        cycles=_optional(_positive, entry["cycles"]),
        times_s=tuple(_positive(time_s) for time_s in entry["times_s"]),
        counters={str(name): float(count) for name, count in entry["counters"].items()},
        reason=str(entry["reason"]),
    )


def _optional(read: Callable[[Any], Number], value: Any) -> Number | None:
    return None if value is None else read(value)


def _integer(value: Any) -> int:
    if type(value) is not int or not 0 < value < _LARGEST:
        raise ValueError(f"{value!r} is no number of bytes, cores or hertz")
    return value


def _positive(value: Any) -> float:
    if type(value) not in (int, float) or not 0 < value < math.inf:
        raise ValueError(f"{value!r} is no time")
    return float(value)
