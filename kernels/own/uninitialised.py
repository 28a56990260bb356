"""Fills tensors that a user's file leaves uninitialised, with another number in each data set."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["filled_uninitialised"]

_ATEN = torch.ops.aten
_UNINITIALISED = {
    _ATEN.empty,
    _ATEN.empty_like,
    _ATEN.empty_permuted,
    _ATEN.empty_strided,
    _ATEN.new_empty,
    _ATEN.new_empty_strided,
}


@contextlib.contextmanager
def filled_uninitialised(number: int) -> Iterator[None]:
    """Within the block, `torch.empty` and its like are filled.

    With 0, they hold infinity or the largest number; with 1, minus infinity or the smallest. So a
    kernel that reads such memory, or leaves an element of an output out, is wrong with one of them:
    a minimum with what is there is right with the first only, and a maximum with the second only.

    Args:
        number: 0 or 1.
    """
    with _Filling(number):
        yield


class _Filling(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's, without types
    def __init__(self, number: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's
        self._number = number

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Not by a wrapper around what is below, which would import the whole of `torch._dynamo`, a
        second or two of each process. Dynamo skips every frame within such a mode anyway.
        """
        return False

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        if function.overloadpacket in _UNINITIALISED:
            made.fill_(_extreme(made.dtype, self._number))
        return made


def _extreme(dtype: torch.dtype, number: int) -> float | int | bool:
    if dtype == torch.bool:
        return number == 0
    if dtype.is_complex:
        return math.inf if number == 0 else -math.inf
    if not dtype.is_floating_point:
        return torch.iinfo(dtype).max if number == 0 else torch.iinfo(dtype).min
    if dtype == torch.float8_e4m3fn:  # it has no infinity
        return torch.finfo(dtype).max if number == 0 else torch.finfo(dtype).min
    return math.inf if number == 0 else -math.inf
