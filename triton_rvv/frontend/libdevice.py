"""What `triton.language.extra.libdevice` is in a kernel: Triton's module for NVIDIA, and more.

The signatures are the same on every target; `triton_rvv.lowering.math.libdevice` knows the symbols.
"""

from __future__ import annotations

from triton.language.extra.cuda import libdevice

__all__ = ["fast_tanhf"]

# The only function that the language has, and NVIDIA's module lacks.
fast_tanhf = libdevice.tanh


def __getattr__(name: str) -> object:
    return getattr(libdevice, name)
