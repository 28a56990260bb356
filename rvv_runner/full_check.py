"""What a board says of the models that its estimates are made under: a page, a file, a core."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from foundation.errors import UserError
from foundation.programs import python_command
from foundation.scratch import scratch_folder
from rvv_runner.board import BoardError, wrapper_in
from rvv_runner.board_file import BoardFile
from rvv_runner.calibrate import plain_name
from rvv_runner.calibration.family_page import Page, measure_page, models_on_page
from rvv_runner.calibration.nearest_model import core_text, findings, models_left, surprises
from rvv_runner.calibration.shared_probes import CORE_COUNTS
from rvv_runner.devices import (
    board_file_of,
    emulated_board_file,
    is_emulated,
    load_board,
    on_cores,
)
from rvv_runner.emulated.board import cost_table_of
from rvv_runner.new_board_file import check_new_name, write_text
from rvv_runner.usage import cores_text

__all__ = ["checked_name", "full_check", "import_page"]

_STAND_IN = "x60"  # the core that is emulated for a board of a kind that no model is of


def full_check(device: str, core: str | None, out: Path | None, say: Callable[[str], None]) -> None:
    """Measure what the models of the family differ in, and narrow it for the board.

    Args:
        device: a board that passed its preflight, or an emulated core.
        core: of the emulated core that is made; None for the device's with "-checked".
        out: path of the page; None for the core's name with ".check.json".
        say: prints a line.

    Raises:
        UserError: if a file cannot be written, or the device is no RISC-V board.
        BoardError: if the board fails, or the name is taken.
    """
    core = core or f"{plain_name(device)}-checked"
    check_new_name(core)
    out = out or Path(f"{core}.check.json")
    if not out.absolute().parent.is_dir():
        raise UserError(f"there is no folder {out.parent}: give another --out")
    board = load_board(device)
    if board.info.backend != "rvv":
        raise UserError(f"{device} is no RISC-V board: name one over SSH, or an emulated core")
    if wrapper := wrapper_in(board.info.kind):
        say(f"note    times: of {wrapper}, which runs the programs there, and not of a core")
    started_s = time.monotonic()
    try:
        board.open()
        with scratch_folder("full-check-") as folder:
            page = measure_page(board, _kind(device), folder, say)
    finally:
        board.close()
    page = _on_several_cores(page, device, board.info.cores, say)
    page.write(out)
    say(f"written: {out}, measured in {time.monotonic() - started_s:.0f} s")
    import_page(page, core, None, say)
    named = "" if core is None else f" --write {core}"
    again = f"{python_command('engine.import')} {out.name}{named}"
    say(f"send {out} to those who tune for such a board: there, {again} makes the same core")


def _on_several_cores(page: Page, device: str, cores: int, say: Callable[[str], None]) -> Page:
    """The page with what the board's cores take when some of them run at once.

    Where they cannot, the page says why, and what was measured of one core stands.
    """
    for count in CORE_COUNTS:
        if not 1 < count <= cores:
            continue
        board = load_board(on_cores(device, count))
        try:
            board.open()
            with scratch_folder("full-check-") as folder:
                page = measure_page(board, page.name, folder, say, page)
        except BoardError as error:
            say(f"note    {cores_text(count)}: {error}")
            return replace(page, reasons={**page.reasons, cores_text(count): str(error)})
        finally:
            board.close()
    return page


def import_page(page: Page, core: str | None, like: str | None, say: Callable[[str], None]) -> None:
    """Say which models a page speaks for, and write the core with what is left of the family.

    Args:
        page: measured here or by somebody else.
        core: of the emulated core; None for the board's name with "-checked".
        like: the emulated core that stands in for the board; None for that of its kind.
        say: prints a line.

    Raises:
        BoardError: if the name is taken, or the page has too few figures.
    """
    core = core or checked_name(page)
    check_new_name(core)
    stand_in = _stand_in(like or page.name, say)
    say(f"note    models: the same on emulated:{stand_in.name}, under each of its models")
    estimated = _estimated(page, stand_in)
    found = findings(page, estimated)
    if not found:
        raise BoardError(
            f"the page of {page.board} has too few figures to tell models apart: measure again"
        )
    for finding in found:
        say(f"{'note' if finding.is_far else 'ok':8}{finding}")
    for sentence in surprises(page, estimated):
        say(f"note    {sentence}")
    say(f"ok      models left: {models_left(found)}")
    text = core_text(stand_in.name, cost_table_of(stand_in), found)
    say(f"written: {write_text(core, text)}")
    if any(finding.is_far for finding in found):
        say("note    no model is near: estimates are not this board's; tune on it, or calibrate it")
    else:
        say(f"next: {python_command('engine.tune')} KERNEL --device emulated:{core}")


def _estimated(page: Page, stand_in: BoardFile) -> Mapping[str, Mapping[str, float]]:
    """Cycles by model of all that a page has, by the probe's name.

    Some of the board's cores may have a matrix unit: those are a model of their own.
    """
    estimated: dict[str, Mapping[str, float]] = {}
    for name in filter(None, (stand_in.name, stand_in.matrix_cpu)):
        device = f"emulated:{name}"
        cores = load_board(device).info.cores
        for count in CORE_COUNTS:
            missing = page.cycles.keys() - estimated.keys()
            if count > cores or not missing:
                continue
            board = load_board(on_cores(device, count))
            try:
                board.open()
                with scratch_folder("full-check-") as folder:
                    estimated |= models_on_page(board, folder, missing)
            finally:
                board.close()
    return estimated


def checked_name(page: Page) -> str:
    """What the core that a page makes is called where nothing else is said."""
    return f"{plain_name(page.board)}-checked"


def _kind(device: str) -> str:
    """The name of the board file whose model stands in for a device."""
    if is_emulated(device):
        return emulated_board_file(device.partition(":")[2] or _STAND_IN).name
    try:
        return board_file_of(device).kind
    except BoardError:  # one that is given by its address alone
        return _STAND_IN


def _stand_in(kind: str, say: Callable[[str], None]) -> BoardFile:
    """The emulated core of a kind, or of the one that stands in where there is none."""
    try:
        return emulated_board_file(kind)
    except BoardError:
        say(f"note    there is no model of {kind}: compared with that of {_STAND_IN}")
        return emulated_board_file(_STAND_IN)
