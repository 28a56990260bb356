"""Measures a board's core with micro-kernels: a cost table, an emulated core, and a bundle."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from foundation.errors import UserError
from foundation.programs import python_command
from foundation.scratch import scratch_folder
from foundation.version import project_version
from rvv_runner.board import Board
from rvv_runner.calibration.bench import Bench
from rvv_runner.calibration.bundle import Bundle, write_bundle
from rvv_runner.calibration.core_of_bundle import core_of_bundle
from rvv_runner.calibration.cost_table_text import cost_table_text
from rvv_runner.calibration.plan import (
    all_kernels,
    instruction_count,
    largest_array,
    measure_everything,
)
from rvv_runner.devices import emulated_board_file, load_board
from rvv_runner.new_board_file import check_new_name, write_text
from rvv_runner.ssh.address import SSH_PREFIX, parse_address
from rvv_runner.usage import split_usage

__all__ = ["calibrate", "import_bundle", "plain_name", "progress_line"]

_EVERY = 100  # readings between two lines of progress
_CLOCK_ERROR = 0.03  # from which on the clock is not the board file's


def calibrate(
    device: str,
    new_name: str | None,
    out: Path | None,
    like: str | None,
    say: Callable[[str], None],
) -> None:
    """Measure a core, print its cost table, write its bundle and its board file.

    Args:
        device: a board over SSH, or an emulated core.
        new_name: of the emulated core that is made; None for the device's with "-measured".
        out: path of the bundle; None for the new name with ".calibration.json".
        like: the emulated core that stands in for what cannot be measured; None to choose.
        say: prints a line.

    Raises:
        UserError: if the device is no such board, or a file cannot be written.
        BoardError: if the board fails, the name is taken, or there is no core `like`.
    """
    warm, usage = split_usage(device)
    if usage.timing == "cold":
        raise UserError(f"calibrate fills caches as it needs them: name {warm}, not {device}")
    if usage.cores > 1:
        raise UserError(f"calibrate measures one core: name {warm}, not {device}")
    name = new_name or f"{plain_name(device)}-measured"
    check_new_name(name)
    if like is not None:
        emulated_board_file(like)  # refuses one that does not exist
    out = out or Path(f"{name}.calibration.json")
    if not out.absolute().parent.is_dir():
        raise UserError(f"there is no folder {out.parent}: give another --out")
    board = load_board(device)
    started_s = time.monotonic()

    measured = 0

    def said(count: int) -> None:
        nonlocal measured
        measured = count
        if count % _EVERY == 0:
            say(progress_line(count, time.monotonic() - started_s))

    _check_kind(board)
    try:
        board.open()
        facts = _facts(board)
        for note in board.notes:
            say(f"note: {note}")
        with scratch_folder("calibrate-") as folder:
            bench = Bench(board, all_kernels(board.info.vlen_bits), folder, said)
            measure_everything(bench, largest_array(board.info.deterministic))
    except BaseException:  # Ctrl-C and SIGTERM, too
        if measured:
            say(f"{measured} measured, and nothing is written: the same command begins anew")
        raise
    finally:
        board.close()
    bundle = _bundle(name, board, facts, bench)
    write_bundle(out, bundle)
    say(f"{len(bundle.readings)} measured in {time.monotonic() - started_s:.0f} s: {out}")
    for line in _doubts(bundle):
        say(f"note: {line}")
    import_bundle(bundle, name, like, say)


def progress_line(count: int, elapsed_s: float) -> str:
    """How many micro-kernels are measured, and how long those of instructions take on."""
    total, done = instruction_count(), f"{count} measured in {elapsed_s:.0f} s"
    if count >= total:
        return f"{done}: all of instructions, now those of memory, as many as sizes need"
    left_s = elapsed_s / count * (total - count)
    return f"{done}, of {total} and those of memory; about {left_s:.0f} s left for the {total}"


def import_bundle(
    bundle: Bundle, new_name: str | None, like: str | None, say: Callable[[str], None]
) -> None:
    """Print a bundle's cost table, and write the core that it describes.

    Args:
        bundle: measured here or by somebody else.
        new_name: of the emulated core; None for the bundle's.
        like: the emulated core that stands in for what was not measured; None to choose.
        say: prints a line.

    Raises:
        BoardError: if the name is taken, or no cost table can be made.
    """
    name = new_name or bundle.name
    check_new_name(name)
    core = core_of_bundle(bundle, like)
    say(cost_table_text(core))
    say(f"not measured, and assumed to be as on {core.like}: see {write_text(name, core.text)}")
    say(f"next: {python_command('engine.tune')} KERNEL --device emulated:{name}")


def plain_name(device: str) -> str:
    """A device's name as a name for a file."""
    last = re.split("[:/]", device.removesuffix(".toml"))[-1]
    if device.startswith(SSH_PREFIX):
        last = parse_address(device).host
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip("-.") or "board"


def _check_kind(board: Board) -> None:
    """Refuse a board whose programs are not those of RISC-V."""
    if board.info.backend != "rvv":
        raise UserError(
            f"calibrate measures cores for riscv64, which {board.info.name} is not: name an "
            "emulated core or a board over SSH"
        )


def _facts(board: Board) -> dict[str, object]:
    """What an open board says of itself."""
    from rvv_runner.ssh.board import SshBoard  # paramiko is slow to import

    if not isinstance(board, SshBoard):
        return {}
    facts = board.facts
    shown = {
        "kernel": facts.kernel,
        "isa": facts.isa,
        "mvendorid": facts.mvendorid,
        "marchid": facts.marchid,
        "governors": ", ".join(facts.governors),
    }
    return {name: value for name, value in shown.items() if value}


def _bundle(name: str, board: Board, facts: Mapping[str, object], bench: Bench) -> Bundle:
    info = board.info
    counters = sorted({event for reading in bench.readings for event in reading.counters})
    clock = f"time at {info.frequency_hz / 1e6:.0f} MHz"
    provenance = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "version": project_version(),
        "board": info.kind,
        "estimated": info.estimated,
        "cycles": f"counter {bench.cycle_event}" if bench.cycle_event else clock,
        "counters": ", ".join(counters),
        **facts,
    }
    return Bundle(
        name=name,
        device=info.name,
        cpu=info.cpu,
        vlen_bits=info.vlen_bits,
        cores=info.cores,
        frequency_hz=round(info.frequency_hz),
        l1d_bytes=info.l1d_bytes,
        l2_bytes=info.l2_bytes,
        provenance=provenance,
        readings=bench.readings,
    )


def _doubts(bundle: Bundle) -> list[str]:
    """What the user should know of the readings, one sentence each."""
    doubts = []
    add = bundle.readings.cycles("latency alu")
    if str(bundle.provenance["cycles"]).startswith("time"):
        doubts.append(
            "no cycles were counted: they are time at the board file's "
            f"{bundle.frequency_hz / 1e6:.0f} MHz"
        )
        if add is not None and abs(add - 1) > _CLOCK_ERROR:
            doubts.append(
                f"an addition takes {add:.2f} of them: if it takes one, the clock is "
                f"{bundle.frequency_hz / add / 1e6:.0f} MHz, which belongs into the board file as "
                "frequency_hz; then measure again"
            )
    left_out = bundle.readings.left_out()
    if left_out:
        doubts.append(
            f"{len(left_out)} micro-kernels are left out, the first {left_out[0].kernel}: "
            f"{left_out[0].reason}"
        )
    return doubts
