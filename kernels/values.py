"""Element types, reproducible contents, and arguments made from torch tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from launchers.arguments import STORAGE_TYPES, Argument

__all__ = [
    "EXACT",
    "TORCH_TYPES",
    "Tolerance",
    "current_data_set",
    "data_set",
    "for_gpu",
    "input_array",
    "numpy_array",
    "output_array",
    "seeded_integers",
    "seeded_normal",
    "size_bytes",
    "sizes",
    "tolerance_of_sum",
    "unit_roundoff",
]

# Triton's names of element types, and torch's types.
TORCH_TYPES: dict[str, torch.dtype] = {
    "i1": torch.bool,
    "i8": torch.int8,
    "u8": torch.uint8,
    "i16": torch.int16,
    "u16": torch.uint16,
    "i32": torch.int32,
    "u32": torch.uint32,
    "i64": torch.int64,
    "u64": torch.uint64,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
}
_TRITON_NAMES = {torch_type: name for name, torch_type in TORCH_TYPES.items()}


@dataclass(frozen=True)
class Tolerance:
    """An output is correct if |output - expected| <= atol + rtol * |expected|."""

    atol: float = 0.0
    rtol: float = 0.0


EXACT = Tolerance()

_SUMMED_AT_ONCE = 16  # products, by a GPU's matrix unit


def size_bytes(dtype: str) -> int:
    """Size of an element of Triton's type `dtype` in memory."""
    return np.dtype(STORAGE_TYPES[dtype]).itemsize


def unit_roundoff(dtype: str) -> float:
    """The largest relative error of rounding a normal number to a floating-point type."""
    return torch.finfo(TORCH_TYPES[dtype]).eps / 2


def tolerance_of_sum(dtype: str, terms: int, factors: str | None = None) -> Tolerance:
    """Tolerance for the rounding errors in sums of products of unit normals, accumulated in fp32.

    The errors grow with the square root of the number of terms, and sums near zero have no relative
    accuracy (N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, 4.2). Kernel
    and reference each round the sum to `dtype` once; integers are exact.

    A GPU's matrix unit adds 16 products of 16-bit numbers at a time to a sum in fp32 whose last
    bits it drops, and does not round (M. Fasi, N. Higham, M. Mikaitis and S. Pranesh, "Numerical
    behavior of NVIDIA tensor cores", PeerJ Computer Science 2021). These errors have one sign, so
    they add up.

    Args:
        dtype: of the stored sums.
        terms: products in each sum.
        factors: element type of the factors; None for that of the sums.
    """
    if not TORCH_TYPES[dtype].is_floating_point:
        return EXACT
    size = terms**0.5
    atol, rtol = 4e-6 * size, max(1e-5, 2 * unit_roundoff(dtype))
    if for_gpu() and (factors or dtype) in ("fp16", "bf16"):
        dropped = torch.finfo(torch.float32).eps * terms / _SUMMED_AT_ONCE
        atol, rtol = max(atol, dropped * size), max(rtol, dropped)
    return Tolerance(atol=atol, rtol=rtol)


def for_gpu() -> bool:
    """Whether arguments are being made for a GPU, whose sums are less exact."""
    return bool(torch.get_default_device().type == "cuda")


_data_set: ContextVar[int] = ContextVar("data_set", default=0)


@contextlib.contextmanager
def data_set(number: int) -> Iterator[None]:
    """Within the block, seeds give the values of another data set.

    Args:
        number: 0 for the check before the timed runs, 1 for the timed runs.
    """
    token = _data_set.set(number)
    try:
        yield
    finally:
        _data_set.reset(token)


def current_data_set() -> int:
    """The number that `data_set` was called with, or 0."""
    return _data_set.get()


def _generator(seed: int) -> np.random.Generator:
    number = current_data_set()
    return np.random.Generator(np.random.PCG64([number, seed] if number else seed))


def seeded_normal(shape: tuple[int, ...], seed: int, dtype: str = "fp32") -> torch.Tensor:
    """Unit normals rounded to `dtype`; a seed gives the same values on every machine.

    The timed runs have other values than the check before them. They are on torch's default device.
    """
    if _is_meta():
        return torch.empty(shape, dtype=TORCH_TYPES[dtype])
    values = _generator(seed).standard_normal(shape, dtype=np.float32)
    return torch.from_numpy(values).to(torch.get_default_device()).to(TORCH_TYPES[dtype])


def seeded_integers(shape: tuple[int, ...], seed: int, low: int, high: int) -> torch.Tensor:
    """int64 values from `low` to `high` inclusive; otherwise like `seeded_normal`."""
    if _is_meta():
        return torch.empty(shape, dtype=torch.int64)
    values = torch.from_numpy(_generator(seed).integers(low, high, shape, endpoint=True))
    return values.to(torch.get_default_device())


def _is_meta() -> bool:
    """Whether only types and sizes are asked for: torch's tensors of this device hold nothing."""
    return torch.get_default_device().type == "meta"


def numpy_array(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """The tensor's values as a contiguous array, with the type in which `Argument` stores them."""
    stored = STORAGE_TYPES[_TRITON_NAMES[tensor.dtype]]
    if tensor.is_meta:
        return np.broadcast_to(np.zeros((), stored), tuple(tensor.shape))
    contiguous = tensor.contiguous().cpu()
    if tensor.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        bits = torch.uint16 if tensor.dtype == torch.bfloat16 else torch.uint8
        return contiguous.view(bits).numpy()
    return contiguous.numpy().astype(stored, copy=False)


def input_array(name: str, tensor: torch.Tensor) -> Argument:
    """A pointer argument that the kernel reads, with the tensor's type."""
    return Argument(name, f"*{_TRITON_NAMES[tensor.dtype]}", numpy_array(tensor))


def output_array(
    name: str,
    expected: torch.Tensor,
    tolerance: Tolerance = EXACT,
    *,
    start: torch.Tensor | None = None,
) -> Argument:
    """A pointer argument that the kernel writes, with the expected tensor's type.

    Args:
        name: the parameter's name.
        expected: its correct contents after a run.
        tolerance: how far an element may be from it.
        start: its contents before every run, for a kernel that adds to it; poison otherwise.
    """
    before = None if start is None else numpy_array(start)
    kind = f"*{_TRITON_NAMES[expected.dtype]}"
    atol, rtol = tolerance.atol, tolerance.rtol
    return Argument(name, kind, before, numpy_array(expected), atol=atol, rtol=rtol)


def sizes(**values: int) -> tuple[Argument, ...]:
    """Integer arguments such as sizes and strides, in the given order."""
    return tuple(Argument(name, "i32", value) for name, value in values.items())
