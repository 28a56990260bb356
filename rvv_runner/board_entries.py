"""The entries of board files: what they may be, and those of a kind under those of a board."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foundation.errors import nearest
from foundation.programs import python_command
from rvv_runner.board import BoardError
from triton_rvv.targets.machine import MACHINES, PREFETCHES

__all__ = [
    "BOARDS",
    "board_entries",
    "board_file_names",
    "core_kinds",
    "write_command",
]

BOARDS = Path(__file__).parent / "boards"
_BELOW_HOME = re.compile(r"~/+[^/]")  # of the user who logs in, where relative paths start
_TOP_LEVEL: dict[str, tuple[type, ...]] = {
    "kind": (str,),
    "cpu": (str,),
    "tune": (str,),
    "prefetch": (str,),
    "vlen_bits": (int,),
    "cores": (int,),
    "cores_per_l2": (int,),
    "frequency_hz": (int,),
    "l1d_bytes": (int,),
    "l2_bytes": (int,),
    "l3_bytes": (int,),
    "mvendorid": (str,),
    "marchid": (str,),
    "processors": (str,),
    "matrix_cpu": (str,),
    "matrix_processors": (str,),
    "enter": (str,),
    "perf_user_access": (int,),
    "emulation": (dict,),
    "events": (dict,),
    "ssh": (dict,),
}
# Of a board with several kinds of core: a table for each, with the entries above but [ssh].
_CORE_KINDS = "core_kinds"
_OF_CORE = tuple(key for key in _TOP_LEVEL if key not in ("kind", "ssh"))
_IN_WORDS = {str: "a text", int: "an integer", float: "a number", dict: "a table", list: "a list"}
_OF_BOARD: dict[str, tuple[type, ...]] = {**_TOP_LEVEL, _CORE_KINDS: (dict,)}
_REQUIRED = ("cpu", "vlen_bits", "cores", "frequency_hz")
_EMULATION: dict[str, tuple[type, ...]] = {
    "qemu_cpu": (str,),
    "cost_table": (str,),
    "costs": (dict,),
    "ruled_out": (list,),
}
_SSH: dict[str, tuple[type, ...]] = {
    "host": (str,),
    "user": (str,),
    "port": (int,),
    "folder": (str,),
    "lock": (str,),
    "wrapper": (list,),
    "core": (int,),
    "governor": (str,),
    "busy_cores": (float, int),
    "cache_bytes": (int,),
    "cool_below_c": (float, int),
}


def board_file_names(folder: Path = BOARDS) -> list[str]:
    """Names of all board files, in alphabetical order."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def write_command() -> str:
    """The command that writes a board file for a reachable board."""
    return f"{python_command('rvv_runner')} check ssh://USER@HOST --write NAME"


def core_kinds(name: str, folder: Path = BOARDS) -> list[str]:
    """The names of a board's kinds of core, as "k3:x100"; empty if all of its cores are alike.

    Raises:
        BoardError: like `board_entries`.
    """
    _, entries = _with_kind(folder / f"{name}.toml")
    return [f"{name}:{core}" for core in entries.get(_CORE_KINDS, ())]


def board_entries(name: str, folder: Path = BOARDS) -> tuple[str, Mapping[str, Any]]:
    """A board's kind, and its entries with those of its kind under them.

    Args:
        name: as `read_board_file` takes it.

    Raises:
        BoardError: if its file cannot be read, or an entry is unknown, missing or of the wrong
            type; if it has several kinds of core and the name does not say which, or one that it
            lacks.
    """
    stem, _, core = name.partition(":")
    path = folder / f"{stem}.toml"
    kind, entries = _of_core(stem, core, *_with_kind(path))
    for key in _REQUIRED:
        if key not in entries:
            raise BoardError(
                f"the board file {path} lacks the entry {key}: add it, or a kind that has it"
            )
    if (emulation := entries.get("emulation")) is not None:
        _check(path, emulation, _EMULATION, required=("cost_table",))
    return kind, entries


def _of_core(
    stem: str, core: str, kind: str, entries: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The kind of a board with one kind of core, and its entries; unchanged if it has only one."""
    kinds = entries.pop(_CORE_KINDS, {})
    if not core and not kinds:
        return kind, entries
    if core not in kinds:
        names = " or ".join(f"{stem}:{each}" for each in kinds)
        advice = f"name {names}" if names else f"name {stem} alone"
        said = f"no kind of core named {core}" if core else "cores of several kinds"
        raise BoardError(f"the board {stem} has {said}: {advice}")
    return f"{kind}:{core}", {**entries, **kinds[core]}


def _with_kind(path: Path) -> tuple[str, dict[str, Any]]:
    """A file's kind of board, and the entries of the kind's file with those of this one on top."""
    entries = _read(path)
    kind: str | None = entries.pop("kind", None)
    if kind is None or path == BOARDS / f"{kind}.toml":
        return path.stem, entries
    if kind not in board_file_names():
        raise BoardError(
            f"the board file {path} has kind = {kind!r}: "
            f"make it one of {', '.join(board_file_names())}"
        )
    kind, of_kind = _with_kind(BOARDS / f"{kind}.toml")
    cores, own = of_kind.get(_CORE_KINDS, {}), entries.get(_CORE_KINDS, {})
    together = {core: {**cores.get(core, {}), **own.get(core, {})} for core in {**cores, **own}}
    merged = {**of_kind, **entries, **({_CORE_KINDS: together} if together else {})}
    if "emulation" in of_kind.keys() & entries.keys():
        merged["emulation"] = _emulation_on_top(of_kind["emulation"], entries["emulation"])
    return kind, merged


def _emulation_on_top(of_kind: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The kind's emulation with a file's own on top; of costs, single figures and classes."""
    costs = dict(of_kind.get("costs", {}))
    for part, entries in own.get("costs", {}).items():
        is_table = isinstance(entries, dict)
        costs[part] = {**costs.get(part, {}), **entries} if is_table else entries
    return {**of_kind, **own, **({"costs": costs} if costs else {})}


def _read(path: Path) -> dict[str, Any]:
    """The entries of a file, each with its type checked, in a dictionary of the caller's own."""
    if not path.is_file():
        raise BoardError(f"there is no board file {path}: write one with `{write_command()}`")
    try:
        return dict(_checked(path, path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BoardError(f"the board file {path} cannot be read: {error}") from error


@functools.lru_cache(maxsize=64)
def _checked(path: Path, text: str) -> dict[str, Any]:
    """The entries of a file with this text. A command reads every board's file many times, and to
    parse one takes 10 ms; callers change no table in the entries."""
    entries = tomllib.loads(text)
    _check(path, entries, _OF_BOARD)
    for core, its_entries in entries.get(_CORE_KINDS, {}).items():
        if not isinstance(its_entries, dict):
            raise BoardError(
                f"the board file {path} has {core} under {_CORE_KINDS}: make it a table"
            )
        _check(path, its_entries, {key: _TOP_LEVEL[key] for key in _OF_CORE})
        _check_tables(path, its_entries)
    _check_tables(path, entries)
    if "ssh" in entries:
        _check(path, entries["ssh"], _SSH, required=("host",))
        wrapper = entries["ssh"].get("wrapper", [])
        if not all(isinstance(word, str) for word in wrapper):
            raise BoardError(f"the board file {path} has wrapper = {wrapper!r}: make it strings")
        _check_homes(path, entries["ssh"])
    return entries


def _check_homes(path: Path, ssh: Mapping[str, Any]) -> None:
    """Refuse a `~` that would be a file's name, since no shell on the board expands it."""
    words = [(key, ssh.get(key, "")) for key in ("folder", "lock")]
    words += [("wrapper", word) for word in ssh.get("wrapper", ())]
    for key, word in words:
        if not word.startswith("~") or (key == "folder" and _BELOW_HOME.match(word)):
            continue
        home = " or one that begins with ~/" if key == "folder" else ""
        raise BoardError(
            f"the board file {path} has {key} = {word!r}: "
            f"make it an absolute path on the board{home}"
        )


def _check_tables(path: Path, entries: Mapping[str, Any]) -> None:
    """Check what a board or a kind of core may both have."""
    events = entries.get("events", {})
    _check(path, events, dict.fromkeys(events, (int, str)))
    if "emulation" in entries:
        _check(path, entries["emulation"], _EMULATION)
    prefetch = entries.get("prefetch", "near")
    if prefetch not in PREFETCHES:
        raise BoardError(
            f"the board file {path} has prefetch = {prefetch!r}: make it one of "
            f"{', '.join(PREFETCHES)}"
        )
    tune = entries.get("tune", "x60")
    if tune not in MACHINES:
        raise BoardError(
            f"the board file {path} has tune = {tune!r}: make it one of {', '.join(MACHINES)}"
        )
    for key in ("processors", "matrix_processors"):
        numbers = entries.get(key, "0")
        is_none = key == "matrix_processors" and not numbers
        if not is_none and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", numbers):
            raise BoardError(f'the board file {path} has {key} = {numbers!r}: make it as "0-3,6"')


def _check(
    path: Path,
    entries: Mapping[str, Any],
    known: Mapping[str, tuple[type, ...]],
    required: tuple[str, ...] = (),
) -> None:
    for key in required:
        if key not in entries:
            raise BoardError(f"the board file {path} lacks the entry {key}: add it")
    for key, value in entries.items():
        if key not in known:
            is_astray = key in _SSH and known is not _SSH
            advice = "put it below [ssh]" if is_astray else nearest(key, known, 0.7)
            raise BoardError(f"the board file {path} has an unknown entry {key}: {advice}")
        if type(value) not in known[key]:
            expected = " or ".join(_IN_WORDS[kind] for kind in known[key])
            raise BoardError(f"the board file {path} has {key} = {value!r}: make it {expected}")
