"""Processor time of a process and of the programs that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from foundation.processors import used_cpu_s

SPINS = "import os, subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"


def test_a_child_that_still_runs_counts_where_it_is_asked_for() -> None:
    with subprocess.Popen([sys.executable, "-c", SPINS], start_new_session=True) as parent:
        try:
            while (used_cpu_s(parent.pid, with_children=True) or 0.0) < 1.0:
                time.sleep(0.05)
            alone_s = used_cpu_s(parent.pid)
        finally:
            os.killpg(parent.pid, signal.SIGKILL)
    assert alone_s is not None
    assert alone_s < 0.5


def test_a_process_that_has_ended_has_no_time() -> None:
    with subprocess.Popen(["true"]) as done:
        done.wait()
    assert used_cpu_s(done.pid, with_children=True) is None
