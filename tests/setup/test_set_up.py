"""Set-up does each step once, never takes a half-made one as done, and can be run twice at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fake_machine import RUN_TIMEOUT_S, Machine

MAKE_VENV = "python3 -m venv .venv"
WARM = "python -"
FORGET = "python -m foundation.half_installed"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def test_the_steps_in_order(machine: Machine) -> None:
    assert machine.set_up()[0] == 0
    venv, torch, packages, warm = machine.calls()
    assert venv == MAKE_VENV
    assert torch.startswith("python -m pip install")
    assert torch.endswith("--no-deps torch==2.13.0+cpu")
    assert packages.endswith("--constraint constraints.txt --editable .[dev]")
    assert warm == WARM


def test_the_second_time_nothing_is_left_to_do(machine: Machine) -> None:
    machine.set_up()
    machine.calls()
    assert machine.set_up() == (0, "")
    assert machine.calls() == []


def test_an_interrupted_install_continues_where_it_was(machine: Machine) -> None:
    machine.environment["WHEN_PIP_RUNS"] = "touch .venv/half; kill -9 $PPID"
    assert machine.set_up()[0] == -9
    machine.calls()
    del machine.environment["WHEN_PIP_RUNS"]
    assert machine.set_up()[0] == 0
    first, *others = machine.calls()
    assert first == FORGET
    assert MAKE_VENV not in others
    assert (machine.project / ".venv/half").exists()
    assert machine.set_up() == (0, "")
    assert machine.calls() == []


def test_set_up_tells_what_pip_is_at(machine: Machine) -> None:
    lines = [
        "  Downloading small-1.0-py3-none-any.whl (8.5 MB)",
        "  Downloading ray-2.51.1-cp313-cp313-manylinux2014_x86_64.whl (72.1 MB)",
        "Downloading https://example.org/whl/torch-2.13.0%2Bcpu-cp313-linux.whl (184.0 MB)",
        "Installing collected packages: ray, torch",
    ]
    machine.environment["WHEN_PIP_RUNS"] = "; ".join(f"echo '{line}'" for line in lines)
    process = machine.start()
    _, stderr = process.communicate(timeout=RUN_TIMEOUT_S)
    told = [line for line in stderr.splitlines() if "down" in line or "unpack" in line]
    assert told[:3] == [
        "setup: downloading ray 2.51.1 (72.1 MB)",
        "setup: downloading torch 2.13.0%2Bcpu (184.0 MB)",
        "setup: unpacking packages into .venv (some minutes on a slow disk)",
    ]


def test_an_environment_from_elsewhere_is_made_anew(machine: Machine) -> None:
    machine.set_up()
    machine.calls()
    moved = machine.project.rename(machine.folder / "moved")
    process = machine.start(moved)
    _, stderr = process.communicate(timeout=RUN_TIMEOUT_S)
    assert process.returncode == 0
    assert "making the virtual environment .venv anew: the one that is there holds" in stderr
    assert machine.calls()[0] == MAKE_VENV


def test_each_step_that_takes_long_is_told_with_how_long() -> None:
    """What warms the caches, which are warm here."""
    script = (Path(__file__).parents[2] / "setup.sh").read_text()
    code = script.partition("<<'PYTHON' || exit 1\n")[2].partition("\nPYTHON\n")[0]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PURPOSE": "run"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=True,
    )
    steps = done.stderr.splitlines()
    assert [step.split()[1] for step in steps] == ["building", "compiling", "building"]
    assert all(step.startswith("setup: ") and step.endswith(")") for step in steps)


def test_other_requirements_are_installed_over_the_old_ones(machine: Machine) -> None:
    machine.set_up()
    machine.calls()
    with (machine.project / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    machine.environment["WHEN_PIP_RUNS"] = "kill -9 $PPID"
    machine.set_up()
    calls = machine.calls()
    assert len(calls) == 1
    assert " pip install " in calls[0]
    # That was interrupted, so some packages may not be complete.
    del machine.environment["WHEN_PIP_RUNS"]
    machine.set_up()
    assert machine.calls()[0] == FORGET


def test_a_failing_install_is_not_taken_as_done(machine: Machine) -> None:
    machine.environment["WHEN_PIP_RUNS"] = "exit 1"
    status, said = machine.set_up()
    assert status == 1
    assert said == (
        "setup: pip could not install the packages: see above, then run make setup again"
    )
    machine.calls()
    machine.set_up()
    assert machine.calls()[0] == FORGET


@pytest.mark.parametrize("reachable", [True, False])
def test_torch_comes_from_its_own_index_where_pip_finds_no_cpu_build(
    machine: Machine, reachable: bool
) -> None:
    fails = "*--index-url*) exit 0 ;; *+cpu) exit 1 ;;" if reachable else "*+cpu) exit 1 ;;"
    machine.environment["WHEN_PIP_RUNS"] = f'case "$*" in {fails} esac'
    process = machine.start()
    _, stderr = process.communicate(timeout=RUN_TIMEOUT_S)
    assert process.returncode == 0
    calls = machine.calls()
    assert f"--index-url {CPU_INDEX} torch==2.13.0+cpu" in calls[2]
    assert "--editable" in calls[3]
    assert ("installing PyPI's with CUDA" in stderr) is not reachable


def test_caches_are_warmed_again_where_they_or_their_sources_changed(machine: Machine) -> None:
    machine.set_up()
    machine.calls()
    (machine.project / "launchers/launcher.c").write_text("/* changed */")
    machine.set_up()
    assert machine.calls() == [WARM]
    for stamp in (machine.folder / "home/.cache/triton-rvv-tuner").iterdir():
        stamp.unlink()
    machine.set_up()
    assert machine.calls() == [WARM]


def test_a_board_that_fails_stops_set_up_each_time(machine: Machine) -> None:
    machine.environment["WHEN_CACHES_ARE_WARMED"] = "echo 'setup: this QEMU' >&2; exit 1"
    for _ in range(2):
        assert machine.set_up() == (1, "setup: this QEMU")
        assert machine.calls()[-1] == WARM


def test_two_at_once_do_the_work_once(machine: Machine) -> None:
    go = machine.folder / "go"
    machine.environment["WHEN_PIP_RUNS"] = f"until [ -e '{go}' ]; do sleep 0.05; done"
    processes = [machine.start(), machine.start()]
    outputs = [""] * 2

    def read(number: int) -> None:
        for line in processes[number].stderr:
            outputs[number] += line
            if "waiting for another set-up of this folder" in line:
                go.touch()

    readers = [threading.Thread(target=read, args=(number,)) for number in range(2)]
    for reader in readers:
        reader.start()
    for reader, process in zip(readers, processes, strict=True):
        reader.join(RUN_TIMEOUT_S)
        assert process.wait(RUN_TIMEOUT_S) == 0
    assert sum("waiting for another set-up of this folder" in output for output in outputs) == 1
    calls = machine.calls()
    assert calls.count(MAKE_VENV) == 1
    assert calls.count(WARM) == 1
