"""Loads of the halves of even places, whose mask leaves out every other lane."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.lowering.ttir.every_other import EVERY_OTHER

LINE, POINTERS = "tensor<64xi32>", "tensor<64x!tt.ptr<f32>>"
BODY = f"""
%i = "tt.make_range"() {{end = 64, start = 0}} : () -> {LINE}
%f = "arith.constant"() {{value = FACTOR}} : () -> i32
%begin = "arith.muli"(%n, %f) : (i32, i32) -> i32
%c = "tt.splat"(%begin) : (i32) -> {LINE}
%at = "arith.addi"(%i, %c) : ({LINE}, {LINE}) -> {LINE}
%one = "arith.constant"() {{value = dense<1> : {LINE}}} : () -> {LINE}
%two = "arith.constant"() {{value = dense<DIVISOR> : {LINE}}} : () -> {LINE}
%zero = "arith.constant"() {{value = dense<ZERO> : {LINE}}} : () -> {LINE}
%by = "arith.constant"() {{value = dense<HALVED> : {LINE}}} : () -> {LINE}
%half = "arith.divsi"(%at, %by) : ({LINE}, {LINE}) -> {LINE}
%other = "arith.addi"(%at, %one) : ({LINE}, {LINE}) -> {LINE}
%rest = "arith.remsi"(LEFT, %two) : ({LINE}, {LINE}) -> {LINE}
%even = "arith.cmpi"(%rest, %zero) {{predicate = PREDICATE}} : ({LINE}, {LINE}) -> tensor<64xi1>
%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> {POINTERS}
%p = "tt.addptr"(%xs, %half) : ({POINTERS}, {LINE}) -> {POINTERS}
%v = "tt.load"(%p, %even) : ({POINTERS}, tensor<64xi1>) -> tensor<64xf32>
"""
UNMASKED = f'%w = "tt.load"(%p) : ({POINTERS}) -> tensor<64xf32>'


@pytest.mark.parametrize(
    ("halved", "divisor", "zero", "left", "predicate", "behind", "count"),
    [
        ("2", "2", "0", "%at", "0", "", 1),
        ("2", "4", "0", "%at", "0", "", 0),  # one lane of four
        ("4", "2", "0", "%at", "0", "", 0),  # each element for two lanes
        ("2", "2", "1", "%at", "0", "", 0),  # odd places
        ("2", "2", "0", "%other", "0", "", 0),  # even are those of other lanes
        ("2", "2", "0", "%at", "1", "", 0),  # those that are left out are even
        ("2", "2", "0", "%at", "0", UNMASKED, 0),  # asked for without the mask
    ],
)
def test_loads_that_are_found(halved, divisor, zero, left, predicate, behind, count):
    body = BODY.replace("HALVED", halved).replace("DIVISOR", divisor)
    body = body.replace("ZERO", zero).replace("LEFT", left).replace("FACTOR", "1")
    fired, module = after("find-every-other", body.replace("PREDICATE", predicate) + behind)
    assert fired == count
    marked = [each.name for each in module.walk() if EVERY_OTHER in each.attributes]
    assert marked == count * ["arith.divsi", "arith.remsi"]


@pytest.mark.parametrize(("factor", "is_marked"), [("6", False), ("3", True)])
def test_periods_of_lines_that_begin_at_even_places_are_followed(factor, is_marked):
    body = BODY.replace("HALVED", "2").replace("DIVISOR", "2").replace("ZERO", "0")
    body = body.replace("LEFT", "%at").replace("PREDICATE", "0").replace("FACTOR", factor)
    fired, module = after("find-every-other", body)
    assert fired == 1
    assert any(EVERY_OTHER in each.attributes for each in module.walk()) == is_marked


@triton.jit
def halves_kernel(
    x_ptr,
    y_ptr,
    start,
    n,
    STEP: tl.constexpr,
    SHIFTS: tl.constexpr,
    FILL: tl.constexpr,
    N: tl.constexpr,
):
    at = tl.program_id(0) * N + tl.arange(0, N)
    place = at + STEP * start
    half, rest = (place >> 1, place & 1) if SHIFTS else (place // 2, place % 2)
    mask = (rest == 0) & (half < n) & (place >= -6)
    x = tl.load(x_ptr + half + 3, mask=mask, other=FILL)
    tl.store(y_ptr + at, x, mask=at < 150)


@pytest.mark.parametrize(
    ("start", "step", "n", "dtype", "shifts", "fill", "vlen_bits"),
    [
        (0, 1, 70, np.float32, False, 0, 256),
        (-1, 1, 40, np.uint8, True, 0, 128),
        (1, 1, 70, np.int16, False, 0, 1024),
        (-75, 2, 70, np.int64, True, 0, 256),
        (-4, 2, 40, np.int32, True, 0, 256),
        (7, 1, 70, np.float32, False, 5, 256),
    ],
)
def test_every_other_lane(run, start, step, n, dtype, shifts, fill, vlen_bits):
    x = np.random.default_rng(4).integers(1, 100, 73).astype(dtype)
    place = np.arange(150) + step * start
    on = (place % 2 == 0) & (place // 2 < n) & (place >= -6)
    y = np.where(on, x[np.where(on, place // 2 + 3, 0)], dtype(fill))
    run(
        halves_kernel, grid=(3,), x_ptr=x, y_ptr=Expected(y), start=start, n=n,
        STEP=step, SHIFTS=shifts, FILL=fill, N=64, vlen_bits=vlen_bits,
    )  # fmt: skip


@triton.jit
def wrapping_kernel(x_ptr, y_ptr, start, middle, N: tl.constexpr):
    at = tl.arange(0, N)
    half = (at + start) // 2
    mask = (at + start) % 2 == 0
    tl.store(y_ptr + at, tl.load(x_ptr + half - middle, mask=mask, other=0))


@pytest.mark.parametrize(("size", "count"), [(64, 1), (4, 1), (2, 0)])
def test_places_that_wrap(size, count):
    """Beyond 2^31 halves begin anew at -2^30, which no line of neighbours says.

    Two lanes have a half that is no vector.
    """
    types = {"x_ptr": "*i32", "y_ptr": "*i32", "start": "i32", "middle": "i32"}
    compiled = compile_kernel(wrapping_kernel, types, {"N": size}, RVVTarget())
    assert {each.name: each.count for each in compiled.passes}["load-every-other"] == count
    assert "llvm.masked.gather" in compiled.lowered  # for a start near the end of the integers
