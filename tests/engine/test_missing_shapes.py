"""The list of shapes that ran untuned: each is listed once, tuned, removed; mistakes in it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import engine.tune as tune_command
from engine.winners.missing import Missing, note_missing, read_missing, tune_missing
from foundation.errors import UserError
from rvv_runner.board import BoardError

ONE = Missing("matmul", (("M", 8), ("N", 16)), "fp32", "host")
TWO = Missing("/a b/c: d.py", (("N", 900),), "bf16", "emulated")


def test_each_shape_is_listed_once_as_yaml(tmp_path: Path) -> None:
    path = tmp_path / "studies" / "missing.yaml"
    assert read_missing(path) == []
    assert [note_missing(entry, path) for entry in (ONE, TWO, ONE)] == [True, True, False]
    assert read_missing(path) == [ONE, TWO]
    assert yaml.safe_load(path.read_text())[0] == {
        "kernel": "matmul",
        "shape": {"M": 8, "N": 16},
        "dtype": "fp32",
        "device": "host",
    }


def test_processes_do_not_list_a_shape_twice(tmp_path: Path) -> None:
    path, ready = tmp_path / "missing.yaml", tmp_path / "ready"
    program = (
        "import sys, time; from pathlib import Path; from engine.winners.missing import *\n"
        "path, ready = map(Path, sys.argv[1:])\n"
        "with ready.open('a') as file: file.write('.')\n"
        "while len(ready.read_text()) < 2: time.sleep(0.001)\n"
        "for n in range(1, 41): note_missing(Missing('k', (('N', n),), 'fp32', 'host'), path)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(path), str(ready)]) for _ in range(2)
    ]
    assert [process.wait(timeout=200) for process in running] == [0, 0]
    assert len(read_missing(path)) == 40


@pytest.mark.parametrize("kind", [UserError, BoardError])
def test_what_has_a_winner_leaves_the_list(
    kind: type[Exception], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "missing.yaml"
    three, four = (Missing("k", (("N", n),), "fp32", "host") for n in (3, 4))
    for entry in (ONE, TWO, three, four):
        note_missing(entry, path)

    def tune_one(entry: Missing) -> bool | None:
        if entry == TWO:
            raise kind("its file is gone")
        return {ONE: True, three: False, four: None}[entry]

    assert not tune_missing(tune_one, path)
    assert read_missing(path) == [TWO, three, four]
    assert "left on the list: its file is gone" in capsys.readouterr().err
    assert tune_missing(lambda entry: True, path)
    assert read_missing(path) == []


@pytest.mark.parametrize("call", ["os.fsync", "Path.replace"])
def test_a_kill_while_the_list_is_written_leaves_the_old_one(tmp_path: Path, call: str) -> None:
    path = tmp_path / "missing.yaml"
    for entry in (ONE, TWO):
        note_missing(entry, path)
    program = (
        "import os, signal, sys; from pathlib import Path; from engine.winners.missing import *\n"
        f"{call} = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)\n"
        "tune_missing(lambda entry: True, Path(sys.argv[1]))\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program, str(path)], timeout=200, capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert read_missing(path) == [ONE, TWO]
    assert tune_missing(lambda entry: True, path)
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_more_is_tuned_once_the_user_stops(tmp_path: Path) -> None:
    path = tmp_path / "missing.yaml"
    note_missing(ONE, path)
    note_missing(TWO, path)
    tuned: list[Missing] = []

    def stop(entry: Missing) -> None:
        tuned.append(entry)

    assert not tune_missing(stop, path)
    assert tuned == [ONE]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("- {kernel: k, shape: {N: -1}, dtype: fp32, device: host}\n", 1, "N is -1"),
        (ONE.line() + "- {kernel: k, shape: {N: 1}, dtype: fp32}\n", 2, "no device"),
        (
            ONE.line() + "- {kernel: k, shape: 3, dtype: fp32, device: host}\n",
            2,
            "3 is not a shape",
        ),
        ("- {kernel: k, shape: {N: 1}, dtype: 4, device: host}\n", 1, "dtype is 4"),
        ("- {kern: k}\n", 1, "did you mean kernel"),
    ],
)
def test_mistakes_name_file_line_and_key(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = tmp_path / "missing.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_missing(path)
    assert f"missing.yaml, line {line}: " in str(caught.value)
    assert says in str(caught.value)


def test_command_takes_a_kernel_or_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tune_command.main(["--missing"]) == 0
    with pytest.raises(UserError, match="leave out KERNEL"):
        tune_command.main(["matmul", "--missing"])
    with pytest.raises(UserError, match="KERNEL is missing"):
        tune_command.main(["--trials", "3"])
