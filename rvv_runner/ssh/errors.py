"""Errors of the connection to a board."""

from __future__ import annotations

from rvv_runner.board import BoardError

__all__ = ["HostKeyError", "LinkLost", "LoginRefused", "NotAnswering", "RemoteFileError"]


class NotAnswering(BoardError):
    """Nothing answers at the address now; a board that is booting may answer later."""


class HostKeyError(BoardError):
    """The board's host key is not known, or differs from the known one."""


class LoginRefused(BoardError):
    """The board does not let this user in."""


class LinkLost(Exception):
    """The connection ended or went silent; the last request may or may not have been executed."""


class RemoteFileError(Exception):
    """A file on the board could not be read or written; the message is the server's."""
