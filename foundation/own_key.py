"""Marks what this user's programs wrote, so that it can be told from what others wrote.

The mark is an HMAC (RFC 2104) with a key that only the user can read. It guards what would run code
when it is read back; everything else is read from anybody and checked as it is used.
"""

from __future__ import annotations

import functools
import hmac
import json
import os
import secrets
from pathlib import Path

from foundation.errors import UserError
from foundation.user_folders import config_folder

__all__ = ["is_own", "mark_of"]

_KEY_BYTES = 32


def mark_of(value: object) -> str:
    """The mark of a JSON value.

    Raises:
        UserError: if others can read this user's key, or the user's home is not known.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hmac.digest(_key(), text.encode(), "sha256").hex()


def is_own(value: object, mark: object) -> bool:
    """Whether a program of this user gave a JSON value this mark.

    Raises:
        UserError: like `mark_of`.
    """
    return isinstance(mark, str) and hmac.compare_digest(mark_of(value).encode(), mark.encode())


@functools.cache
def _key() -> bytes:
    """The user's key, made at its first use; of this process alone where it cannot be kept."""
    path = config_folder() / "key"
    try:
        _make(path)
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            key = file.read()
    except OSError:
        return secrets.token_bytes(_KEY_BYTES)
    if state.st_uid != os.geteuid() or state.st_mode & 0o077 or len(key) < _KEY_BYTES:
        raise UserError(f"{path} is not a key that only you can read: remove it")
    return key


def _make(path: Path) -> None:
    """Write a new key, unless there is one; it appears whole."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    written = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, secrets.token_bytes(_KEY_BYTES))
    finally:
        os.close(descriptor)
    try:
        os.link(written, path)  # fails where another process was first
    except FileExistsError:
        pass
    finally:
        written.unlink()
