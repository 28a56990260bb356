"""A board with two kinds of core: each gets its own study, and the wrong core is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import engine.tune as tune_command
from engine.find import main as find
from engine.run.identity import identity_of
from foundation.errors import CommandError, UserError
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardError
from rvv_runner.board_file import read_board_file, user_board_folder
from rvv_runner.check import check
from rvv_runner.devices import board_names, every_core_kind, load_board
from rvv_runner.ssh.facts import parse_facts
from rvv_runner.vector_add import try_vector_add

# A core of the kind that the process asked for, by the file that stands for /proc/set_ai_thread: it
# stays what it is, since the wrapper becomes the program.
CORE = """#!/bin/sh
vlen=256
[ "$(cat {file} 2>/dev/null)" != $$ ] || vlen=1024
scalar=Zfh=true,zba=true,zbb=true,zbs=true
exec qemu-riscv64 -cpu "rv64,v=true,vlen=$vlen,elen=64,vext_spec=v1.0,$scalar" "$@"
"""
BOARD = """
kind = "k3"
[core_kinds.x100]
cpu = "generic-rv64"
processors = "0"
[core_kinds.a100]
cpu = "generic-rv64"
enter = "{file}"
[ssh]
host = "127.0.0.1"
port = {port}
folder = "{folder}"
lock = "{folder}.lock"
busy_cores = 1000.0
wrapper = ["{core}"]
"""


@pytest.fixture
def board(server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a board called desk, whose cores are QEMU at two vector lengths."""
    monkeypatch.chdir(tmp_path)
    file, core = tmp_path / "set_ai_thread", tmp_path / "core"
    core.write_text(CORE.format(file=file))
    core.chmod(0o755)
    user_board_folder().mkdir(parents=True)
    path = user_board_folder() / "desk.toml"
    path.write_text(BOARD.format(file=file, port=server.port, folder=tmp_path / "board", core=core))
    return path


TUNE = ["vector_add", "--shape", "N=4096", "--device", "desk", "--trials", "2"]
TUNE += ["--jobs", "1", "--json", "--no-report"]


@pytest.mark.long
def test_one_command_tunes_each_kind_into_its_own_study(board, capfd):
    # In a process of its own: another test's Ray would look for boards in that test's home.
    command = [sys.executable, "-m", "engine.tune", *TUNE]
    tuned = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert tuned.returncode == 0, tuned.stderr
    results = json.loads(tuned.stdout)["results"]
    kinds = ["k3:x100-under-core", "k3:a100-under-core"]  # without a wrapper, k3:x100 and k3:a100
    assert [result["device"] for result in results] == kinds
    for result, kind, vlen in zip(results, kinds, (256, 1024), strict=True):
        assert f"-{kind}-" in result["study"]
        device = f"desk:{kind[3:7]}"
        assert find(["vector_add", "--shape", "N=4096", "--device", device, "--json"]) == 0
        found = json.loads(capfd.readouterr().out)
        assert found["config"] == result["winner"]["config"]
        assert load_board(device).info.vlen_bits == vlen


def test_each_kind_has_a_study_of_its_own(board):
    problem = make_problem(load_kernel("vector_add"), {"N": 4096})
    infos = [load_board(name).info for name in every_core_kind("desk")]
    kinds = ["k3:x100-under-core", "k3:a100-under-core"]
    assert [info.kind for info in infos] == kinds
    assert [info.vlen_bits for info in infos] == [256, 1024]
    for info, kind in zip(infos, kinds, strict=True):
        assert f"-{kind.replace(':', '-')}-" in identity_of(problem, info, "auto").name
    with pytest.raises(UserError, match=r"there is a study for each of .*: leave out --study"):
        tune_command.main([*TUNE, "--study", "one"])
    with pytest.raises(CommandError, match="desk stands for 2 boards: name one, such as desk:x100"):
        find(["vector_add", "--device", "desk"])


def test_the_wrong_core_is_refused(board, tmp_path):
    text = board.read_text()
    board.write_text(text.replace('enter = "', 'enter = "/dev/null/'))
    assert "/dev/null/" in _reason("desk:a100")  # the shell says why it cannot be written
    board.write_text(text)
    assert _reason("desk:a100") == ""
    # A process that never asked is on the other kind, which has shorter vectors.
    (tmp_path / "core").write_text(CORE.format(file=tmp_path / "another"))
    assert "this machine's vector registers have 256 bits" in _reason("desk:a100")
    board.write_text(text.replace('processors = "0"', 'processors = "4000"'))
    with pytest.raises(BoardError, match="none of its processors 4000 is online"):
        load_board("desk:x100").open()


def _reason(name: str) -> str:
    board = load_board(name)
    board.open()
    try:
        return try_vector_add(board).reason
    finally:
        board.close()


def test_a_check_goes_through_every_kind(board):
    lines: list[str] = []
    assert check("desk", None, lines.append)
    assert [line for line in lines if line.endswith(":")] == ["desk:x100:", "desk:a100:"]
    assert sum("vector add: correct" in line for line in lines) == 2


def test_names_say_which_kind(board):
    assert {"desk", "desk:x100", "desk:a100"} <= set(board_names())
    assert every_core_kind(str(board)) == [f"{board}:x100", f"{board}:a100"]
    assert load_board(f"{board}:a100").info.vlen_bits == 1024
    with pytest.raises(BoardError, match="cores of several kinds: name desk:x100 or desk:a100"):
        load_board("desk")
    with pytest.raises(BoardError, match="there is no device named desk:b100: did you mean desk:"):
        load_board("desk:b100")
    assert read_board_file("k3:a100").enter == "/proc/set_ai_thread"
    assert read_board_file("a210:c908").processors == "0-3"


def test_what_the_kernel_says_of_each_processor():
    facts = parse_facts(
        "machine riscv64\nonline 0-1\nperf_user_access 1\nmarchid_of 1 0x8d143000\n"
    )
    assert facts.marchids == {1: "0x8d143000"}
    assert facts.perf_user_access == 1
