"""The emulated board from end to end: statuses, determinism, limits, refusals."""

from __future__ import annotations

import dataclasses
import os
import resource
import stat
from pathlib import Path

import numpy as np
import pytest

from launchers import Argument
from rvv_runner import BoardError
from rvv_runner.board_file import read_board_file
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.run import with_fixed_addresses
from triton_rvv.runtime.qemu import find_qemu

TIMEOUT_S = 200.0
COUNT = 1000
MARKS = {"start": "0x5a1", "stop": "0x5a2"}  # launchers/region.h
SCALE = "float *v = (float *)args[0]; for (int i = 0; i < 1000; i++) v[i] *= 2;"


def _doubled() -> list[Argument]:
    values = np.arange(COUNT, dtype=np.float32)
    return [Argument("v", "*fp32", values, values * 2)]


def test_a_right_kernel_gets_an_estimate(board, build_kernel):
    measurement = board.measure(build_kernel(SCALE, _doubled()), 1, TIMEOUT_S)
    assert measurement.status == "correct", measurement.reason
    assert measurement.estimated
    assert measurement.board == "emulated:x60"
    assert measurement.max_abs_error == 0
    assert measurement.times_s == (measurement.counters["u_mode_cycle"] / 1.6e9,)
    assert measurement.counters["scalar_loads"] >= COUNT
    assert measurement.counters["u_mode_cycle"] > COUNT


def test_small_arrays_are_warm_where_the_timed_run_has_them(board, build_kernel):
    values = np.arange(64, dtype=np.float32)
    arguments = [Argument("v", "*fp32", values, values * 2)]
    body = "float *v = (float *)args[0]; for (int i = 0; i < 64; i++) v[i] *= 2;"
    measurement = board.measure(build_kernel(body, arguments), 1, TIMEOUT_S)
    assert measurement.counters["l2_miss"] == 0


@pytest.mark.parametrize("body", ["{stop} {work}", "{work} {start}", "{stop} {work} {start}"])
def test_a_kernel_does_not_choose_what_is_timed(board, build_kernel, body):
    marks = {name: f'__asm__("slti x0, x0, {mark}");' for name, mark in MARKS.items()}
    measurement = board.measure(
        build_kernel(body.format(work=SCALE, **marks), _doubled()), 1, TIMEOUT_S
    )
    assert (measurement.status, measurement.times_s) == ("runtime", ())
    assert measurement.reason == "it executed marks of a timed run, which are the launcher's"


def test_a_kernel_lets_no_other_process_work(board, build_kernel):
    """One that hides from the launcher: nobody waits for it, and it is ended when that looks."""
    hidden = (
        "extern int fork(void), wait(int *); extern void _exit(int); "
        "extern void (*signal(int, void (*)(int)))(int); "
        "signal(17, (void (*)(int))1); if (fork() == 0) _exit(0); wait(0); signal(17, 0);"
    )
    measurement = board.measure(build_kernel(hidden + SCALE, _doubled()), 1, TIMEOUT_S)
    assert (measurement.status, measurement.times_s) == ("runtime", ())
    assert measurement.reason == "it started other processes, which the board does not time"


def test_a_report_that_cannot_be_written_is_not_the_kernels_fault(board, build_kernel):
    artifact, before = build_kernel(SCALE, _doubled()), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        measurement = board.measure(artifact, 1, TIMEOUT_S)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert measurement.status == "board"
    assert measurement.reason == "the plug-in's report cannot be written: look at the disk"


def test_a_second_run_gives_the_same_to_the_bit(board, build_kernel, monkeypatch, tmp_path):
    artifact = build_kernel(SCALE, _doubled())
    first = board.measure(artifact, 1, TIMEOUT_S)
    monkeypatch.setenv("A_LONG_ENVIRONMENT", "x" * 5000)
    elsewhere = tmp_path / ("long" * 40)
    artifact.elf_path.rename(elsewhere)
    moved = type(artifact)(elsewhere, artifact.sha256, artifact.data_path, artifact.grid, 256)
    assert board.measure(moved, 5, TIMEOUT_S) == first
    assert first.status == "correct"


@pytest.mark.parametrize(
    "device", ["emulated:x60", pytest.param("emulated:x100", marks=pytest.mark.long)]
)
def test_twenty_runs_give_the_same_to_the_bit(build_kernel, monkeypatch, tmp_path, device):
    """In other folders, under other names, with other environments and host addresses."""
    board = load_board(device)
    board.open()
    artifact = build_kernel(SCALE, _doubled())
    found = set()
    for number in range(20):
        monkeypatch.setenv("A_LONG_ENVIRONMENT", "x" * (number * 333))
        folder = tmp_path / ("long" * (1 + number % 7)) / str(number)
        folder.mkdir(parents=True)
        monkeypatch.chdir(folder)
        elf = folder / ("kernel" * (1 + number % 5))
        elf.symlink_to(artifact.elf_path)
        moved = dataclasses.replace(artifact, elf_path=elf)
        measurement = board.measure(moved, 1 + number, TIMEOUT_S)
        assert measurement.status == "correct", measurement.reason
        found.add(tuple(measurement.counters.items()))
    assert len(found) == 1


@pytest.fixture
def qemu():
    """The one that everything else here runs on."""
    return find_qemu()


@pytest.fixture
def path(monkeypatch, tmp_path):
    """A folder that is first in PATH, on a machine for which no QEMU was built."""
    monkeypatch.setattr("triton_rvv.runtime.qemu.built_qemu", lambda: tmp_path / "nowhere")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_a_qemu_without_plugins_is_named(path):
    _script(path, "qemu-riscv64", "echo \"qemu: unknown option 'plugin'\" >&2; exit 1")
    wanted = r"built without plug-ins.*: run .* -m rvv_runner qemu, which builds one that can"
    with pytest.raises(BoardError, match=wanted):
        EmulatedBoard(read_board_file("x60")).open()


@pytest.mark.parametrize("vlen_bits", [128, 512, 1024])
def test_other_vector_lengths_run_with_the_same_costs(build_kernel, vlen_bits):
    board_file = dataclasses.replace(read_board_file("x60"), vlen_bits=vlen_bits)
    board = EmulatedBoard(board_file)
    board.open()
    artifact = build_kernel(SCALE, _doubled(), vlen_bits=vlen_bits)
    assert board.measure(artifact, 1, TIMEOUT_S).status == "correct"


def _script(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_missing_qemu_names_the_command(monkeypatch, path):
    monkeypatch.setenv("PATH", str(path))
    with pytest.raises(BoardError, match="run sudo apt-get install qemu-user"):
        EmulatedBoard(read_board_file("x60")).open()


def test_a_missing_compiler_names_the_command(monkeypatch, path):
    _script(path, "qemu-riscv64", "exit 0")
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(BoardError, match="run sudo apt-get install gcc"):
        EmulatedBoard(read_board_file("x60")).open()


# A QEMU without plug-ins, one with shorter vectors than asked for, and one that will not start.
IGNORES_PLUGINS = "until [ $1 = -plugin ]; do shift; done; shift 2; exec {qemu} -cpu rv64,v=true"
SHORT_VECTORS = "shift 2; exec {qemu} -cpu rv64,v=true,vext_spec=v1.0,vlen=128"


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (f'{IGNORES_PLUGINS} "$@"', "the self-test ended with status 0"),
        (f'{SHORT_VECTORS} "$@"', "vector_elements instead of 28"),
        ("echo unknown option >&2; exit 1", "unknown option"),
    ],
)
def test_a_qemu_with_another_interface_is_refused(qemu, path, script, problem):
    version = '[ "$1" = --version ] && exec {qemu} --version\n'
    _script(path, "qemu-riscv64", (version + script).format(qemu=qemu))
    with pytest.raises(BoardError, match=problem) as refusal:
        EmulatedBoard(read_board_file("x60")).open()
    assert "which builds one that can" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("status", "is_used"), [(0, True), (1, False)])
def test_addresses_are_fixed_where_the_system_allows_it(tmp_path, status, is_used):
    setarch = tmp_path / "setarch"
    setarch.write_text(f"#!/bin/sh\nexit {status}\n")
    setarch.chmod(0o755)
    words = with_fixed_addresses(str(setarch))
    assert words == ((str(setarch), "--addr-no-randomize") if is_used else ())
    assert with_fixed_addresses(None) == ()
