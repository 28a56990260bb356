"""Short loops that are written out."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from qemu_kernels import Expected, KernelRunner

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.unrolled_loops import unroll_loops


@triton.jit
def window_kernel(x_ptr, y_ptr, z_ptr, H, W, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    rows = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    columns = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)
    total = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    last = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    for dy in range(-1, 2):
        for dx in range(3):
            y = rows + dy
            x = columns + dx
            inside = ((y >= 0) & (y < H))[:, None] & (x < W)[None, :]
            seen = tl.load(x_ptr + y[:, None] * W + x[None, :], mask=inside, other=0.0) * dx
            total += seen
            last = tl.where(inside, seen, 1 - last)
    at = rows[:, None] * W + columns[None, :]
    mask = (rows < H)[:, None] & (columns < W)[None, :]
    tl.store(y_ptr + at, total, mask=mask)
    tl.store(z_ptr + at, last, mask=mask)


def test_windows(run: KernelRunner) -> None:
    height, width = 7, 40
    x = np.random.default_rng(1).integers(-9, 9, (height, width)).astype(np.float32)
    padded = np.pad(x, ((1, 1), (0, 2)))
    inside = np.pad(np.ones_like(x), ((1, 1), (0, 2))) > 0
    total, last = np.zeros_like(x), np.zeros_like(x)
    for dy in range(3):
        for dx in range(3):
            window = slice(dy, dy + height), slice(dx, dx + width)
            total = total + dx * padded[window]
            last = np.where(inside[window], dx * padded[window], 1 - last)
    run(
        window_kernel, grid=(2, 2),
        x_ptr=x, y_ptr=Expected(total), z_ptr=Expected(last), H=height, W=width,
        BLOCK_H=4, BLOCK_W=32,
    )  # fmt: skip


def _sum(turns: int, use: str = "") -> str:
    """IR of a block that is loaded several times and added up.

    Args:
        turns: how many times.
        use: an operation in the loop, of %more, the block that is carried.
    """
    store = '"tt.store"(%out, %total) : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>) -> ()'
    return function(f"""
    %none = "arith.constant"() <{{value = 0 : i32}}> : () -> i32
    %one = "arith.constant"() <{{value = 1 : i32}}> : () -> i32
    %turns = "arith.constant"() <{{value = {turns} : i32}}> : () -> i32
    %zero = "arith.constant"() <{{value = dense<0.0> : tensor<64xf32>}}> : () -> tensor<64xf32>
    %lanes = "tt.make_range"() <{{start = 0 : i32, end = 64 : i32}}> : () -> tensor<64xi32>
    %first = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %out = "tt.addptr"(%first, %lanes) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>)
        -> tensor<64x!tt.ptr<f32>>
    %total = "scf.for"(%none, %turns, %one, %zero) ({{
    ^bb0(%i: i32, %so_far: tensor<64xf32>):
        %from = "tt.addptr"(%x, %i) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
        %start = "tt.splat"(%from) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
        %at = "tt.addptr"(%start, %lanes) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>)
            -> tensor<64x!tt.ptr<f32>>
        %loaded = "tt.load"(%at) : (tensor<64x!tt.ptr<f32>>) -> tensor<64xf32>
        %more = "arith.addf"(%so_far, %loaded) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
        {use}
        "scf.yield"(%more) : (tensor<64xf32>) -> ()
    }}) : (i32, i32, i32, tensor<64xf32>) -> tensor<64xf32>
    {store}""")


_TWICE = '%square = "arith.mulf"(%so_far, %so_far) : (TYPE, TYPE) -> TYPE'.replace(
    "TYPE", "tensor<64xf32>"
)
_STORE = '"tt.store"(%out, %more) : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>) -> ()'


@pytest.mark.parametrize(
    ("turns", "use", "fires"),
    [(3, "", 1), (16, "", 1), (17, "", 0), (3, _STORE, 0), (3, _TWICE, 0)],
)
def test_short_loops_without_effects_fire(turns: int, use: str, fires: int) -> None:
    module = parse_module(_sum(turns, use))
    assert unroll_loops(Kernel(module, RVVTarget(), True)) == fires
    names = [each.name for each in module.walk()]
    assert names.count("scf.for") == 1 - fires
    assert names.count("tt.load") == (turns if fires else 1)


@triton.jit
def filter_kernel(x_ptr, taps_ptr, y_ptr, turns, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for tap in range(turns):
        x = tl.load(x_ptr + at - tap, mask=(at >= tap) & (at < 1000), other=0.0)
        total += tl.load(taps_ptr + tap) * x
    tl.store(y_ptr + at, total, mask=at < 1000)


@pytest.mark.parametrize(("turns", "fires"), [(16, 1), (None, 0)])
def test_a_filter_of_known_taps_fires(turns: int | None, fires: int) -> None:
    types = {"x_ptr": "*fp32", "taps_ptr": "*fp32", "y_ptr": "*fp32", "turns": "i32"}
    known = {} if turns is None else {"turns": turns}
    target = RVVTarget.named("x60")
    made = compile_kernel(filter_kernel, types, {"BLOCK": 64}, target, known=known)
    assert {each.name: each.count for each in made.passes}["unroll-loops"] == fires
