"""Boards some of whose processors have a matrix unit."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from ssh_cases import WRAPPER
from ssh_server import SshServer

import engine.tune as tune_command
from rvv_runner.board import BoardError
from rvv_runner.board_file import BoardFile, SshSettings, read_board_file, user_board_folder
from rvv_runner.ssh.board import SshBoard
from rvv_runner.ssh.matrix_unit import with_matrix_unit


def bpi_f3(core: int | None = None, **changes: Any) -> BoardFile:
    board_file = read_board_file("bpi-f3")
    return dataclasses.replace(board_file, ssh=SshSettings("board", core=core), **changes)


@pytest.mark.parametrize(
    ("board_file", "cores", "processors"),
    [
        (bpi_f3(), 1, "0,1,2,3"),
        (bpi_f3(), 4, "0,1,2,3"),
        (bpi_f3(core=1), 1, "0,1"),
        (bpi_f3(processors="2-7"), 2, "2,3"),
    ],
)
def test_kernels_run_where_the_unit_is(board_file: BoardFile, cores: int, processors: str) -> None:
    found = with_matrix_unit(board_file, cores)
    assert (found.cpu, found.kind, found.processors) == ("x60-ime", "x60-matrix", processors)


@pytest.mark.parametrize(
    ("board_file", "cores"),
    [
        (bpi_f3(), 5),
        (bpi_f3(core=5), 1),
        (bpi_f3(processors="4-7"), 1),
        (bpi_f3(matrix_processors=""), 1),
    ],
)
def test_other_cores_get_code_for_vectors(board_file: BoardFile, cores: int) -> None:
    assert with_matrix_unit(board_file, cores) == board_file


def test_a_board_without_the_unit_is_refused_before_anything_runs(
    board_file: BoardFile,
) -> None:
    # QEMU, behind the server, does not know the instruction.
    board = SshBoard("test", dataclasses.replace(board_file, cpu="x60-ime"), patience_s=0)
    with pytest.raises(BoardError, match="does not know the matrix instruction of x60-ime: write"):
        board.open()


@pytest.mark.parametrize(
    ("mode", "reason"),
    [(0o644, "runs no program that lies in the tuner's folder"), (0o755, "program: no more")],
)
def test_a_program_that_does_not_run_says_nothing_about_the_unit(
    board_file: BoardFile, tmp_path: Path, mode: int, reason: str
) -> None:
    (tmp_path / "wrapper").write_text("#!/bin/sh\necho no more\nexit 3\n")
    (tmp_path / "wrapper").chmod(mode)
    assert board_file.ssh is not None
    ssh = dataclasses.replace(board_file.ssh, wrapper=(str(tmp_path / "wrapper"),))
    changed = dataclasses.replace(board_file, cpu="x60-ime", ssh=ssh)
    with pytest.raises(BoardError, match=reason):
        SshBoard("test", changed, patience_s=0).open()


@pytest.mark.long
def test_a_study_on_a_board_without_the_unit_ends_before_its_first_trial(
    server: SshServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    user_board_folder().mkdir(parents=True)
    (user_board_folder() / "desk.toml").write_text(
        f'kind = "x60-ime"\n[ssh]\nhost = "127.0.0.1"\nport = {server.port}\n'
        f'folder = "{tmp_path}/board"\nlock = "{tmp_path}/lock"\nbusy_cores = 1000.0\n'
        f"wrapper = {json.dumps(WRAPPER)}\n"
    )
    with pytest.raises(BoardError) as refused:
        tune_command.main(["matmul", "--dtype", "i8", "--device", "desk", "--trials", "1"])
    (sentence,) = str(refused.value).splitlines()
    assert "does not know the matrix instruction of x60-ime: write matrix_processors" in sentence
    said = capsys.readouterr().err
    assert "opening the board desk" in said
    assert "trial=" not in said
