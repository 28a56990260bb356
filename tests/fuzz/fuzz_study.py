"""Compiles a kernel as a study does: right for one call's integers and grid alone."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest import mock

import triton

from triton_rvv import lowering

__all__ = ["for_one_call"]


@contextmanager
def for_one_call(arguments: Sequence[object], grid: Sequence[int]) -> Iterator[None]:
    """What Triton compiles meanwhile need only be right for these arguments and this grid.

    Args:
        arguments: what the kernel is called with.
        grid: programs along x, y and z.
    """
    # Triton makes a constant of each integer that is 1, and knows nothing of the values of others.
    passed = [value for value in arguments if type(value) is not int or value != 1]
    values = [value if type(value) is int else None for value in passed]
    lower = functools.partial(lowering.lower_module, values=values, grid=grid)
    with (
        mock.patch.object(lowering, "lower_module", lower),
        triton.knobs.cache.scope(),
        tempfile.TemporaryDirectory() as cache,
    ):
        # In Triton's own cache all calls are alike: another call would get what is made here.
        triton.knobs.cache.dir = cache
        yield
