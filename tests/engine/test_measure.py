"""The measuring command on the emulated board."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from command_here import run_here

from engine import measure
from engine.arguments.configuration import complete_config
from engine.workers.board_events import BoardSilent
from engine.workers.board_pool import BoardPool
from foundation.config import Config
from foundation.errors import UserError
from rvv_runner.conditions import hot
from rvv_runner.measurement import Measurement
from search_spaces.space import Parameter


@pytest.mark.usefixtures("ray_for_tests")
@pytest.mark.parametrize(
    ("config", "status", "exit_status"),
    [("BLOCK_SIZE=256", "correct", 0), ("BLOCK_SIZE=100", "compile", 1)],
)
def test_one_configuration_is_one_json_object(
    config: str, status: str, exit_status: int, tmp_path: Path
) -> None:
    arguments = ["vector_add", "--shape", "N=5000", "--config", config, "--json"]
    done = run_here(tmp_path, "measure", *arguments)
    record = json.loads(done.stdout)
    assert done.returncode == exit_status
    assert all(line.startswith("stage=") for line in done.stderr.splitlines())
    assert record["status"] == status
    assert record["shape"] == {"N": 5000}
    if status == "compile":
        assert "power of 2" in record["reason"]
        assert record["times_s"] == []
        assert record["estimated"] is None
        assert record["estimate_error"] is None
        assert record["counters"] == {}
        assert record["elf_path"] is None
    else:
        assert record["reason"] == ""
        assert record["estimated"] is True
        assert record["times_s"][0] > 0
        assert record["counters"]["u_mode_cycle"] > 0
        assert record["max_abs_error"] == 0
        elf = Path(record["elf_path"]).read_bytes()
        assert record["elf_sha256"] == hashlib.sha256(elf).hexdigest()


@pytest.mark.usefixtures("ray_for_tests")
def test_the_check_of_an_own_file_is_told_and_its_reference_doubted(tmp_path: Path) -> None:
    source = (
        "import torch, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def twice_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    x = tl.load(x_ptr + i, mask=i < n)\n"
        "    tl.store(y_ptr + i, 2 * x, mask=i < n)\n"
        "def get_twice_kernel_autotune_config():\n"
        "    return [triton.Config({'BLOCK': 64})]\n"
        "def arguments(N=100):\n"
        "    return {'x_ptr': torch.rand(N) + 1, 'y_ptr': torch.empty(N), 'n': N}\n"
        "def grid(meta):\n"
        "    return (triton.cdiv(meta['n'], meta['BLOCK']),)\n"
        "def reference(x_ptr):\n"
        "    return {'y_ptr': 3 * x_ptr}\n"
    )
    (tmp_path / "twice.py").write_text(source)
    done = run_here(tmp_path, "measure", "twice.py")
    assert done.returncode == 1
    notes = [line for line in done.stderr.splitlines() if line.startswith("note: ")]
    assert "note: nearly every element is wrong: if other" in "\n".join(notes)
    assert "stage=trying the check's inputs on twice" in done.stderr


def test_counters_are_written_out_and_what_is_missing_is_left_out() -> None:
    record: dict[str, object] = {"counters": {"instructions": 123456789.0, "u_mode_cycle": 64476.8}}
    record |= {"reason": "", "estimated": False, "elf_path": None, "times_s": (), "models_s": {}}
    text = measure._text(record, as_json=False)
    assert text == "counters: instructions=123456789, u_mode_cycle=64476.8\nestimated: False"


def test_what_a_board_says_is_told_while_it_measures() -> None:
    class Boards:
        def __init__(self) -> None:
            self.events = [BoardSilent("desk", "it is at 91 °C")]

        def take_events(self) -> Iterator[BoardSilent]:
            while self.events:
                yield self.events.pop()

    told: list[object] = []
    was_told = threading.Event()

    def tell(event: object) -> None:
        told.append(event)
        was_told.set()

    boards = cast(BoardPool, Boards())
    with measure._telling_of(boards, tell):
        assert was_told.wait(60)
    assert told == [BoardSilent("desk", "it is at 91 °C")]


def test_a_time_of_a_hot_board_has_a_warning() -> None:
    conditions = hot({"before_temperature_c": 91.0}, 40.0)
    warning = measure._warning_of_heat(Measurement("correct", (0.1,), conditions=conditions))
    assert warning is not None
    assert warning.startswith("the time may be too long, since it was measured at 91 °C, above")
    assert measure._warning_of_heat(Measurement("correct", (0.1,))) is None


def test_parameters_that_are_left_out_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    config = Config({"BLOCK": 16, "GROUP": 8, "FLAG": 1})
    measure._say_what_is_left_out({"BLOCK": 16}, config)
    note = "note: --config leaves out GROUP=8, FLAG=1, the default's\n"
    assert capsys.readouterr().err == note
    measure._say_what_is_left_out(dict(config), config)
    measure._say_what_is_left_out({}, config)  # the default was asked for
    assert capsys.readouterr().err == ""


def test_a_flag_may_be_zero_and_a_size_may_not() -> None:
    default = Config({"BLOCK": 16, "FLAG": 1})
    space = (Parameter("BLOCK", (16, 32)), Parameter("FLAG", (1, 0)))
    assert complete_config({"FLAG": 0}, default, "own", space) == {"BLOCK": 16, "FLAG": 0}
    with pytest.raises(UserError, match="BLOCK must be a positive integer, not 0"):
        complete_config({"BLOCK": 0}, default, "own", space)
    with pytest.raises(UserError, match="FLAG must be an integer, not true"):
        complete_config({"FLAG": "true"}, default, "own", space)
