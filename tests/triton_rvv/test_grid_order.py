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
from triton_rvv.lowering.ttir.carried_offsets import carry_bases
from triton_rvv.lowering.ttir.grid_order import GRID_ORDER, order_programs
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.passes import run_passes
from triton_rvv.make_ttir import make_ttir
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


@pytest.mark.parametrize("grid", [None, (16, 1, 1), (1, 1, 1)], ids=str)
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


def test_products_keep_the_order():
    block = "tensor<16x16xf32>"
    blocks = f"{block}, {block}, {block}"
    product = f"""
%zeros = "arith.constant"() {{value = dense<0.0> : {block}}} : () -> {block}
%product = "tt.dot"(%zeros, %zeros, %zeros) {{inputPrecision = 2 : i32}} : ({blocks}) -> {block}
"""
    assert order(body(row_axis=0) + product) == []


@triton.jit
def swept_kernel(x_ptr, y_ptr, n, KIND: tl.constexpr):
    """Programs of a grid of rows and their parts."""
    row, part, at = tl.program_id(0), tl.program_id(1), tl.arange(0, 64)
    here = row * 512 + part * 64 + at
    if KIND == "jumps":  # along both axes
        tl.store(y_ptr + row * 1024 + part * 128 + at, 1)
    elif KIND == "turned":  # what is loaded goes on along one axis, what is stored along the other
        tl.store(y_ptr + part * 1024 + row * 64 + at, tl.load(x_ptr + here))
    elif KIND == "uneven":  # how far a row lies from the one before is another number each time
        tl.store(y_ptr + here, tl.load(x_ptr + row * row * 512 + at))
    elif KIND == "two places":
        tl.store(y_ptr + here, tl.load(x_ptr + here) + tl.load(x_ptr + here + n))
    elif KIND == "tiles":  # of rows that lie apart: none goes on where one before ended
        rows = tl.arange(0, 4)[:, None] * 16384
        tl.store(y_ptr + row * 8192 + part * 512 + rows + at[None, :], 1)
    elif KIND == "shared":  # each row's programs load the same, but for the part that they store
        tl.store(y_ptr + here, tl.load(x_ptr + row * 64 + at))
    elif KIND == "shared and large":
        whole = tl.load(x_ptr + row * 16384 + tl.arange(0, 16384))
        tl.store(y_ptr + row * 512 + part * 64, tl.max(whole, 0))
    elif KIND == "scattered":  # as many lines as L1 does not keep
        places = tl.arange(0, 16384)
        whole = tl.load(x_ptr + row * 64 + places * places)
        tl.store(y_ptr + row * 512 + part * 64, tl.max(whole, 0))


@triton.jit
def updating_kernel(x_ptr, y_ptr, n, KIND: tl.constexpr):
    """What programs update in place, beside what goes on in memory."""
    row, part, at = tl.program_id(0), tl.program_id(1), tl.arange(0, 32)
    tl.store(x_ptr + row * 512 + part * 64 + tl.arange(0, 64), 1)
    some = y_ptr + row * 512 + part * 64 + at
    if KIND == "uneven":
        some = y_ptr + row * row * 512 + part * 64 + at
    elif KIND == "scattered":  # within other programs' parts
        some = y_ptr + row * 512 + part * 64 + at * at
    for turn in range(n):  # as often as is not known
        if KIND == "moved":
            some = y_ptr + row * 512 + part * 64 + at + turn
        tl.store(some, tl.load(some) + 1)


@triton.jit
def looping_kernel(x_ptr, y_ptr, n, KIND: tl.constexpr):
    """Where a part lies in its row is found by a loop."""
    row, part, first = tl.program_id(0), tl.program_id(1), n
    here = y_ptr + row * 512 + tl.arange(0, 64)
    if KIND == "from":  # the counter begins at another number in each program
        for turn in range(part * 64, part * 64 + 64, 64):
            tl.store(here + turn, 1)
    elif KIND == "up to":  # how many turns there are depends on the program
        for _ in range(part):
            first += 64
        tl.store(here + first, 1)
    elif KIND == "begins":
        first = part
        for _ in range(n):
            first = first * 2 % 7
        tl.store(here + first, 1)
    elif KIND == "adds":
        for _ in range(n):
            first += part
        tl.store(here + first, 1)
    elif KIND == "pointers":
        here += part * 64
        for _ in range(n):
            tl.store(here, 1)
            here += 4096
    elif KIND == "own pointers":
        for _ in range(n):
            tl.store(here, 1)
            here += part * 64


@pytest.mark.parametrize(
    ("function", "kind", "fires"),
    [
        (swept_kernel, "jumps", False),
        (swept_kernel, "turned", False),
        (swept_kernel, "uneven", True),
        (swept_kernel, "two places", True),
        (swept_kernel, "tiles", False),
        (swept_kernel, "shared", True),
        (swept_kernel, "shared and large", False),
        (swept_kernel, "scattered", False),
        (updating_kernel, "", True),
        (updating_kernel, "uneven", False),
        (updating_kernel, "scattered", False),
        (updating_kernel, "moved", False),
        (looping_kernel, "from", True),
        (looping_kernel, "up to", False),
        (looping_kernel, "begins", False),
        (looping_kernel, "adds", False),
        (looping_kernel, "pointers", True),
        (looping_kernel, "own pointers", False),
    ],
)
def test_programs_are_ordered_by_what_they_are_known_to_access(function, kind, fires):
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "KIND": "constexpr"}
    target = RVVTarget(vlen_bits=256)
    text = make_ttir(function, signature, {"KIND": kind}, frozenset(), target)
    kernel = Kernel(parse_module(text), target, True, [None] * 3, PARTS_OF_ROWS)
    carry_bases(kernel)
    assert order_programs(kernel) == fires


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
