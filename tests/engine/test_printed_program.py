"""What `tune FILE` prints at its end: the program's time, what of it was measured, the studies."""

from __future__ import annotations

import dataclasses
import io
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine.programs.printed import print_program, program_record
from engine.programs.standing import ProgramTask, TaskStanding, program_times_s, states_of
from engine.repeats.comparison import Comparison, Contender
from engine.results.fields import field_line
from engine.run.summary import summarise
from engine.study.stored_trial import StoredTrial
from foundation.config import Config

TASK = ProgramTask("key", "file#key", "softmax", "softmax 8x8 fp32", 10, 1e-3)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def tuned(storage: str = "studies/tuner.journal") -> TaskStanding:
    """Twice as fast as deployed, whose time is half of that in the capture."""
    trials = [
        StoredTrial(i, Config({"i": i}), "correct", s, {"times_s": [s]})
        for i, s in enumerate((5e-4, 2.5e-4))
    ]
    summary = summarise(trials, Config({"i": 0}))
    ended = SimpleNamespace(tried=2, measured=1)
    outlook = SimpleNamespace(expected_gain=0.1, is_quiet=False)
    names = {"study": "softmax-a", "storage": storage}
    result = SimpleNamespace(summary=summary, ended=ended, outlook=outlook, **names)
    return TaskStanding(TASK, size=9, result=cast("Any", result))


def rounds_with(winner: int, slower: float) -> Comparison:
    """A comparison that a configuration won, by which the deployed one is so much slower."""
    values = ((Config({"i": winner}), 0.0), (Config({"i": 0}), slower))
    contenders = [
        Contender(config, 1e-4 * (1 + by), 1e-4, 1e-3, by, by, by, 6) for config, by in values
    ]
    return Comparison(tuple(contenders), 0.01, default=Config({"i": 0}))


def noisy(comparison: Comparison | None = None, fastest_s: float = 2.5e-4) -> TaskStanding:
    """The same, on a board whose times vary."""
    result = cast("Any", tuned().result)
    trials = [*result.summary.best, StoredTrial(2, Config({"i": 2}), "correct", fastest_s, {})]
    summary = summarise(trials, Config({"i": 0}), comparison)
    other = SimpleNamespace(**{**vars(result), "summary": summary})
    return TaskStanding(TASK, size=9, result=cast("Any", other), is_noisy=True)


def printed(*standings: TaskStanding, stream: io.StringIO) -> str:
    print_program(standings, stream)
    return stream.getvalue()


def test_a_time_that_was_measured_is_no_estimate() -> None:
    out = printed(tuned(), stream=Terminal())
    assert "time of the program's kernels: 5 ms -> 2.5 ms (2.00x)\n" in out


def test_a_gain_that_trials_alone_show_does_not_count() -> None:
    """The deployed configuration's trial may be of a day on which the board was busier."""
    alone = noisy()
    out = printed(alone, stream=io.StringIO())
    assert "deployed_s=0.0005\ttime_s=0.0005\tspeedup=1\tcompared_in_turns=no" in out
    assert "config=i=0\t" in out
    assert "program_s=0.005\tmeasured_share=1\tspeedup=1\n" in out
    assert alone.stays_deployed
    (state,) = states_of([alone])
    assert state.best_s == 2.5e-4  # the scheduler goes by it until it is compared
    out = " ".join(printed(alone, stream=Terminal()).split())
    assert "not compared in turns: softmax 8x8 fp32: what was faster in its trials" in out


def test_a_gain_that_was_measured_in_turns_counts_until_one_that_is_larger_was() -> None:
    compared = noisy(rounds_with(1, slower=0.5))
    stream = io.StringIO()
    assert "speedup=1.5\tcompared_in_turns=yes" in printed(compared, stream=stream)
    assert not compared.stays_deployed
    first = TaskStanding(TASK, size=9, is_noisy=True).after(cast("Any", compared.result), 1.0)
    later = first.after(cast("Any", noisy(fastest_s=1e-5).result), 1.0)
    assert later.is_unconfirmed
    out = printed(later, stream=io.StringIO())
    assert "speedup=1.5\tcompared_in_turns=yes" in out
    assert "config=i=1\t" in out


def test_a_time_that_was_measured_in_part_says_which_part() -> None:
    other = TaskStanding(dataclasses.replace(TASK, launches=30), waits=True)
    out = printed(tuned(), other, stream=Terminal())
    assert "kernels: 20 ms -> 17.5 ms (1.14x); this is an estimate:\n  25.0% of the time is" in out
    assert all(len(line) <= 80 for line in out.splitlines() if "\x1b" not in line)
    record = program_record([tuned(), other])
    assert record["measured_share"] == 0.25
    assert "measured_share=0.25\tspeedup=1.14285714" in printed(
        tuned(), other, stream=io.StringIO()
    )


@pytest.mark.parametrize(
    ("storage", "option"),
    [("studies/tuner.journal", ""), ("a b.journal", " --storage 'a b.journal'")],
)
def test_the_studies_are_named_with_a_command_for_them(storage: str, option: str) -> None:
    out = printed(tuned(storage), stream=Terminal())
    assert f"for `rvv-tune report STUDY{option}`" in out
    assert "  softmax 8x8 fp32: softmax-a\n" in out
    assert "study=softmax-a" in printed(tuned(), stream=io.StringIO())


def test_a_task_that_is_done_with_a_short_list_says_how_to_try_more() -> None:
    listed = dataclasses.replace(TASK, listed=2, label="product 64x64 fp32")
    done = dataclasses.replace(tuned(), task=listed, size=3, exhausted=True)
    open_ = dataclasses.replace(done, size=9)
    wide = dataclasses.replace(done, task=dataclasses.replace(listed, is_wide=True))
    light = dataclasses.replace(done, task=dataclasses.replace(listed, launches=1))
    unlisted = dataclasses.replace(done, task=TASK, size=1)  # nothing varies in it
    unspent = dataclasses.replace(done, exhausted=False)
    for others in ([tuned()], [open_], [wide], [unlisted], [unspent]):
        assert "--widen" not in printed(*others, stream=Terminal())
    told = "product 64x64 fp32, 90.9% of the time: all that its autotuner lists was tried:"
    out = " ".join(printed(done, light, stream=Terminal()).split())
    assert f"{told} --widen tries others" in out
    assert out.count("--widen") == 1


def test_the_task_that_saves_most_comes_first() -> None:
    few = dataclasses.replace(tuned(), task=dataclasses.replace(TASK, label="few", launches=1))
    long = TaskStanding(dataclasses.replace(TASK, label="long", launches=9), waits=True)
    short = TaskStanding(dataclasses.replace(TASK, label="short"), waits=True)
    short = dataclasses.replace(short, task=dataclasses.replace(short.task, launches=2))
    out = printed(short, few, long, tuned(), stream=io.StringIO())
    tasks = [line.partition("\t")[0] for line in out.splitlines()]
    assert tasks[:4] == ["task=softmax 8x8 fp32", "task=few", "task=long", "task=short"]


def test_a_short_launch_says_nothing_about_the_times_of_others() -> None:
    short = dataclasses.replace(tuned(), task=dataclasses.replace(TASK, captured_s=5e-5))
    other = TaskStanding(dataclasses.replace(TASK, launches=1), waits=True)
    before_s, _ = program_times_s([short, other])
    assert before_s == pytest.approx(10 * 5e-4 + 1e-3)  # as captured
    before_s, _ = program_times_s([short, tuned(), other])
    assert before_s == pytest.approx(20 * 5e-4 + 0.5 * 1e-3)


def test_a_launch_that_waited_in_the_capture_says_nothing_about_the_times_of_others() -> None:
    waited = dataclasses.replace(tuned(), task=dataclasses.replace(TASK, captured_s=0.5))
    other = TaskStanding(dataclasses.replace(TASK, launches=1), waits=True)
    before_s, _ = program_times_s([tuned(), waited, tuned(), other])
    assert before_s == pytest.approx(30 * 5e-4 + 0.5 * 1e-3)


def test_a_task_without_a_captured_time_is_taken_for_one_as_long_as_the_others() -> None:
    timed = TaskStanding(TASK, waits=True)
    untimed = TaskStanding(dataclasses.replace(TASK, captured_s=None), waits=True)
    before_s, _ = program_times_s([timed, untimed])
    assert before_s == pytest.approx(20 * 1e-3)


def test_fields_have_one_form() -> None:
    line = field_line({"a": True, "b": False, "c": None, "d": 0.1 + 0.2, "e": "x\ty\nz", "f": 3})
    assert line == "a=yes\tb=no\td=0.3\te=x\\ty\\nz\tf=3"
