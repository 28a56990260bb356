"""Ends a process together with the one that started it."""

from __future__ import annotations

import os
import threading
import time

__all__ = ["end_with_parent"]

_WATCH_PAUSE_S = 0.5


def end_with_parent() -> None:
    """End this process once the one that started it has ended, whatever other threads do, such as
    wait for a kernel on a GPU."""
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_PAUSE_S)
    os._exit(1)
