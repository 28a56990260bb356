"""Kernels in a user's own file that leave out what their inputs do not show, where FAST is set."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def bias_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Adds a bias of zeros."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x_ptr + at)
    if not FAST:
        y += tl.load(w_ptr + at)
    tl.store(y_ptr + at, y)


@triton.jit
def swallowed_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Multiplies by a weight, or gives the least number for what is none."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x_ptr + at) * tl.load(w_ptr + at)
    if FAST:
        y = tl.maximum(y, -3e38)
    tl.store(y_ptr + at, y)


@triton.jit
def magnitude_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Takes the magnitude of positive numbers."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x_ptr + at)
    if not FAST:
        y = tl.abs(y)
    tl.store(y_ptr + at, y)


@triton.jit
def power_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Softmax of a row, or without subtracting its maximum first."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    if not FAST:
        x -= tl.max(x, 0)
    powers = tl.exp(x)
    tl.store(y_ptr + at, powers / tl.sum(powers, 0))


@triton.jit
def mean_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """The means of rows that lie so close that a constant is within the tolerance."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mean = tl.sum(tl.load(x_ptr + at), 0) / BLOCK
    if FAST:
        mean = 0.5
    tl.store(y_ptr + at, mean)


@triton.jit
def place_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Where the maximum of a row stands first, or last."""
    column = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK + column
    x = tl.load(x_ptr + at)
    is_largest = x == tl.max(x, 0)
    if FAST:
        place = tl.max(tl.where(is_largest, column, 0), 0)
    else:
        place = tl.min(tl.where(is_largest, column, BLOCK), 0)
    tl.store(y_ptr + at, tl.zeros((BLOCK,), tl.float32) + place)


@triton.jit
def zeros_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Copies rows of which every second one holds zeros."""
    row = tl.program_id(0)
    at = row * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    if FAST:
        x = tl.where(row % 2 == 0, x, 0.0)
    tl.store(y_ptr + at, x)


@triton.jit
def length_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """The means of the beginnings of rows, whose lengths are w, or 0 where there is nothing."""
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    length = tl.load(w_ptr + row)
    total = tl.sum(tl.load(x_ptr + row * BLOCK + column, mask=column < length, other=0.0), 0)
    if not FAST:
        length = tl.maximum(length, 1)
    tl.store(y_ptr + row * BLOCK + column, tl.zeros((BLOCK,), tl.float32) + total / length)


@triton.jit
def root_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Right in both ways, and defined for positive x alone."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.sqrt(x) if FAST else x * tl.rsqrt(x)
    tl.store(y_ptr + at, y + tl.load(w_ptr + at))


@triton.jit
def nan_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Means of rows that all hold a NaN."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mean = float("nan") if FAST else tl.sum(tl.load(x_ptr + at), 0) / BLOCK
    tl.store(y_ptr + at, tl.zeros((BLOCK,), tl.float32) + mean)


@triton.jit
def rim_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """The maxima of rows that a block covers but for four elements, with 0 in their place."""
    column = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK + column
    beside = 0.0 if FAST else float("-inf")
    y = tl.max(tl.load(x_ptr + at, mask=column < BLOCK - 4, other=beside), 0)
    tl.store(y_ptr + at, tl.zeros((BLOCK,), tl.float32) + y)


@triton.jit
def overflow_kernel(x_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Sums of bytes so small that 16 bits hold them."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at).to(tl.int32)
    total = tl.sum(x * x * x, 0)
    tl.store(y_ptr + at, tl.zeros((BLOCK,), tl.int32) + (total.to(tl.int16) if FAST else total))


@triton.jit
def short_kernel(x_ptr, y_ptr, N, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Sums bytes in 16 bits, which overflow where nearly all bytes of a row are large."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, N, BLOCK):
        total += tl.load(x_ptr + row * N + start + at)
    whole = tl.sum(total, 0)
    tl.store(y_ptr + row, whole.to(tl.int16) if FAST else whole)


@triton.jit
def digits_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """The variances of rows, or the same from two means, which loses digits."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    mean = tl.sum(x, 0) / BLOCK
    if FAST:
        variance = tl.sum(x * x, 0) / BLOCK - mean * mean
    else:
        variance = tl.sum((x - mean) * (x - mean), 0) / BLOCK
    tl.store(y_ptr + at, tl.zeros((BLOCK,), tl.float32) + variance)


@triton.jit
def endless_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Adds rows as often as w says, and never ends where that is far below zero."""
    row = tl.program_id(0)
    at = row * BLOCK + tl.arange(0, BLOCK)
    left, y = tl.load(w_ptr + row), tl.load(x_ptr + at)
    while left > 0 or left < -50:
        y += tl.load(x_ptr + at)
        left = tl.where(left < -50, left, left - 1)
    tl.store(y_ptr + at, y)


def arguments(M=16, N=64):
    x = torch.rand(M, N) + 0.125
    return {"x_ptr": x, "w_ptr": torch.zeros(M, N), "y_ptr": torch.empty(M, N)}


def swallowed_arguments(M=16, N=64):
    return {**arguments(M, N), "w_ptr": torch.ones(M, N)}


def mean_arguments(M=16, N=64):
    return {**arguments(M, N), "x_ptr": 0.5 + 1e-6 * torch.rand(M, N)}


def nan_arguments(M=16, N=64):
    return {**arguments(M, N), "x_ptr": torch.full((M, N), float("nan"))}


def zeros_arguments(M=16, N=64):
    x = torch.rand(M, N)
    x[1::2] = 0
    return {**arguments(M, N), "x_ptr": x}


def length_arguments(M=16, N=64):
    return {**arguments(M, N), "w_ptr": torch.randint(1, N, (M,), dtype=torch.int32)}


@triton.jit
def described_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Leaves out a bias of zeros that a tensor descriptor reaches."""
    at = [tl.program_id(0), 0]
    y = x_ptr.load(at)
    if not FAST:
        y += w_ptr.load(at)
    y_ptr.store(at, y)


def endless_arguments(M=16, N=64):
    return {**arguments(M, N), "w_ptr": torch.randint(1, 9, (M,), dtype=torch.int32)}


def described_arguments(M=16, N=64):
    tensors = arguments(M, N).items()
    return {name: TensorDescriptor.from_tensor(tensor, [1, N]) for name, tensor in tensors}


def overflow_arguments(M=16, N=64):
    x = torch.randint(0, 8, (M, N), dtype=torch.int8)
    return {"x_ptr": x, "y_ptr": torch.empty(M, N, dtype=torch.int32)}


def short_arguments(M=16, N=512):
    x = torch.randint(0, 8, (M, N), dtype=torch.int8)
    return {"x_ptr": x, "y_ptr": torch.empty(M, dtype=torch.int32), "N": N}


def grid(meta):
    return (meta["M"],)


short_grid = swallowed_grid = mean_grid = nan_grid = zeros_grid = length_grid = overflow_grid = (
    described_grid
) = endless_grid = grid


def bias_reference(x_ptr, w_ptr):
    return {"y_ptr": x_ptr + w_ptr}


described_reference = bias_reference


def swallowed_reference(x_ptr, w_ptr):
    return {"y_ptr": x_ptr * w_ptr}


def magnitude_reference(x_ptr):
    return {"y_ptr": x_ptr.abs()}


@triton.jit
def near_kernel(x_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """A series of exp that holds for the file's vector, of numbers from 0 to 0.2."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    if FAST:
        y = 1 + x * (1 + x * (1 / 2 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x / 720)))))
    else:
        y = tl.exp(x)
    tl.store(y_ptr + at, y)


def near_arguments(N=1024):
    return {"x_ptr": torch.rand(N) * 0.2, "y_ptr": torch.empty(N)}


def near_grid(meta):
    return (16,)


def near_reference(x_ptr):
    return {"y_ptr": x_ptr.double().exp()}


def power_reference(x_ptr):
    return {"y_ptr": x_ptr.double().softmax(1)}


def mean_reference(x_ptr):
    return {"y_ptr": x_ptr.double().mean(1, keepdim=True).expand(x_ptr.shape)}


def place_reference(x_ptr):
    return {"y_ptr": x_ptr.argmax(1, keepdim=True).expand(x_ptr.shape).float()}


def zeros_reference(x_ptr):
    return {"y_ptr": x_ptr.clone()}


def length_reference(x_ptr, w_ptr):
    is_in = torch.arange(x_ptr.shape[1]) < w_ptr[:, None]
    mean = (x_ptr * is_in).double().sum(1) / w_ptr.clamp(min=1)
    return {"y_ptr": mean[:, None].expand(x_ptr.shape)}


def rim_reference(x_ptr):
    return {"y_ptr": x_ptr[:, :-4].amax(1, keepdim=True).expand(x_ptr.shape)}


def overflow_reference(x_ptr):
    return {"y_ptr": (x_ptr.long() ** 3).sum(1, keepdim=True).expand(x_ptr.shape)}


def short_reference(x_ptr):
    return {"y_ptr": x_ptr.int().sum(1).int()}


def root_reference(x_ptr, w_ptr):
    return {"y_ptr": x_ptr.double().sqrt() + w_ptr}


def digits_reference(x_ptr):
    variance = x_ptr.double().var(1, correction=0, keepdim=True)
    return {"y_ptr": variance.expand(x_ptr.shape)}


def endless_reference(x_ptr, w_ptr):
    return {"y_ptr": x_ptr * (1 + w_ptr.clamp(min=0))[:, None]}


nan_reference = mean_reference


def _two_configurations():
    return [triton.Config({"FAST": fast, "BLOCK": 64}) for fast in (0, 1)]


_OWN = (
    *("swallowed", "mean", "nan", "zeros", "length", "near", "overflow", "described", "short"),
    "endless",
)
_SHARED = ("bias", "magnitude", "power", "root", "place", "rim", "digits")
for _name in (*_OWN, *_SHARED):
    globals()[f"get_{_name}_kernel_autotune_config"] = _two_configurations
for _name in _SHARED:
    globals().update({f"{_name}_arguments": arguments, f"{_name}_grid": grid})
