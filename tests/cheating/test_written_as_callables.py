"""No callable gets a time that works only for the check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from written_as_callables import CHEATS, FOILED, HONEST

from engine.workers.callable_board import CallableBoard, _Kept
from engine.workers.callables import CallableArtifact
from foundation.config import Config
from kernels.on_device import ProblemArguments
from kernels.registry import load_kernel, make_problem
from rvv_runner.measurement import Measurement

FILE = Path(__file__).with_name("written_as_callables.py")
# Each repeats what another one does: half of the calls, outputs by fewer marks, another place of a
# mark, another way to be called later.
REPEATED = (
    "works_in_every_other_call",
    "keeps_its_outputs",
    "keeps_its_outputs_in_a_file",
    "keeps_a_mark_in_shared_memory",
    "leaves_an_alarm_to_do_it",
)


@pytest.fixture(scope="module")
def board() -> Iterator[CallableBoard]:
    """For all of them; what they leave in its process is no help to the next."""
    board = CallableBoard("python")
    board.open()
    yield board
    board.close()


def measured(board: CallableBoard, name: str) -> Measurement:
    source = ProblemArguments.of(make_problem(load_kernel(str(FILE)), {}))
    return board.measure(CallableArtifact(source, Config({"name": name})), 10, 60)


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_callable_gets_its_time(board: CallableBoard, name: str) -> None:
    measurement = measured(board, name)
    assert (measurement.status, measurement.reason) == ("correct", "")
    assert len(measurement.times_s) == 10


@pytest.mark.parametrize("name", FOILED)
def test_a_callable_that_changes_the_clock_gets_its_time(board: CallableBoard, name: str) -> None:
    measurement = measured(board, name)
    assert min(measurement.times_s) > 1e-6


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in REPEATED else ()) for name in CHEATS],
)
def test_a_cheating_callable_gets_no_time(board: CallableBoard, name: str) -> None:
    measurement = measured(board, name)
    assert measurement.status in ("wrong", "runtime"), measurement
    assert not measurement.times_s


@pytest.mark.parametrize("bit", [0, 1])
def test_runs_with_one_of_both_contents_alone_are_not_enough(
    bit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bits = iter((bit, *[0] * 10_000))
    monkeypatch.setattr("secrets.randbits", lambda _count: next(bits))
    source = ProblemArguments.of(make_problem(load_kernel(str(FILE)), {}))
    artifact = CallableArtifact(source, Config({"name": "keeps_its_outputs_by_object"}))
    report = _Kept("cpu").report(artifact, 1)
    assert report.status == "wrong", report
