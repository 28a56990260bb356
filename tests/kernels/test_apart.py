"""What is looked for in a process of its own is found although runs end it, or do not end."""

from __future__ import annotations

import os
import time

import pytest

from kernels.own import apart
from kernels.own.apart import found_apart
from kernels.own.changed_inputs import Change
from kernels.own.journal import Outcome
from kernels.own.telling import Telling

JOB = {"device": "cpu"}


def finding(*runs):
    """Makes these runs, and finds which of them were right."""

    def find(journal):
        outcomes = [journal.outcome(run) for run in runs]
        found = {str(n): Change() for n, one in enumerate(outcomes) if one.is_right}
        return Telling(found, endless=str([one.is_endless for one in outcomes]))

    return find


def right():
    return Outcome(is_right=True)


def test_runs_behind_one_that_ends_its_process_are_made():
    telling = found_apart(finding(right, lambda: os._exit(3), right), JOB)
    assert telling is not None
    assert set(telling.changes) == {"0", "2"}


def test_a_run_without_end_is_ended(monkeypatch):
    monkeypatch.setattr(apart, "_RUN_LIMIT_S", 0.2)
    telling = found_apart(finding(right, lambda: time.sleep(200)), JOB)
    assert telling is not None
    assert telling.endless == "[False, True]"


@pytest.mark.parametrize("runs", [[lambda: os._exit(1)] * 9, []])
def test_nothing_is_found_where_each_process_ends(runs):
    def find(journal):
        finding(*runs)(journal)
        os._exit(1)

    assert found_apart(find, JOB) is None
