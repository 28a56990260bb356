"""Runs micro-kernels on a board, each once for each set of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from rvv_runner.board import Board, BoardError
from rvv_runner.calibration.micro_kernel import MicroKernel
from rvv_runner.calibration.program import build_program, with_data
from rvv_runner.calibration.readings import OVERHEAD, Reading, Readings
from rvv_runner.measurement import Measurement
from triton_rvv.link import LinkError
from triton_rvv.zig import ZigError

__all__ = ["CYCLE_EVENTS", "Bench"]

CYCLE_EVENTS = ("u_mode_cycle", "cycles")

_REPEATS = 3
_LIMIT_S = 60.0
_MOST_FAILURES = 3

# Iterations of a loop of 128 instructions: some 0.1 ms of a core at 1.6 GHz; without noise, a tenth
# is enough. Instructions with many elements take longer, and run less often.
_ITERATIONS = 1500
_WITHOUT_NOISE = 10
_FEW_ELEMENTS = 64
_FEWEST = 1 / 16


class Bench:
    """A board with the executable of all micro-kernels.

    Args:
        board: open.
        kernels: all that may run.
        folder: for the executable and its data.
        said: gets how many have been measured, now and then.

    Raises:
        BoardError: if the executable cannot be built.
    """

    def __init__(
        self,
        board: Board,
        kernels: Iterable[MicroKernel],
        folder: Path,
        said: Callable[[int], None] = lambda count: None,
    ) -> None:
        nothing = MicroKernel(OVERHEAD, "", "", "", lambda vlen_bits, parameters: b"", copies=1)
        self._kernels = {kernel.name: kernel for kernel in (nothing, *kernels)}
        self._numbers = {name: number for number, name in enumerate(self._kernels)}
        self._board = board
        self._said = said
        self._readings: list[Reading] = []
        self._failures = 0  # of the board, in a row
        try:
            kernels = list(self._kernels.values())
            self._program = build_program(kernels, board.info.target, folder)
        except (ZigError, LinkError) as error:
            raise BoardError(f"the micro-kernels cannot be built: {error}") from error
        self._measure(OVERHEAD, {"iterations": 1})

    @property
    def readings(self) -> Readings:
        """What was measured so far."""
        return Readings(self._readings)

    def measure(
        self, name: str, parameters: Mapping[str, int] | None = None, scale: float = 1.0
    ) -> float | None:
        """Cycles of one copy of a micro-kernel; None if it failed.

        Args:
            name: of the kernel.
            parameters: all that it uses, but for iterations.
            scale: how many times the usual number of iterations.

        Raises:
            BoardError: if the board fails several times in a row.
        """
        kernel = self._kernels[name]
        elements = kernel.elements(self._program.vlen_bits)
        iterations = _ITERATIONS * max(min(_FEW_ELEMENTS / elements, 1.0), _FEWEST) * scale
        if self._board.info.deterministic:
            iterations /= _WITHOUT_NOISE
        all_parameters = {**(parameters or {}), "iterations": max(round(iterations), 1)}
        self._measure(name, all_parameters)
        return self.readings.cycles(name, **all_parameters)

    def _measure(self, name: str, parameters: Mapping[str, int]) -> None:
        kernel = self._kernels[name]
        artifact = with_data(self._program, self._numbers[name], kernel, parameters)
        try:
            measurement = self._board.measure(artifact, _REPEATS, _LIMIT_S)
        finally:
            artifact.data_path.unlink()
        self._failures = self._failures + 1 if measurement.status == "board" else 0
        if self._failures == _MOST_FAILURES:
            raise BoardError(f"{self._board.info.name} failed: {measurement.reason}")
        self._readings.append(self._reading(kernel, parameters, measurement))
        self._said(len(self._readings))

    def _reading(
        self, kernel: MicroKernel, parameters: Mapping[str, int], measurement: Measurement
    ) -> Reading:
        cycles = None
        if measurement.status == "correct":
            counted = [measurement.counters.get(event) for event in CYCLE_EVENTS]
            clock = min(measurement.times_s) * self._board.info.frequency_hz
            cycles = next((count for count in counted if count is not None), clock)
        return Reading(
            kernel=kernel.name,
            parameters=dict(parameters),
            copies=kernel.copies,
            status=measurement.status,
            cycles=cycles,
            times_s=measurement.times_s,
            counters=dict(measurement.counters),
            reason=measurement.reason,
        )
