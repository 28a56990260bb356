"""Triton's driver protocol: which device runs a kernel that is called from Python."""

from __future__ import annotations

from typing import Any

from triton.backends.driver import DriverBase

__all__ = ["RVVDriver"]


class RVVDriver(DriverBase):  # type: ignore[misc] # Triton ships no types
    """Never the active driver: RISC-V code is compiled here and runs on a board."""

    @classmethod
    def is_active(cls) -> bool:
        """Whether kernels called from this process should use this driver."""
        return False

    def map_python_to_cpp_type(self, ty: str) -> str:
        """The C type that holds a value of Triton's type `ty`."""
        return "void*" if ty.startswith("*") else {"fp32": "float", "fp64": "double"}.get(ty, ty)

    def get_current_target(self) -> Any:
        """Not for this driver.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(_NOT_HERE)

    def get_active_torch_device(self) -> Any:
        """Not for this driver.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(_NOT_HERE)

    def get_benchmarker(self) -> Any:
        """Not for this driver.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(_NOT_HERE)


_NOT_HERE = (
    "RISC-V kernels run on a board, not in this process: "
    "compile with triton_rvv.compile_kernel and measure with engine.measure"
)
