"""Boards that another machine of a Ray cluster reaches, named BOARD@MACHINE.

A board's process runs on its machine, and reads the board file, the keys and the known hosts there.
What it measures is sent to it, file by file, where it is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from engine.workers.artifacts import ARTIFACT_FOLDER
from engine.workers.board_seat import BoardSource
from engine.workers.devices import load_board
from engine.workers.parcels import Parcel, place_sources
from engine.workers.ray_session import ray_session
from engine.workers.toolchain import check_toolchain, toolchain_versions
from engine.workers.worker import Blueprint
from engine.workers.worker_pool import WorkerPool
from foundation.errors import UserError
from rvv_runner.board import Board, BoardInfo

__all__ = ["distant_source", "info_on"]

_INFO_LIMIT_S = 60.0  # a board over SSH is asked what it is


class _Informant:
    """Runs in a process on the board's machine."""

    def open(self) -> None:
        """Nothing to prepare."""

    def info(self, board: str) -> BoardInfo:
        return load_board(board).info

    def close(self) -> None:
        """Nothing to release."""


@cache
def info_on(machine: str, board: str, ray_address: str | None) -> BoardInfo:
    """What a machine of the cluster at `ray_address` knows about one of its boards.

    Raises:
        UserError: without a cluster, or if it has no such machine.
        BoardError: as `load_board` raises it there.
    """
    if ray_address is None:
        raise UserError(
            f"{board}@{machine} is reached from another machine of a Ray cluster: give "
            f"--ray-address too, or for a board at this address write ssh://{board}@{machine}"
        )
    with ray_session(1, ray_address):
        pool = WorkerPool([Blueprint(_Informant, cpus=0, machine=machine)])
        try:
            with pool.lend() as worker:
                info: BoardInfo = worker.call("info", board, timeout_s=_INFO_LIMIT_S)
                return info
        finally:
            pool.close()


def distant_source(
    name: str,
    machine: str,
    board: str,
    load: Callable[[str], Board],
    backend: str,
    kernel_files: Sequence[Parcel],
) -> BoardSource:
    """A board of another machine, for a pool.

    Args:
        name: as the user gives it.
        machine, board: its two parts.
        load: from the board's name to the board, there.
        backend: the kind of code that runs there.
        kernel_files: the user's own, which the machine gets.
    """
    load_there = partial(
        _load_checked, partial(load, board), toolchain_versions(backend), backend, kernel_files
    )
    builds = ARTIFACT_FOLDER.resolve()
    return BoardSource(name, load_there, machine, builds, leaves_nothing=not kernel_files)


def _load_checked(
    load: Callable[[], Board],
    tools: Mapping[str, str],
    backend: str,
    kernel_files: Sequence[Parcel],
) -> Board:
    """The board, on a machine with the tuner's versions; runs there."""
    check_toolchain(tools, backend)
    place_sources(kernel_files)
    return load()
