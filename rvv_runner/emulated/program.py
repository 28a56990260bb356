"""Counts what a user's own program does on an emulated board; it needs no launcher or markers."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from foundation.errors import UserError
from foundation.scratch import scratch_folder
from rvv_runner.board import BoardError, BoardInfo
from rvv_runner.emulated.counters import MODELLED_EVENTS, Region, parse_report, reports_whole
from rvv_runner.emulated.error_band import error_band
from rvv_runner.emulated.run import Emulator
from rvv_runner.program import Program
from rvv_runner.program_counts import TIME, ProgramCounts, Scope
from rvv_runner.verdict import signal_name
from triton_rvv.targets.target import RVVTarget

__all__ = ["count_program"]

# Where Debian's package libc6-riscv64-cross puts the libraries of dynamic programs.
_SYSROOT = Path("/usr/riscv64-linux-gnu")
_SYSROOT_VARIABLE = "QEMU_LD_PREFIX"  # QEMU's own
_SIGNAL_BASE = 128
_ONE_CORE = (
    "several threads share one core here, so their times add up, with no error band; "
    "@4cores at the device's name gives them four"
)


def count_program(emulator: Emulator, info: BoardInfo, program: Program) -> ProgramCounts:
    """Run a program in QEMU, with this process's files and terminal, and count what it does.

    Its environment is empty, so that the counts do not depend on this process's. What is counted is
    each region that it marks, or the whole program if it marks none. On a board with one core, the
    time of several threads is their sum.

    Raises:
        UserError: if it is dynamic and the libraries for it are not to be found.
        BoardError: if QEMU cannot be started.
    """
    with scratch_folder("stat-") as folder:
        for name, path in (("plugin.so", emulator.plugin), ("costs.txt", emulator.costs)):
            (folder / name).symlink_to(path.resolve())
        report = folder / "report.json"
        load = f"{folder}/plugin.so,costs={folder}/costs.txt,report={report},whole=1"
        ended = _run(
            [
                *(*emulator.command, "-plugin", load),
                *_libraries(program),
                *(str(program.path), *program.arguments),
            ]
        )
        text = report.read_text(encoding="utf-8") if report.exists() else None
    status = ended if ended >= 0 else _SIGNAL_BASE - ended
    if text is None or ended < 0:  # some QEMUs report what was counted until the signal
        return ProgramCounts(status, (), notes=(_no_report(status, info),))
    regions = parse_report(text)
    counted = _names(len(regions), whole=reports_whole(text))
    shared = [info.used_cores == 1 and region.raw["threads"] > 1 for region in regions]
    return ProgramCounts(
        status,
        tuple(
            Scope(name, _cycles(region, is_shared) / info.frequency_hz, region.counters)
            for name, region, is_shared in zip(counted, regions, shared, strict=True)
        ),
        estimated=MODELLED_EVENTS | {TIME},
        bands=tuple(
            None if is_shared else error_band(info.name, region.counters)
            for region, is_shared in zip(regions, shared, strict=True)
        ),
        notes=(
            *(note for region in regions for note in _notes(region)),
            *([_ONE_CORE] if any(shared) else []),
        ),
    )


def _cycles(region: Region, is_shared: bool) -> float:
    """Of one core, on which all threads run one after another, or of the slowest thread's."""
    return region.raw["busy_cycles"] if is_shared else region.cycles


def _run(command: Sequence[str]) -> int:
    """The program's exit status, or the signal that ended it as a negative number."""
    try:
        return subprocess.run(command, env={}, check=False).returncode
    except OSError as error:
        raise BoardError(f"QEMU could not be run: {error}") from error


def _libraries(program: Program) -> list[str]:
    """QEMU's arguments for where a dynamic program finds its linker and libraries."""
    if program.interpreter is None:
        return []
    root = Path(os.environ.get(_SYSROOT_VARIABLE) or _SYSROOT)
    if not (root / program.interpreter.lstrip("/")).exists():
        raise UserError(
            f"{program.path} is dynamic, and {root} has no {program.interpreter}: run sudo apt-get "
            f"install libc6-riscv64-cross, set {_SYSROOT_VARIABLE} to a folder that has it, or "
            "link with -static"
        )
    return ["-L", str(root)]


def _names(count: int, *, whole: bool) -> list[str]:
    if whole:
        return ["the whole program"]
    return ["the marked region"] if count == 1 else [f"region {n + 1}" for n in range(count)]


def _no_report(status: int, info: BoardInfo) -> str:
    number = status - _SIGNAL_BASE
    ending = signal_name(number) if number > 0 else f"status {status}"
    text = f"nothing was counted, since the program ended with {ending} before it could exit"
    if number != signal.SIGILL:
        return text
    target = RVVTarget.named(info.cpu, info.vlen_bits)
    march = "_".join(("rv64gcv", *(e[1:] for e in target.extensions if e.startswith("+"))))
    text = f"{text}: what {info.name} runs is compiled for {march} and no other extensions"
    absent = ", ".join(e[1:].capitalize() for e in target.extensions if e.startswith("-"))
    if not absent:
        return text
    return (
        f"{text}; it is without {absent} in every QEMU, which -mcpu of a core may add, as "
        "spacemit_x60 does: Zig leaves it out with -mcpu=spacemit_x60-zicond"
    )


def _notes(region: Region) -> list[str]:
    said = {
        "unknown_vector_type": "vector instructions ran under a type that vsetvl took from a "
        "register: they are estimated as for e32 and m1",
        "software_prefetch_unresolved": "software prefetches have an unknown address: left out",
    }
    return [f"{count:,.0f} {said[name]}" for name, count in region.unresolved.items()]
