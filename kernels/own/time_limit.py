"""Ends a call of a user's function that never comes to its end."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator

__all__ = ["time_limit"]

_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc


class _TimeIsUp(BaseException):
    """Not an `Exception`, which the function itself may catch."""


@contextlib.contextmanager
def time_limit(limit_s: float) -> Iterator[None]:
    """Within the block, this thread may run Python code for so many seconds.

    A thread may be any, so this takes no signal. A call of C that waits is ended when it returns.

    Raises:
        TimeoutError: if it takes longer; with the traceback of what was running.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    lock, ended, is_up = threading.Lock(), False, False

    def end() -> None:
        nonlocal is_up
        with lock:
            if not ended:
                is_up = True
                _raise_in(thread, ctypes.py_object(_TimeIsUp))

    timer = threading.Timer(limit_s, end)
    timer.daemon = True
    timer.start()
    try:
        try:
            yield
        finally:
            with lock:
                ended = True
            timer.cancel()
            if is_up:  # where nothing is to come, a process that is profiled would hang here
                _raise_in(thread, None)  # what has not come yet
    except _TimeIsUp as up:
        too_long = TimeoutError(f"it takes longer than {limit_s:g} s")
        raise too_long.with_traceback(up.__traceback__) from None
