"""Prints the findings of a board's preflight, and writes a board file if it is ready."""

from __future__ import annotations

from collections.abc import Callable

from foundation.programs import python_command
from rvv_runner.board import BoardError
from rvv_runner.board_file import BoardFile, SshSettings
from rvv_runner.devices import (
    board_file_of,
    every_core_kind,
    is_emulated,
    load_board,
)
from rvv_runner.emulated.error_band import has_bands
from rvv_runner.new_board_file import check_new_name, write_board_file
from rvv_runner.preflight import Preflight
from rvv_runner.ssh.address import SSH_PREFIX, parse_address

__all__ = ["check"]


def check(device: str, new_name: str | None, say: Callable[[str], None]) -> bool:
    """Check a board and print one line per step; whether it can measure.

    Args:
        device: ssh://user@host, the name or path of a board file, or an emulated core.
        new_name: write a board file of this name, also if a step failed that the file can mend.
        say: prints a line.

    Raises:
        BoardError: for a device that is not a board over SSH, or a name that cannot be written.
    """
    if is_emulated(device):
        return _check_emulated(device, new_name, say)
    if new_name is not None:
        check_new_name(new_name)
    names = every_core_kind(device)
    ready = [_check(name, new_name, say, show=len(names) > 1) for name in names]
    return all(ready)


def _check(device: str, new_name: str | None, say: Callable[[str], None], *, show: bool) -> bool:
    """The same for one kind of core; `show` prints its name first."""
    settings, board_file = _look_up(device)
    if show:
        say(f"{device}:")
    preflight = Preflight(device, settings, board_file, accept_unknown=new_name is not None)
    well = True
    for finding in preflight.findings():
        say(f"{finding.level:6}  {finding.step}: {finding.text}")
        well = well and finding.level != "failed"
    if not preflight.is_described:
        return False
    if new_name is not None:
        assert preflight.board_file is not None
        say(f"written: {write_board_file(new_name, preflight.board_file)}")
        tune = f"{python_command('engine.tune')} KERNEL --device {new_name}"
        again = f"mend what failed, there or in this file, then {_check_command(new_name)}"
        say(f"next: {tune if well else again}")
    elif not well and device.startswith(SSH_PREFIX):
        say(f"for a board file to change: {_check_command(device)} --write NAME")
    return well


def _check_command(device: str) -> str:
    return f"{python_command('rvv_runner')} check {device}"


def _check_emulated(device: str, new_name: str | None, say: Callable[[str], None]) -> bool:
    if new_name is not None:
        raise BoardError(f"{device} is emulated and has its board file: leave out --write")
    board = load_board(device)
    board.open()
    info = board.info
    say(f"ok      QEMU: counts as the self-test says, {info.vlen_bits} bits in a vector register")
    if has_bands(info.name):
        say(f"ok      estimates: {info.name} has error bands from published times of a real core")
    else:
        say(f"note    estimates: unchecked, {info.name} has no error band from a real core")
    return True


def _look_up(device: str) -> tuple[SshSettings, BoardFile | None]:
    if device.startswith(SSH_PREFIX):
        address = parse_address(device)
        return SshSettings(address.host, address.user, address.port), None
    board_file = board_file_of(device)
    if board_file.ssh is None:
        raise BoardError(
            f"the board file {board_file.name} does not say how to reach the board: "
            "add the section [ssh] with its host"
        )
    return board_file.ssh, board_file
