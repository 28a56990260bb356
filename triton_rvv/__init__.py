"""A Triton back end for RISC-V Vector: kernels to objects and static executables."""

from triton_rvv.errors import CompileError
from triton_rvv.target import SUPPORTED_VLEN_BITS, RVVTarget

__all__ = ["SUPPORTED_VLEN_BITS", "CompileError", "RVVTarget", "compile_kernel"]


def __getattr__(name: str) -> object:
    # Triton imports this package while it is being imported itself, before its compiler is there.
    if name == "compile_kernel":
        from triton_rvv.pipeline import compile_kernel

        return compile_kernel
    raise AttributeError(f"module {__name__} has no attribute {name}")
