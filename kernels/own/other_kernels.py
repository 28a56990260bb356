"""What a user's functions find where they ask Triton for a device, or launch other kernels."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from triton_rvv.driver import RVVDriver

__all__ = ["asked_for_device", "other_kernels_run"]


class _Host:
    """Triton's driver for this machine's processor, made where something asks for it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_host_driver(), name)


@functools.cache
def _host_driver() -> RVVDriver:
    return RVVDriver("host")


@contextlib.contextmanager
def asked_for_device() -> Iterator[None]:
    """Within the block, a program that asks Triton for a device hears of this processor, unless
    Triton knows of a GPU.
    """
    try:
        _ = driver.active
    except RuntimeError:
        with _active(_Host()):
            yield
    else:
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
    with _active(_Host()), _replaced(Autotuner, _run_first):
        if where == "meta":
            with _replaced(JITFunction, _run_nothing):
                yield
        else:
            yield


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
def _active(chosen: Any) -> Iterator[None]:
    before = driver._active
    driver.set_active(chosen)
    try:
        yield
    finally:
        driver._active = before


@contextlib.contextmanager
def _replaced(kind: Any, run: Any) -> Iterator[None]:
    before = kind.run
    kind.run = run
    try:
        yield
    finally:
        kind.run = before
