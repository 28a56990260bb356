"""Reads board files: what is known about a kind of board, and how to reach a user's own board."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from foundation.user_folders import config_folder
from rvv_runner.board import UNDER, BoardInfo
from rvv_runner.board_entries import BOARDS, board_entries, board_file_names, core_kinds
from triton_rvv.targets.machine import Prefetch

__all__ = [
    "BoardFile",
    "Emulation",
    "SshSettings",
    "board_kinds",
    "read_board_file",
    "user_board_folder",
]


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


def read_board_file(name: str, folder: Path = BOARDS) -> BoardFile:
    """The board file called `name`; for one kind of core of a board, as "k3:x100".

    Raises:
        BoardError: like `board_entries`.
    """
    kind, entries = board_entries(name, folder)
    emulation, ssh = entries.get("emulation"), entries.get("ssh")
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


def _ssh_settings(entries: Mapping[str, Any]) -> SshSettings:
    settings = SshSettings(**{**entries, "wrapper": tuple(entries.get("wrapper", ()))})
    return replace(settings, folder=re.sub("^~/+", "", settings.folder))
