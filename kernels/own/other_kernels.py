"""What a user's functions find where they ask Triton for a device, or launch other kernels."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _triton
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from triton_rvv.driver import RVVDriver

__all__ = ["asked_for_device", "other_kernels_run"]


class _Turns:
    """What is replaced here, all threads see: those of a job ask about several files at once.

    Attributes:
        lock: held by the thread whose turn it is; a forked process has one of its own, since no
            other thread is there to release it.
    """

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = threading.RLock()


_turns = _Turns()


class _Host:
    """Triton's driver for this machine's processor, made where something asks for it."""

    runs_here = True  # packages count the drivers that are active when they are imported

    def __getattr__(self, name: str) -> Any:
        return getattr(_host_driver(), name)


@functools.cache
def _host_driver() -> RVVDriver:
    return RVVDriver("host")


@contextlib.contextmanager
def asked_for_device() -> Iterator[None]:
    """Within the block, a program that asks Triton for a device hears of this processor, unless
    Triton knows of a GPU; one that asks torch whether there is Triton, that there is.
    """
    with _turns.lock, contextlib.ExitStack() as replaced:
        try:
            _ = driver.active
        except RuntimeError:
            replaced.enter_context(_on_host())
        else:
            replaced.enter_context(_replaced(_triton, "has_triton", lambda: True))
        yield


@contextlib.contextmanager
def other_kernels_run() -> Iterator[None]:
    """Within the block, launched kernels run where torch makes its tensors.

    On the CPU they run on this machine's processor, those under `triton.autotune` with their first
    configuration, since measuring would take long. Tensors without contents need none to run.
    """
    where = torch.get_default_device().type
    if where == "cuda":
        yield
        return
    with _turns.lock, contextlib.ExitStack() as replaced:
        replaced.enter_context(_on_host())
        for tuner in _autotuners():
            replaced.enter_context(_replaced(tuner, "run", _run_first))
        if where == "meta":
            replaced.enter_context(_replaced(JITFunction, "run", _run_nothing))
        yield


def _autotuners() -> list[Any]:
    """Triton's, and those of packages that derive from it and have a `run` of their own."""
    found: list[Any] = [Autotuner]
    for kind in found:  # which grows by the classes below
        found += [below for below in kind.__subclasses__() if below not in found]
    return [kind for kind in found if "run" in vars(kind)]


def _run_first(self: Any, *arguments: Any, **named: Any) -> Any:
    """`Autotuner.run` without measuring."""
    self.nargs = dict(zip(self.arg_names, arguments, strict=False))
    first = self.prune_configs(named)[0]
    if first.pre_hook is not None:
        first.pre_hook({**self.nargs, **named, **first.all_kwargs()})
    self.nargs = None
    return self.fn.run(*arguments, **named, **first.all_kwargs())


def _run_nothing(self: Any, *arguments: Any, **named: Any) -> None:
    """`JITFunction.run` of tensors that hold nothing."""


@contextlib.contextmanager
def _on_host() -> Iterator[None]:
    """Within the block, Triton's device is this processor, and torch says that there is Triton."""
    with _active(_Host()), _replaced(_triton, "has_triton", lambda: True):
        yield


@contextlib.contextmanager
def _active(chosen: Any) -> Iterator[None]:
    before = driver._active
    driver.set_active(chosen)
    try:
        yield
    finally:
        driver._active = before


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
