"""Writes the folder for tuning by hand: executables, data, assembly, and scripts to run them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import foundation.printing
import launchers.output
import rvv_runner.board_queue
import rvv_runner.conditions
import rvv_runner.cpu_time
import rvv_runner.perf
import rvv_runner.perf_groups
import rvv_runner.verdict
from engine.by_hand import board_side, board_state, bounded_run, perf_table, recording
from foundation.config import Config
from foundation.errors import UserError
from rvv_runner.assembly import assembly_file
from rvv_runner.board_file import BoardFile, SshSettings
from rvv_runner.measurement import ElfArtifact

__all__ = ["Tree"]

_REPEATS = 10
_LIMIT_S = 120.0
_SYMBOLS = ("triton_rvv_kernel",)  # launchers/kernel_abi.h
_DISASSEMBLERS = ("llvm-objdump", "riscv64-linux-gnu-objdump", "riscv64-unknown-linux-gnu-objdump")
_DISASSEMBLY_LIMIT_S = 60.0

# What run_perf.py imports on the board, where this program is not installed.
_PARTS = (
    board_side,
    board_state,
    bounded_run,
    foundation.printing,
    launchers.output,
    perf_table,
    recording,
    rvv_runner.board_queue,
    rvv_runner.perf,
    rvv_runner.perf_groups,
    rvv_runner.conditions,
    rvv_runner.cpu_time,
    rvv_runner.verdict,
)
_SCRIPTS = Path(__file__).parent


@dataclass(frozen=True)
class Tree:
    """A folder for one kernel and one kind of board.

        FOLDER/transfer_to_remote.py, report_to_host.py
        FOLDER/KERNEL/KERNEL_VALUES/   blk_constants.json, IR, a header with the constants
        FOLDER/dump/                   assembly
        FOLDER/run/                    goes to the board: bin, test_data, configs.json, run_perf.py

    Args:
        folder: its path.
        kernel: name of the kernel.
        board: the kind of board that it runs on.
    """

    folder: Path
    kernel: str
    board: BoardFile

    def begin(self) -> None:
        """Create the folder with the scripts.

        Raises:
            UserError: if the folder exists and is not empty, or cannot be written.
        """
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise UserError(f"{self.folder} already exists: give --out a new folder")
        for name in ("dump", "run/bin", "run/perf/perf_data", "run/test_data"):
            try:
                (self.folder / name).mkdir(parents=True)
            except OSError as error:
                raise UserError(
                    f"{self.folder} cannot be written ({error.strerror}): give another with --out"
                ) from error
        shutil.copy(_SCRIPTS / "run_perf.py", self.folder / "run")
        for name in ("transfer_to_remote.py", "report_to_host.py"):
            shutil.copy(_SCRIPTS / name, self.folder)
        for part in _PARTS:
            self._copy_part(part.__name__, Path(str(part.__file__)))

    def add(self, config: Config, artifact: ElfArtifact) -> dict[str, object]:
        """Add a build; return its entry for the variants of configs.json."""
        values = "_".join(str(value) for value in config.values())
        stem = f"VL{artifact.vlen_bits}_{self.kernel}_{values}"
        name = f"{stem}_g_static_O2"
        self._add_constants(config, f"{self.kernel}_{values}", artifact)
        shutil.copy(artifact.elf_path, self.folder / f"run/bin/{name}.elf")
        data = self.folder / "run/test_data" / artifact.data_path.name
        if not data.exists():
            shutil.copy(artifact.data_path, data)
        source = assembly_file(artifact.elf_path)
        assert source is not None, "the build that was just made has its IR"
        assembly = self.folder / f"dump/{stem}_kernel_src.s"
        shutil.copy(source, assembly)
        self._disassemble(artifact.elf_path, self.folder / f"dump/{name}.elf.s")
        return {
            **config,
            "elf_path": f"bin/{name}.elf",
            "asm_path": f"../dump/{assembly.name}",
            "perf_data_path": f"perf/perf_data/{name}.data",
            "perf_report_path": f"perf/perf_data/{name}.txt",
            "test_data_path": f"test_data/{data.name}",
            "grid": list(artifact.grid),
            "options": list(artifact.launcher_options),
            "sha256": artifact.sha256,
            "kernel": artifact.kernel,
            "vlen_bits": artifact.vlen_bits,
        }

    def finish(self, variants: list[dict[str, object]], parameters: list[str]) -> None:
        """Write what run_perf.py reads.

        Args:
            variants: what `add` returned for each build.
            parameters: names of the tuned values.
        """
        ssh = self.board.ssh or SshSettings(host="")
        configs: Mapping[str, object] = {
            "kernel": self.kernel,
            "parameters": parameters,
            "variants": variants,
            "perf_files": {"stat": "perf/perf_stats.csv"},
            "events": dict(self.board.events),
            "symbols": list(_SYMBOLS),
            "repeats": _REPEATS,
            "limit_s": _LIMIT_S,
            "wrapper": list(ssh.wrapper),
            "lock": ssh.lock,
            "core": ssh.core,
            "busy_cores": ssh.busy_cores,
        }
        text = json.dumps(configs, indent=2) + "\n"
        (self.folder / "run/configs.json").write_text(text, encoding="utf-8")

    def _copy_part(self, module: str, source: Path) -> None:
        """Copy a module to where run_perf.py imports it under the same name."""
        parts = self.folder / "run/parts"
        target = parts.joinpath(*module.split(".")).with_suffix(".py")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        for package in target.relative_to(parts).parents[:-1]:
            (parts / package / "__init__.py").touch()

    def _add_constants(self, config: Config, name: str, artifact: ElfArtifact) -> None:
        """Write the tuned values for the user's own programs, beside the IR."""
        folder = self.folder / self.kernel / name
        folder.mkdir(parents=True)
        text = json.dumps(dict(config), indent=2) + "\n"
        (folder / "blk_constants.json").write_text(text, encoding="utf-8")
        for suffix in (".ttir", ".llir"):
            shutil.copy(artifact.elf_path.with_suffix(suffix), folder)
        lines = ["#pragma once", ""]
        for parameter, value in config.items():
            if isinstance(value, int):  # a bool counts as 0 or 1
                lines.append(f"static const int {self.kernel}_kernel_{parameter} = {int(value)};")
        header = folder / f"{self.kernel}_kernel_launcher.h"
        header.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @staticmethod
    def _disassemble(elf: Path, target: Path) -> None:
        """Disassemble with a tool of this machine; without one, write nothing."""
        program = next(filter(None, map(shutil.which, _DISASSEMBLERS)), None)
        if program is None:
            return
        command = [program, "-d", "--no-show-raw-insn", str(elf)]
        done = subprocess.run(
            command, capture_output=True, timeout=_DISASSEMBLY_LIMIT_S, check=False
        )
        if done.returncode == 0:
            target.write_bytes(done.stdout)
