"""Loads of what neighbouring columns share, such as scales of groups."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from qemu_kernels import Expected, KernelRunner

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering.ttir.granules import Granules
from triton_rvv.lowering.ttir.known_integers import KnownIntegers

HASHED = "(tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>"


@triton.jit
def grouped_kernel(
    x_ptr, s_ptr, y_ptr, z_ptr, N, K, GROUP: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BN,), dtype=tl.float32)
    for k in range(0, K, BK):
        at = k + tl.arange(0, BK)
        mask = (rows < N)[:, None] & (at < K)[None, :]
        x = tl.load(x_ptr + rows[:, None] * K + at[None, :], mask=mask, other=0.0)
        groups = (K + GROUP - 1) // GROUP
        places = rows[:, None] * groups + (at // GROUP)[None, :]
        scale = tl.load(s_ptr + places, mask=mask, other=-1.0)
        tl.store(y_ptr + rows[:, None] * K + at[None, :], x * scale, mask=mask)
        total += tl.sum(x + scale, axis=1)
    tl.store(z_ptr + rows, total, mask=rows < N)


@pytest.mark.parametrize(("group", "columns"), [(16, 32), (32, 32), (64, 32), (24, 16), (8, 64)])
def test_scales_of_groups(run: KernelRunner, group: int, columns: int) -> None:
    rows, depth = 5, 100
    random = np.random.default_rng(1)
    x = random.integers(-9, 9, (rows, depth)).astype(np.float32)
    scales = random.integers(1, 9, (rows, -(-depth // group))).astype(np.float32)
    each = np.repeat(scales, group, 1)[:, :depth]
    beyond = -depth % columns
    run(
        grouped_kernel, grid=(2,),
        x_ptr=x, s_ptr=scales, y_ptr=Expected(x * each),
        z_ptr=Expected((x + each).sum(1) - beyond),
        N=rows, K=depth, GROUP=group, BN=4, BK=columns,
    )  # fmt: skip


@triton.jit
def looked_up_kernel(s_ptr, y_ptr, shift, BY: tl.constexpr, STEP: tl.constexpr):
    rows, columns = tl.arange(0, 8), tl.program_id(0) * 64 + tl.arange(0, 64)
    at = rows[:, None] * 9 + ((STEP * columns + shift) // BY)[None, :]
    tl.store(y_ptr + rows[:, None] * 64 + columns[None, :], tl.load(s_ptr + at))


@pytest.mark.parametrize(
    ("by", "step", "shift", "fires"),
    [
        (24, 1, 0, 1),
        (8, 1, 0, 0),  # `follow-periods` takes such quotients
        (64, 3, 0, 0),  # the second 16 columns begin at 48, and have two quotients
        (16, 2, 0, 1),
        (4, 1, 0, 0),
        (16, 1, 32, 1),
        (16, 1, 3, 0),
        (16, 1, -32, 0),  # quotients are rounded to zero: 31 columns have the first one
        (16, 1, None, 0),
    ],
)
def test_neighbours_that_are_known_to_be_alike_fire(
    by: int, step: int, shift: int | None, fires: int
) -> None:
    types = {"s_ptr": "*fp32", "y_ptr": "*fp32", "shift": "i32"}
    known = {} if shift is None else {"shift": shift}
    constants = {"BY": by, "STEP": step}
    made = compile_kernel(looked_up_kernel, types, constants, RVVTarget.named("x60"), known=known)
    assert {each.name: each.count for each in made.passes}["load-repeated"] == fires


@triton.jit
def spread_kernel(s_ptr, y_ptr, BY: tl.constexpr, STEP: tl.constexpr):
    rows, columns = tl.arange(0, 8), tl.program_id(0) * 64 + tl.arange(0, 64)
    at = rows[:, None] * 9 + ((STEP * columns) // BY)[None, :]
    tl.store(y_ptr + rows[:, None] * 64 + columns[None, :], tl.load(s_ptr + at))


@pytest.mark.parametrize(("by", "step"), [(64, 3), (64, 4), (16, 32)])
def test_neighbours_that_are_some_columns_apart(run: KernelRunner, by: int, step: int) -> None:
    table = np.arange(8 * 9 + 64 * step // by, dtype=np.float32)
    places = np.arange(8)[:, None] * 9 + np.arange(64) * step // by
    run(
        spread_kernel, grid=(1,), s_ptr=table, y_ptr=Expected(table[places]), BY=by, STEP=step
    )  # fmt: skip


@triton.jit
def unfilled_kernel(s_ptr, y_ptr, n):
    rows, columns = tl.arange(0, 4), tl.arange(0, 64)
    at = rows[:, None] * 8 + (columns // 16)[None, :]
    loaded = tl.load(s_ptr + at, mask=(columns < n)[None, :])
    tl.store(y_ptr + rows[:, None] * 64 + columns[None, :], loaded)


@pytest.mark.parametrize("type_", ["f4", "i1"])
def test_what_a_mask_leaves_out_is_0(run: KernelRunner, type_: str) -> None:
    table, columns = np.arange(1, 33).astype(type_), np.arange(64)
    loaded = table[np.arange(4)[:, None] * 8 + columns // 16]
    y = np.where(columns < 27, loaded, 0).astype(type_)
    run(unfilled_kernel, s_ptr=table, y_ptr=Expected(y), n=27)


@triton.jit
def hashed_kernel(s_ptr, y_ptr, WAY: tl.constexpr):
    program, rows, columns = tl.program_id(0), tl.arange(0, 4), tl.arange(0, 64)
    bucket = (program * 1073741824 + columns) // 32
    if WAY == "where":
        bucket = tl.where(bucket < 0, bucket + 67108864, bucket)
    bucket = bucket & 15
    at = program * 256 + rows[:, None] * 64 + columns[None, :]
    tl.store(y_ptr + at, tl.load(s_ptr + rows[:, None] + bucket[None, :]))


BACK = {
    "and": lambda bucket: bucket & 15,
    "where": lambda bucket: np.where(bucket < 0, bucket + (1 << 26), bucket) & 15,
}


@pytest.mark.parametrize("way", BACK)
def test_quotients_of_what_wraps_are_each_looked_up(run: KernelRunner, way: str) -> None:
    table = np.arange(19, dtype=np.float32)
    sums = np.arange(3)[:, None] * (1 << 30) + np.arange(64)
    wrapped = sums.astype(np.int32)
    buckets = BACK[way](np.trunc(wrapped / 32).astype(np.int64))
    places = np.arange(4)[None, :, None] + buckets[:, None, :]
    run(hashed_kernel, grid=(3,), s_ptr=table, y_ptr=Expected(table[places]), WAY=way)


def test_what_is_used_twice_is_asked_once() -> None:
    # Each step of a hash uses the number before it twice: asked each time, it never ends.
    body = """
    %h0 = "tt.make_range"() {end = 64, start = 0} : () -> tensor<64xi32>
    %k = "arith.constant"() {value = dense<3> : tensor<64xi32>} : () -> tensor<64xi32>
    """
    for step in range(60):
        for name, result, operands in (
            ("arith.shrsi", f"%s{step}", f"%h{step}, %k"),
            ("arith.xori", f"%h{step + 1}", f"%h{step}, %s{step}"),
        ):
            body += f'{result} = "{name}"({operands}) : {HASHED}\n'
    module = parse_module(function(body))
    results = [each.results[0] for each in module.walk() if each.name == "arith.xori"]
    assert Granules(module, KnownIntegers(module, {})).of(results[-1], 0) == 1
