"""How long a program ran besides what it does once: start, compiling, and autotuning."""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from triton_rvv.imports import when_imported

__all__ = ["SteadyTime"]


# Of the main thread: nanoseconds on a processor, and waiting for one while others had it.
_SCHEDULED = Path("/proc/self/schedstat")


def _now_s() -> float:
    """A clock that stands still while other programs keep the main thread from running: kernels,
    which are a part of the program's time, are timed without it, too."""
    try:
        waited_ns = int(_SCHEDULED.read_bytes().split()[1])
    except (OSError, ValueError, IndexError):  # not every machine shows it
        waited_ns = 0
    return time.perf_counter() - waited_ns * 1e-9


class SteadyTime:
    """Seconds of this process since its first launch, but for those within `once` and those in
    which it waits for a processor.

    Of several threads, time in which any is within `once` does not count.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin()
        when_imported("torch._dynamo.callback", self._leave_out_compiling)

    def _begin(self) -> None:
        self._since_s: float | None = None
        self._once_s = 0.0
        self._depth = 0
        self._entered_s = 0.0
        self._ended_s = math.inf

    def after_fork(self) -> None:
        """Begin anew in a process that was forked."""
        self._lock = threading.Lock()
        self._begin()

    @property
    def seconds(self) -> float:
        """Until now."""
        with self._lock:
            now_s = min(_now_s(), self._ended_s)
            if self._since_s is None:
                return 0.0
            open_s = now_s - self._entered_s if self._depth else 0.0
            return max(0.0, now_s - self._since_s - self._once_s - open_s)

    def launched(self) -> None:
        """Count from now on, if this is the first launch."""
        if self._since_s is None:
            self._since_s, self._once_s = _now_s(), 0.0
            self._entered_s = self._since_s
            # Before what packages do at the end, as to end processes that compile: they have said
            # so by now, and the last to say so comes first.
            atexit.register(self._end)

    def _end(self) -> None:
        self._ended_s = _now_s()

    @contextmanager
    def once(self) -> Iterator[None]:
        """Within the block, the program does what it does once."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def perhaps_once(self) -> Iterator[Callable[[], None]]:
        """Within the block, all of it is what the program does once if the given function is
        called: an autotuner chooses, or has chosen."""
        before_s, begun_s = self._once_s, _now_s()
        is_once = threading.Event()
        try:
            yield is_once.set
        finally:
            # Where a surrounding `once` is open, that counts it.
            if is_once.is_set() and not self._depth and self._since_s is not None:
                with self._lock:
                    self._once_s = before_s + _now_s() - max(begun_s, self._since_s)

    def _enter(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._entered_s = _now_s()
            self._depth += 1

    def _leave(self) -> None:
        with self._lock:
            if self._depth == 0:  # entered before a fork
                return
            self._depth -= 1
            if self._depth == 0:
                self._once_s += _now_s() - self._entered_s

    def _leave_out_compiling(self, dynamo: ModuleType) -> None:
        """torch.compile compiles when a function is first called, between other launches."""
        dynamo.on_compile_start(lambda _: self._enter())
        dynamo.on_compile_end(lambda _: self._leave())
