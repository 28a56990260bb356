"""This machine as `torch.cuda` is a device: what programs ask about where their kernels run."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from triton_rvv.runtime.philox_state import HostGenerators
from triton_rvv.runtime.workers import num_threads
from triton_rvv.targets.host_caches import cache_bytes

__all__ = ["GUESSED_CACHE_BYTES", "HostDevice", "HostEvent", "HostStream", "extend_torch_cpu"]

# Of a large machine's last-level cache, where the system does not tell its size.
GUESSED_CACHE_BYTES = 32 << 20


class HostEvent:
    """A moment, as `torch.cuda.Event` is one; kernels have ended by the time they return."""

    def __init__(self, enable_timing: bool = True, **_: object) -> None:
        self._time_s = 0.0

    def record(self, stream: object = None) -> None:
        """Remember now."""
        self._time_s = time.perf_counter()

    def synchronize(self) -> None:
        """Nothing is under way."""

    def wait(self, stream: object = None) -> None:
        """Nothing is under way."""

    def query(self) -> bool:
        """Whether all that was started before has ended: always."""
        return True

    def elapsed_time(self, end: HostEvent) -> float:
        """Milliseconds from this moment to `end`."""
        return (end._time_s - self._time_s) * 1e3


class HostStream:
    """An order of kernels, as `torch.cuda.Stream` is one; there is only one, and it is empty."""

    cuda_stream = 0

    def __init__(self, device: object = None, **_: object) -> None:
        pass

    def synchronize(self) -> None:
        """Nothing is under way."""

    def wait_stream(self, stream: object) -> None:
        """Nothing is under way."""

    def wait_event(self, event: object) -> None:
        """Nothing is under way."""

    def record_event(self, event: HostEvent | None = None) -> HostEvent:
        """The moment at which all that was started has ended: now."""
        event = HostEvent() if event is None else event
        event.record()
        return event


@dataclass(frozen=True)
class HostProperties:
    """What `torch.cuda.get_device_properties` tells of a device, where this machine has it.

    Programs choose grids and block sizes by these. Sizes are in bytes.
    """

    name: str
    multi_processor_count: int
    total_memory: int
    L2_cache_size: int
    major: int = 0
    minor: int = 0
    warp_size: int = 32

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"kernels run on this machine's processor, which has no {name!r}")


class HostDevice:
    """The part of `torch.cuda` that Triton's own measuring and programs with kernels use.

    A device is given as torch gives it (a number, a name, a `torch.device`, or nothing); there is
    only one, so it makes no difference.
    """

    Event = HostEvent
    Stream = HostStream
    default_generators = HostGenerators()

    @staticmethod
    def is_available() -> bool:
        """Kernels run here."""
        return True

    @staticmethod
    def device_count() -> int:
        """This machine is one device, whatever its number of cores."""
        return 1

    @staticmethod
    def current_device() -> int:
        """The number of the only device."""
        return 0

    @staticmethod
    def set_device(device: object) -> None:
        """Nothing to choose from."""

    @staticmethod
    def synchronize(device: object = None) -> None:
        """Nothing is under way."""

    @staticmethod
    def empty_cache() -> None:
        """Memory is not kept."""

    @staticmethod
    @contextlib.contextmanager
    def device(device: object) -> Iterator[None]:
        """Nothing to choose from."""
        yield

    @staticmethod
    @contextlib.contextmanager
    def stream(stream: object) -> Iterator[None]:
        """Nothing to choose from."""
        yield

    @staticmethod
    def current_stream(device: object = None) -> HostStream:
        """The only stream."""
        return HostStream()

    @staticmethod
    def is_current_stream_capturing() -> bool:
        """Nothing is recorded to be played again."""
        return False

    @staticmethod
    def get_device_name(device: object = None) -> str:
        """LLVM's name of the processor."""
        from triton_rvv.targets.host_target import host_target

        return host_target().cpu

    @staticmethod
    def get_device_capability(device: object = None) -> tuple[int, int]:
        """Below that of every NVIDIA GPU, whose abilities are asked for by it."""
        return 0, 0

    @staticmethod
    def get_device_properties(device: object = None) -> HostProperties:
        """Name, threads as multiprocessors, memory and last-level cache of this machine."""
        return HostProperties(
            name=HostDevice.get_device_name(),
            multi_processor_count=num_threads(),
            total_memory=_memory_bytes("SC_PHYS_PAGES"),
            L2_cache_size=cache_bytes(3) or cache_bytes(2) or GUESSED_CACHE_BYTES,
        )

    @staticmethod
    def mem_get_info(device: object = None) -> tuple[int, int]:
        """Bytes of memory that are free, and that there are."""
        return _memory_bytes("SC_AVPHYS_PAGES"), _memory_bytes("SC_PHYS_PAGES")


def extend_torch_cpu() -> None:
    """Give `torch.cpu` what `torch.cuda` has and it lacks.

    Programs write `getattr(torch, tensor.device.type).get_device_properties(...)`. What torch has
    of its own stays.
    """
    import torch

    for name in vars(HostDevice):
        if not name.startswith("_") and not hasattr(torch.cpu, name):
            setattr(torch.cpu, name, getattr(HostDevice, name))


def _memory_bytes(pages: str) -> int:
    return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
