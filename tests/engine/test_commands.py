"""Mistakes in a command: one sentence at the end that names what to change, and status 2."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine.tune as tune_command
from engine import (
    bench,
    build,
    check_key,
    gemm,
    measure,
    new,
    regret,
    repair,
    tune_all,
    tune_list,
)
from engine.arguments.requests import requests_of
from foundation.command_line import run_command
from foundation.errors import UserError
from foundation.programs import python_command
from kernels.registry import load_kernel, make_problem

CANNOT_BE_WRITTEN = "/dev/null/a/b cannot be written (Not a directory): give another with --out"
MISTAKES = [
    (
        "tune",
        "matmull",
        "there is no kernel named matmull: did you mean matmul or matmul_w4a8 or matmul_w4a16?",
    ),
    (
        "tune",
        "none.capture",
        "there is no file none.capture: make a capture with "
        "`rvv-tune capture -o FILE -- python program.py`",
    ),
    ("tune", "nois.py", "there is no file nois.py: did you mean noise.py?"),
    ("tune", "", "KERNEL is missing: see `COMMAND --help`"),
    ("tune", "matmul --sampler tpa", "there is no sampler named tpa: did you mean tpe?"),
    (
        "tune",
        "matmul --device emulatd",
        "there is no device named emulatd: did you mean emulated or emulated:x60 or emulated:x100?",
    ),
    (
        "tune",
        "matmul --device ssh://me@board:ssh",
        "ssh://me@board:ssh is not an address: write it like ssh://user@host:22",
    ),
    ("tune", "matmul --shape m=4", "matmul has no dimension m: choose one of K, M, N"),
    ("tune", "matmul --shape M=0", "the size of M is 0: give it a positive one"),
    ("tune", "matmul --shape M=-4", "the size of M is -4: give it a positive one"),
    (
        "tune",
        "vector_add --shape N=3000000000",
        "the size of N is 3000000000, and kernels take sizes as 32-bit integers: "
        "give it at most 2147483647",
    ),
    ("tune", "matmul --shape M=4.5", "--shape: the size of M is not an integer: 4.5"),
    (
        "tune",
        "matmul --shape M",
        "--shape: 'M' is not NAME=VALUE: write it like M=256,N=512",
    ),
    ("tune", "matmul --shape M=1,M=2", "--shape: M is given twice"),
    ("tune", "matmul --dtype f33", "matmul does not take f33: did you mean fp32 or fp16?"),
    (
        "tune",
        "matmul --shape M=1 --shape M=2 --study mine",
        "there is a study for each --shape: leave out --study, or add --together",
    ),
    (
        "tune",
        "matmul --shape M=1 --shape M=2 --together --objective time_s,code_bytes",
        "--together minimises the time alone: leave out --together or --objective",
    ),
    (
        "tune",
        "matmul --shape M=1 --together",
        "--together is for several shapes: give --shape at least twice",
    ),
    ("tune", "matmul --shape M=4 --shape M=4", "the shape M=4 is given twice: give it once"),
    (
        "tune",
        "matmul --shape M=64 --shape M=64,N=512 --together",
        "the shape M=64,N=512,K=256 is given twice: give it once",
    ),
    (
        "tune",
        "matmul --sampler optuna.samplers.GridSampler",
        "the sampler optuna.samplers.GridSampler needs search_space, which cannot be given here: "
        "choose one whose arguments all have defaults",
    ),
    (
        "tune",
        "matmul --sampler optuna.samplers.TPE",
        "optuna.samplers has no sampler TPE: did you mean TPESampler?",
    ),
    ("tune", "empty.py", "FOLDER/empty.py has no kernel: put @triton.jit above a function"),
    (
        "measure",
        "noise.py",
        "FOLDER/noise.py:1 cannot be imported: SyntaxError: (unicode error) 'utf-8' codec can't "
        "decode byte 0xa1 in position 0: invalid start byte",
    ),
    ("bench", "--out /dev/null/a/b", CANNOT_BE_WRITTEN),
    ("bench", "--seeds 100000000000", "--seeds is 100000000000: give at most 10000"),
    ("check_key", "matmul", "nothing to check: give --shape, once for each shape"),
    (
        "gemm",
        "-m 99999999999 -n 1 -k 1",
        "the size of M is 99999999999, and kernels take sizes as 32-bit integers: "
        "give it at most 2147483647",
    ),
    (
        "tune",
        "matmul --storage noise.py",
        "the storage noise.py cannot be used (noise.py is not a journal file): give --storage the "
        "path of a journal file, which is created if missing, or an Optuna storage URL",
    ),
    (
        "new",
        "class",
        "NAME: class cannot name a function: use A to Z, a to z, 0 to 9 and _, not a Python word",
    ),
    ("tune_list", "list.yaml --out /dev/null/a/b", CANNOT_BE_WRITTEN),
    (
        "tune",
        "matmul --objective speed",
        "--objective: there is no objective speed: give time_s or time_s,code_bytes",
    ),
    ("tune", "matmul --trials 0", "--trials: must be a positive integer, not 0"),
    ("tune", "matmul --trials ten", "--trials: must be a positive integer, not ten"),
    ("tune", "matmul --timeout -1", "--timeout: must be a positive number, not -1"),
    ("tune", "matmul --timeout inf", "--timeout: must be a positive number, not inf"),
    ("tune", "matmul --jobs 0", "--jobs: must be a positive integer, not 0"),
    ("tune", "matmul --seed x", "--seed: must be an integer, not x"),
    ("tune", "matmul --seed -1", "--seed: must not be negative, and -1 is"),
    ("tune", "matmul --study=", "--study: must not be empty"),
    ("tune", "matmul --dtype=", "--dtype: must not be empty"),
    ("tune", "matmul --device=", "--device: must not be empty"),
    (
        "tune",
        "matmul --device emulated,,host",
        "--device: 'emulated,,host' is not NAME or NAME,NAME: leave no name out",
    ),
    (
        "regret",
        "matmul --device emulated,emulated",
        "regret compares boards: give several with --device NAME,NAME",
    ),
    (
        "build",
        "vector_add --out /dev/null/here --proposals 1",
        "/dev/null/here cannot be written (Not a directory): give another with --out",
    ),
    ("repair", ".", ". cannot be used: Is a directory"),
    (
        "new",
        "random",
        "NAME: random.py would hide the module random from every command run in this folder: "
        "choose another name",
    ),
    (
        "tune",
        "matmul --trails 5",
        "there is no argument --trails: did you mean --trials?",
    ),
    (
        "tune",
        "matmul --tri 5",
        "there is no argument --tri: did you mean --trials?",
    ),
    (
        "tune_all",
        "--jobs 2",
        "there is no argument --jobs: choose one of --cores, --device, --dtype, --help, --shape, "
        "--timing, --trials",
    ),
    ("tune", "matmul --ray-address here", "--ray-address: here is not HOST:PORT"),
    (
        "tune",
        "matmul --study none-yet --ray-address 127.0.0.1:1",
        "no Ray cluster answers at 127.0.0.1:1: "
        "start one with `ray start --head`, or leave --ray-address out",
    ),
    ("tune", "matmul --trials", "--trials: expected one argument"),
    (
        "measure",
        "matmul --config BLOCK_M=16",
        "matmul has no parameter BLOCK_M: did you mean BLOCK_SIZE_M or BLOCK_SIZE_N or "
        "BLOCK_SIZE_K?",
    ),
    (
        "measure",
        "matmul --config BLOCK_SIZE_M=abc",
        "BLOCK_SIZE_M must be a positive integer, not abc",
    ),
    (
        "measure",
        "matmul --config BLOCK_SIZE_M=0",
        "BLOCK_SIZE_M must be a positive integer, not 0",
    ),
    (
        "measure",
        "matmul --config BLOCK_SIZE_M",
        "--config: 'BLOCK_SIZE_M' is not NAME=VALUE: write it like BLOCK_SIZE_M=16,BLOCK_SIZE_N=32",
    ),
]
OWN_FILE = """import triton

@triton.jit
def add_kernel(x_ptr, N): ...

def arguments(N=4, dtype=None): ...
"""
VALUE = re.compile("(--[a-z-]+|[A-Z]+): ")
COMMANDS = {
    "bench": bench.main,
    "build": build.main,
    "check_key": check_key.main,
    "gemm": gemm.main,
    "measure": measure.main,
    "new": new.main,
    "regret": regret.main,
    "repair": repair.main,
    "tune": tune_command.main,
    "tune_all": tune_all.main,
    "tune_list": tune_list.main,
}


@pytest.fixture
def own_signals() -> Iterator[None]:
    """A command ignores signals as it ends, and processes that start later would do so too."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("own_signals")
@pytest.mark.parametrize(("command", "arguments", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence_and_status_2(
    command: str,
    arguments: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.py").touch()
    (tmp_path / "noise.py").write_bytes(b"\xa1")
    (tmp_path / "list.yaml").write_text(
        "kernel: matmul\ntag: T\nshapes: [{batch_sizes: [4], N: 8, K: 8}]\n"
    )
    monkeypatch.setattr(sys, "argv", ["the command", *arguments.split()])
    with pytest.raises(SystemExit) as ended:
        run_command(COMMANDS[command], f"engine.{command}")
    printed = capsys.readouterr()
    *stages, last = printed.err.splitlines(keepends=True)
    # A value that an argument does not take is followed by where to read what it takes.
    shown_as = python_command(f"engine.{command}")
    sentence = sentence.replace("COMMAND", shown_as).replace("FOLDER", str(tmp_path))
    see = f" (see `{shown_as} --help`)" if VALUE.match(sentence) else ""
    assert last == f"engine.{command}: {sentence}{see}\n"
    assert all(line.startswith(("stage=", "study=")) for line in stages)
    assert printed.out == ""
    assert ended.value.code == 2


def test_arguments_larger_than_memory_are_refused() -> None:
    shape = {"M": 2**30, "N": 2**30, "K": 2**30}
    with pytest.raises(UserError, match=r"take \d+ GiB, and this machine has \d+ GiB of memory"):
        make_problem(load_kernel("matmul"), shape)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("tune", "--help"),
        pytest.param("measure", "matmull", marks=pytest.mark.long),
        pytest.param("tune", "matmul --shape M=256,n=4", marks=pytest.mark.long),
        pytest.param("measure", "matmul --shape M=0", marks=pytest.mark.long),
        pytest.param("tune", "rope_bwd --dtype f33", marks=pytest.mark.long),
        ("tune", "own.py --shape M=4 --storage own.py"),
        pytest.param("measure", "matmul --device laptop", marks=pytest.mark.long),
        pytest.param(
            "measure", "persistent_matmul --config BLOCK_SIZE_X=16", marks=pytest.mark.long
        ),
        ("tune", "matmul --for vllm --device cuda"),
    ],
)
def test_help_and_mistakes_wait_for_no_heavy_import(
    command: str, arguments: str, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN_FILE)
    script = (
        "import sys; from engine import measure, tune\n"
        "from foundation.command_line import run_command\n"
        f"try: run_command({command}.main, '')\n"
        "finally: print(*{'torch', 'triton', 'ray', 'optuna'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments.split()],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == (0 if arguments == "--help" else 2)
    assert done.stdout.splitlines()[-1] == ""


def test_help_says_what_an_objective_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tune_command.main(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "--objective NAMES objectives to minimise: time_s, or time_s,code_bytes for" in said


def test_make_tune_and_the_bare_command_work_on_one_study() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    (line,) = re.findall(r"-m engine\.tune (.*) \$\(ARGS\)", makefile)
    asked, bare = (tune_command._parse(words) for words in (line.split(), ["matmul"]))
    assert requests_of(asked) == requests_of(bare)


def test_the_command_line_answers_with_less_than_a_second_of_work() -> None:
    def work_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before_s = work_s()
    subprocess.run(
        [sys.executable, "-m", "engine.tune", "--help"],
        capture_output=True,
        timeout=200,
        check=True,
    )
    assert 0 < work_s() - before_s < 1.0
