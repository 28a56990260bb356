"""The emulated board: runs an ELF in QEMU and estimates its time with a model."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

from rvv_runner.board import BoardError, BoardInfo
from rvv_runner.board_file import BoardFile
from rvv_runner.cold import flush_options
from rvv_runner.emulated.costs import CostTable, read_cost_table
from rvv_runner.emulated.family import family_tables, family_text
from rvv_runner.emulated.limits import Limits, limits_of
from rvv_runner.emulated.plugin import MODEL_VERSION, build_plugin, write_once
from rvv_runner.emulated.run import Emulator, launcher_arguments, run_in_qemu
from rvv_runner.emulated.self_test import SELF_TEST_VLEN_BITS, check_qemu
from rvv_runner.emulated.verdict import measurement_of
from rvv_runner.failure import failed, taken_elf
from rvv_runner.measurement import Artifact, Measurement
from rvv_runner.usage import ONE_CORE, Usage
from triton_rvv.runtime.qemu import QemuError, cpu_option, environment_options, find_qemu
from triton_rvv.targets.target import RVVTarget

__all__ = ["EmulatedBoard", "cost_table_of"]

_COST_TABLES = Path(__file__).parent
# One thread runs the portions of all cores, which the plug-in tells apart. The warm-up leaves in
# each core's caches what another run would find there.
_IN_TURN = ("--in-turn", "--warmup", "1")


def cost_table_of(board_file: BoardFile) -> CostTable:
    """The costs of a core whose board file has a section [emulation].

    Raises:
        ValueError: if they are wrong.
        OSError: if their file cannot be read.
    """
    emulation = board_file.emulation
    assert emulation is not None
    path = _COST_TABLES / emulation.cost_table
    table = read_cost_table(path, board_file.vlen_bits, emulation.costs)
    _check_sizes(board_file, table)
    return table


def _check_sizes(board_file: BoardFile, table: CostTable) -> None:
    """Check that the caches of the model are as large as the board file says: code and rules go by
    one, times by the other.

    Raises:
        ValueError: if one is not; it names both.
    """
    for cache, size_bytes in (("l1d", board_file.l1d_bytes), ("l2", board_file.l2_bytes)):
        way_bytes = table.parameters[f"{cache}_ways"] * table.parameters["line_bytes"]
        modelled_bytes = table.parameters[f"{cache}_sets"] * way_bytes
        if size_bytes not in (None, modelled_bytes):
            raise ValueError(
                f"{cache}_bytes is {size_bytes}, and under [emulation.costs.memory], {cache}_sets, "
                f"{cache}_ways and line_bytes make {modelled_bytes}: change {cache}_bytes, or "
                f"write {cache}_sets = {size_bytes / way_bytes:g}"
            )


class EmulatedBoard:
    """A board that needs no hardware: qemu-riscv64 with a plug-in that estimates cycles.

    It is deterministic: a measurement depends only on the ELF and its data. So the kernel is timed
    once, for any number of repetitions.

    Args:
        board_file: the board to emulate, with any vector length that QEMU supports.
        usage: on how many cores kernels run, and how they are timed.

    Raises:
        BoardError: if the board file has no section [emulation], or its cost table is wrong.
        UserError: if the board has fewer cores.
    """

    def __init__(self, board_file: BoardFile, usage: Usage = ONE_CORE) -> None:
        if board_file.emulation is None:
            raise BoardError(
                f"the board {board_file.name} cannot be emulated: "
                "add the section [emulation] to its board file"
            )
        self._emulation = board_file.emulation
        try:
            table = cost_table_of(board_file)
            table = table.for_cores(usage.cores, board_file.cores_per_l2 or board_file.cores)
            family = family_tables(table, self._emulation.ruled_out)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BoardError(
                f"the cost table of the board {board_file.name} cannot be used: {error}"
            ) from error
        self._models = tuple(model.name for model, _ in family)
        self._in_order = not table.window
        self._costs_text = family_text(family)
        self._costs_key = hashlib.sha256(self._costs_text.encode()).hexdigest()[:16]
        model = hashlib.sha256(f"{MODEL_VERSION}{self._costs_key}".encode()).hexdigest()[:8]
        info = dataclasses.replace(
            board_file.info(f"emulated:{board_file.name}"),
            kind=f"emulated-{board_file.name}-vlen{board_file.vlen_bits}-model-{model}",
            deterministic=True,
            estimated=True,
        )
        usage.check(info.name, info.cores)
        self._info = usage.of(info)
        self._limits = limits_of(table, info.frequency_hz, info.l2_bytes or 0)
        in_turn = (*usage.launcher_options, *_IN_TURN) if usage.cores > 1 else ()
        self._options = (*flush_options(usage.timing, info.l2_bytes), *in_turn)
        library = ("-E", f"TUNED_THREADS={usage.cores}", "-E", "TUNED_IN_TURN=1")
        self._library_options = library if usage.cores > 1 else ()
        self._emulator: Emulator | None = None

    @property
    def info(self) -> BoardInfo:
        """What is known about the board."""
        return self._info

    @property
    def limits(self) -> Limits:
        """How fast the default model of its cores could be at best."""
        return self._limits

    @property
    def notes(self) -> tuple[str, ...]:
        """None: it has everything that the tuner needs of a board."""
        return ()

    def open(self) -> None:
        """Find QEMU, build the plug-in and check that they work together.

        The first time on a machine, this compiles for some seconds; later it takes milliseconds.

        Raises:
            BoardError: if something is missing, or QEMU has another plug-in interface.
        """
        try:
            qemu = find_qemu()
            cpu = self._cpu(qemu, self._info.vlen_bits)
            self_test_cpu = self._cpu(qemu, SELF_TEST_VLEN_BITS)
        except QemuError as error:
            raise BoardError(str(error)) from None
        # One scoreboard for all models cannot be an out-of-order core's.
        plugin = build_plugin("family" if self._in_order else "one")
        costs = write_once(f"costs-{self._costs_key}.txt", self._costs_text)
        options = (*environment_options(self._target), *self._library_options)
        emulator = Emulator(qemu, cpu, plugin, costs, options, self._options)
        check_qemu(dataclasses.replace(emulator, cpu=self_test_cpu))
        self._emulator = emulator

    @property
    def emulator(self) -> Emulator:
        """What runs programs on this board, for those that are not a launcher's.

        Raises:
            RuntimeError: if the board is not open.
        """
        if self._emulator is None:
            raise RuntimeError("emulator was asked of a board that is not open")
        return self._emulator

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        """Check the output once and estimate the time of one run of the grid.

        Args:
            artifact: what to run.
            repeats: not used, since every repetition would give the same figures.
            timeout_s: for the whole run, including the check.
        """
        if self._emulator is None:
            raise RuntimeError("measure() was called on a board that is not open")
        elf = taken_elf(artifact, self._info)
        if isinstance(elf, Measurement):
            return elf
        try:
            arguments = launcher_arguments(self._emulator, elf)
            run = run_in_qemu(self._emulator, elf.elf_path, arguments, timeout_s)
        except OSError as error:
            return failed("board", self._info, f"QEMU could not be run: {error}")
        return measurement_of(run, self._info, timeout_s, elf.kernel, self._models)

    def close(self) -> None:
        """Release the board; it can be opened again."""
        self._emulator = None

    @property
    def _target(self) -> RVVTarget:
        return RVVTarget.named(self._info.cpu, self._info.vlen_bits)

    def _cpu(self, qemu: Path, vlen_bits: int) -> str:
        """The value of QEMU's -cpu.

        Raises:
            QemuError: if this QEMU lacks what the board's code uses.
        """
        if self._emulation.qemu_cpu is not None:
            return self._emulation.qemu_cpu.format(vlen_bits=vlen_bits)
        return cpu_option(qemu, dataclasses.replace(self._target, vlen_bits=vlen_bits))
