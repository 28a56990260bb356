"""Bounds of the arguments of a call, and the error where a kernel reached beyond them."""

from __future__ import annotations

import contextlib
import math
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from triton.runtime.jit import TensorWrapper

from triton_rvv.errors import OutOfBoundsError
from triton_rvv.lowering.memory.bounds import FIRST_RANGE

__all__ = ["BoundsTable", "ended_after"]

_LAST = (1 << 64) - 1
_LATE = 2  # in the first word of the table: the kernel was told to leave


class _Thread(threading.local):
    """How long a call of this thread may take."""

    limit_s = math.inf


_thread = _Thread()


@contextlib.contextmanager
def ended_after(limit_s: float) -> Iterator[None]:
    """Within the block, end kernels that check their accesses and take longer than this.

    They leave at their next access, and raise a TimeoutError.
    """
    before, _thread.limit_s = _thread.limit_s, limit_s
    try:
        yield
    finally:
        _thread.limit_s = before


class BoundsTable:
    """The table that `triton_rvv.lowering.memory.bounds` describes, for one call.

    Args:
        arguments: of the compiled function, tensors and numbers.
    """

    def __init__(self, arguments: Iterable[Any]) -> None:
        words = [0] * FIRST_RANGE
        for argument in arguments:
            start, end = _extent(argument)
            words += [start, end]
        self._words = array("Q", words)

    @property
    def address(self) -> int:
        """Where it lies."""
        return self._words.buffer_info()[0]

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Within the block, end the call when its time is over, if that is limited."""
        if math.isinf(_thread.limit_s):
            yield
            return
        timer = threading.Timer(_thread.limit_s, self._end)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self) -> None:
        if not self._words[0]:
            self._words[0] = _LATE

    def raise_astray(self, accesses: Sequence[tuple[str, Sequence[int]]], names: list[str]) -> None:
        """Report what the kernel has found.

        Args:
            accesses: the kernel's: what each is, and the arguments that it may belong to.
            names: of the arguments.

        Raises:
            OutOfBoundsError: where an access was outside of its argument's memory.
            TimeoutError: where the call was ended.
        """
        found, number, address, *program_id = self._words[:FIRST_RANGE]
        if not found:
            return
        if found == _LATE:
            raise TimeoutError("the kernel took too long")
        text, arguments = accesses[number]
        ends = {argument: self._range(argument) for argument in arguments}
        nearest = min(ends, key=lambda argument: _distance(address, *ends[argument]))
        start, end = ends[nearest]
        raise OutOfBoundsError(
            f"{text} at byte {address - start} of {names[nearest]}, which has {end - start} bytes, "
            f"in program {tuple(program_id)}"
        )

    def _range(self, argument: int) -> tuple[int, int]:
        place = FIRST_RANGE + 2 * argument
        return self._words[place], self._words[place + 1]


def _distance(address: int, start: int, end: int) -> int:
    return max(start - address, address - end, 0)


def _extent(argument: Any) -> tuple[int, int]:
    """The first address of the memory that a tensor is a part of, and the one after the last.

    Kernels may reach beyond a view of a tensor, but not beyond its storage. Of what has no storage,
    such as an address, nothing is known.
    """
    tensor = argument.base if isinstance(argument, TensorWrapper) else argument
    try:
        storage = tensor.untyped_storage()
    except AttributeError:
        return 0, _LAST
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
