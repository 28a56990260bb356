"""How long kernels themselves run, without what it takes to launch them.

A launch from Python takes 5 to 100 us before the kernel's first program begins, which is more than
many kernels run for, and which no configuration changes. Other programs on the machine may stop a
thread for milliseconds, so processor time is counted in place of the clock's.
"""

from __future__ import annotations

import threading
import time
from typing import Any

__all__ = ["OF_THREAD", "TimedKernel", "begin", "end"]


class _OfThread(threading.local):
    """Attributes:
    spent_s: seconds that kernels of this thread ran for since `begin`; None if nobody asks.
    runs: how many they were.
    """

    spent_s: float | None = None
    runs = 0


OF_THREAD = _OfThread()


def begin() -> None:
    """Measure kernels that this thread runs from now on."""
    OF_THREAD.spent_s, OF_THREAD.runs = 0.0, 0


def end() -> float | None:
    """Stop; returns the seconds that they ran for, None if there was none, or not in this way."""
    spent_s, OF_THREAD.spent_s = OF_THREAD.spent_s, None
    return spent_s if OF_THREAD.runs else None


class TimedKernel:
    """A kernel whose threads' processor time is counted.

    Args:
        kernel: has `run_programs`, which each thread calls once.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._threads_s: list[float] = []

    def run_programs(self, call: bytes) -> None:
        """Run programs until none is left, on this thread."""
        began_s = time.thread_time()
        try:
            self._kernel.run_programs(call)
        finally:
            self._threads_s.append(time.thread_time() - began_s)

    def alone_s(self, chunks: int) -> float:
        """Seconds from the first program to the last, if each thread had a core of its own.

        Args:
            chunks: that the threads took in turn, each as long as the others.
        """
        most = -(-chunks // len(self._threads_s))
        return sum(self._threads_s) * most / chunks
