"""Runs an executable in QEMU with the plug-in, the same way each time."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foundation.scratch import scratch_folder
from rvv_runner.measurement import ElfArtifact
from rvv_runner.process import run_bounded
from rvv_runner.verdict import OUTPUT_LIMIT_BYTES, Ending
from triton_rvv.runtime.qemu import qemu_version

__all__ = ["Emulator", "QemuRun", "launcher_arguments", "run_in_qemu", "with_fixed_addresses"]

_PROBE_LIMIT_S = 10.0
_USER_BYTES = "0x4000000000"  # what a program has on a core with Sv39, such as the X60

# Since this version, QEMU places a program's memory elsewhere: where this machine would, unless a
# range is reserved for it.
_LAYS_OUT_ANEW = (8,)
_SCRATCH = "emulated-"  # prefix of the folders in which programs run


@dataclass(frozen=True)
class Emulator:
    """Everything that QEMU needs to emulate a core.

    Args:
        qemu: the dynamic qemu-riscv64.
        cpu: value of its `-cpu`.
        options: what else it is told of the core.
        plugin: the compiled plug-in.
        costs: the core's cost table as the plug-in reads it.
        launcher_options: what launchers are told on this board, besides what they run.
    """

    qemu: Path
    cpu: str
    plugin: Path
    costs: Path
    options: tuple[str, ...] = ()
    launcher_options: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """What starts QEMU, up to the plug-in and the program."""
        reserve = ("-R", _USER_BYTES) if qemu_version(self.qemu) >= _LAYS_OUT_ANEW else ()
        return str(self.qemu), "-cpu", self.cpu, "-seed", "1", *self.options, *reserve


@dataclass(frozen=True)
class QemuRun:
    """A run in QEMU.

    Args:
        result: how it ended.
        report: the plug-in's report, None if it wrote none.
    """

    result: Ending
    report: str | None


def launcher_arguments(emulator: Emulator, artifact: ElfArtifact) -> tuple[str | Path, ...]:
    """What an artifact's launcher is called with, for one check and one timed run."""
    return (
        artifact.data_path,
        *artifact.launcher_options,
        "--repeats",
        "1",
        *emulator.launcher_options,
    )


def run_in_qemu(
    emulator: Emulator,
    elf: Path,
    arguments: Sequence[str | Path],
    timeout_s: float,
) -> QemuRun:
    """Run `elf` in its own folder; a path among the arguments is a file for the program.

    A program's environment, name and arguments determine the addresses of its stack, and so the
    cache sets that it uses. Therefore the environment is the emulator's alone, the random seed is
    fixed, and every file is linked into the folder with a fixed name. Where the system allows it,
    this machine's addresses are not random either: QEMU places some of the program's by them.

    Raises:
        OSError: if QEMU cannot be started or a file cannot be linked.
    """
    with scratch_folder(_SCRATCH) as folder:
        _link(emulator.plugin, folder / "plugin.so")
        _link(emulator.costs, folder / "costs.txt")
        _link(elf, folder / "kernel.elf")
        program = ["./kernel.elf", *_program_arguments(arguments, folder)]
        load = "./plugin.so,costs=costs.txt,report=report.json"
        result = run_bounded(
            [
                *with_fixed_addresses(shutil.which("setarch")),
                *emulator.command,
                "-plugin",
                load,
                *program,
            ],
            folder=folder,
            timeout_s=timeout_s,
            output_limit_bytes=OUTPUT_LIMIT_BYTES,
        )
        report = folder / "report.json"
        return QemuRun(result, report.read_text(encoding="utf-8") if report.exists() else None)


@functools.cache
def with_fixed_addresses(setarch: str | None) -> tuple[str, ...]:
    """The words before a command that give it the same addresses each time; none where that is
    forbidden, as in some containers.

    Args:
        setarch: the program's path; None where there is none.
    """
    if setarch is None:
        return ()
    words = (setarch, "--addr-no-randomize")
    try:
        allowed = subprocess.run(
            [*words, setarch, "--version"], capture_output=True, timeout=_PROBE_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return words if allowed.returncode == 0 else ()


def _link(path: Path, link: Path) -> None:
    link.symlink_to(path.resolve())


def _program_arguments(arguments: Sequence[str | Path], folder: Path) -> list[str]:
    program: list[str] = []
    for argument in arguments:
        if isinstance(argument, Path):
            link = folder / f"data{len(program)}.bin"
            _link(argument, link)
            program.append(link.name)
        else:
            program.append(argument)
    return program
