"""Workers as threads of the tests' own process, for tests of what a run finds and says.

Ray takes a second of processor time for each process, and a builder two more for torch. What
processes have of their own (limits, crashes, signals, machines) has tests with Ray.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import SimpleNamespace
from typing import Any

import pytest
from ray import cloudpickle
from ray.exceptions import GetTimeoutError

from engine.workers import builders, ray_session, worker, worker_pool
from engine.workers.worker_process import ProcessKind, _WorkerProcess
from kernels.captured import kernel_source
from kernels.own import module as own_module

__all__ = ["working_here"]


def _travelled(value: Any) -> Any:
    """As it arrives in another process."""
    return cloudpickle.loads(cloudpickle.dumps(value))


class _Handle:
    """What Ray gives for a process, here for a thread."""

    def __init__(self) -> None:
        self._process = _WorkerProcess()
        self.thread = ThreadPoolExecutor(1)

    def __getattr__(self, method: str) -> Any:
        called = getattr(self._process, method)
        return SimpleNamespace(remote=lambda *args: self._begun(called, args))

    @property
    def __ray_call__(self) -> Any:
        return SimpleNamespace(remote=lambda told: self._begun(told, (self._process,)))

    def _begun(self, called: Callable[..., object], args: Sequence[object]) -> Future[Any]:
        sent = args if args == (self._process,) else _travelled(args)
        return self.thread.submit(lambda: _travelled(called(*sent)))


def _get(answer: Future[Any], timeout: float) -> Any:
    if not wait([answer], timeout).done:
        raise GetTimeoutError
    return answer.result()


@contextlib.contextmanager
def working_here() -> Iterator[None]:
    """Within the block, runs find a Ray whose processes are threads; calls in them end by
    themselves."""
    handles: list[_Handle] = []

    def process_for(kind: ProcessKind, *, may_be_spare: bool) -> _Handle:
        handles.append(_Handle())
        return handles[-1]

    def end(handle: _Handle, *, no_restart: bool) -> None:
        handle.thread.shutdown(wait=False, cancel_futures=True)

    def some_done(answers: Sequence[Future[Any]], *, num_returns: int, timeout: float) -> None:
        wait(answers, timeout)

    ray = SimpleNamespace(get=_get, kill=end, wait=some_done, is_initialized=lambda: True)
    with pytest.MonkeyPatch.context() as patch:
        for module in (ray_session, worker, worker_pool):
            patch.setattr(module, "ray", ray)
        patch.setattr(worker, "process_for", process_for)
        patch.setattr(worker, "keep_spare", lambda kind, handle: None)
        patch.setattr(worker, "this_node", lambda: "here")
        patch.setattr(builders, "_step_back", lambda: None)
        # Whichever of two threads left such a block first would turn the other's stdout aside.
        for module in (kernel_source, own_module):
            patch.setattr(module, "others_print_aside", contextlib.nullcontext)
        yield
        for handle in handles:
            handle.thread.shutdown()
