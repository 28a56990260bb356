"""Runs a user's own program on a board and counts what it does, as perf stat does here."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from foundation.errors import UserError
from foundation.printing import say
from rvv_runner.board import Board
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.program import count_program
from rvv_runner.program import Program, read_program
from rvv_runner.program_counts import ProgramCounts, counts_text

__all__ = ["stat"]


def stat(device: str, words: Sequence[str]) -> int:
    """Run a program and print its counts on stderr; its exit status.

    Args:
        device: the board's name.
        words: the path of an ELF, and its arguments.

    Raises:
        UserError: if the program is missing, or cannot run on such a board.
        BoardError: if the board cannot be used.
    """
    program = read_program(Path(words[0]), words[1:])
    board = load_board(device)
    try:
        counts = _count(board, program)
    finally:
        board.close()
    for text, stream in ((counts.stdout, sys.stdout), (counts.stderr, sys.stderr)):
        if text:
            say(text, end="", file=stream)
    say(counts_text(counts, shlex.join(words), board.info.name), file=sys.stderr)
    return counts.status


def _count(board: Board, program: Program) -> ProgramCounts:
    if isinstance(board, EmulatedBoard):
        board.open()
        return count_program(board.emulator, board.info, program)
    from rvv_runner.ssh.board import SshBoard  # paramiko is slow to import

    if isinstance(board, SshBoard):
        board.open()
        return board.count(program)
    raise UserError(
        f"stat runs programs for riscv64, which {board.info.name} is not: leave out --device, or "
        "name an emulated board or one over SSH"
    )
