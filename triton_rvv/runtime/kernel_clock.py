"""How long kernels themselves run, without what it takes to launch them.

A launch from Python takes 5 to 100 us before the kernel's first program begins, which is more than
many kernels run for, and which no configuration changes.
"""

from __future__ import annotations

import threading

__all__ = ["OF_THREAD", "begin", "end"]


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
