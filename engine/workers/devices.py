"""From the name of a device, as users type it, to its board: a processor's or a GPU's."""

from __future__ import annotations

from collections.abc import Sequence

import rvv_runner.devices as processors
from foundation.errors import UserError
from gpu_runner.names import ALL, GpuName, Timing, example_names, gpu_name
from rvv_runner.board import Board, BoardError, BoardInfo
from rvv_runner.cold import COLD_SUFFIX
from rvv_runner.ssh.address import SSH_PREFIX
from rvv_runner.usage import cores_in, named_cores

# Python processes, which run callables: on this machine's processor, or with its first GPU.
PYTHON_NAMES = ("python", "python:cuda")

__all__ = [
    "PYTHON_NAMES",
    "board_info",
    "board_names",
    "boards_by_kind",
    "check_device_name",
    "check_usage",
    "cores_of",
    "every_device",
    "load_board",
    "machine_of",
    "on_cores",
    "timed",
]


def board_names() -> list[str]:
    """The boards with a name, the default first; `load_board` takes more."""
    return [*processors.board_names(), *example_names(), *PYTHON_NAMES]


def machine_of(name: str) -> tuple[str, str]:
    """A device's name without its machine, and the machine of a cluster: "desk@node" has both.

    The machine is "" for this one. What follows the "@" of "ssh://USER@HOST" is none, nor is how
    a board is used in "cuda@graph", "desk@cold" and "desk@4cores".
    """
    is_usage = gpu_name(name) is not None or name.endswith(COLD_SUFFIX)
    is_usage = is_usage or named_cores(name) is not None
    if name.startswith(SSH_PREFIX) or is_usage or "@" not in name:
        return name, ""
    board, _, machine = name.rpartition("@")
    return board, machine


def check_device_name(name: str) -> None:
    """Check a device's name, without contacting the board; another machine knows its own.

    Raises:
        BoardError: for an unknown name.
    """
    board, machine = machine_of(name)
    if machine and board:
        return
    if gpu_name(name) is None and name not in PYTHON_NAMES:
        processors.check_device_name(name, [*example_names(), *PYTHON_NAMES])


def every_device(name: str) -> list[str]:
    """The devices that a name stands for: each GPU for "cuda:all", or itself.

    A board with several kinds of core stands for one device a kind.

    Raises:
        BoardError: if there are no such GPUs, another machine would have to count them, or a board
            file is wrong.
    """
    gpu = gpu_name(board := machine_of(name)[0])
    if board != name and gpu is not None and gpu.number == ALL:
        raise BoardError(f"{name} stands for GPUs of another machine: name each, as in cuda:0@NODE")
    gpu = gpu_name(name)
    if gpu is None:
        return processors.every_core_kind(name)
    if gpu.number != ALL:
        return [name]
    from gpu_runner.detect import gpu_count  # torch is slow to import

    count = gpu_count(gpu.backend)
    return [str(GpuName(gpu.backend, str(number), gpu.timing)) for number in range(count)]


def timed(name: str, timing: Timing) -> str:
    """The name of the device on which kernels are timed in that way.

    Raises:
        UserError: if they cannot be.
    """
    board, machine = machine_of(name)
    gpu = gpu_name(board)
    if board in PYTHON_NAMES:
        raise UserError(f"--timing is for boards, which {name} is not: leave it out")
    if gpu is None:
        board = processors.timed(board, timing)
    else:
        board = str(GpuName(gpu.backend, gpu.number, timing))
    return f"{board}@{machine}" if machine else board


def on_cores(name: str, count: int) -> str:
    """The name of the device on which kernels run on that many cores.

    Raises:
        UserError: if only its whole may be used.
    """
    board, machine = machine_of(name)
    if board in PYTHON_NAMES or gpu_name(board) is not None:
        raise UserError(f"--cores is for boards with cores, which {name} is not: leave it out")
    board = processors.on_cores(board, count)
    return f"{board}@{machine}" if machine else board


def check_usage(name: str) -> None:
    """Check that a board can be used as its name says, as far as this machine knows it.

    Raises:
        UserError: if it cannot, because it has fewer cores, for example.
        BoardError: if the board's file is wrong.
    """
    board, machine = machine_of(name)
    if not machine and cores_of(name) is not None:
        processors.check_usage(board)


def cores_of(name: str) -> int | None:
    """The cores in a device's name that run a kernel at once; None for what has none to choose."""
    board, _ = machine_of(name)
    return None if not board or board in PYTHON_NAMES or gpu_name(board) else cores_in(board)


def board_info(name: str, ray_address: str | None = None) -> BoardInfo:
    """What is known about a board before anything runs on it.

    Args:
        name: the device's.
        ray_address: of the cluster whose machine reaches the board, if another one does.

    Raises:
        BoardError: as `load_board`.
        UserError: if the cluster or its machine is not there.
    """
    board, machine = machine_of(name)
    if not machine:
        return load_board(name).info
    from engine.workers.distant_boards import info_on  # Ray is slow to import

    return info_on(machine, board, ray_address)


def load_board(name: str) -> Board:
    """The board called `name`, not yet opened; one that this machine reaches.

    Raises:
        BoardError: for an unknown name, or as the kinds of boards raise it.
    """
    if machine_of(name)[1]:
        raise BoardError(
            f"{name} is reached from another machine: only engine.tune and engine.tune_all "
            "measure there, with --ray-address"
        )
    gpu = gpu_name(name)
    if name in PYTHON_NAMES:
        from engine.workers.callable_board import CallableBoard

        return CallableBoard(name)
    if gpu is None:
        check_device_name(name)
        return processors.load_board(name)
    from gpu_runner.board import GpuBoard  # torch is slow to import

    return GpuBoard(gpu)


def boards_by_kind(names: Sequence[str], ray_address: str | None = None) -> dict[str, list[str]]:
    """The names of boards by their kind, as studies name it, in the given order.

    Boards of other machines are asked about through the cluster at `ray_address`.

    Raises:
        BoardError: if `board_info` rejects a board, if a board is named twice, or if boards claim
            to be of one kind but need different code.
    """
    kinds: dict[str, list[str]] = {}
    made_for: dict[str, tuple[str, int]] = {}
    for name in names:
        if names.count(name) > 1:
            raise BoardError(f"the board {name} is named twice: name each board once")
        info = board_info(name, ray_address)
        kind = info.study_device
        kinds.setdefault(kind, []).append(name)
        if made_for.setdefault(kind, (info.cpu, info.vlen_bits)) != (info.cpu, info.vlen_bits):
            raise BoardError(
                f"{name} and {kinds[kind][0]} are both of the kind {kind}, and their board files "
                "differ in cpu or vlen_bits: give one of them another kind"
            )
    return kinds
