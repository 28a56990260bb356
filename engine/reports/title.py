"""A study's title in words: "GEMM 256x512x256, fp32, emulated X60, 50 trials"."""

from __future__ import annotations

from collections.abc import Sequence

from engine.results.units import counted
from foundation.shapes import Shape

__all__ = ["title"]

# What engineers call them.
_KNOWN_AS = {
    "matmul": "GEMM",
    "batched_matmul": "batched GEMM",
    "persistent_matmul": "persistent GEMM",
    "split_k_matmul": "split-K GEMM",
}


def title(kernel: str, shapes: Sequence[Shape], dtype: str, device: str, trials: int) -> str:
    """The title.

    Args:
        kernel, shapes, dtype, device: what the study is about.
        trials: how many configurations were tried.
    """
    name = _KNOWN_AS.get(kernel, kernel.replace("_", " "))
    sizes = "x".join(str(size) for size in shapes[0].values()) if len(shapes) == 1 else ""
    of_shapes = f" {sizes}" if sizes else f" at {len(shapes)} shapes"
    kind, _, core = device.partition(":")
    board = f"{kind} {core.upper()}" if kind == "emulated" and core else device
    return ", ".join((f"{name}{of_shapes}", dtype, board, counted(trials, "trial")))
