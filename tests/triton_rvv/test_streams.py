"""Loads of every second, third or fourth element, and of rows from behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner

from triton_rvv import RVVTarget, compile_kernel


@triton.jit
def streams_kernel(
    x_ptr, y_ptr, n, STRIDE: tl.constexpr, A: tl.constexpr, B: tl.constexpr, N: tl.constexpr
):
    """The array ends with the last element that is asked for."""
    at = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x_ptr + STRIDE * at + A, mask=at < n)
    b = tl.load(x_ptr + (STRIDE * at + B), mask=at < n)
    tl.store(y_ptr + at, 2 * a - b, mask=at < n)


@pytest.mark.parametrize(
    ("stride", "a", "b", "n", "dtype"),
    in_turn(
        [(2, 0, 1), (2, 1, 0), (2, 0, 0), (3, 0, 2), (3, 2, 1), (4, 3, 0)],
        [1, 100, 256, 300],
        [np.float32, np.uint8, np.int16, np.int64],
        turns=4,
    ),
)
def test_two_streams(run: KernelRunner, stride: int, a: int, b: int, n: int, dtype: type) -> None:
    x: npt.NDArray[Any] = (
        np.random.default_rng(3).integers(0, 60, stride * (n - 1) + max(a, b) + 1).astype(dtype)
    )
    y = (2 * x[a::stride][:n] - x[b::stride][:n]).astype(dtype)
    run(
        streams_kernel, grid=(-(-n // 128),),
        x_ptr=x, y_ptr=Expected(y), n=n, STRIDE=stride, A=a, B=b, N=128,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("stride", "instruction"), [(2, "vnsrl.wi"), (3, "vlseg3e8.v"), (4, "vlseg4e8.v")]
)
def test_streams_are_loaded_together(stride: int, instruction: str) -> None:
    types = {"x_ptr": "*i8", "y_ptr": "*i8", "n": "i32"}
    constants = {"STRIDE": stride, "A": 0, "B": stride - 1, "N": 128}
    compiled = compile_kernel(
        streams_kernel, types, constants, RVVTarget(), disjoint_arguments=True
    )
    assert instruction in compiled.assembly


@triton.jit
def all_kernel(x_ptr, y_ptr, row, n, STRIDE: tl.constexpr, N: tl.constexpr):
    at = row * n + tl.arange(0, N)
    mask = tl.arange(0, N) < n
    total = tl.zeros((N,), x_ptr.dtype.element_ty)
    for place in tl.static_range(STRIDE):
        total = total * 2 + tl.load(x_ptr + at * STRIDE + place, mask=mask)
    tl.store(x_ptr + at * STRIDE, total, mask=mask)  # none is loaded behind this
    tl.store(y_ptr + tl.arange(0, N), tl.load(x_ptr + at * STRIDE, mask=mask) + 1, mask=mask)


@pytest.mark.parametrize(
    ("dtype", "n", "stride"),
    in_turn([np.uint8, np.float32], [64, 61], [2, 3, 4]),
)
def test_all_streams_of_a_row(run: KernelRunner, stride: int, n: int, dtype: type) -> None:
    x: npt.NDArray[Any] = np.random.default_rng(4).integers(0, 10, (2, n, stride)).astype(dtype)
    total: npt.NDArray[Any] = np.zeros(n, dtype)
    for place in range(stride):
        total = (total * 2 + x[1, :, place]).astype(dtype)
    after = x.copy()
    after[1, :, 0] = total
    run(
        all_kernel,
        x_ptr=Expected(after, start=x), y_ptr=Expected(total + 1),
        row=1, n=n, STRIDE=stride, N=64,
    )  # fmt: skip


@triton.jit
def narrowed_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    for place in tl.static_range(4):
        total = total * 2 + tl.load(x_ptr + at * 4 + place)
    tl.store(y_ptr + at, total.to(tl.float16))


def test_runs_longer_than_a_segment_load(run: KernelRunner) -> None:
    x = np.random.default_rng(5).integers(0, 10, (128, 4)).astype(np.float32)
    run(narrowed_kernel, x_ptr=x, y_ptr=Expected((x @ [8, 4, 2, 1]).astype(np.float16)), N=128)
    types = {"x_ptr": "*fp32", "y_ptr": "*fp16"}
    compiled = compile_kernel(narrowed_kernel, types, {"N": 128}, RVVTarget())
    assert "vlseg4e32.v" in compiled.assembly
    assert "vrgather" not in compiled.assembly


@triton.jit
def reversed_kernel(x_ptr, y_ptr, n, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + at, tl.load(x_ptr + n - 1 - at, mask=at < n), mask=at < n)


@pytest.mark.parametrize(
    ("n", "dtype", "vlen_bits"),
    in_turn([1, 256, 777], [np.uint8, np.float16, np.float32, np.int64], [128, 256, 512]),
)
def test_reversed(run: KernelRunner, n: int, dtype: type, vlen_bits: int) -> None:
    x: npt.NDArray[Any] = np.random.default_rng(5).integers(0, 200, n).astype(dtype)
    y = x[::-1].copy()
    run(
        reversed_kernel, grid=(-(-n // 256),), vlen_bits=vlen_bits,
        x_ptr=x, y_ptr=Expected(y), n=n, N=256,
    )  # fmt: skip


def test_reversed_rows_are_loaded_forwards() -> None:
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
    compiled = compile_kernel(reversed_kernel, types, {"N": 256}, RVVTarget())
    assert "vrgather.vv" in compiled.assembly
    assert "vluxei" not in compiled.assembly


@triton.jit
def cast_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = 2 * tl.arange(0, N)
    a = tl.load(x_ptr.to(tl.pointer_type(tl.int8)) + at)
    b = tl.load((x_ptr + 1).to(tl.pointer_type(tl.int8)) + at)
    tl.store(y_ptr + tl.arange(0, N), a - 2 * b)


def test_pointers_moved_before_a_cast(run: KernelRunner) -> None:
    """One element of four bytes is four of the elements that are loaded."""
    x = np.random.default_rng(6).integers(-(2**31), 2**31, 33).astype(np.int32)
    y = x.view(np.int8)[0:128:2] - 2 * x.view(np.int8)[4:132:2]
    run(cast_kernel, x_ptr=x, y_ptr=Expected(y.astype(np.int8)), N=64)
