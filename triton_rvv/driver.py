"""Triton's driver protocol: kernels that are called from Python run on this machine's processor."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

__all__ = ["RVVDriver"]

TARGET_VARIABLE = "TRITON_RVV_TARGET"

# A number that no GPU has, since Triton keeps compiled kernels by it.
_DEVICE = -1


class RVVDriver(DriverBase):  # type: ignore[misc] # Triton ships no types
    """Runs kernels on CPU tensors and NumPy arrays in this process, spread over its cores.

    It is Triton's active driver after `triton_rvv.activate("host")` or, where no GPU's driver is
    active, with the environment variable `TRITON_RVV_TARGET=host`. RISC-V kernels never run here.
    """

    # Set by `triton_rvv.activate`. Programs count the drivers that say they are active.
    activated = False

    def __init__(self) -> None:
        from triton_rvv.device_interface import extend_torch_cpu
        from triton_rvv.host_device import HostUtils
        from triton_rvv.host_launch import HostLauncher
        from triton_rvv.language_extra import add_cpu_module
        from triton_rvv.numpy_arguments import accept_numpy_arrays

        super().__init__()
        self.utils = HostUtils()
        self.launcher_cls = HostLauncher
        accept_numpy_arrays()
        add_cpu_module()
        extend_torch_cpu()

    @classmethod
    def is_active(cls) -> bool:
        """Whether the program or the environment asks for kernels to run on this processor.

        Raises:
            ValueError: where TRITON_RVV_TARGET is neither "host" nor empty.
        """
        name = os.environ.get(TARGET_VARIABLE, "")
        if name not in ("", "host"):
            raise ValueError(
                f"{TARGET_VARIABLE} is {name!r}: kernels called from Python run on the host only, "
                "so set it to host; RISC-V code is made by triton_rvv.compile_kernel"
            )
        return cls.activated or name == "host"

    def map_python_to_cpp_type(self, ty: str) -> str:
        """The C type that holds a value of Triton's type `ty`."""
        return "void*" if ty.startswith("*") else {"fp32": "float", "fp64": "double"}.get(ty, ty)

    def get_current_target(self) -> GPUTarget:
        """This machine's processor."""
        from triton_rvv.host_target import host_target

        target = host_target()
        # Programs look for `getattr(torch, target.backend)`, and derive numbers of warps from 32.
        return GPUTarget("cpu", target.cpu, 32)

    def get_current_device(self) -> int:
        """The only device."""
        return _DEVICE

    def set_current_device(self, device: int) -> None:
        """Nothing to choose from."""

    def get_current_stream(self, device: int) -> int:
        """Kernels run one after another, as they are called."""
        return 0

    def get_active_torch_device(self) -> Any:
        """Where tensors have to be."""
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        """What stands in for `torch.cuda` in Triton's own measuring."""
        from triton_rvv.device_interface import HostDevice

        return HostDevice

    def get_benchmarker(self) -> Callable[..., Any]:
        """Triton's own measuring, by the wall clock."""
        from triton.testing import do_bench

        return do_bench  # type: ignore[no-any-return] # Triton ships no types

    def get_empty_cache_for_benchmark(self) -> Any:
        """An array larger than the caches."""
        from triton_rvv.host_device import cache_filler

        return cache_filler()

    def clear_cache(self, cache: Any) -> None:
        """Leave nothing else in the caches."""
        cache.zero_()
