"""This machine's processor as the device that Triton's runtime and its measuring ask about."""

from __future__ import annotations

import time
from typing import Any

from triton_rvv.host_caches import cache_bytes
from triton_rvv.host_loader import load_object
from triton_rvv.host_target import host_target
from triton_rvv.workers import num_threads

__all__ = ["NO_LIMIT", "HostDevice", "HostUtils", "cache_filler"]

# Of a large machine's last-level cache, where the system does not tell its size.
_GUESSED_CACHE_BYTES = 32 << 20

# Triton refuses kernels that need more than a device has of these; here nothing runs short.
NO_LIMIT = 1 << 30


class HostEvent:
    """A moment, as `torch.cuda.Event` is one; kernels have ended by the time they return."""

    def __init__(self, enable_timing: bool = True) -> None:
        self._time_s = 0.0

    def record(self, stream: object = None) -> None:
        """Remember now."""
        self._time_s = time.perf_counter()

    def synchronize(self) -> None:
        """Nothing is under way."""

    def elapsed_time(self, end: HostEvent) -> float:
        """Milliseconds from this moment to `end`."""
        return (end._time_s - self._time_s) * 1e3


class HostDevice:
    """The part of `torch.cuda` that Triton's own measuring uses."""

    Event = HostEvent

    @staticmethod
    def synchronize(device: object = None) -> None:
        """Nothing is under way."""


class HostUtils:
    """What Triton's runtime asks of a device."""

    def load_binary(
        self, name: str, kernel: bytes, shared_bytes: int, device: int
    ) -> tuple[Any, Any, int, None, int]:
        """Load an object file.

        Returns:
            The kernel as a module and as a function, the registers that a program may use, nothing
            for the registers that it spills, which are not counted, and a limit that none reaches.
        """
        loaded = load_object(kernel)
        return loaded, loaded, host_target().vector_registers, None, NO_LIMIT

    def get_device_properties(self, device: int) -> dict[str, Any]:
        """The properties that kernels' callers derive grids from, under their names for GPUs."""
        return {
            "multiprocessor_count": num_threads(),
            "max_num_regs": host_target().vector_registers,
            "max_shared_mem": NO_LIMIT,
            "warpSize": 1,
        }


def cache_filler() -> Any:
    """An array twice the size of the last-level cache."""
    import torch

    return torch.empty(2 * (cache_bytes(3) or _GUESSED_CACHE_BYTES), dtype=torch.uint8)
