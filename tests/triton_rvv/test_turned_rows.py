"""Blocks whose rows are reduced that are turned around, so that their rows are lanes."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from qemu_kernels import Expected, KernelRunner

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.turned_products import turn_short_rows
from triton_rvv.targets.target import RVVTarget


@triton.jit
def moments_kernel(x_ptr, y_ptr, z_ptr, M, N: tl.constexpr, STRIDE: tl.constexpr, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    at = rows[:, None] * STRIDE + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at, mask=(rows < M)[:, None], other=0.0)
    mean = tl.sum(x, axis=1) / N
    rest = x - mean[:, None]
    tl.store(y_ptr + rows, mean, mask=rows < M)
    tl.store(z_ptr + rows, tl.max(rest * tl.arange(1, N + 1)[None, :], axis=1), mask=rows < M)


@pytest.mark.parametrize(("columns", "rows"), [(8, 64), (4, 37), (2, 100)])
def test_moments(run: KernelRunner, columns: int, rows: int) -> None:
    x = np.random.default_rng(1).integers(-20, 20, (rows, columns)).astype(np.float32)
    mean = x.mean(1)
    scaled = (x - mean[:, None]) * np.arange(1, columns + 1, dtype=np.float32)
    run(
        moments_kernel, grid=(-(-rows // 32),),
        x_ptr=x, y_ptr=Expected(mean), z_ptr=Expected(scaled.max(1)),
        M=rows, N=columns, STRIDE=columns, B=32,
    )  # fmt: skip


def _sums(columns: int, stride: int, rows: int = 64) -> str:
    """IR of the sums of rows that lie `stride` elements apart."""
    block = f"tensor<{rows}x{columns}xTYPE>"
    integers, floats, pointers = (
        block.replace("TYPE", each) for each in ("i32", "f32", "!tt.ptr<f32>")
    )
    return function(f"""
    %line = "tt.make_range"() <{{start = 0 : i32, end = {rows} : i32}}> : () -> tensor<{rows}xi32>
    %by = "arith.constant"() <{{value = dense<{stride}> : tensor<{rows}xi32>}}>
        : () -> tensor<{rows}xi32>
    %far = "arith.muli"(%line, %by) : (tensor<{rows}xi32>, tensor<{rows}xi32>) -> tensor<{rows}xi32>
    %down = "tt.expand_dims"(%far) <{{axis = 1 : i32}}> : (tensor<{rows}xi32>)
        -> tensor<{rows}x1xi32>
    %row = "tt.make_range"() <{{start = 0 : i32, end = {columns} : i32}}>
        : () -> tensor<{columns}xi32>
    %along = "tt.expand_dims"(%row) <{{axis = 0 : i32}}> : (tensor<{columns}xi32>)
        -> tensor<1x{columns}xi32>
    %one = "tt.broadcast"(%down) : (tensor<{rows}x1xi32>) -> {integers}
    %other = "tt.broadcast"(%along) : (tensor<1x{columns}xi32>) -> {integers}
    %at = "arith.addi"(%one, %other) : ({integers}, {integers}) -> {integers}
    %start = "tt.splat"(%x) : (!tt.ptr<f32>) -> {pointers}
    %to = "tt.addptr"(%start, %at) : ({pointers}, {integers}) -> {pointers}
    %loaded = "tt.load"(%to) : ({pointers}) -> {floats}
    %total = "tt.reduce"(%loaded) <{{axis = 1 : i32}}> ({{
    ^bb0(%a: f32, %b: f32):
        %sum = "arith.addf"(%a, %b) : (f32, f32) -> f32
        "tt.reduce.return"(%sum) : (f32) -> ()
    }}) : ({floats}) -> tensor<{rows}xf32>
    %here = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<{rows}x!tt.ptr<f32>>
    %place = "tt.addptr"(%here, %line) : (tensor<{rows}x!tt.ptr<f32>>, tensor<{rows}xi32>)
        -> tensor<{rows}x!tt.ptr<f32>>
    "tt.store"(%place, %total) : (tensor<{rows}x!tt.ptr<f32>>, tensor<{rows}xf32>) -> ()""")


@pytest.mark.parametrize(
    ("columns", "stride", "rows", "fires"),
    [(4, 4, 64, 1), (2, 2, 16, 1), (4, 64, 64, 0), (8, 8, 64, 0), (16, 16, 64, 0), (4, 4, 8, 0)],
)
def test_short_rows_that_lie_in_turn_fire(columns: int, stride: int, rows: int, fires: int) -> None:
    module = parse_module(_sums(columns, stride, rows))
    assert turn_short_rows(Kernel(module, RVVTarget(), True)) == fires
    shapes = [each.operands[0].type for each in module.walk() if each.name == "tt.reduce"]
    expected = (columns, rows) if fires else (rows, columns)
    assert [each.shape for each in shapes if isinstance(each, TensorType)] == [expected]


@pytest.mark.parametrize(
    ("core", "columns", "fires"), [("x60", 8, 0), ("x100", 8, 1), ("a100", 8, 1), ("a100", 16, 0)]
)
def test_how_long_rows_may_be_follows_from_the_core(core: str, columns: int, fires: int) -> None:
    module = parse_module(_sums(columns, columns, 128))
    assert turn_short_rows(Kernel(module, RVVTarget.named(core), True)) == fires


def _pairs(rows: int, columns: int, each: str = "", also: str = "", row: str = "%row") -> str:
    """IR of the sums of all distances from each number of a line to those of another."""
    block, down, along = (f"tensor<{size}xf32>" for size in (f"{rows}x{columns}", rows, columns))
    return function(
        f"""
    %one = "tt.expand_dims"(%p) <{{axis = 1 : i32}}> : ({down}) -> tensor<{rows}x1xf32>
    %row = "tt.expand_dims"(%q) <{{axis = 0 : i32}}> : ({along}) -> tensor<1x{columns}xf32>
    {each}
    %left = "tt.broadcast"(%one) : (tensor<{rows}x1xf32>) -> {block}
    %right = "tt.broadcast"({row}) : (tensor<1x{columns}xf32>) -> {block}
    %apart = "arith.subf"(%left, %right) : ({block}, {block}) -> {block}
    {also}
    %total = "tt.reduce"(%apart) <{{axis = 1 : i32}}> ({{
    ^bb0(%a: f32, %b: f32):
        %sum = "arith.addf"(%a, %b) : (f32, f32) -> f32
        "tt.reduce.return"(%sum) : (f32) -> ()
    }}) : ({block}) -> {down}""",
        f"%p: {down}, %q: {along}, %to: tensor<{rows}x{columns}x!tt.ptr<f32>>",
    )


_EACH = '%wide = "math.exp"(%row) : (tensor<1x16xf32>) -> tensor<1x16xf32>'
_ALSO = '"tt.store"(%to, %apart) : (tensor<64x16x!tt.ptr<f32>>, tensor<64x16xf32>) -> ()'


@pytest.mark.parametrize(
    ("body", "fires"),
    [
        (_pairs(64, 16), 1),
        (_pairs(16, 128), 1),
        (_pairs(8, 128), 0),  # one register of rows: no chain beside it
        (_pairs(64, 16, each=_EACH, row="%wide"), 0),  # one after another, for each column
        (_pairs(64, 16, also=_ALSO), 0),
    ],
)
def test_pairs_fire(body: str, fires: int) -> None:
    assert turn_short_rows(Kernel(parse_module(body), RVVTarget(), True)) == fires


@triton.jit
def nearest_kernel(
    x_ptr, y_ptr, sum_ptr, least_ptr, at_ptr, N, M, B: tl.constexpr, C: tl.constexpr
):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + rows, mask=rows < N, other=0.0)
    total = tl.zeros((B,), dtype=tl.float32)
    least = tl.full((B,), float("inf"), dtype=tl.float32)
    at = tl.zeros((B,), dtype=tl.int32)
    for start in range(0, M, C):
        columns = start + tl.arange(0, C)
        y = tl.load(y_ptr + columns, mask=columns < M, other=0.0)
        apart = tl.where((columns < M)[None, :], tl.abs(x[:, None] - y[None, :]), float("inf"))
        total += tl.sum(tl.minimum(apart, 50.0), axis=1)
        low, place = tl.min(apart, axis=1, return_indices=True)
        at = tl.where(low < least, start + place, at)
        least = tl.minimum(least, low)
    tl.store(sum_ptr + rows, total, mask=rows < N)
    tl.store(least_ptr + rows, least, mask=rows < N)
    tl.store(at_ptr + rows, at, mask=rows < N)


@pytest.mark.parametrize(("n", "m", "rows", "columns"), [(37, 21, 16, 8), (64, 16, 64, 16)])
def test_pairs(run: KernelRunner, n: int, m: int, rows: int, columns: int) -> None:
    random = np.random.default_rng(2)
    x, y = (random.integers(-9, 9, size).astype(np.float32) for size in (n, m))
    y[3] = np.inf
    apart = np.abs(x[:, None] - y)
    beyond = 50 * (-m % columns)
    run(
        nearest_kernel, grid=(-(-n // rows),), x_ptr=x, y_ptr=y,
        sum_ptr=Expected(np.minimum(apart, 50).sum(1, dtype=np.float32) + np.float32(beyond)),
        least_ptr=Expected(apart.min(1)), at_ptr=Expected(apart.argmin(1).astype(np.int32)),
        N=n, M=m, B=rows, C=columns,
    )  # fmt: skip
