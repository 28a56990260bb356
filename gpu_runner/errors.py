"""What goes wrong between a kernel and a GPU's machine code."""

__all__ = ["GpuCompileError"]


class GpuCompileError(Exception):
    """The kernel cannot be compiled with these values; the message is one sentence."""
