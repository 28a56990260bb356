"""From the name of a device, as users type it, to its board."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from foundation.errors import UserError, nearest
from foundation.processors import cores
from rvv_runner.board import Board, BoardError
from rvv_runner.board_entries import board_file_names, core_kinds, write_command
from rvv_runner.board_file import BoardFile, board_kinds, read_board_file, user_board_folder
from rvv_runner.cold import CacheTiming
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.ssh.address import SSH_PREFIX, parse_address
from rvv_runner.usage import ONE_CORE, Usage, split_usage

__all__ = [
    "DEFAULT_DEVICE",
    "HOST_DEVICE",
    "board_file_of",
    "board_names",
    "check_device_name",
    "check_usage",
    "emulated_board_file",
    "every_core_kind",
    "is_emulated",
    "known_board",
    "known_boards",
    "load_board",
    "on_cores",
    "timed",
]

DEFAULT_DEVICE = "emulated"
HOST_DEVICE = "host"

_EMULATED_PREFIX = "emulated:"
_DEFAULT_EMULATED = "x60"
_FILE_SUFFIX = ".toml"
# What has a user, a domain or the numbers of an address.
_ADDRESS = re.compile(r"[\w.-]+@[\w.:\[\]-]+|[\w-]+(\.[\w-]+)+")
# A name that shares less with a known one is not a typing mistake: laptop is not python.
_SIMILAR = 0.7
# What this machine is called elsewhere: by torch, by ssh.
_NAMES_OF_HOST = ("cpu", "localhost")


def board_names() -> list[str]:
    """The boards with a name: emulated ones, the default first; host; the user's own.

    `load_board` also takes ssh://USER@HOST and the path of a board file.
    """
    described = [name for name in board_kinds() if read_board_file(name).emulation is not None]
    emulated = [name for name in _own_names() if _is_model(name)]
    return [
        DEFAULT_DEVICE,
        *(f"{_EMULATED_PREFIX}{name}" for name in (*described, *emulated)),
        HOST_DEVICE,
        *_user_boards(),
    ]


def _own_names() -> list[str]:
    return board_file_names(user_board_folder())


def _is_model(own_name: str) -> bool:
    """Whether the user's board file is of a model, not of a board of a kind that has one; a file
    that is wrong is refused when it is used."""
    try:
        board_file = read_board_file(own_name, user_board_folder())
    except BoardError:
        return False
    return board_file.emulation is not None and board_file.ssh is None


def is_emulated(name: str) -> bool:
    """Whether the device is a model of a core."""
    name, _ = split_usage(name)
    return name == DEFAULT_DEVICE or name.startswith(_EMULATED_PREFIX)


def emulated_board_file(name: str) -> BoardFile:
    """The board file behind "emulated:NAME": the user's own, or one of this project.

    Args:
        name: with the prefix "emulated:" or without.

    Raises:
        BoardError: if there is none, or it is wrong.
    """
    name, _ = split_usage(name.removeprefix(_EMULATED_PREFIX))
    check_device_name(f"{_EMULATED_PREFIX}{name}")
    folder = [user_board_folder()] if name in _own_names() and _is_model(name) else []
    return read_board_file(name, *folder)


def _user_boards() -> list[str]:
    """The user's own boards; one with several kinds of core by itself and by each of them."""
    names: list[str] = []
    for name in _own_names():
        if _is_model(name):
            continue
        names.append(name)
        with contextlib.suppress(BoardError):  # said when that board is used
            names += core_kinds(name, user_board_folder())
    return names


def timed(name: str, timing: str) -> str:
    """The name of the device on which kernels are timed in that way.

    Raises:
        UserError: if a processor cannot, or if the device is an address.
    """
    if timing not in get_args(CacheTiming):
        raise UserError(f"--timing {timing} is for GPUs, which {name} is not: give cold or warm")
    if timing == "cold" and name.startswith(SSH_PREFIX):
        raise UserError(
            f"--timing cold needs a board with a name, and {name} is an address: write a board "
            f"file with `{write_command()}`"
        )
    board, usage = split_usage(name)
    return board + Usage(usage.cores, "cold" if timing == "cold" else "warm").suffix


def on_cores(name: str, count: int) -> str:
    """The name of the device on which kernels run on that many cores."""
    board, usage = split_usage(name)
    return board + Usage(count, usage.timing).suffix


def check_usage(name: str) -> None:
    """Check that a board can be used as its name says, before anything slow begins.

    A board at an address is asked how many cores it has. If it does not answer now, it may when it
    is opened.

    Raises:
        UserError: if it has fewer cores, or its caches would have to be flushed for several.
        BoardError: for an unknown name, if the board's file is wrong, or if an address leads to no
            board of a known kind.
    """
    board, usage = split_usage(name)
    if usage == ONE_CORE:
        return
    if board == HOST_DEVICE:
        usage.check(board, cores())
        return
    if board.startswith(SSH_PREFIX):
        # paramiko is slow to import.
        from rvv_runner.ssh.errors import NotAnswering
        from rvv_runner.ssh.identify import identify

        with contextlib.suppress(NotAnswering):
            usage.check(board, identify(board, patience_s=0.0).cores)
        return
    for kind in every_core_kind(board):
        if is_emulated(kind):
            core = _DEFAULT_EMULATED if kind == DEFAULT_DEVICE else kind
            described = emulated_board_file(core)
            usage.check(f"{_EMULATED_PREFIX}{described.name}", described.cores)
        else:
            usage.check(kind, board_file_of(kind).cores)


def every_core_kind(name: str) -> list[str]:
    """The devices that a board's name stands for: one for each kind of core, or itself.

    Raises:
        BoardError: if its board file is wrong.
    """
    board, _ = split_usage(name)
    return [f"{kind}{name.removeprefix(board)}" for kind in _core_kinds(board)]


def _core_kinds(name: str) -> list[str]:
    if name in _own_names():
        return core_kinds(name, user_board_folder()) or [name]
    if name.endswith(_FILE_SUFFIX) and Path(name).exists():
        path = Path(name)
        return [
            f"{name}:{kind.partition(':')[2]}" for kind in core_kinds(path.stem, path.parent)
        ] or [name]
    return [name]


def check_device_name(name: str, more: Sequence[str] = ()) -> None:
    """Check a device's name, without contacting the board.

    Args:
        name: the device's.
        more: names of devices of other kinds, for the message.

    Raises:
        BoardError: for an unknown name, or what is no address.
    """
    _check_name(name, board_names(), more)


def _check_name(name: str, names: Sequence[str], more: Sequence[str] = ()) -> None:
    name, _ = split_usage(name)
    if name.startswith(SSH_PREFIX):
        parse_address(name)
        return
    if _file_and_core(name) is not None:
        return
    if name not in names:
        raise BoardError(_unknown_device(name, [*names, *more]))


def _unknown_device(name: str, names: Sequence[str]) -> str:
    """Why there is no such device, and what to do."""
    if name.startswith(_EMULATED_PREFIX):
        models = [known for known in names if known.startswith(_EMULATED_PREFIX)]
        return f"there is no emulated core named {name}: choose one of {', '.join(models)}"
    if name in board_file_names():
        return (
            f"{name} is a kind of board, and you have no board file of that name: write one with "
            f"`{write_command()}`, or choose one of {', '.join(names)}"
        )
    if name in _own_names():
        return (
            f"your board file {name} has no address: add a part [ssh] with a host to it, or name "
            f"its model, {_EMULATED_PREFIX}{name}"
        )
    if name in _NAMES_OF_HOST:
        return f"there is no device named {name}: this machine's CPU is {HOST_DEVICE}"
    hint = nearest(name, names, _SIMILAR)
    is_near = hint.endswith("?")
    if not is_near and _ADDRESS.fullmatch(name):
        hint = f"if it is the address of a board, write {SSH_PREFIX}{name}"
    elif not is_near:  # it may be a board
        hint += f", or write a board file for your own with `{write_command()}`"
    return f"there is no device named {name}: {hint}"


def load_board(name: str) -> Board:
    """The board called `name`, not yet opened.

    A board file says what kind of board it is; at an address, the board itself is asked.

    Raises:
        BoardError: for an unknown name, if the board's file is wrong, or if the address does not
            lead to a board of a known kind.
    """
    check_device_name(name)
    name, usage = split_usage(name)
    if name == DEFAULT_DEVICE:
        name = f"{_EMULATED_PREFIX}{_DEFAULT_EMULATED}"
    if name.startswith(_EMULATED_PREFIX):
        return EmulatedBoard(emulated_board_file(name), usage)
    if name == HOST_DEVICE:
        from rvv_runner.host import HostBoard  # LLVM is slow to import

        return HostBoard(usage)
    # paramiko is slow to import, and only boards over SSH need it.
    from rvv_runner.ssh.board import SshBoard
    from rvv_runner.ssh.identify import identify

    if name.startswith(SSH_PREFIX):
        return SshBoard(name, identify(name), usage=usage)
    board_file = board_file_of(name)
    if board_file.ssh is None and board_file.emulation is not None:
        model = f"{_EMULATED_PREFIX}{Path(name).stem}"
        raise BoardError(
            f"the board file {name} has no address: add the section [ssh] with its host, or put it "
            f"into {user_board_folder()} to emulate its core, and give --device {model}"
        )
    return SshBoard(board_file.name, board_file, usage=usage)


def board_file_of(name: str) -> BoardFile:
    """The board file of a device's name, or at a path.

    Raises:
        BoardError: if there is none, or it is wrong.
    """
    if name != HOST_DEVICE:  # which has none, and so is no advice either
        _check_name(name, [known for known in board_names() if known != HOST_DEVICE])
    name, _ = split_usage(name)
    at = _file_and_core(name)
    if at is not None:
        path, core = at
        return read_board_file(f"{path.stem}{core}", path.parent)
    if name in _user_boards():
        return read_board_file(name, user_board_folder())
    raise BoardError(
        f"{name} is not a board over SSH: give ssh://USER@HOST, or the name or path of a board file"
    )


def _file_and_core(name: str) -> tuple[Path, str] | None:
    """A board file's path, and the kind of core behind it as ":x100" or ""; None for a name."""
    path, suffix, core = name.rpartition(_FILE_SUFFIX)
    return (Path(f"{path}{suffix}"), core) if suffix and core[:1] in ("", ":") else None


def known_boards() -> list[str]:
    """Names of the kinds of board that this project describes, then of the user's own boards."""
    described = [each for name in board_file_names() for each in core_kinds(name) or [name]]
    return [*described, *(each for name in _own_names() for each in _readable_core_kinds(name))]


def _readable_core_kinds(name: str) -> list[str]:
    """Those of a user's board; the board itself if its file is wrong, which is said when it is
    used."""
    try:
        return _core_kinds(name)
    except BoardError:
        return [name]


def known_board(name: str) -> BoardFile:
    """The board file of a kind of board, or of a user's board or model, reachable or not.

    Raises:
        BoardError: if there is none, or it is wrong.
    """
    file_name, _, _ = name.partition(":")
    if file_name in _own_names():
        return read_board_file(name, user_board_folder())
    if file_name not in board_file_names():
        raise BoardError(f"there is no board named {name}: {nearest(name, known_boards())}")
    return read_board_file(name)
