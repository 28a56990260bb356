"""Rows and parts of rows that end within a run: the last one takes as many lanes as are left."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner

TYPES = (np.float32, np.int8, np.float64, np.int16)


def _numbers(size: int, dtype: type) -> npt.NDArray[Any]:
    return np.random.default_rng(size).integers(-100, 100, size).astype(dtype)


@triton.jit
def rolled_kernel(x_ptr, y_ptr, W, SHIFT, N, BLOCK: tl.constexpr):
    """Rows whose columns begin elsewhere, so that each has two parts."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = (at % W + SHIFT) % W
    tl.store(y_ptr + at, tl.load(x_ptr + at // W * W + column, mask=at < N), mask=at < N)


@pytest.mark.parametrize(
    ("height", "width", "shift", "dtype", "vlen_bits", "known"),
    in_turn(
        [(40, 9, 4), (11, 50, 49), (3, 170, 97)],
        [*zip(TYPES, (256, 512, 128, 256), strict=True)],
        [((),), (("W", "N"),)],
    ),
)
def test_parts_of_rows(
    run: KernelRunner,
    height: int,
    width: int,
    shift: int,
    dtype: type,
    vlen_bits: int,
    known: tuple[str, ...],
) -> None:
    x = _numbers(height * width, dtype).reshape(height, width)
    run(
        rolled_kernel,
        grid=(-(-x.size // 256),),
        vlen_bits=vlen_bits,
        known=known,
        x_ptr=x, y_ptr=Expected(np.roll(x, -shift, 1)), W=width, SHIFT=shift, N=x.size, BLOCK=256,
    )  # fmt: skip


@triton.jit
def doubled_kernel(x_ptr, bias_ptr, y_ptr, W, N, BLOCK: tl.constexpr):
    """Each element twice, so that two lines are read in turn, and one number for each row."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = at // (2 * W), at % (2 * W)
    x = tl.load(x_ptr + row * W + column // 2, mask=at < N)
    tl.store(y_ptr + at, x + tl.load(bias_ptr + row, mask=at < N), mask=at < N)


@pytest.mark.parametrize(
    ("height", "width", "dtype", "vlen_bits"),
    in_turn([(30, 5), (9, 25), (4, 77)], [*zip(TYPES, (256, 128, 512, 256), strict=True)], turns=2),
)
def test_lines_in_turn(
    run: KernelRunner, height: int, width: int, dtype: type, vlen_bits: int
) -> None:
    x, bias = _numbers(height * width, dtype).reshape(height, width), _numbers(height, dtype)
    y = (np.repeat(x, 2, 1) + bias[:, None]).astype(dtype)
    run(
        doubled_kernel,
        grid=(-(-y.size // 512),),
        vlen_bits=vlen_bits,
        known=("W",),
        x_ptr=x, bias_ptr=bias, y_ptr=Expected(y), W=width, N=y.size, BLOCK=512,
    )  # fmt: skip


@triton.jit
def strided_kernel(x_ptr, y_ptr, W, STRIDE, FIRST, N, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Every so many of the elements of each row, from its end on where the step is below 0."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = at // W, at % W
    place = row * STRIDE + FIRST + column * STEP
    tl.store(y_ptr + place, tl.load(x_ptr + place, mask=at < N) * 2, mask=at < N)


@pytest.mark.parametrize(
    ("height", "width", "step", "dtype", "vlen_bits"),
    in_turn(
        [(20, 11), (5, 50)],
        [-1, 3, -5, 7],
        [*zip((*TYPES, np.float16), (256, 512, 128, 256, 256), strict=True)],
        turns=2,
    ),
)
def test_strides(
    run: KernelRunner, height: int, width: int, step: int, dtype: type, vlen_bits: int
) -> None:
    stride = width * abs(step) + 3
    x: npt.NDArray[Any] = (
        (_numbers(height * stride, dtype) / 4).astype(dtype).reshape(height, stride)
    )
    y = np.full_like(x, 5)
    columns = np.arange(width) * abs(step)
    y[:, columns] = x[:, columns] * 2
    first = (width - 1) * abs(step) if step < 0 else 0
    run(
        strided_kernel,
        grid=(-(-height * width // 256),),
        vlen_bits=vlen_bits,
        x_ptr=x, y_ptr=Expected(y, start=np.full_like(x, 5)),
        W=width, STRIDE=stride, FIRST=first, N=height * width, STEP=step, BLOCK=256,
    )  # fmt: skip


@triton.jit
def quotients_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """Integers divided by what lies behind the last lane too, in a row of a block."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + at, mask=at < N)
    tl.store(y_ptr + row * N + at, 100 // x, mask=at < N)


@pytest.mark.parametrize(
    ("dtype", "size"),
    in_turn([np.int8, np.int16, np.int32, np.int64], [1, 17, 50, 127]),
)
def test_rows(run: KernelRunner, dtype: type, size: int) -> None:
    x = (np.abs(_numbers(5 * size, np.int32)) % 100 + 1).astype(dtype)
    y = (100 // x.astype(np.int32)).astype(dtype)
    run(
        quotients_kernel,
        grid=(5,),
        known=("N",),
        x_ptr=x, y_ptr=Expected(y), N=size, BLOCK=128,
    )  # fmt: skip


@triton.jit
def total_kernel(x_ptr, y_ptr, total_ptr, N, BLOCK: tl.constexpr):
    """A block that is stored in part, and of which a sum counts what was not loaded as 0."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + at, mask=at < N, other=0) * 3
    tl.store(y_ptr + row * N + at, x, mask=at < N)
    tl.store(total_ptr + row, tl.sum(x, axis=0))


@pytest.mark.parametrize("size", in_turn([3, 300, 50], turns=2))
def test_a_sum_besides(run: KernelRunner, size: int) -> None:
    x = _numbers(4 * size, np.int32).reshape(4, size)
    run(
        total_kernel,
        grid=(4,),
        known=("N",),
        x_ptr=x, y_ptr=Expected(3 * x), total_ptr=Expected((3 * x).sum(1, dtype=np.int32)),
        N=size, BLOCK=512,
    )  # fmt: skip
