"""Gathers from tables that registers hold."""

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
from triton_rvv.lowering.ttir.small_tables import find_small_tables


@triton.jit
def lookup_kernel(
    x_ptr, t_ptr, y_ptr, n, offset, MOST: tl.constexpr, MASKED: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    places = t_ptr + offset + (x & MOST)
    found = tl.load(places, mask=(at < n) if MASKED else None, other=7 if MASKED else None)
    tl.store(y_ptr + at, found, mask=at < 2 * n)


@pytest.mark.parametrize(
    ("element", "most", "block", "is_kept"),
    [
        ("i8", 15, 64, True),
        ("i8", 127, 256, True),
        ("i8", 255, 512, False),  # looked up in as much time as gathered
        ("i8", 15, 8, False),  # more than is looked up
        ("fp16", 31, 64, True),
        ("fp16", 127, 256, False),
        ("fp32", 15, 64, True),
        ("fp32", 31, 64, False),
    ],
)
@pytest.mark.parametrize(("offset", "masked"), [(0, False), ("i32", True)])
def test_tables_that_are_kept(element, most, block, is_kept, offset, masked):
    signature = {"x_ptr": "*u8", "t_ptr": f"*{element}", "y_ptr": f"*{element}", "n": "i32"}
    constants = {"MOST": most, "MASKED": masked, "BLOCK": block}
    if offset == 0:
        constants["offset"] = 0
    else:
        signature["offset"] = offset
    compiled = compile_kernel(lookup_kernel, signature, constants, RVVTarget(vlen_bits=256))
    counts = {fired.name: fired.count for fired in compiled.passes}
    assert counts["find-small-tables"] == counts["keep-tables"] == is_kept
    assert ("vrgather" in compiled.assembly) == is_kept
    # An offset may be below 0, and what the table begins with then where no memory is.
    assert ("vluxei" in compiled.assembly) == (offset != 0 or not is_kept)


PLACES, POINTERS = "tensor<64xi32>", "tensor<64x!tt.ptr<f32>>"


@pytest.mark.parametrize(
    ("attributes", "pointee", "fires"),
    [("", "f32", 1), ("{isVolatile = true}", "f32", 0), ("", "!tt.ptr<f32>", 0)],
)
def test_what_is_loaded_from_a_table_each_time(attributes, pointee, fires):
    pointers = POINTERS.replace("f32", pointee)
    text = f"""
%at = "tt.make_range"() {{start = 0, end = 64}} : () -> {PLACES}
%most = "arith.constant"() {{value = dense<7> : {PLACES}}} : () -> {PLACES}
%places = "arith.andi"(%at, %most) : ({PLACES}, {PLACES}) -> {PLACES}
%xs = "tt.splat"(%x) : (!tt.ptr<{pointee}>) -> {pointers}
%p = "tt.addptr"(%xs, %places) : ({pointers}, {PLACES}) -> {pointers}
%v = "tt.load"(%p) {attributes} : ({pointers}) -> tensor<64x{pointee}>
"""
    module = parse_module(function(text, f"%x: !tt.ptr<{pointee}>"))
    assert find_small_tables(Kernel(module, RVVTarget(vlen_bits=256), True)) == fires


@triton.jit
def changing_kernel(x_ptr, t_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at, row = tl.arange(0, BLOCK), tl.arange(0, 16)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    for turn in range(3):
        y = tl.load(t_ptr + (x & 15))
        tl.store(t_ptr + row, tl.load(t_ptr + row) + 1)
        tl.store(y_ptr + turn * n + at, y, mask=at < n)


@triton.jit
def away_kernel(x_ptr, t_ptr, y_ptr, far, n, BLOCK: tl.constexpr):
    """Reads nothing of a table that is not there."""
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at % 100)
    tl.store(y_ptr + at, tl.load(t_ptr + far + (x & 15), mask=at < n, other=7))


@pytest.mark.parametrize("vlen_bits", [128, 1024])
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32], ids=str)
def test_each_lane_gets_its_element(run, dtype, vlen_bits):
    rng = np.random.default_rng(11)
    table = rng.integers(-100, 100, 32).astype(dtype)
    x = rng.integers(0, 256, 100).astype(np.uint8)
    for block, most, offset in ((16, 7, 0), (128, 15, 16), (128, 15, 11)):
        found = table[offset + (x & most)]
        # All of the last block is left out, and its table may be anywhere.
        run(
            lookup_kernel, grid=(triton.cdiv(200, block),), x_ptr=x, t_ptr=table, n=100,
            y_ptr=Expected(np.concatenate([found, np.full(100, 7, dtype)])), offset=offset,
            MOST=most, MASKED=True, BLOCK=block, vlen_bits=vlen_bits,
        )  # fmt: skip
    run(
        away_kernel, grid=(1,), x_ptr=x, t_ptr=table, far=1 << 30, n=0, BLOCK=128,
        y_ptr=Expected(np.full(128, 7, dtype)), vlen_bits=vlen_bits,
    )  # fmt: skip
    turns = np.concatenate([table[x & 15] + dtype(turn) for turn in range(3)])
    run(
        changing_kernel, grid=(1,), x_ptr=x, t_ptr=table, y_ptr=Expected(turns), n=100, BLOCK=128,
        vlen_bits=vlen_bits,
    )  # fmt: skip


@triton.jit
def looked_up_around_a_store_kernel(x_ptr, a_ptr, b_ptr, c_ptr, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at * stride)
    places = x_ptr + (x & 3)
    first = tl.load(places)
    second = tl.load(places + 1)
    tl.store(x_ptr + at, x)
    third = tl.load(places + 2)
    tl.store(a_ptr + at, first)
    tl.store(b_ptr + at, second)
    tl.store(c_ptr + at, third)


def test_places_that_a_store_changes_between_lookups(run: KernelRunner) -> None:
    x = np.random.default_rng(9).integers(0, 9, 32).astype(np.int32)
    places, after = x[::2] & 3, np.concatenate((x[::2], x[16:]))
    run(
        looked_up_around_a_store_kernel,
        x_ptr=Expected(after, start=x), a_ptr=Expected(x[places]), b_ptr=Expected(x[places + 1]),
        c_ptr=Expected(after[places + 2]), stride=2, BLOCK=16, vlen_bits=128,
    )  # fmt: skip
