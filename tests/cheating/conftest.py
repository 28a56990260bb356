"""An open board of each sort, with an executable for it that holds every kernel in in_c/."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from cheats import build
from ssh_cases import WRAPPER
from ssh_server import SshServer, running

from rvv_runner import Board, ElfArtifact
from rvv_runner.board_file import SshSettings, read_board_file
from rvv_runner.devices import load_board
from rvv_runner.ssh.board import SshBoard

ANY_LOAD = 1000.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cheating")


@pytest.fixture(scope="module")
def emulated() -> Iterator[Board]:
    board = load_board("emulated")
    board.open()
    yield board
    board.close()


@pytest.fixture(scope="module")
def host() -> Iterator[Board]:
    board = load_board("host")
    board.open()
    yield board
    board.close()


@pytest.fixture(scope="module")
def over_ssh(folder: Path) -> Iterator[Board]:
    """QEMU behind a real sshd, for the user who runs the tests."""
    home = folder / "home"
    home.mkdir()
    (folder / "sshd").mkdir()
    with pytest.MonkeyPatch.context() as patch, running(SshServer(folder / "sshd", home)) as server:
        patch.setenv("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        patch.setenv("HOME", str(home))
        patch.delenv("SSH_AUTH_SOCK", raising=False)
        settings = SshSettings(
            host="127.0.0.1",
            port=server.port,
            folder=str(folder / "board"),
            lock=str(folder / "lock"),
            wrapper=WRAPPER,
            busy_cores=ANY_LOAD,
        )
        file = dataclasses.replace(read_board_file("x60"), name="test", events={}, ssh=settings)
        board = SshBoard("test", file, patience_s=0)
        board.open()
        yield board
        board.close()


@pytest.fixture(scope="module")
def built(folder: Path) -> dict[str, ElfArtifact]:
    """The executables by target, filled as they are needed."""
    return {}


@pytest.fixture(scope="module", params=["emulated"])
def board(request: pytest.FixtureRequest) -> Board:
    """The boards that a test asks for by indirect parameters."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def executable(board: Board, folder: Path, built: dict[str, ElfArtifact]) -> ElfArtifact:
    name = str(board.info.target)
    if name not in built:
        place = folder / str(len(built))
        place.mkdir()
        built[name] = build(place, board.info.target)
    return built[name]
