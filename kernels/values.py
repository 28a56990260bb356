"""Reproducible contents for the arguments of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

__all__ = ["numpy_array", "seeded_normal"]


def seeded_normal(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    """Unit normal float32 values; the same seed gives the same values on every machine."""
    values = np.random.Generator(np.random.PCG64(seed)).standard_normal(shape, dtype=np.float32)
    return torch.from_numpy(values)


def numpy_array(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """The tensor's values as a contiguous array."""
    return tensor.contiguous().numpy()
