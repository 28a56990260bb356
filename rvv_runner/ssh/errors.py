"""What can go wrong between here and a board."""

from __future__ import annotations

from rvv_runner.board import BoardError

__all__ = ["HostKeyError", "LinkLost", "LoginRefused", "NotAnswering", "RemoteFileError"]


class NotAnswering(BoardError):
    """Nobody answers at the address now; a board that is starting may answer later."""


class HostKeyError(BoardError):
    """The board's host key is not known, or is another than the one that is."""


class LoginRefused(BoardError):
    """The board does not let this user in."""


class LinkLost(Exception):
    """The connection ended or went silent; what was asked may or may not have been done."""


class RemoteFileError(Exception):
    """A file on the board could not be read or written; the message is the server's."""
