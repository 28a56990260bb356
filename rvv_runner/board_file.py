"""Reads board files: what is known about a kind of board, and how to reach a user's own board."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foundation.programs import python_command
from foundation.user_folders import config_folder
from rvv_runner.board import BoardError, BoardInfo
from triton_rvv.targets.machine import MACHINES, PREFETCHES, Prefetch

__all__ = [
    "UNDER",
    "BoardFile",
    "Emulation",
    "SshSettings",
    "board_file_names",
    "board_kinds",
    "core_kinds",
    "read_board_file",
    "user_board_folder",
    "write_command",
]

# In a board's kind, before the program that runs the executables in its place, such as an emulator.
UNDER = "-under-"

_FOLDER = Path(__file__).parent / "boards"
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


@dataclass(frozen=True)
class Emulation:
    """How QEMU and the model stand in for a board.

    Args:
        cost_table: name of the file in `rvv_runner/emulated` with the core's costs.
        qemu_cpu: value of QEMU's `-cpu`; "{vlen_bits}" stands for the vector length. None for the
            extensions that code for the board uses.
        costs: where this core differs from that table, as `read_cost_table` takes it.
        ruled_out: names of models of the family that the board was found not to follow.
    """

    cost_table: str
    qemu_cpu: str | None = None
    costs: Mapping[str, Any] = field(default_factory=dict)
    ruled_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class SshSettings:
    """How to reach and use a board.

    Args:
        host: name or address, or a Host of ~/.ssh/config.
        user, port: None for the values in ~/.ssh/config, or else ssh's defaults.
        folder: on the board, for executables and data; relative to the user's home.
        lock: file on the board; its flock(2) means that a measurement is running.
        wrapper: command and arguments in front of the executable.
        core: the processor to run on, None for the last one.
        governor: set for that processor before measuring; None leaves it unchanged.
        busy_cores: if other programs used more processors than this during a run, on average, its
            times are not trusted.
        cache_bytes: maximum size of `folder`.
        cool_below_c: in degrees Celsius; a hotter board cools down before a measurement. None for
            any temperature.
    """

    host: str
    user: str | None = None
    port: int | None = None
    folder: str = ".cache/triton-rvv-tuner"
    lock: str = "/tmp/triton-rvv-tuner.lock"  # on the board, where all of its users may write
    wrapper: tuple[str, ...] = ()
    core: int | None = None
    governor: str | None = None
    busy_cores: float = 0.5
    cache_bytes: int = 1 << 30
    cool_below_c: float | None = None


@dataclass(frozen=True)
class BoardFile:
    """A board, or a kind of board.

    Args:
        name: the file's name without its extension; with ":" and the kind of core, if the board has
            several.
        kind: name of the file that describes this kind, with the kind of core likewise; boards of
            one kind are alike.
        cpu: the core's name, as `RVVTarget.named` takes it.
        tune: the core for whose caches and latencies code is made, likewise; None for the core's.
        prefetch: how far ahead code asks for lines, one of PREFETCHES; None for "near".
        vlen_bits: bits in a vector register.
        cores: number of cores.
        cores_per_l2: number of cores that share an L2 cache; None if that is not known.
        frequency_hz: clock in hertz.
        l1d_bytes, l2_bytes, l3_bytes: sizes of the data caches, None if not known or not there.
        emulation: None if the board cannot be emulated.
        events: the core's performance events by name, each as perf takes it: a raw code or perf's
            own name.
        mvendorid, marchid: as /proc/cpuinfo shows them for the core, None if not known.
        ssh: how to reach it; None for a kind of board.
        processors: numbers of the processors of this kind, such as "0-3,6"; None for all.
        matrix_cpu: the core's name with its matrix unit, where only some of them have one.
        matrix_processors: numbers of those that have it; "" for none.
        enter: file on the board into which a process writes its number to get to this kind of
            core; None where being bound to a processor is enough.
        perf_user_access: value of the kernel's setting of that name with which users may count;
            None if it does not matter.
    """

    name: str
    kind: str
    cpu: str
    vlen_bits: int
    cores: int
    frequency_hz: int
    l1d_bytes: int | None
    l2_bytes: int | None
    emulation: Emulation | None
    events: Mapping[str, int | str]
    mvendorid: str | None = None
    marchid: str | None = None
    ssh: SshSettings | None = None
    processors: str | None = None
    enter: str | None = None
    perf_user_access: int | None = None
    l3_bytes: int | None = None
    tune: str | None = None
    prefetch: Prefetch | None = None
    cores_per_l2: int | None = None
    matrix_cpu: str | None = None
    matrix_processors: str | None = None

    @property
    def wrapper(self) -> tuple[str, ...]:
        """Command and arguments in front of the executable."""
        return self.ssh.wrapper if self.ssh is not None else ()

    def info(self, name: str) -> BoardInfo:
        """What is known about the board, which measures with its own clock.

        Args:
            name: as the user gives it.
        """
        # With a wrapper, such as an emulator, it is another kind of board.
        wrapped = f"{UNDER}{Path(self.wrapper[0]).name}" if self.wrapper else ""
        return BoardInfo(
            name=name,
            kind=f"{self.kind}{wrapped}",
            cpu=self.cpu,
            vlen_bits=self.vlen_bits,
            cores=self.cores,
            frequency_hz=float(self.frequency_hz),
            l1d_bytes=self.l1d_bytes,
            l2_bytes=self.l2_bytes,
            tune=self.tune,
            prefetch=self.prefetch,
            cores_per_l2=self.cores_per_l2,
        )


def user_board_folder() -> Path:
    """The folder of the user's own board files."""
    return config_folder() / "boards"


def board_file_names(folder: Path = _FOLDER) -> list[str]:
    """Names of all board files, in alphabetical order."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def write_command() -> str:
    """The command that writes a board file for a reachable board."""
    return f"{python_command('rvv_runner')} check ssh://USER@HOST --write NAME"


def core_kinds(name: str, folder: Path = _FOLDER) -> list[str]:
    """The names of a board's kinds of core, as "k3:x100"; empty if all of its cores are alike.

    Raises:
        BoardError: like `read_board_file`.
    """
    _, entries = _with_kind(folder / f"{name}.toml")
    return [f"{name}:{core}" for core in entries.get(_CORE_KINDS, ())]


def read_board_file(name: str, folder: Path = _FOLDER) -> BoardFile:
    """The board file called `name`; for one kind of core of a board, as "k3:x100".

    Raises:
        BoardError: if it cannot be read, or an entry is unknown, missing or of the wrong type; if
            it has several kinds of core and the name does not say which, or one that it lacks.
    """
    stem, _, core = name.partition(":")
    path = folder / f"{stem}.toml"
    kind, entries = _with_kind(path)
    kind, entries = _of_core(stem, core, kind, entries)
    for key in _REQUIRED:
        if key not in entries:
            raise BoardError(
                f"the board file {path} lacks the entry {key}: add it, or a kind that has it"
            )
    emulation, ssh = entries.get("emulation"), entries.get("ssh")
    if emulation is not None:
        _check(path, emulation, _EMULATION, required=("cost_table",))
    return BoardFile(
        name=name,
        kind=kind,
        cpu=entries["cpu"],
        vlen_bits=entries["vlen_bits"],
        cores=entries["cores"],
        frequency_hz=entries["frequency_hz"],
        l1d_bytes=entries.get("l1d_bytes"),
        l2_bytes=entries.get("l2_bytes"),
        l3_bytes=entries.get("l3_bytes"),
        tune=entries.get("tune"),
        prefetch=entries.get("prefetch"),
        emulation=None if emulation is None else Emulation(**emulation),
        events=entries.get("events", {}),
        mvendorid=entries.get("mvendorid"),
        marchid=entries.get("marchid"),
        ssh=None if ssh is None else _ssh_settings(ssh),
        processors=entries.get("processors"),
        matrix_cpu=entries.get("matrix_cpu"),
        matrix_processors=entries.get("matrix_processors"),
        enter=entries.get("enter"),
        perf_user_access=entries.get("perf_user_access"),
        cores_per_l2=entries.get("cores_per_l2"),
    )


def board_kinds() -> list[str]:
    """Names of the boards and kinds of core that are described in a file of their own."""
    names = [each for name in board_file_names() for each in core_kinds(name) or [name]]
    return [name for name in names if read_board_file(name).kind == name]


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
    if kind is None or path == _FOLDER / f"{kind}.toml":
        return path.stem, entries
    if kind not in board_file_names():
        raise BoardError(
            f"the board file {path} has kind = {kind!r}: "
            f"make it one of {', '.join(board_file_names())}"
        )
    kind, of_kind = _with_kind(_FOLDER / f"{kind}.toml")
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
    return entries


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


def _ssh_settings(entries: Mapping[str, Any]) -> SshSettings:
    return SshSettings(**{**entries, "wrapper": tuple(entries.get("wrapper", ()))})


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
            raise BoardError(f"the board file {path} has an unknown entry {key}: remove it")
        if type(value) not in known[key]:
            expected = " or ".join(_IN_WORDS[kind] for kind in known[key])
            raise BoardError(f"the board file {path} has {key} = {value!r}: make it {expected}")
