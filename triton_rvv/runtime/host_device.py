"""This machine's processor as the device that Triton's runtime and its measuring ask about."""

from __future__ import annotations

from typing import Any

from triton_rvv.runtime.device_interface import GUESSED_CACHE_BYTES
from triton_rvv.runtime.host_loader import load_object
from triton_rvv.runtime.workers import num_threads
from triton_rvv.targets.host_caches import cache_bytes
from triton_rvv.targets.host_target import host_target

__all__ = ["NO_LIMIT", "HostUtils", "cache_filler"]

# Triton refuses kernels that need more than a device has of these; here nothing runs short.
NO_LIMIT = 1 << 30


class HostUtils:
    """What Triton's runtime asks of a device."""

    def load_binary(
        self, name: str, kernel: bytes, shared_bytes: int, device: str
    ) -> tuple[Any, Any, int, None, int]:
        """Load an object file.

        Returns:
            The kernel as a module and as a function, the registers that a program may use, nothing
            for the registers that it spills, which are not counted, and a limit that none reaches.
        """
        loaded = load_object(kernel)
        return loaded, loaded, host_target().vector_registers, None, NO_LIMIT

    def get_device_properties(self, device: str) -> dict[str, Any]:
        """The properties that kernels' callers derive grids from, under their names for GPUs."""
        return _Properties(
            multiprocessor_count=num_threads(),
            max_num_regs=NO_LIMIT,
            max_shared_mem=NO_LIMIT,
            warpSize=32,
        )


class _Properties(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        raise KeyError(f"{name}: kernels run on this machine's processor, which does not tell it")


def cache_filler() -> Any:
    """An array twice the size of the last-level cache."""
    import torch

    return torch.empty(2 * (cache_bytes(3) or GUESSED_CACHE_BYTES), dtype=torch.uint8)
