"""Busy and throttled boards: their times are thrown away, and the board's state is on record."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ssh_cases import SCALE, TIMEOUT_S, doubled

from rvv_runner import BoardError
from rvv_runner.conditions import DOUBTED, HOT, describe_conditions, doubt
from rvv_runner.silence import told_of_silence
from rvv_runner.ssh.board_state import state_findings, unmet_requests

IDLE = "cpu  100 0 100 5000 0 0 0 0 0 0"


def raw(**changes: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Conditions of a run of 2 s on an idle board at 1.6 GHz, with changes."""
    conditions: dict[str, tuple[str, ...]] = {
        "run.took": ("200",),
        "before.stat": (IDLE,),
        "after.stat": ("cpu  300 0 110 6390 0 0 0 0 0 0",),
        "before.cpu_time": ("0m0.01s 0m0.00s 0m1.00s 0m0.50s",),
        "after.cpu_time": ("0m0.01s 0m0.00s 0m3.00s 0m0.55s",),
        "before.load": ("0.10 0.20 0.30 1/200 4000",),
        "after.load": ("0.40 0.20 0.30 2/200 4010",),
        "before.temperature": ("41000", "43500"),
        "after.temperature": ("41000", "52000"),
        "before.cooling": ("0",),
        "after.cooling": ("0",),
        "before.scaling_governor": ("performance",),
        "after.scaling_governor": ("performance",),
        "before.scaling_max_freq": ("1600000",),
        "after.scaling_max_freq": ("1600000",),
        "before.scaling_cur_freq": ("1600000",),
        "after.scaling_cur_freq": ("1600000",),
    }
    return conditions | {name.replace("__", "."): value for name, value in changes.items()}


def test_conditions_are_described_in_si_units():
    described = describe_conditions(raw())
    assert described["before_temperature_c"] == 43.5
    assert described["after_temperature_c"] == 52
    assert described["before_frequency_hz"] == 1.6e9
    assert described["after_load"] == 0.4
    assert described["before_governor"] == "performance"
    assert described["other_programs_s"] == pytest.approx(0.05)


def test_what_a_board_does_not_show_is_absent():
    assert describe_conditions({}) == {}
    assert doubt({}, busy_cores=0.5) is None


def test_an_idle_board_is_believed():
    assert doubt(raw(), busy_cores=0.5) is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"after__stat": ("cpu  450 0 110 6240 0 0 0 0 0 0",)},
            "other programs used 1.55 s of its processors in 2.00 s",
        ),
        ({"after__stat": ("cpu  300 0 110 6240 0 0 0 150 0 0",)}, "other programs used 1.55 s"),
        ({"after__cooling": ("0", "2")}, "its processor was throttled to cool down"),
        ({"after__scaling_max_freq": ("1200000",)}, "fell from 1600 to 1200 MHz"),
        ({"after__scaling_cur_freq": ("1200000",)}, "it ran at 1200 MHz instead of 1600"),
    ],
)
def test_a_busy_or_throttled_board_is_not_believed(changes, why):
    assert why in doubt(raw(**changes), busy_cores=0.5).text


def test_a_slow_clock_after_the_run_means_nothing_to_a_saving_governor():
    saving = raw(after__scaling_governor=("schedutil",), after__scaling_cur_freq=("400000",))
    assert doubt(saving, busy_cores=0.5) is None


@contextmanager
def busy_processors(count: int) -> Iterator[None]:
    burners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


LONG = f"""
if (x > 0) return;
for (volatile long i = 0; i < 20000000; i++);
{SCALE}
"""


def test_a_time_taken_on_a_busy_board_is_never_scored(open_board, build_kernel):
    board = open_board(busy_cores=0.05)
    with busy_processors(2):
        measurement = board.measure(build_kernel(LONG, doubled()), 1, 20.0)
    assert measurement.status == "board"
    assert "other programs used" in measurement.reason
    assert measurement.reason.endswith("(3 attempts)")
    assert measurement.conditions == {DOUBTED: "busy"}
    assert measurement.times_s == ()


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A /sys of a board with a governor, a temperature and a cooling device."""
    root = tmp_path / "sys of the board"
    for number in range(2):
        folder = root / f"devices/system/cpu/cpu{number}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text("ondemand\n")
        (folder / "scaling_cur_freq").write_text("1600000\n")
        (folder / "scaling_max_freq").write_text("1600000\n")
        (folder / "cpuinfo_max_freq").write_text("1800000\n")
    (root / "devices/system/cpu/online").write_text("0-1\n")
    (root / "class/thermal/thermal_zone0").mkdir(parents=True)
    (root / "class/thermal/thermal_zone0/temp").write_text("61000\n")
    (root / "class/thermal/cooling_device0").mkdir()
    (root / "class/thermal/cooling_device0/type").write_text("thermal-cpufreq-0\n")
    (root / "class/thermal/cooling_device0/cur_state").write_text("0\n")
    return root


def test_the_state_of_the_board_is_on_record(open_board, build_kernel, system):
    board = open_board(system=str(system))
    conditions = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S).conditions
    assert conditions["after_temperature_c"] == 61
    assert conditions["before_frequency_hz"] == 1.6e9
    assert conditions["after_governor"] == "ondemand"


def test_a_throttled_board_is_never_scored(open_board, build_kernel, system):
    (system / "class/thermal/cooling_device0/cur_state").write_text("3\n")
    board = open_board(system=str(system))
    measurement = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S)
    assert measurement.status == "board"
    assert "its processor was throttled to cool down" in measurement.reason


def test_a_hot_board_cools_down_before_it_measures(open_board, build_kernel, system, settings):
    def cool_down() -> None:
        while not (lock.exists() and lock.read_text().strip()):  # until the job has the board
            time.sleep(0.05)
        time.sleep(1.2)
        (system / "class/thermal/thermal_zone0/temp").write_text("54000\n")

    lock = Path(settings.lock)
    board = open_board(system=str(system), cool_below_c=55)
    cooling = threading.Thread(target=cool_down)
    cooling.start()
    conditions = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S).conditions
    cooling.join()
    assert conditions["before_temperature_c"] == 54
    assert conditions["cooled_down_s"] >= 1


def test_a_board_that_stays_hot_is_measured_all_the_same_and_that_is_told(
    open_board, build_kernel, system
):
    board = open_board(system=str(system), cool_below_c=55)
    artifact = build_kernel(SCALE, doubled())
    said: list[tuple[str, float]] = []
    start_s = time.monotonic()
    with told_of_silence(lambda text: said.append((text, time.monotonic() - start_s))):
        measurement = board.measure(artifact, 1, 8.0)
        took_s = time.monotonic() - start_s
        board._tell_once("it is hot again")  # as the next of many measurements would
    assert measurement.status == "correct"
    assert measurement.conditions["before_temperature_c"] == 61
    assert str(measurement.conditions[HOT]).startswith("at 61 °C, above `cool_below_c = 55`: cool")
    ((text, after_s),) = said
    assert re.fullmatch(
        r"it is at 61 °C; waiting until it is at most 55 °C, for \d+ s at most", text
    )
    assert after_s < took_s - measurement.conditions["cooled_down_s"] / 2


def test_what_a_board_file_asks_in_vain_is_noted(open_board, system):
    board = open_board(system=str(system), governor="ondemand", cool_below_c=70)
    assert [step.level for step in state_findings(board._settings, board.facts)] == ["note", "ok"]
    assert not unmet_requests(board._settings, board.facts)
    shutil.rmtree(system / "class")
    shutil.rmtree(system / "devices/system/cpu/cpu0")
    shutil.rmtree(system / "devices/system/cpu/cpu1")
    board = open_board(system=str(system), governor="performance", cool_below_c=70)
    governor, temperature = state_findings(board._settings, board.facts)
    assert (governor.level, temperature.level) == ("note", "note")
    assert 'so `governor = "performance"` cannot be set: remove that' in governor.text
    assert "so `cool_below_c = 70` does nothing: remove that from its" in temperature.text
    assert board.notes[:2] == (governor.text, temperature.text)


def test_the_check_says_how_hot_the_board_is(open_board, system):
    board = open_board(system=str(system), cool_below_c=55)
    _, temperature = state_findings(board._settings, board.facts)
    assert temperature.level == "note"
    assert temperature.text.startswith("61 °C, above `cool_below_c = 55`: each measurement waits")


def test_a_governor_that_the_board_file_asks_for_is_set(open_board, system):
    open_board(system=str(system), governor="performance")
    governors = system.glob("devices/system/cpu/cpu*/cpufreq/scaling_governor")
    assert [path.read_text() for path in governors] == ["performance\n"] * 2


def test_a_processor_that_the_board_does_not_have_is_named(open_board):
    with pytest.raises(BoardError, match="it has no processor 99: change core in the board file"):
        open_board(core=99)
