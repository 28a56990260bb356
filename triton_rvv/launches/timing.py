"""How long kernels take that are launched: by this machine's clock, or by a GPU's events.

On this machine, the kernel is timed apart from its launch. A GPU's events lie around the launch:
where the GPU waits for it, a short kernel's time includes a part of it.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

from triton_rvv.runtime import kernel_clock

__all__ = ["REPEATS", "Repeats", "Timer", "first_launch", "new_timer"]

# The first launches are timed, and of later ones a few: events of a GPU take longer than a clock.
_FIRST = {"host": 64, "gpu": 8}
_EVERY = {"host": 16, "gpu": 64}
_MOST_PENDING = 256
# To tell the signature of a launch takes some 3 us, which is too much for launches that are shorter
# than this: after so many of them, most are counted like the one before.
_SHORT_S = 60e-6
_SHORT_AFTER = 256
_MOST_REPEATS = 31
# The attribute of a kernel that holds its `Repeats`.
REPEATS = "triton_rvv_repeats"

# The program's own random numbers stay as they are.
_random = random.Random(0)


class Repeats:
    """Launches of one kernel to come that are counted without being looked at.

    Attributes:
        left: how many.
    """

    def __init__(self) -> None:
        self.left = 0
        self.timer: Timer | None = None

    def refill(self, timer: Timer) -> None:
        """Count launches to come towards a task, if they are short.

        How many is drawn at random, so that a program which launches several signatures in turn
        does not meet the same one each time.
        """
        if self.left <= 0 and timer.is_short:
            self.timer, self.left = timer, _random.randint(1, _MOST_REPEATS)
            timer.launches += self.left


class Timer:
    """Counts the launches of one task, and times them. Holds no lock: its owner does.

    Args:
        clock: "host", "gpu", or "" where launches cannot be timed.
    """

    def __init__(self, clock: str) -> None:
        self.clock = clock
        self._first_timed = _FIRST.get(clock, 0)
        self._every = _EVERY.get(clock, 0)
        self.launches = 0
        self._timed = 0
        self._time_s = 0.0
        self._launch_s = 0.0  # of whole launches, from the call to its return
        self._first: tuple[Any, Any] | None = None
        self._pending: deque[tuple[Any, Any]] = deque()

    @property
    def is_short(self) -> bool:
        """Whether there were many launches, and they are short."""
        return self.launches > _SHORT_AFTER and self._launch_s < _SHORT_S * self._timed

    @property
    def usual_s(self) -> float:
        """What the program waits for its kernel in one launch: a GPU's runs beside it."""
        if self.clock != "host":
            return 0.0
        return self._time_s / self._timed if self._timed else self._first_s(wait=False) or 0.0

    def start(self) -> Any:
        """What `stop` takes, or None if this launch is not timed."""
        if self.launches >= self._first_timed and (not self._every or self.launches % self._every):
            return None
        if self.clock == "host":
            kernel_clock.begin()
        return _now(self)

    def stop(self, started: Any) -> None:
        """Count a launch."""
        self.launches += 1
        if started is None:
            return
        if self.clock == "host":
            launch_s = time.perf_counter() - started
            kernel_s = kernel_clock.end()
            self._add(launch_s if kernel_s is None else kernel_s, launch_s)
        else:
            self._add_events(started, _recorded_event())

    def first(self, marks: tuple[Any, Any] | None) -> None:
        """Count a launch that was described; the first of them is slower than later ones.

        Args:
            marks: taken where the kernel started and ended, or None.
        """
        self.launches += 1
        if marks is None or None in marks:
            return
        if self._first is None:
            self._first = marks
        elif self.clock == "gpu":
            self._add_events(*marks)
        else:
            self._add(marks[1] - marks[0], marks[1] - marks[0])

    def summed(self, repeats: int, *, is_last: bool = False) -> dict[str, Any]:
        """Launches, those that were timed, and their time; the first counts if it is all there is.

        Args:
            repeats: how many were counted that have not come yet.
            is_last: whether to wait for launches that have not ended.
        """
        self._take_ended(wait=is_last)
        launches = self.launches - repeats
        first_s = self._first_s(wait=is_last) if self._timed == 0 else None
        if first_s is not None:
            return {"launches": launches, "timed": 1, "time_s": first_s}
        return {"launches": launches, "timed": self._timed, "time_s": self._time_s}

    def after_fork(self) -> None:
        """Begin anew in a process that was forked."""
        self.launches, self._timed, self._first = 0, 0, None
        self._time_s = self._launch_s = 0.0
        self._pending.clear()

    def _first_s(self, *, wait: bool) -> float | None:
        """The time of the first launch; None if there was none, or it has not ended."""
        if self._first is None:
            return None
        start, end = self._first
        if self.clock == "host":
            return float(end - start)
        return _ended_s(start, end, wait=wait)

    def _add(self, kernel_s: float, launch_s: float) -> None:
        self._timed += 1
        self._time_s += kernel_s
        self._launch_s += launch_s

    def _add_events(self, start: Any, end: Any) -> None:
        if start is not None and end is not None and len(self._pending) < _MOST_PENDING:
            self._pending.append((start, end))

    def _take_ended(self, *, wait: bool) -> None:
        while self._pending:
            time_s = _ended_s(*self._pending[0], wait=wait)
            if time_s is None:
                return
            self._pending.popleft()
            self._add(time_s, time_s)


def _ended_s(start: Any, end: Any, *, wait: bool) -> float | None:
    """The time between two events of a stream; None if the second one has not come."""
    if wait:
        end.synchronize()
    return start.elapsed_time(end) * 1e-3 if end.query() else None


def new_timer() -> Timer:
    """A timer for launches on Triton's current device."""
    from triton.runtime.driver import driver

    target = driver.active.get_current_target()
    on_host = target.backend == "cpu" and target.arch == "host"
    return Timer("host" if on_host else "gpu" if target.backend in ("cuda", "hip") else "")


def _recorded_event() -> Any:
    import torch

    if torch.cuda.is_current_stream_capturing():
        return None
    event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    event.record()
    return event


_of_thread = threading.local()


@contextlib.contextmanager
def first_launch(timer: Timer, *, is_compiled: bool) -> Iterator[list[Any]]:
    """Within the block, note when the kernel that this thread launches starts and ends.

    Compiling it takes longer than running it, so only a launch of a compiled kernel can be timed
    as a whole. Yields a list that holds two marks afterwards, if the launch was of a compiled
    kernel, or told the kernel's own time, or went through Triton's hooks.
    """
    from triton import knobs

    marks: list[Any] = []
    if timer.clock == "host" and not is_compiled:
        kernel_clock.begin()
        try:
            yield marks
        finally:
            kernel_s = kernel_clock.end()
        marks += [] if kernel_s is None else [0.0, kernel_s]
        return
    if is_compiled and timer.clock:
        marks.append(_now(timer))
        yield marks
        marks.append(_now(timer))
        return
    enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
    if not timer.clock or not hasattr(enter, "add"):
        yield marks
        return
    _of_thread.marks, _of_thread.timer = marks, timer
    enter.add(_mark)
    leave.add(_mark)
    try:
        yield marks
    finally:
        enter.remove(_mark)
        leave.remove(_mark)
        _of_thread.marks = None


def _mark(_: Any) -> None:
    marks = getattr(_of_thread, "marks", None)
    if marks is not None and len(marks) < 2:
        marks.append(_now(_of_thread.timer))


def _now(timer: Timer) -> Any:
    return _recorded_event() if timer.clock == "gpu" else time.perf_counter()
