"""What a `tl.device_assert` that does not hold comes to in this process: its launch fails."""

from __future__ import annotations

import ctypes
from collections import deque

from triton_rvv.errors import DeviceAssertionError

__all__ = ["HANDLER_ADDRESS", "assertion_failed", "raise_failed_assertion"]

# The first is reported; the others, from programs that ran meanwhile, say the same.
_failed: deque[str] = deque(maxlen=1000)


def assertion_failed(message: bytes, pid_x: int, pid_y: int, pid_z: int) -> None:
    """Remember that an assertion did not hold in a program."""
    _failed.append(f"{message.decode()} in program ({pid_x}, {pid_y}, {pid_z})")


# `triton_rvv_assertion_failed` of launchers/kernel_abi.h, called on the threads that run kernels.
_PROTOTYPE = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32
)
_handler = _PROTOTYPE(assertion_failed)

HANDLER_ADDRESS: int = ctypes.cast(_handler, ctypes.c_void_p).value or 0


def raise_failed_assertion() -> None:
    """Report what kernels have come upon since the last call.

    Raises:
        DeviceAssertionError: where an assertion did not hold; its programs have ended early.
    """
    if _failed:
        first = _failed[0]
        _failed.clear()
        raise DeviceAssertionError(first)
