"""From the name of a device, as people type it, to the board behind it."""

from __future__ import annotations

from engine.errors import nearest
from rvv_runner.board import Board, BoardError
from rvv_runner.board_file import board_file_names, read_board_file
from rvv_runner.emulated.board import EmulatedBoard

__all__ = ["DEFAULT_DEVICE", "board_names", "load_board"]

DEFAULT_DEVICE = "emulated"

_EMULATED_PREFIX = "emulated:"
_DEFAULT_EMULATED = "x60"


def board_names() -> list[str]:
    """Every name that `load_board` takes, the default first."""
    emulated = [
        f"{_EMULATED_PREFIX}{name}"
        for name in board_file_names()
        if read_board_file(name).emulation is not None
    ]
    return [DEFAULT_DEVICE, *emulated]


def load_board(name: str) -> Board:
    """The board called `name`, not yet opened.

    Raises:
        BoardError: for an unknown name, or where the board's file is wrong.
    """
    names = board_names()
    if name not in names:
        raise BoardError(f"there is no device {name}: {nearest(name, names)}")
    if name == DEFAULT_DEVICE:
        name = f"{_EMULATED_PREFIX}{_DEFAULT_EMULATED}"
    return EmulatedBoard(read_board_file(name.removeprefix(_EMULATED_PREFIX)))
