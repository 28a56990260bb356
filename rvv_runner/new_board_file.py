"""Writes a board file for a board that passed its preflight."""

from __future__ import annotations

import json
import re
from pathlib import Path

from rvv_runner.board import BoardError
from rvv_runner.board_file import BoardFile, SshSettings, user_board_folder
from rvv_runner.ssh.facts import BoardFacts

__all__ = ["NEW_KIND", "check_new_name", "guessed_board_file", "write_board_file", "write_text"]

NEW_KIND = "new"  # of a board that no file describes

_GUESSED_VLEN_BITS = 256
_GUESSED_HZ = 1_000_000_000


def check_new_name(name: str) -> None:
    """Check the name of a new board file.

    Raises:
        BoardError: if no board file can have this name, or one has it.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or name.endswith(".toml"):
        raise BoardError(f"{name} is not a name for a board: use letters, digits, - and _")
    path = _path(name)
    if path.exists():
        raise BoardError(f"there is a board file {path} already: give another name, or remove it")


def guessed_board_file(facts: BoardFacts, settings: SshSettings) -> BoardFile:
    """A file for a board of unknown kind, from the facts it reports. Its vector length is a
    guess, and so is its clock if the board does not report it."""
    return BoardFile(
        name=NEW_KIND,
        kind=NEW_KIND,
        cpu="generic-rv64",
        vlen_bits=_GUESSED_VLEN_BITS,
        cores=len(facts.processors),
        frequency_hz=facts.highest_hz or _GUESSED_HZ,
        l1d_bytes=None,
        l2_bytes=None,
        emulation=None,
        events={},
        mvendorid=facts.mvendorid,
        marchid=facts.marchid,
        ssh=settings,
    )


def write_board_file(name: str, board: BoardFile) -> Path:
    """Write what is known about the board, for `--device NAME`; the path of the file."""
    return write_text(name, _text(board))


def write_text(name: str, text: str) -> Path:
    """Write the text of a board file; its path."""
    path = _path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _path(name: str) -> Path:
    return user_board_folder() / f"{name}.toml"


def _text(board: BoardFile) -> str:
    """The file's text; if the kind has its own file, only its name."""
    lines = [f"kind = {_quoted(board.kind)}"]
    if board.kind == NEW_KIND:
        lines = [
            "# From what the board reports: compare with its data sheet.",
            f"cpu = {_quoted(board.cpu)}  # LLVM's name of the core",
            f"vlen_bits = {board.vlen_bits}",
            f"cores = {board.cores}",
            f"frequency_hz = {board.frequency_hz}",
        ]
        for key, value in (("mvendorid", board.mvendorid), ("marchid", board.marchid)):
            lines += [f"{key} = {_quoted(value)}"] if value else []
    assert board.ssh is not None
    lines += ["", "[ssh]", f"host = {_quoted(board.ssh.host)}"]
    lines += [f"user = {_quoted(board.ssh.user)}"] if board.ssh.user else []
    lines += [f"port = {board.ssh.port}"] if board.ssh.port else []
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A basic string of TOML, which has the escapes of JSON."""
    return json.dumps(text)
