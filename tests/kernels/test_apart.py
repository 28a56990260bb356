"""What is looked for in a process of its own is found although runs end it, or do not end."""

from __future__ import annotations

import os
import time

import pytest
import torch

from kernels.own import apart
from kernels.own.apart import found_apart
from kernels.own.host_run import get_ready
from kernels.own.journal import Outcome
from triton_rvv.codegen import link

JOB = {"device": "cpu"}


def finding(*runs):
    """Makes these runs, and finds which of them were right, and which did not end."""

    def find(journal):
        return [(one.is_right, one.is_endless) for one in map(journal.outcome, runs)]

    return find


def right():
    return Outcome(is_right=True)


def test_runs_behind_one_that_ends_its_process_are_made():
    found = found_apart(finding(right, lambda: os._exit(3), right), JOB)
    assert found == [[True, False], [False, False], [True, False]]


def test_a_run_without_end_is_ended_and_each_process_may_take_longer_to_start(monkeypatch):
    monkeypatch.setattr(apart, "_RUN_LIMIT_S", 0.2)

    def find(journal):
        time.sleep(0.3)  # imports, and a reference
        return finding(right, lambda: time.sleep(200))(journal)

    assert found_apart(find, JOB)[1] == [False, True]


def test_a_process_computes_without_the_threads_of_the_one_that_it_is_a_fork_of(monkeypatch):
    threads, numbers = torch.get_num_threads(), torch.ones(1 << 20)
    monkeypatch.setattr(apart, "_TOTAL_S", 5.0)
    torch.set_num_threads(2)
    try:
        numbers.exp()  # starts them
        assert found_apart(lambda _: numbers.exp().numel(), JOB) == 1 << 20
    finally:
        torch.set_num_threads(threads)


def test_what_runs_have_in_common_is_linked_once_for_all_processes(monkeypatch):
    here, program = os.getpid(), link._program

    def linked(*args):
        if os.getpid() != here:
            os._exit(1)
        return program(*args)

    def find(_):
        get_ready()
        return all(link._PROGRAMS.values())

    monkeypatch.setattr(link, "_PROGRAMS", {})
    monkeypatch.setattr(link, "_program", linked)
    assert [found_apart(find, JOB, is_bounded=True) for _ in range(2)] == [True, True]


@pytest.mark.parametrize("runs", [[lambda: os._exit(1)] * 9, []])
def test_nothing_is_found_where_each_process_ends(runs):
    def find(journal):
        finding(*runs)(journal)
        os._exit(1)

    assert found_apart(find, JOB) is None
