"""What is made of a study's trials: the summary, the closing lines, the JSON."""

from __future__ import annotations

import io
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import rvv_runner.emulated
from engine.repeats.comparison import Comparison, Contender
from engine.reports.verdict import verdict
from engine.results.advice import advice
from engine.results.closing_lines import other_studies
from engine.results.json import json_text, trial_record
from engine.results.progress import (
    LOADING,
    LineProgress,
    LiveProgress,
    _width_of_best,
    best_text,
    estimate_after,
    progress_on,
)
from engine.results.trials_table import trials_table
from engine.results.units import count_text, short_config, time_text
from engine.run.disturbed_trials import note_on_disturbed
from engine.run.estimates import note_on_times
from engine.run.events import (
    RunEnded,
    RunStarted,
    StageStarted,
    Standing,
    StudyOpened,
    TrialFinished,
)
from engine.run.matrix_unit import note_on_matrix_unit
from engine.run.summary import summarise
from engine.study.stored_trial import StoredTrial
from engine.workers.artifacts import ArtifactStore, write_provenance
from foundation.config import Config
from rvv_runner.board_file import user_board_folder
from rvv_runner.conditions import HOT, hot
from rvv_runner.devices import load_board
from rvv_runner.emulated.error_band import BANDS_FILE
from rvv_runner.event_costs import event_costs
from rvv_runner.measurement import Measurement, Status

DEFAULT = Config({"BLOCK_SIZE_M": 16, "GROUP_SIZE_M": 8})


def trial(number: int, block: int, time_s: float | None, **counters: float) -> StoredTrial:
    status: Status = "runtime" if time_s is None else "correct"
    config = Config({"BLOCK_SIZE_M": block, "GROUP_SIZE_M": 8})
    attributes = {"counters": counters, "estimated": True}
    return StoredTrial(number, config, status, time_s, attributes)


def test_the_summary_ranks_by_time_and_compares_with_the_default() -> None:
    trials = [
        trial(0, 16, 0.4, u_mode_cycle=4000, instructions=9, tlb_miss=100, same=7, gone=50, few=3),
        trial(1, 32, 0.1, u_mode_cycle=1000, instructions=9, tlb_miss=96, same=7, gone=0, few=1),
        trial(2, 4, None),
        *(trial(number, number * 100, 0.1 * number) for number in range(3, 9)),
    ]
    summary = summarise(trials, DEFAULT, cycles_per_event={"tlb_miss": (25.0, 25.0)})
    assert summary.winner is trials[1]
    times_s = [best.time_s or 0.0 for best in summary.best]
    assert times_s == sorted(times_s)
    assert len(summary.best) == 5
    assert summary.speedup(trials[1]) == pytest.approx(4.0)
    assert summary.statuses == {"correct": 8, "runtime": 1}
    assert [(change.name, change.ratio, change.cycles) for change in summary.changes] == [
        ("u_mode_cycle", 0.25, -3000),
        ("instructions", 1.0, 0),
        ("tlb_miss", 0.96, -100),
        ("gone", 0.0, -50),
    ]
    dear = summarise(trials, DEFAULT, cycles_per_event={"tlb_miss": (1.0, 25.0)}).changes[2]
    assert (dear.name, dear.cycles, dear.most_cycles) == ("tlb_miss", -4, -100)
    assert summary.estimated


def test_a_default_that_stands_does_not_hide_what_was_faster_once() -> None:
    """Trials are single measurements, and the comparison's are in turns."""
    default, fast = trial(0, 16, 0.4), trial(1, 32, 0.3)
    contenders = [
        Contender(one.config, 0.4, 0.3, 0.5, slower, -0.1, 0.1, rounds=9)
        for one, slower in ((default, 0.0), (fast, 0.01))
    ]
    comparison = Comparison((*contenders,), noise=0.1, default=DEFAULT)
    compared = summarise([default, fast], DEFAULT, comparison)
    assert compared.unconfirmed == pytest.approx(4 / 3)
    said = verdict(compared, [default, fast], {}, "k", None).use
    assert "No configuration is significantly faster than the default, measured again" in said
    assert "some ran at up to 1.33x its speed in their trials" in said
    assert summarise([default, trial(1, 32, 0.5)], DEFAULT, comparison).unconfirmed is None
    assert summarise([default, fast], DEFAULT).unconfirmed is None


@pytest.mark.parametrize("usage", ["", "@cold", "@4cores"])
def test_times_behind_an_emulator_are_said_to_be_its_own(
    usage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    user_board_folder().mkdir(parents=True)
    text = 'kind = "x60"\n[ssh]\nhost = "nowhere.invalid"\n'
    path = user_board_folder() / "desk.toml"
    path.write_text(text)
    assert note_on_times(load_board(f"desk{usage}").info) == ()
    path.write_text(f'{text}wrapper = ["/usr/bin/qemu-riscv64", "-cpu", "rv64"]\n')
    (said,) = note_on_times(load_board(f"desk{usage}").info)
    assert said.startswith("times are those of qemu-riscv64, which runs the programs on desk")


@pytest.mark.parametrize(("device", "said"), [("x60", 0), ("c908", 1), ("x60@4cores", 1)])
def test_an_estimate_without_an_error_band_is_told_wherever_results_go(device, said) -> None:
    notes = note_on_times(load_board(f"emulated:{device}").info)
    assert [note.endswith("they have no error band") for note in notes] == [True] * said


def test_events_cost_what_the_table_of_the_core_says() -> None:
    table = Path(rvv_runner.emulated.__path__[0], "x60_costs.toml").read_text()
    memory, branches = (tomllib.loads(table)[part] for part in ("memory", "branches"))
    costs = event_costs("emulated:x60")
    assert costs == event_costs("x60")
    assert costs["tlb_miss"] == (memory["tlb_miss"], memory["tlb_miss"])
    assert costs["l1d_miss"] == (memory["l2_streamed"], memory["l2_random"])
    assert costs["l2_miss"] == (memory["dram_read"], memory["dram_random"])
    assert costs["branch_misses"] == (branches["mispredict"], branches["mispredict"])
    assert all(least <= most for least, most in costs.values())
    assert event_costs("host") == {}


def test_the_time_alone_makes_no_front() -> None:
    trials = [replace(trial(0, 16, 0.4), values=(0.4,)), replace(trial(1, 32, 0.1), values=(0.1,))]
    assert summarise(trials, DEFAULT).front == ()


def test_a_kernel_that_is_probably_wrong_is_told_in_the_verdict() -> None:
    said = "probably wrong for inputs such as x"
    summary = replace(summarise([trial(1, 16, 0.1)], DEFAULT), probably_wrong=said)
    assert advice(summary).startswith(f"The kernel is {said}. Once it is right: Nothing that was")
    assert not summary.succeeded
    assert summarise([trial(1, 16, 0.1)], DEFAULT).succeeded


def test_a_speedup_is_that_of_the_rounds_where_there_were_any() -> None:
    trials = [trial(1, 16, 0.3), trial(2, 32, 0.2), trial(3, 64, 0.15), trial(4, 128, 0.9)]
    slower = {trials[2].config: 0.0, trials[1].config: 0.1, DEFAULT: 0.76}
    contenders = tuple(
        Contender(config, 0.1 * (1 + gap), 0.1, 0.2, gap, gap - 0.05, gap + 0.05, rounds=9)
        for config, gap in slower.items()
    )
    summary = summarise(trials, DEFAULT, Comparison(contenders, noise=0.1, default=DEFAULT))
    assert [summary.speedup(one) for one in trials] == pytest.approx([1, 1.6, 1.76, 1 / 3])
    assert [summary.is_compared(one) for one in trials] == [True, True, True, False]
    assert advice(summary).startswith("Use the winner: 1.76x the default, 1.71x to")
    assert trial_record(trials[2], summary)["compared_in_turns"] is True
    # The times beside them are of the same rounds, and of one that was in none, its trial's.
    assert [summary.time_s(one) for one in trials] == pytest.approx([0.176, 0.11, 0.1, 0.9])
    assert trial_record(trials[0], summary)["time_s"] == pytest.approx(0.176)


def test_without_the_default_there_is_no_speedup() -> None:
    summary = summarise([trial(0, 32, 0.1, cycles=3)], DEFAULT)
    assert summary.winner is not None
    assert summary.speedup(summary.winner) is None
    assert summary.changes == ()


def test_without_a_correct_trial_there_is_no_winner() -> None:
    summary = summarise([trial(0, 16, None)], DEFAULT)
    assert summary.winner is None
    assert not summary.estimated


def test_a_progress_line_has_a_field_for_all_that_is_known() -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)
    standing = Standing(3, 50, (DEFAULT, 0.25), default_time_s=0.5)
    progress(RunStarted(standing, estimated=True))
    right = Measurement("correct", (0.25,), estimated=True)
    wrong = Measurement("wrong", reason="argument c\tis\nnot right")
    progress(TrialFinished(DEFAULT, right, None, standing))
    by_loss = replace(standing, order="weighted_mean_loss")
    progress(TrialFinished(DEFAULT, wrong, None, by_loss))
    progress(RunEnded("trials", 3, 3, 1.0))
    config = "config=BLOCK_SIZE_M=16,GROUP_SIZE_M=8"
    assert stream.getvalue().splitlines() == [
        "trial=3/50\tstatus=correct\ttime_s=0.250000000\testimated=yes\tspeedup=2.000\t"
        f"leader_time_s=0.250000000\t{config}",
        "trial=3/50\tstatus=wrong\tleader_time_s=0.250000000\tleader_by=weighted_mean_loss\t"
        f"{config}\treason=argument c is not right",
    ]


def test_other_studies_have_a_line_each_and_the_oldest_only_a_number() -> None:
    names = [f"k-N8-fp32-{number}" for number in range(5)]
    made = dict.fromkeys(names, ("kernel source",))
    result = cast("Any", SimpleNamespace(other_studies=made))
    why = "(another kernel, reference or other function of its file)"
    assert other_studies(result) == [*(f"{name} {why}" for name in names[2:]), "2 older"]
    result.other_studies = {}
    assert other_studies(result) == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(stream: io.StringIO) -> list[str]:
    """Every line ever drawn, without the terminal's codes."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    return [line for line in re.split(r"[\r\n]+", text) if line.strip()]


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (40, "3/7     --:-- 250 ms est., 2.00x: M=256…"),
        (80, "--:-- best 250 ms (est.), 2.00x: M=256 N=256 K=256 GROUP_M=8"),
        (120, "2.00x the default: M=256 N=256 K=256 GROUP_M=8"),
    ],
)
def test_a_live_line_that_is_cut_says_so(
    columns: int, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K")
    config = Config({**dict.fromkeys(names, 256), "GROUP_SIZE_M": 8})
    stream = Terminal()
    progress = LiveProgress(stream)
    progress(RunStarted(Standing(3, 7, (config, 0.25), default_time_s=0.5), estimated=True))
    progress(RunEnded("trials", 3, 3, 1.0))
    assert all(len(line) <= columns for line in screen(stream))
    assert screen(stream)[-1].rstrip().endswith(shown)


def test_the_best_fits_in_what_80_columns_leave() -> None:
    config = Config({f"BLOCK_SIZE_{name}": 128 for name in "MNK"} | {"GROUP_SIZE_M": 16})
    standing = Standing(48, 50, (config, 12.34e-3), default_time_s=18.5e-3)
    width = _width_of_best(80, "48/50")
    text = best_text(standing, "estimated, ±24%", width)
    assert text == "best 12.34 ms (est. ±24%), 1.50x: M=128 N=128 K=128 GROUP_M=16"
    assert len(text) <= width
    assert "1.50x the default: M=128" in best_text(standing, "estimated, ±24%", 100)


def test_the_live_line_says_each_stage_before_the_first_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    with progress_on(stream) as progress:
        progress(LOADING)
        progress(StudyOpened("s", 20, "a-study-with-a-very-long-name-that-does-not-fit"))
        progress(StageStarted("starting Ray"))
    first, last = screen(stream)[0], screen(stream)[-1]
    assert first.endswith("loading Optuna, Ray and Triton")
    assert last.endswith("starting Ray; 20 earlier trials, warm-started from a-stud…")
    assert len(last) == 60
    assert stream.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K")  # cursor back, line gone


def test_stages_go_to_stderr_and_leave_the_stream_parseable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)
    progress(StageStarted("starting Ray"))
    progress(StudyOpened("s", 20, "t"))
    assert stream.getvalue() == ""
    assert capsys.readouterr().err == "stage=starting Ray\nstudy=s\ttried=20\twarm_started_from=t\n"


def test_the_live_line_ends_and_says_the_best_after_an_error() -> None:
    stream = io.StringIO()
    progress = LiveProgress(stream)
    standing = Standing(3, 50, (DEFAULT, 0.25), default_time_s=0.5)
    progress(RunStarted(standing, estimated=True))
    progress(RunEnded("failed", 3, 0, 1.0))
    assert progress._progress.live.is_started is False
    assert "best 250 ms (estimated), 2.00x the default: M=16 GROUP_M=8" in stream.getvalue()


def test_the_band_of_the_best_stands_beside_it_until_another_is_best() -> None:
    measured = Measurement(
        status="correct", times_s=(0.25,), board="emulated:x60", estimated=True,
        counters={"u_mode_cycle": 1e6},
    )  # fmt: skip
    best = TrialFinished(DEFAULT, measured, None, Standing(1, 9, (DEFAULT, 0.25), None))
    said = estimate_after(best, "estimated")
    assert re.fullmatch(r"estimated, ±\d+%", said)
    assert best_text(best.standing, said).startswith(f"best 250 ms ({said}): ")
    other = Config({"BLOCK_SIZE_M": 32, "GROUP_SIZE_M": 8})
    slower = TrialFinished(other, measured, None, Standing(2, 9, (DEFAULT, 0.25), None))
    assert estimate_after(slower, said) == said


def test_json_has_no_value_that_readers_refuse() -> None:
    text = json_text({"inf": float("inf"), "list": (1.5, float("nan")), "none": None})
    assert json.loads(text, parse_constant=pytest.fail) == {
        "inf": "inf",
        "list": [1.5, "nan"],
        "none": None,
    }


@pytest.mark.parametrize(
    ("time_s", "text"),
    [(2.0, "2 s"), (0.0123456, "12.35 ms"), (65.25e-6, "65.25 us"), (3e-9, "3 ns")],
)
def test_times_are_short(time_s: float, text: str) -> None:
    assert time_text(time_s) == text


def test_counts_and_configurations_are_short() -> None:
    assert [count_text(count) for count in (0, 12, 120841, 7.812e6)] == [
        "0",
        "12",
        "120.8k",
        "7.812M",
    ]
    assert short_config(DEFAULT) == "M=16 GROUP_M=8"


def test_a_build_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)

    def build(fails: bool) -> None:
        with store.new_folder("k", "16_8", "key") as folder:
            (folder / "k_kernel.elf").write_bytes(b"elf")
            if fails:
                raise RuntimeError("killed here")
            write_provenance(folder, {"key": "key"})

    with pytest.raises(RuntimeError, match="killed here"):
        build(fails=True)
    assert store.find("k", "16_8", "key") is None
    assert list((tmp_path / "k").iterdir()) == []
    build(fails=False)
    build(fails=False)  # as a second process would, at the same time
    found = store.find("k", "16_8", "key")
    assert found is not None
    assert found[1] == {"key": "key"}
    found[0].unlink()
    assert store.find("k", "16_8", "key") is None
    build(fails=False)  # a folder that somebody took files from is made anew
    assert store.find("k", "16_8", "key") is not None


def test_the_first_reason_of_each_failure_is_told() -> None:
    failed = [
        StoredTrial(number, DEFAULT, "wrong", None, {"reason": reason})
        for number, reason in enumerate(("c[3] is 1 and should be 2", "another"))
    ]
    reasons = summarise([trial(2, 16, 0.1), trial(3, 8, None), *failed], DEFAULT).first_reasons
    assert reasons == {"wrong": f"c[3] is 1 and should be 2 ({DEFAULT})"}


def emulated_trial(number: int, time_s: float, l2_misses: float = 0.0) -> StoredTrial:
    """A correct trial of the emulated X60, of a product unless it waits for DRAM."""
    counters = {"u_mode_cycle": time_s * 1.6e9, "l2_miss": l2_misses}
    counters |= {"vector_inst": 100.0, "vector_load_inst": 30.0, "scalar_loads": 50.0}
    attributes = {"counters": counters, "estimated": True, "board": "emulated:x60"}
    return replace(trial(number, 16 * number, time_s), attributes=attributes)


def test_an_estimate_shows_its_error_and_what_it_cannot_tell_apart() -> None:
    bands = tomllib.loads(BANDS_FILE.read_text())["x60"]
    tie = bands["products"]["tied"]
    close, far = 0.01 * (1 + tie * 0.9), 0.01 * (1 + tie * 1.1)
    trials = [emulated_trial(1, 0.01), emulated_trial(2, close), emulated_trial(3, far)]
    summary = summarise(trials, None)
    assert [summary.tied(found) for found in summary.best] == [False, True, False]
    of_close, of_far = (summarise(trials, trial.config) for trial in trials[1:])
    assert (of_close.default_is_as_fast, of_far.default_is_as_fast) == (True, False)
    assert summary.estimate == f"estimated, ±{bands['products']['error']:.0%}"
    assert json_text(trial_record(trials[1], summary)).count('"tied_with_winner": true') == 1
    # All of its time goes into lines from DRAM: another class, with a band of its own.
    waiting = summarise([emulated_trial(1, 0.01, l2_misses=1e6)], None)
    assert waiting.estimate == f"estimated, ±{bands['memory']['error']:.0%}"


def test_a_time_from_a_clock_has_no_error_band() -> None:
    measured = [replace(trial(n, n, 0.01), attributes={}) for n in (1, 2)]
    summary = summarise(measured, None)
    assert (summary.estimate, summary.tied(measured[1])) == ("", False)


@pytest.mark.parametrize(
    ("march", "line", "is_noted"),
    [
        ("rv64i2p1_v1p0_xsmtvdot1p0", "vwmacc.vv v8, v4, v2", True),
        ("rv64i2p1_v1p0_xsmtvdot1p0", "vmul.vx v8, v4, a2", True),
        ("rv64i2p1_v1p0_xsmtvdot1p0", "vfmacc.vv v8, v4, v2", False),  # it takes no floats
        ("rv64i2p1_v1p0_xsmtvdot1p0", "smt.vmadot v8, v4, v2", False),
        ("rv64i2p1_v1p0", "vwmacc.vv v8, v4, v2", False),
    ],
)
def test_a_matrix_unit_that_the_winner_leaves_unused_is_told(
    tmp_path: Path, march: str, line: str, is_noted: bool
) -> None:
    elf = tmp_path / "matmul_kernel.elf"
    elf.with_suffix(".s").write_text(f'\t.attribute\t5, "{march}"\n\t{line}\n')
    winner = replace(trial(1, 16, 0.1), attributes={"elf_path": str(elf)})
    assert bool(note_on_matrix_unit(summarise([winner], None))) == is_noted
    assert note_on_matrix_unit(summarise([trial(1, 16, 0.1)], None)) == ()


def test_trials_that_were_measured_on_a_hot_board_are_counted() -> None:
    conditions = {"conditions": hot({"before_temperature_c": 91.0}, 40.0)}
    warm, cool = replace(trial(1, 16, 0.1), attributes=conditions), trial(2, 16, 0.1)
    (note,) = note_on_disturbed([cool, warm])
    assert note.startswith("1 of 2 trials with a time was measured on a hot board")
    assert "the first at 91 °C, above `cool_below_c = 40`: cool the board, or" in note
    assert HOT not in hot({"before_temperature_c": 40.0}, 40.0)


def test_trials_that_were_disturbed_are_counted_at_one_shape_or_several() -> None:
    conditions = {"conditions": {"disturbed": "others ran"}}
    alone = replace(trial(1, 16, 0.1), attributes=conditions)
    joint = replace(
        trial(2, 16, 0.1), attributes={"shapes": {"N=8": {**conditions, "time_s": 0.1}}}
    )
    quiet, failed = trial(3, 16, 0.1), replace(trial(4, 16, None), attributes=conditions)
    (note,) = note_on_disturbed([quiet, joint, alone, failed])
    assert note.startswith("2 of 3 trials with a time were disturbed")
    assert note.endswith("others ran")
    assert note_on_disturbed([quiet]) == ()
    told = trials_table([quiet, joint, alone])["disturbed"]
    assert told.notna().tolist() == [False, True, True]
