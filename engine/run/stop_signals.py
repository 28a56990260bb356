"""Ctrl-C and SIGTERM end a run early."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from engine.run.loop import TuningLoop

__all__ = ["stopped_by_signals"]

_STATUS_AT_SECOND_SIGNAL = 130  # what a shell reports for a process that Ctrl-C ended
_SHOW_CURSOR = b"\x1b[?25h"  # the live progress line hides it


@contextlib.contextmanager
def stopped_by_signals(loop: TuningLoop, owns_process: bool) -> Iterator[None]:
    """Within the block, Ctrl-C and SIGTERM stop the loop; a second one does not wait for it.

    Args:
        loop: of the run.
        owns_process: whether the second one ends the process; otherwise it is a KeyboardInterrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signal handlers
        return
    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if received and not owns_process:
            raise KeyboardInterrupt
        if received:
            os.write(sys.stderr.fileno(), _SHOW_CURSOR if sys.stderr.isatty() else b"")
            os._exit(_STATUS_AT_SECOND_SIGNAL)  # every worker ends with this process
        received.append(number)
        loop.stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
