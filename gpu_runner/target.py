"""What code for a GPU is made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["GpuBackend", "GpuTarget"]

# The kinds of GPUs, by the names that Triton and torch know them by.
GpuBackend = Literal["cuda", "hip"]


@dataclass(frozen=True)
class GpuTarget:
    """A GPU, as a compiler sees it.

    Args:
        backend: "cuda" for NVIDIA's, "hip" for AMD's.
        arch: as its compiler names it: "sm_90", "gfx942".
        warp_threads: threads of a warp or wavefront.
    """

    backend: GpuBackend
    arch: str
    warp_threads: int

    @property
    def triton(self) -> Any:
        """The same as Triton describes it: the compute capability of NVIDIA's is a number."""
        from triton.backends.compiler import GPUTarget

        arch = int(self.arch.removeprefix("sm_")) if self.backend == "cuda" else self.arch
        return GPUTarget(self.backend, arch, self.warp_threads)

    @property
    def binary_suffix(self) -> str:
        """Of the files with its machine code."""
        return ".cubin" if self.backend == "cuda" else ".hsaco"

    def __str__(self) -> str:
        return f"{self.backend}-{self.arch}"
