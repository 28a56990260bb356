"""The line of a program, or of a package, that launches a kernel."""

from __future__ import annotations

import sys
from types import FrameType

from triton.runtime.jit import KernelInterface

__all__ = ["launching_line"]

_NEVER = ("triton.", "triton_rvv.", "torch._inductor.")


def launching_line() -> str:
    """The innermost line under way that is none of a launch itself, as "file:line"; "" for none.

    A launch is Triton's own, a decorator's around a kernel, or a watcher's.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _launches(frame):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _launches(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__") or ""
    if f"{module}.".startswith(_NEVER):
        return True
    names = frame.f_code.co_varnames[:1]
    return any(isinstance(frame.f_locals.get(name), KernelInterface) for name in names)
