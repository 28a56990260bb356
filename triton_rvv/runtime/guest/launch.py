"""What Triton calls to load kernels for an emulated core, and to run them there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_rvv.runtime.guest.process import run_guest
from triton_rvv.runtime.guest.program import linked_program
from triton_rvv.runtime.host_device import NO_LIMIT, HostUtils
from triton_rvv.runtime.host_launch import HostLauncher
from triton_rvv.targets.target import RVVTarget
from triton_rvv.targets.target_names import called_target

__all__ = ["GuestLauncher", "GuestUtils"]


@dataclass(frozen=True)
class GuestKernel:
    """A kernel that is ready to run.

    Args:
        program: the executable for QEMU.
        target: what it is compiled for.
    """

    program: Path
    target: RVVTarget


class GuestLauncher(HostLauncher):
    """Packs arguments as for this process, since a kernel sees its addresses in QEMU too."""

    def __init__(self, source: Any, metadata: Any) -> None:
        super().__init__(source, metadata)
        target = called_target(metadata.target)
        assert isinstance(target, RVVTarget)
        self._target = target

    def _load(self, compiled: bytes) -> Any:
        return GuestKernel(linked_program(compiled), self._target)

    def _run(self, kernel: Any, slots: bytes, grid: tuple[int, int, int]) -> None:
        run_guest(kernel.program, kernel.target, slots, grid)


class GuestUtils(HostUtils):
    """What Triton's runtime asks of the emulated core."""

    def __init__(self, target: RVVTarget) -> None:
        self._target = target

    def load_binary(
        self, name: str, kernel: bytes, shared_bytes: int, device: str
    ) -> tuple[Any, Any, int, None, int]:
        loaded = GuestKernel(linked_program(kernel), self._target)
        return loaded, loaded, self._target.vector_registers, None, NO_LIMIT
