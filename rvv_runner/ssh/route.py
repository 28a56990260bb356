"""From a board's address to the machines to connect to, one after another."""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from pathlib import Path

import paramiko

from foundation.user_folders import home
from rvv_runner.board import BoardError
from rvv_runner.ssh.address import Address, parse_address
from rvv_runner.ssh.config_file import read_config

__all__ = ["Hop", "find_route"]

_DEFAULT_PORT = 22
_MOST_JUMPS = 8  # in case jump hosts jump through each other


@dataclass(frozen=True)
class Hop:
    """A machine to log in to.

    Args:
        host: name or address for the connection and for known_hosts.
        port, user: for the login.
        identity_files: private keys to try, besides the agent's and the default ones.
        proxy_command: a shell command that connects to it, None for a socket.
    """

    host: str
    port: int
    user: str
    identity_files: tuple[str, ...] = ()
    proxy_command: str | None = None

    @property
    def known_as(self) -> str:
        """Its name in known_hosts."""
        return self.host if self.port == _DEFAULT_PORT else f"[{self.host}]:{self.port}"

    @property
    def copy_key_command(self) -> str:
        """The command that puts the user's key there."""
        return f"ssh-copy-id -p {self.port} {self.user}@{self.host}"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORT else f":{self.port}"
        return f"{self.user}@{host}{port}"


def find_route(address: Address) -> list[Hop]:
    """The machines to log in to, the board last, from ~/.ssh/config.

    It uses HostName, User, Port, IdentityFile, ProxyJump, ProxyCommand and Include.

    Raises:
        BoardError: if the file cannot be read.
    """
    path = home() / ".ssh" / "config"
    try:
        return _route(address, read_config(path), jumps_left=_MOST_JUMPS)
    except (OSError, ValueError, paramiko.ConfigParseError) as error:
        raise BoardError(f"{path} cannot be read: {error}") from error


def _own_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # as in a container, whose users have no names
        raise BoardError("this user has no name here: write ssh://USER@HOST") from None


def _route(address: Address, config: paramiko.SSHConfig, jumps_left: int) -> list[Hop]:
    found = config.lookup(address.host)
    jumps = found.get("proxyjump", "none")
    command = found.get("proxycommand", "none") if jumps == "none" else "none"
    hop = Hop(
        host=found.get("hostname", address.host),
        port=address.port or int(found.get("port", _DEFAULT_PORT)),
        user=address.user or found.get("user") or _own_name(),
        identity_files=tuple(
            str(path)
            for path in map(Path, found.get("identityfile", ()))
            if path.expanduser().exists()
        ),
        proxy_command=None if command == "none" else command,
    )
    before: list[Hop] = []
    if jumps != "none":
        if not jumps_left:
            raise BoardError(f"the ProxyJump of {address.host} in ~/.ssh/config goes in circles")
        for jump in jumps.split(","):
            before += _route(parse_address(jump.strip()), config, jumps_left - 1)
    return [*before, hop]
