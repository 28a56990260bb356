"""The page of a full check: what a board took for its micro-kernels, and their file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from foundation.errors import UserError
from foundation.scratch import UNFINISHED, scratch_folder
from rvv_runner.board import Board, BoardError, BoardInfo
from rvv_runner.calibration.check_probes import PROBES
from rvv_runner.calibration.matrix_probes import matrix_probes
from rvv_runner.calibration.probe import Probe
from rvv_runner.calibration.program import build_program, with_data
from rvv_runner.calibration.shared_probes import shared_probes
from triton_rvv.codegen.link import LinkError
from triton_rvv.codegen.zig import ZigError

__all__ = ["PAGE_FORMAT", "Page", "measure_page", "models_on_page", "probes_on", "read_page"]

PAGE_FORMAT = "triton-rvv-tuner full check 1"

_HEAD_BYTES = 200  # that hold the format
_ITERATIONS = 1500
_WITHOUT_NOISE = 10  # times fewer are enough of what is always alike
_REPEATS = 3
_LIMIT_S = 60.0
_MOST_FAILURES = 3


@dataclass(frozen=True)
class Page:
    """What was measured of a board.

    Args:
        name: of the board's kind, whose model the page is compared with.
        board: as its owner names it.
        cycles: of one line, or what else a probe is about, by the probe's name; those that failed
            are left out.
        reasons: of those, one sentence each.
    """

    name: str
    board: str
    cycles: Mapping[str, float]
    reasons: Mapping[str, str]

    def write(self, path: Path) -> None:
        """Write the page; the file appears whole or not at all.

        Raises:
            UserError: if it cannot be written.
        """
        text = json.dumps({"format": PAGE_FORMAT, **vars(self)}, indent=1) + "\n"
        try:
            with scratch_folder(UNFINISHED, path.absolute().parent) as folder:
                (folder / path.name).write_text(text, encoding="utf-8")
                (folder / path.name).replace(path)
        except OSError as error:
            raise UserError(f"{path} cannot be written: {error.strerror}") from error


def read_page(path: Path) -> Page | None:
    """The page in a file; None if the file is something else, or cannot be opened.

    Raises:
        UserError: if it is a page with something wrong.
    """
    try:
        text = path.read_bytes()
    except OSError:
        return None
    if PAGE_FORMAT.encode() not in text[:_HEAD_BYTES]:
        return None
    try:
        values = json.loads(text)
        cycles = {str(name): float(each) for name, each in values["cycles"].items()}
        if not all(0 < each < math.inf for each in cycles.values()):
            raise ValueError("a time is not positive and finite")
        reasons = {str(name): str(each) for name, each in values["reasons"].items()}
        return Page(str(values["name"]), str(values["board"]), cycles, reasons)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{path} is a damaged page of a full check: {error!r}") from error


def probes_on(info: BoardInfo) -> tuple[Probe, ...]:
    """The probes of a board, as many of its cores as it is used on, and of their matrix unit."""
    cores = info.used_cores
    alone = PROBES if cores == 1 else ()
    matrix = matrix_probes(cores) if info.target.matrix_unit is not None else ()
    return (*alone, *shared_probes(cores), *matrix)


def measure_page(
    board: Board,
    name: str,
    folder: Path,
    say: Callable[[str], None],
    before: Page | None = None,
) -> Page:
    """Run every probe on an open board.

    Args:
        board: the board.
        name: of its kind.
        folder: for the executable and its data.
        say: prints a line for each probe.
        before: what was measured of it on another number of cores, which the page has as well.

    Raises:
        BoardError: if the executable cannot be built, or the board fails several times in a row.
    """
    found, reasons = _run(board, probes_on(board.info), folder, say)
    cycles = {probe: next(iter(each.values())) for probe, each in found.items()}
    if before is None:
        return Page(name, board.info.name, cycles, reasons)
    return replace(
        before, cycles={**before.cycles, **cycles}, reasons={**before.reasons, **reasons}
    )


def models_on_page(
    board: Board, folder: Path, names: Container[str] | None = None
) -> dict[str, Mapping[str, float]]:
    """Cycles under each model of an open emulated board, by the probe's name.

    Args:
        board: the board.
        folder: for the executable and its data.
        names: of probes that are wanted; None for all that run on one core of any board.
    """
    probes = PROBES
    if names is not None:
        probes = tuple(probe for probe in probes_on(board.info) if probe.name in names)
    return _run(board, probes, folder, lambda line: None)[0] if probes else {}


def _run(
    board: Board, probes: Sequence[Probe], folder: Path, say: Callable[[str], None]
) -> tuple[dict[str, Mapping[str, float]], dict[str, str]]:
    """By probe, cycles by model (of a real board there is one, ""), or why it failed."""
    try:
        program = build_program([probe.kernel for probe in probes], board.info.target, folder)
    except (ZigError, LinkError) as error:
        raise BoardError(f"the micro-kernels cannot be built: {error}") from error
    found: dict[str, Mapping[str, float]] = {}
    reasons: dict[str, str] = {}
    failures = 0
    for number, probe in enumerate(probes):
        kernel = probe.kernel
        iterations = _ITERATIONS
        if probe.in_registers and board.info.deterministic:
            iterations //= _WITHOUT_NOISE
        parameters = {**kernel.parameters, "iterations": iterations}
        artifact = with_data(program, number, kernel, parameters, probe.cores)
        measurement = board.measure(artifact, _REPEATS, _LIMIT_S)
        failures = failures + 1 if measurement.status == "board" else 0
        if failures == _MOST_FAILURES:
            raise BoardError(f"{board.info.name} failed: {measurement.reason}")
        if measurement.status != "correct":
            reasons[kernel.name] = measurement.reason
            say(f"note    {kernel.name}: {measurement.reason}")
            continue
        times_s = measurement.models_s or {"": min(measurement.times_s)}
        each = board.info.frequency_hz / (kernel.copies * iterations)
        found[kernel.name] = {model: time_s * each for model, time_s in times_s.items()}
        cycles = next(iter(found[kernel.name].values()))
        say(f"ok      {kernel.name}: {cycles:.1f} cycles a {probe.what}")
    return found, reasons
