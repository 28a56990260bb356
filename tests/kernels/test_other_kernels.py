"""What is replaced while a user's functions run is put back, also by several threads."""

from __future__ import annotations

import threading

from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver

from kernels.own.other_kernels import asked_for_device, other_kernels_run


def test_threads_take_turns_and_leave_triton_as_it_was():
    run = Autotuner.run
    began, entered, leaves = threading.Event(), threading.Event(), threading.Event()

    def second() -> None:
        began.set()
        with other_kernels_run():
            entered.set()
            leaves.wait(10)

    thread = threading.Thread(target=second)
    with other_kernels_run():
        thread.start()
        assert began.wait(10)
        assert not entered.wait(0.2)
    assert entered.wait(10)
    leaves.set()
    thread.join(10)
    assert Autotuner.run is run


def test_a_device_that_another_thread_lends_is_not_taken_for_its_own(monkeypatch):
    monkeypatch.setattr(driver, "_active", None)
    monkeypatch.setattr(driver, "_default", None)
    monkeypatch.setenv("TRITON_DEFAULT_BACKEND", "none")
    began, found = threading.Event(), []

    def second() -> None:
        began.set()
        with asked_for_device():
            found.append(driver.active.runs_here)

    thread = threading.Thread(target=second)
    with asked_for_device():
        thread.start()
        assert began.wait(10)
        thread.join(0.2)
    thread.join(10)
    assert found == [True]
