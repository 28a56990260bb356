"""The host keys that this user trusts, in OpenSSH's known_hosts."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import paramiko

from foundation.user_folders import home
from rvv_runner.board import BoardError
from rvv_runner.ssh.route import Hop

__all__ = ["add_host_key", "fingerprint", "known_host_keys", "load_known_hosts"]

_SYSTEM_FILE = Path("/etc/ssh/ssh_known_hosts")


def load_known_hosts(keys: paramiko.HostKeys) -> None:
    """Add the keys in the known_hosts files of the user and of this machine.

    Raises:
        BoardError: if one of the files cannot be read.
    """
    for path in (_user_file(), _SYSTEM_FILE):
        try:
            if path.exists():
                keys.load(str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise BoardError(f"{path} cannot be read: {error}") from error


def known_host_keys(hop: Hop) -> list[paramiko.PKey]:
    """The machine's trusted keys."""
    keys = paramiko.HostKeys()
    load_known_hosts(keys)
    found = keys.lookup(hop.known_as)
    return list(found.values()) if found else []


def add_host_key(hop: Hop, key: paramiko.PKey) -> Path:
    """Trust the machine's key from now on; the file that now lists it."""
    path = _user_file()
    path.parent.mkdir(mode=0o700, exist_ok=True)
    text = path.read_text() if path.exists() else ""
    with path.open("a") as file:
        if text and not text.endswith("\n"):
            file.write("\n")
        file.write(f"{hop.known_as} {key.get_name()} {key.get_base64()}\n")
    return path


def fingerprint(key: paramiko.PKey) -> str:
    """As ssh-keygen -l prints it: "SHA256:" and the hash in base 64."""
    digest = hashlib.sha256(key.asbytes()).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def _user_file() -> Path:
    return home() / ".ssh" / "known_hosts"
