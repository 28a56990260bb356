"""Along which axis of the grid programs run: what the pass decides, and what code makes of it."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from qemu_kernels import Expected, KernelRunner, as_argument

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.lowering.ttir.grid_order import GRID_ORDER
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.passes import run_passes
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.target import RVVTarget

POINTERS, INTEGERS = "tensor<64x!tt.ptr<f32>>", "tensor<64xi32>"
PARTS_OF_ROWS = (16, 8, 1)  # of 64 elements in rows of 512


def body(row_axis: int, loads_from: str = "%x", stores_shift: int = 0, name: str = "tt.store"):
    """A program loads a part of a row and stores it to the same places of %y."""
    return f"""
%row = "tt.get_program_id"() {{axis = {row_axis}}} : () -> i32
%part = "tt.get_program_id"() {{axis = {1 - row_axis}}} : () -> i32
%c512 = "arith.constant"() {{value = 512 : i32}} : () -> i32
%c64 = "arith.constant"() {{value = 64 : i32}} : () -> i32
%shift = "arith.constant"() {{value = {stores_shift} : i32}} : () -> i32
%start = "arith.muli"(%row, %c512) : (i32, i32) -> i32
%further = "arith.muli"(%part, %c64) : (i32, i32) -> i32
%from = "arith.addi"(%start, %further) : (i32, i32) -> i32
%to = "arith.addi"(%from, %shift) : (i32, i32) -> i32
%at = "tt.make_range"() {{start = 0, end = 64}} : () -> {INTEGERS}
%xp = "tt.addptr"({loads_from}, %from) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
%xs = "tt.splat"(%xp) : (!tt.ptr<f32>) -> {POINTERS}
%p = "tt.addptr"(%xs, %at) : ({POINTERS}, {INTEGERS}) -> {POINTERS}
%v = "tt.load"(%p) : ({POINTERS}) -> tensor<64xf32>
%yp = "tt.addptr"(%y, %to) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
%ys = "tt.splat"(%yp) : (!tt.ptr<f32>) -> {POINTERS}
%q = "tt.addptr"(%ys, %at) : ({POINTERS}, {INTEGERS}) -> {POINTERS}
"{name}"(%q, %v) : ({POINTERS}, tensor<64xf32>) -> ()
"""


def order(text: str, grid: tuple[int, ...] | None = PARTS_OF_ROWS, disjoint: bool = True):
    """The axes, fastest first; none where x stays the fastest."""
    module = parse_module(function(text))
    kernel = Kernel(module, RVVTarget(vlen_bits=256), disjoint, [None] * 4, grid)
    run_passes(kernel, watch=lambda *_: verify(module))
    return kernel.function.integers(GRID_ORDER)


def test_parts_of_a_row_follow_one_another():
    assert order(body(row_axis=0)) == [1, 0, 2]


def test_x_stays_fastest_where_it_goes_on_in_memory():
    assert order(body(row_axis=1)) == []


@pytest.mark.parametrize("grid", [None, (16, 1, 1)], ids=str)
def test_x_stays_fastest_where_no_other_axis_is_known(grid):
    assert order(body(row_axis=0), grid) == []


def test_arguments_that_may_overlap_keep_the_order():
    assert order(body(row_axis=0), disjoint=False) == []


@pytest.mark.parametrize(("shift", "expected"), [(0, [1, 0, 2]), (64, []), (1, [])])
def test_what_is_updated_in_place_is_a_programs_own(shift, expected):
    assert order(body(row_axis=0, loads_from="%y", stores_shift=shift)) == expected


def test_atomic_operations_keep_the_order():
    counted = body(row_axis=0) + (
        '%old = "tt.atomic_rmw"(%xp, %c512) {atomic_rmw_op = 4 : i32, sem = 4 : i32,'
        " scope = 1 : i32} : (!tt.ptr<f32>, i32) -> i32"
    )
    assert order(counted) == []


@triton.jit
def numbered_kernel(
    x_ptr, out_ptr, width, PLANE: tl.constexpr, ROW: tl.constexpr, PART: tl.constexpr
):
    plane, row, part = tl.program_id(PLANE), tl.program_id(ROW), tl.program_id(PART)
    columns = part * 16 + tl.arange(0, 16)
    at = (plane * tl.num_programs(ROW) + row) * width + columns
    number = (plane * 100 + row) * 100 + part
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=columns < width) + number, mask=columns < width)


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 1, 0)], ids=str)
def test_every_program_runs_once(run: KernelRunner, axes: tuple[int, ...]) -> None:
    sizes = dict(zip(axes, (2, 5, 3), strict=True))
    grid, width, target = [sizes[axis] for axis in range(3)], 40, RVVTarget(vlen_bits=256)
    x = np.random.default_rng(1).integers(0, 9, (2, 5, width)).astype(np.int32)
    plane, row, column = np.indices(x.shape)
    expected = Expected((x + (plane * 100 + row) * 100 + column // 16).astype(np.int32))
    arguments = [as_argument(*each) for each in (("x_ptr", x), ("out_ptr", expected))]
    arguments.append(as_argument("width", width))
    compiled = compile_kernel(
        numbered_kernel,
        {argument.name: argument.type for argument in arguments},
        dict(zip(("PLANE", "ROW", "PART"), axes, strict=True)),
        target,
        {"width": width},
        disjoint_arguments=True,
        grid=grid,
    )
    fired = {each.name: each.count for each in compiled.passes}
    assert fired["order-programs"] == (axes[2] != 0)
    run.run_elf(run.link(compiled.object, target), arguments, grid, target)
