"""What a GPU's vendor takes for the same work, timed as kernels are: torch's own functions."""

from __future__ import annotations

from collections.abc import Callable

import torch

from gpu_runner.conditions import GpuWatch
from gpu_runner.timing import Timer

__all__ = ["scaled_product_s", "time_s"]

_REPEATS = 5
_SCALED = 128


def scaled_product_s(m: int, n: int, k: int) -> float | None:
    """Seconds of torch's product of fp8 with scales for blocks; None if this torch has none."""
    a = _half(m, k).to(torch.float8_e4m3fn)
    b = _half(n, k).to(torch.float8_e4m3fn).t()
    blocks = k // _SCALED
    scale_a = torch.ones(blocks, m, device="cuda").t()
    scale_b = torch.ones(n // _SCALED, blocks, device="cuda").t()
    try:
        return time_s(lambda: torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.bfloat16))
    except (RuntimeError, ValueError) as error:
        print(f"torch._scaled_mm with blocks: {str(error).splitlines()[0]}")
        return None


def _half(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, device="cuda", dtype=torch.float16)


def time_s(launch: Callable[[], object]) -> float:
    """Seconds of one launch."""
    timer = Timer("cold", torch.cuda.get_device_properties(0).L2_cache_size)
    times = timer.times_s(lambda: void(launch), lambda: None, _REPEATS, GpuWatch(0))
    return sorted(times)[_REPEATS // 2]


def void(launch: Callable[[], object]) -> None:
    """Launch, and drop what is returned."""
    launch()
