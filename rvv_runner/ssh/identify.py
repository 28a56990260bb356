"""Finds the kind of board at an address, from the board's core and the board files."""

from __future__ import annotations

import dataclasses

from foundation.programs import python_command
from rvv_runner.board import BoardError
from rvv_runner.board_file import BoardFile, SshSettings, board_kinds, read_board_file
from rvv_runner.ssh.address import parse_address
from rvv_runner.ssh.errors import LinkLost
from rvv_runner.ssh.facts import ask_facts, matching_kind
from rvv_runner.ssh.link import PATIENCE_S, Link
from rvv_runner.ssh.route import find_route

__all__ = ["described_kinds", "identify"]


def described_kinds() -> list[BoardFile]:
    """Every kind of board with a board file in this project."""
    return [read_board_file(name) for name in board_kinds()]


def identify(text: str, patience_s: float = PATIENCE_S) -> BoardFile:
    """The board at an address such as ssh://user@host, whose kind is found from its core.

    Args:
        text: the address.
        patience_s: how long to wait for a known board that does not answer.

    Raises:
        BoardError: if the board cannot be reached, or its kind is unknown.
    """
    address = parse_address(text)
    link = Link(find_route(address))
    try:
        facts = link.prepared(patience_s, lambda session: ask_facts(session, "/sys"))
    except (LinkLost, ValueError) as error:
        raise BoardError(f"the board {text} did not report its facts: {error}") from error
    finally:
        link.drop()
    kind = matching_kind(facts, described_kinds())
    if kind is None:
        raise BoardError(
            f"the core of {text} ({facts.machine}) is not one that a board file describes: "
            f"write one with `{python_command('rvv_runner')} check {text} --write NAME`"
        )
    settings = SshSettings(address.host, address.user, address.port)
    return dataclasses.replace(kind, ssh=settings)
