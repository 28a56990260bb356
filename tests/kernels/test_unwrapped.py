"""Kernels under decorators of Triton and of packages, in any order."""

from __future__ import annotations

import functools

import pytest
import triton
import triton.language as tl
from triton.runtime import KernelInterface

from kernels.unwrapped import is_launched, unwrapped


@triton.jit
def plain(x_ptr, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


class Entry(KernelInterface):
    """Keeps the kernel under two names, and the decorators under one."""

    def __init__(self, fn):
        self.cache = {"plain": object()}
        self.jit_function = plain
        self.fn = fn


class Renamed:
    """Keeps it under a name of its own, and has its own launch."""

    def __init__(self, inner):
        self.arg_names = plain.arg_names
        self.kept = inner

    def __getitem__(self, grid):
        return functools.partial(self.kept.run, grid=grid)


class Tuner(triton.runtime.Autotuner):
    """A tuner of a package."""


def tuned(inner):
    return Tuner(inner, plain.arg_names, [triton.Config({"BLOCK": 16})], [], None, None)


heuristic = triton.heuristics({"EVEN": lambda args: True})
autotuned = triton.autotune([triton.Config({"BLOCK": 32})], key=["n"])


@pytest.mark.parametrize(
    "decorators",
    [
        (),
        (autotuned, heuristic),
        (heuristic, autotuned),
        (Entry, tuned, heuristic),
        (Renamed, Entry, tuned),
        (heuristic, Renamed),
    ],
)
def test_decorators_are_seen_through(decorators):
    launched = plain
    for decorator in reversed(decorators):
        launched = decorator(launched)
    found = unwrapped(launched)
    assert found.function is plain
    assert len(found.decorators) == len(decorators)
    assert is_launched(launched)


@pytest.mark.parametrize("value", [3, "plain", {"fn": plain}, [plain], tl, Entry, len, tl.load])
def test_what_is_no_kernel(value):
    assert not is_launched(value)
    with pytest.raises(TypeError, match="no kernel"):
        unwrapped(value)
