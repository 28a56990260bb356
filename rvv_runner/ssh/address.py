"""A board's address, as users type it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from rvv_runner.board import BoardError

__all__ = ["SSH_PREFIX", "Address", "parse_address"]

SSH_PREFIX = "ssh://"


@dataclass(frozen=True)
class Address:
    """A machine as users name it; None means the value in ~/.ssh/config or ssh's default."""

    host: str
    user: str | None = None
    port: int | None = None


def parse_address(text: str) -> Address:
    """The parts of "ssh://user@host:port"; "ssh://" is optional.

    Raises:
        BoardError: for anything else.
    """
    try:
        parts = urlsplit(text if text.startswith(SSH_PREFIX) else f"{SSH_PREFIX}{text}")
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if not parts.hostname or parts.path or parts.query or parts.fragment or parts.password:
        example = "user@[fe80::1]:22" if "::" in text else "user@host:22"
        raise BoardError(f"{text} is not an address: write it like {SSH_PREFIX}{example}")
    # urlsplit makes the host lower-case, but the Hosts of ~/.ssh/config are case-sensitive.
    found = re.search(re.escape(parts.hostname), text, re.IGNORECASE)
    host = found[0] if found else parts.hostname
    return Address(host, unquote(parts.username) if parts.username else None, port)
