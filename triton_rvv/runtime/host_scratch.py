"""Memory for kernels in this process whose blocks are too large for a thread's stack."""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections import deque

__all__ = ["PROVIDER_ADDRESS", "raise_out_of_memory"]

_of_thread = threading.local()
# How much could not be had, since the last report.
_refused: deque[int] = deque(maxlen=1)


def _scratch(size_bytes: int) -> int | None:
    """The address of memory for the program that this thread runs; it is kept for the next one."""
    held: mmap.mmap | None = getattr(_of_thread, "held", None)
    if held is None or len(held) < size_bytes:
        try:
            held = mmap.mmap(-1, size_bytes)
        except OSError:
            _refused.append(size_bytes)
            return None
        _of_thread.held = held
        _of_thread.start = ctypes.addressof(ctypes.c_char.from_buffer(held))
    start: int = _of_thread.start
    return start


# `triton_rvv_scratch` of launchers/kernel_abi.h, called on the threads that run kernels.
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64)
_provider = _PROTOTYPE(_scratch)

PROVIDER_ADDRESS: int = ctypes.cast(_provider, ctypes.c_void_p).value or 0


def raise_out_of_memory() -> None:
    """Report programs that got no memory since the last call.

    Raises:
        MemoryError: where there were some; they have done nothing.
    """
    if _refused:
        size_bytes = _refused.pop()
        raise MemoryError(
            f"the kernel's blocks need {size_bytes >> 20} MiB of memory for each thread, more "
            "than is free: choose smaller block sizes or fewer threads"
        )
