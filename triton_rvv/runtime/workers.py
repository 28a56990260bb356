"""The threads on which kernels run in this process."""

from __future__ import annotations

import functools
import math
import os
import resource
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

__all__ = ["has_large_stack", "num_threads", "run_on_workers", "set_num_threads"]

THREADS_VARIABLE = "TRITON_RVV_THREADS"

T = TypeVar("T")

# Blocks take half of this, as of a main thread's stack (`STACK_LIMIT_BYTES` of `context.py`).
STACK_BYTES = 8 << 20


class _Workers:
    """A pool of threads with large stacks, which comes into being when it is first needed."""

    def __init__(self) -> None:
        self.count = _threads_from_environment()
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def resize(self, count: int) -> None:
        with self._lock:
            old, self._pool, self.count = self._pool, None, count
        if old is not None:
            old.shutdown()

    def pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = _started_pool(self.count)
            return self._pool


def _started_pool(count: int) -> ThreadPoolExecutor:
    """A pool whose threads all run already, since the size of stacks is set for a whole process."""
    previous_bytes = threading.stack_size(STACK_BYTES)
    try:
        pool = ThreadPoolExecutor(count, thread_name_prefix="triton-rvv")
        together = threading.Barrier(count + 1)
        for _ in range(count):
            pool.submit(together.wait)
        together.wait()
        return pool
    finally:
        threading.stack_size(previous_bytes)


def _threads_from_environment() -> int:
    text = os.environ.get(THREADS_VARIABLE)
    if text is None:
        return len(os.sched_getaffinity(0))
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{THREADS_VARIABLE} is {text!r}: set it to a number of threads from 1 on")
    return int(text)


@functools.cache
def _workers() -> _Workers:
    return _Workers()


# The threads of a parent process do not exist in its child.
os.register_at_fork(after_in_child=_workers.cache_clear)


def num_threads() -> int:
    """How many threads a kernel's programs are spread over.

    It is `TRITON_RVV_THREADS` where that is set, or else the cores that this process may use.

    Raises:
        ValueError: where `TRITON_RVV_THREADS` is no number from 1 on.
    """
    return _workers().count


def set_num_threads(count: int) -> None:
    """Spread kernels' programs over `count` threads from now on.

    Raises:
        ValueError: where `count` is less than 1.
    """
    if count < 1:
        raise ValueError(f"{count} threads run nothing: ask for 1 or more")
    _workers().resize(count)


def run_on_workers(work: Callable[[T], None], argument: T, at_most: int) -> float:
    """Call `work` on every thread at once, on no more than `at_most`, and wait for all of them.

    The calling thread is one of them where its stack is as large as theirs.

    Returns:
        What its work would take on one thread at most, in seconds, by what it took on the calling
        one; infinity where that was not among them.
    """
    is_roomy = has_large_stack()
    workers = _workers()
    count = workers.count if workers.count < at_most else at_most
    helped = count - is_roomy
    started = [workers.pool().submit(work, argument) for _ in range(helped)]
    alone_s = math.inf
    try:
        if helped < count:
            begun_s = time.perf_counter()
            work(argument)
            alone_s = (time.perf_counter() - begun_s) * count
    finally:
        if started:
            # The arrays have to live until the last program has ended, Ctrl-C or not.
            wait(started)
    for future in started:
        future.result()
    return alone_s


def has_large_stack() -> bool:
    """Whether this thread's stack is as large as those of the threads on which kernels run."""
    return threading.get_ident() == _roomy_thread()


@functools.cache
def _roomy_thread() -> int | None:
    """The main thread's number, where its stack is large enough; asked of the system once."""
    soft_bytes, _ = resource.getrlimit(resource.RLIMIT_STACK)
    if soft_bytes == resource.RLIM_INFINITY or soft_bytes >= STACK_BYTES:
        return threading.main_thread().ident
    return None


# Nor is the child's main thread the one of its parent.
os.register_at_fork(after_in_child=_roomy_thread.cache_clear)
