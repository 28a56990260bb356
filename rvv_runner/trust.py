"""Shows a board's host key and, if the user agrees, trusts it from now on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from foundation.printing import say
from rvv_runner.board import BoardError
from rvv_runner.ssh.address import parse_address
from rvv_runner.ssh.connect import offered_host_key
from rvv_runner.ssh.known_hosts import add_host_key, fingerprint, known_host_keys
from rvv_runner.ssh.route import find_route

if TYPE_CHECKING:
    from paramiko import PKey

__all__ = ["trust"]


def trust(host: str, answers: TextIO, output: TextIO) -> bool:
    """Ask whether the key that `host` shows is the board's; whether it is now trusted.

    Args:
        host: as in ssh://user@host:22, or a Host of ~/.ssh/config.
        answers: the answer is read from it.
        output: the question is printed to it.

    Raises:
        BoardError: if the host cannot be reached, or another key of it is trusted.
    """
    route = find_route(parse_address(host))
    board = route[-1]
    key = offered_host_key(route)
    known = known_host_keys(board)
    if key in known:
        say(f"{board.known_as} is trusted already: {fingerprint(key)}", file=output)
        return True
    if known:
        raise BoardError(
            f"{board.known_as} shows the key {fingerprint(key)} but is known by another: if the "
            f"board was reinstalled, run `ssh-keygen -R '{board.known_as}'` first"
        )
    say(f"{board.known_as} shows the key {key.get_name()} {fingerprint(key)}.", file=output)
    say(f"To print it on the board: ssh-keygen -l -f {_host_key_file(key)}", file=output)
    say("Is it the board's? [y/N] ", end="", file=output, flush=True)
    answer = answers.readline()
    if not answers.isatty():  # where the answer does not end the line
        say("", file=output)
    if answer.strip().lower() not in ("y", "yes"):
        say("Not trusted; nothing was written.", file=output)
        return False
    say(f"Trusted: written to {add_host_key(board, key)}.", file=output)
    return True


def _host_key_file(key: PKey) -> str:
    """Where OpenSSH has the public part of a host key: ssh_host_ecdsa_key.pub for a key of the
    type ecdsa-sha2-nistp256."""
    kind, _, _ = key.get_name().removeprefix("ssh-").partition("-")
    return f"/etc/ssh/ssh_host_{kind}_key.pub"
