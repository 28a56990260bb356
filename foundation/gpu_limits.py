"""What is known of a GPU before anything runs on it: what a configuration may take of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["GpuLimits", "gpu_kind"]


@dataclass(frozen=True)
class GpuLimits:
    """The limits of a GPU that search spaces prune by.

    Args:
        arch: as its compiler names it: "sm_90", "gfx942".
        name: as its driver names it: "NVIDIA H200".
        multiprocessors: streaming multiprocessors, or compute units on AMD's GPUs.
        warp_threads: threads of a warp, or of a wavefront.
        shared_bytes: most shared memory that one program can have.
        registers: 32-bit registers of a multiprocessor.
        registers_per_thread: most that one thread can have.
        threads_per_program: most threads of one program.
        memory_bytes: of the GPU; 0 if unknown, as in what earlier versions stored.
    """

    arch: str
    name: str
    multiprocessors: int
    warp_threads: int
    shared_bytes: int
    registers: int
    registers_per_thread: int
    threads_per_program: int
    memory_bytes: int = 0

    @property
    def is_amd(self) -> bool:
        """Whether it is one of AMD's, which have options of their own."""
        return self.arch.startswith("gfx")


def gpu_kind(name: str) -> str:
    """The kind of board that a GPU is, from its name: "nvidia-h200" for "NVIDIA H200"."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
