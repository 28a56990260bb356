"""Reads board files: what is known of a kind of board, one TOML file each in `boards/`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rvv_runner.board import BoardError

__all__ = ["BoardFile", "Emulation", "board_file_names", "read_board_file"]

_FOLDER = Path(__file__).parent / "boards"
_TOP_LEVEL = {
    "cpu": str,
    "vlen_bits": int,
    "cores": int,
    "frequency_hz": int,
    "l1d_bytes": int,
    "l2_bytes": int,
    "emulation": dict,
    "events": dict,
}
_REQUIRED = ("cpu", "vlen_bits", "cores", "frequency_hz")


@dataclass(frozen=True)
class Emulation:
    """How QEMU and the model stand in for a board.

    Args:
        qemu_cpu: for QEMU's `-cpu`; "{vlen_bits}" stands for the vector length.
        cost_table: file name of the core's costs in `rvv_runner/emulated`.
    """

    qemu_cpu: str
    cost_table: str


@dataclass(frozen=True)
class BoardFile:
    """A kind of board.

    Args:
        name: the file's name without its ending.
        cpu: LLVM's name of the core.
        vlen_bits: bits in a vector register.
        cores: how many there are.
        frequency_hz: clock in hertz.
        l1d_bytes, l2_bytes: sizes of the data caches, None where not known.
        emulation: None where the board cannot be emulated.
        events: raw code of each performance event that the core has, by name.
    """

    name: str
    cpu: str
    vlen_bits: int
    cores: int
    frequency_hz: int
    l1d_bytes: int | None
    l2_bytes: int | None
    emulation: Emulation | None
    events: Mapping[str, int]


def board_file_names(folder: Path = _FOLDER) -> list[str]:
    """Names of all board files, in alphabetical order."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def read_board_file(name: str, folder: Path = _FOLDER) -> BoardFile:
    """The board file called `name`.

    Raises:
        BoardError: where it cannot be read, or an entry is unknown, missing or of the wrong type.
    """
    path = folder / f"{name}.toml"
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BoardError(f"the board file {path} cannot be read: {error}") from error
    _check(path, entries, _TOP_LEVEL, _REQUIRED)
    events = entries.get("events", {})
    _check(path, events, dict.fromkeys(events, int), ())
    emulation = entries.get("emulation")
    if emulation is not None:
        known = {"qemu_cpu": str, "cost_table": str}
        _check(path, emulation, known, tuple(known))
    return BoardFile(
        name=name,
        cpu=entries["cpu"],
        vlen_bits=entries["vlen_bits"],
        cores=entries["cores"],
        frequency_hz=entries["frequency_hz"],
        l1d_bytes=entries.get("l1d_bytes"),
        l2_bytes=entries.get("l2_bytes"),
        emulation=None if emulation is None else Emulation(**emulation),
        events=events,
    )


def _check(
    path: Path, entries: Mapping[str, Any], known: Mapping[str, type], required: tuple[str, ...]
) -> None:
    for key in required:
        if key not in entries:
            raise BoardError(f"the board file {path} lacks the entry {key}: add it")
    for key, value in entries.items():
        if key not in known:
            raise BoardError(f"the board file {path} has an unknown entry {key}: remove it")
        if type(value) is not known[key]:
            raise BoardError(
                f"the board file {path} has {key} = {value!r}: make it {known[key].__name__}"
            )
