"""Element types, reproducible contents, and arguments made from torch tensors."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch

from foundation.torch_types import TORCH_TYPES
from launchers.arguments import STORAGE_TYPES, Argument, Described

__all__ = [
    "EXACT",
    "TORCH_TYPES",
    "Tolerance",
    "current_data_set",
    "data_set",
    "described",
    "for_gpu",
    "input_array",
    "numpy_array",
    "output_array",
    "seeded_integers",
    "seeded_normal",
    "size_bytes",
    "sizes",
    "tolerance_of_sum",
    "types_alone",
    "unit_roundoff",
    "want_types_alone",
]

_TRITON_NAMES = {torch_type: name for name, torch_type in TORCH_TYPES.items()}


@dataclass(frozen=True)
class Tolerance:
    """An output is correct if |output - expected| <= atol + rtol * |expected|."""

    atol: float = 0.0
    rtol: float = 0.0


EXACT = Tolerance()

_SUMMED_AT_ONCE = 16  # products, by a GPU's matrix unit

# Contents that stay in a GPU's memory until its process ends: at most 1 GiB of 16-bit numbers, 2 of
# 32-bit ones and 4 of integers.
_MOST_KEPT, _MOST_KEPT_ELEMENTS = 16, 1 << 25


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


_types_alone: ContextVar[bool] = ContextVar("types_alone", default=False)


@contextlib.contextmanager
def types_alone() -> Iterator[None]:
    """Within the block, arguments need no contents, so a user's reference is not run."""
    token = _types_alone.set(True)
    try:
        yield
    finally:
        _types_alone.reset(token)


def want_types_alone() -> bool:
    """Whether arguments are made within `types_alone`."""
    return _types_alone.get()


def seeded_normal(shape: tuple[int, ...], seed: int, dtype: str = "fp32") -> torch.Tensor:
    """Unit normals rounded to `dtype`; a seed gives the same values on every machine.

    The timed runs have other values than the check before them. They are on torch's default device.
    """
    if _is_meta():
        return torch.empty(shape, dtype=TORCH_TYPES[dtype])
    return _contents(_normal, shape, seed, dtype)


def seeded_integers(shape: tuple[int, ...], seed: int, low: int, high: int) -> torch.Tensor:
    """int64 values from `low` to `high` inclusive; otherwise like `seeded_normal`."""
    if _is_meta():
        return torch.empty(shape, dtype=torch.int64)
    return _contents(_integers, shape, seed, low, high)


def _contents(draw: Any, shape: tuple[int, ...], *names: object) -> torch.Tensor:
    """What `draw` gives. A GPU keeps it, since the processor takes long to draw it.

    Problems and configurations share contents: one factor serves several numbers of rows, say.
    """
    number, device = current_data_set(), torch.get_default_device()
    if device.type != "cuda" or math.prod(shape) > _MOST_KEPT_ELEMENTS:
        return cast(torch.Tensor, draw.__wrapped__(shape, *names, number, device))
    return cast(torch.Tensor, draw(shape, *names, number, device)).clone()


@functools.lru_cache(maxsize=_MOST_KEPT)
def _normal(
    shape: tuple[int, ...], seed: int, dtype: str, number: int, device: torch.device
) -> torch.Tensor:
    values = _generator(seed, number).standard_normal(shape, dtype=np.float32)
    return torch.from_numpy(values).to(device).to(TORCH_TYPES[dtype])


@functools.lru_cache(maxsize=_MOST_KEPT)
def _integers(
    shape: tuple[int, ...], seed: int, low: int, high: int, number: int, device: torch.device
) -> torch.Tensor:
    values = _generator(seed, number).integers(low, high, shape, endpoint=True)
    return torch.from_numpy(values).to(device)


def _generator(seed: int, number: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64([number, seed] if number else seed))


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


def described(array: Argument, name: str) -> Argument:
    """A contiguous input that the kernel gets as a tensor descriptor of this name."""
    contents = np.asarray(array.value)
    strides = (math.prod(contents.shape[axis + 1 :]) for axis in range(contents.ndim))
    return replace(array, name=name, described=Described(contents.shape, tuple(strides)))


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
