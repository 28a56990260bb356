"""A Triton back end for RISC-V Vector and this machine: kernels to objects and executables."""

from triton_rvv.activation import activate
from triton_rvv.errors import CompileError, DeviceAssertionError
from triton_rvv.runtime.workers import num_threads, set_num_threads
from triton_rvv.targets.target import SUPPORTED_VLEN_BITS, RVVTarget

__all__ = [
    "SUPPORTED_VLEN_BITS",
    "CompileError",
    "DeviceAssertionError",
    "RVVTarget",
    "activate",
    "compile_kernel",
    "num_threads",
    "set_num_threads",
]


def __getattr__(name: str) -> object:
    # Triton imports this package while it is being imported itself, before its compiler is there.
    if name == "compile_kernel":
        from triton_rvv.pipeline import compile_kernel

        return compile_kernel
    raise AttributeError(f"module {__name__} has no attribute {name}")
