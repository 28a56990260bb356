"""Runs micro-kernels on a board, each once for each set of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from rvv_runner.board import Board, BoardError
from rvv_runner.calibration.micro_kernel import MicroKernel
from rvv_runner.calibration.program import build_program, with_data
from rvv_runner.calibration.readings import OVERHEAD, Reading, Readings
from rvv_runner.measurement import Measurement
from triton_rvv.codegen.link import LinkError
from triton_rvv.codegen.zig import ZigError

__all__ = ["Bench"]

_CYCLE_EVENTS = ("u_mode_cycle", "cycles")
_OVERHEADS = 5  # times that a call of nothing is measured, where there is noise
_REPEATS = 3
_LIMIT_S = 60.0
_MOST_FAILURES = 3

# Iterations of a loop of 128 instructions: some 0.1 ms of a core at 1.6 GHz; without noise, a tenth
# is enough. Instructions with many elements take longer, and run less often.
_ITERATIONS = 1500
_WITHOUT_NOISE = 10
_FEW_ELEMENTS = 64
_FEWEST = 1 / 16
_ONCE = {"iterations": 1}


class Bench:
    """A board with the executable of all micro-kernels.

    Args:
        board: open.
        kernels: all that may run.
        folder: for the executable and its data.
        said: gets how many have been measured, now and then.

    Raises:
        BoardError: if the executable cannot be built, or the board fails several times in a row.

    Attributes:
        readings: what was measured so far.
        vlen_bits: of the board.
        cycle_event: the event that counts cycles; None if they are time at the board's clock.
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
        self.vlen_bits = board.info.vlen_bits
        self._said = said
        self.readings = Readings()
        self._failures = 0  # of the board, in a row
        try:
            kernels = list(self._kernels.values())
            self._program = build_program(kernels, board.info.target, folder)
        except (ZigError, LinkError) as error:
            raise BoardError(f"the micro-kernels cannot be built: {error}") from error
        overheads = 1 if board.info.deterministic else _OVERHEADS
        runs = [self._run(nothing, _ONCE) for _ in range(overheads)]
        counted = {event for run in runs for event in run.counters}
        self.cycle_event = next((event for event in _CYCLE_EVENTS if event in counted), None)
        for run in runs:
            self._add(nothing, _ONCE, run)

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
        elements = kernel.elements(self.vlen_bits)
        iterations = _ITERATIONS * max(min(_FEW_ELEMENTS / elements, 1.0), _FEWEST) * scale
        if self._board.info.deterministic:
            iterations /= _WITHOUT_NOISE
        all_parameters = {**(parameters or {}), "iterations": max(round(iterations), 1)}
        self._add(kernel, all_parameters, self._run(kernel, all_parameters))
        return self.readings.cycles(name, **all_parameters)

    def _run(self, kernel: MicroKernel, parameters: Mapping[str, int]) -> Measurement:
        artifact = with_data(self._program, self._numbers[kernel.name], kernel, parameters)
        try:
            measurement = self._board.measure(artifact, _REPEATS, _LIMIT_S)
        finally:
            artifact.data_path.unlink()
        self._failures = self._failures + 1 if measurement.status == "board" else 0
        if self._failures == _MOST_FAILURES:
            raise BoardError(f"{self._board.info.name} failed: {measurement.reason}")
        return measurement

    def _add(
        self, kernel: MicroKernel, parameters: Mapping[str, int], measurement: Measurement
    ) -> None:
        cycles, reason = None, measurement.reason
        if measurement.status == "correct":
            cycles = self._cycles(measurement)
            reason = f"{self.cycle_event} was not counted" if cycles is None else ""
        self.readings.add(
            Reading(
                kernel=kernel.name,
                parameters=dict(parameters),
                copies=kernel.copies,
                status=measurement.status,
                cycles=cycles,
                times_s=measurement.times_s,
                counters=dict(measurement.counters),
                reason=reason,
            )
        )
        self._said(len(self.readings))

    def _cycles(self, measurement: Measurement) -> float | None:
        """All from the counter, or all from the clock, which may differ."""
        if self.cycle_event is not None:
            return measurement.counters.get(self.cycle_event)
        return min(measurement.times_s) * self._board.info.frequency_hz
