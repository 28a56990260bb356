"""Limits of columns in addresses, as those that repeat the edge of an image."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering.ttir.column_limits import IS_COLUMN, mark_column_limits
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.targets.target import RVVTarget


@triton.jit
def line_kernel(
    x_ptr, y_ptr, z_ptr, w_ptr, base, low, high, total, K: tl.constexpr, N: tl.constexpr
):
    i = tl.arange(0, N)
    mask = i < total
    at = base + i * K
    upper, lower = tl.minimum(at, high), tl.maximum(at, low)
    tl.store(y_ptr + i, tl.load(x_ptr + tl.minimum(lower, high), mask=mask, other=-1), mask=mask)
    tl.store(z_ptr + i, tl.load(x_ptr + tl.maximum(upper, low)))
    tl.store(w_ptr + i, upper.to(tl.int64) - 2 * lower)


@pytest.mark.parametrize(
    ("base", "limits", "stride"),
    in_turn(
        [
            (-1, (0, 254), 1),
            (3, (5, 90), 1),
            (0, (0, 299), 1),
            (-7, (2, 280), 3),
            (500, (0, 299), 1),
            (-400, (4, 299), 1),
            (0, (9, 3), 1),
            (2**31 - 100, (0, 299), 1),
            (-(2**31), (0, 150), 2),
        ],
        turns=3,
    ),
)
def test_lines(run: KernelRunner, base: int, limits: tuple[int, int], stride: int) -> None:
    low, high = limits
    size, total = 256, 250
    x = np.random.default_rng(1).integers(0, 1000, 300).astype(np.int32)
    at = (base + np.arange(size) * stride).astype(np.int32).astype(np.int64)
    inner, outer = np.minimum(np.maximum(at, low), high), np.maximum(np.minimum(at, high), low)
    y = np.zeros(size, np.int32)
    y[:total] = x[inner[:total]]
    run(
        line_kernel,
        x_ptr=x,
        y_ptr=Expected(y[:total]),
        z_ptr=Expected(x[outer]),
        w_ptr=Expected(np.minimum(at, high) - 2 * np.maximum(at, low).astype(np.int32)),
        base=base, low=low, high=high, total=total, K=stride, N=size,
    )  # fmt: skip


@triton.jit
def wrapping_kernel(x_ptr, y_ptr, base, low, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.maximum(base + i, low)
    tl.store(y_ptr + i, tl.load(x_ptr + (at - low)))


def test_integers_that_wrap_are_below_the_limit(run: KernelRunner) -> None:
    base, low = 2**31 - 100, 2**31 - 200
    x = np.arange(400, dtype=np.int32)
    y = np.where(np.arange(256) < 100, x[100:356], x[0]).astype(np.int32)
    run(wrapping_kernel, x_ptr=x, y_ptr=Expected(y), base=base, low=low, N=256)


@triton.jit
def image_kernel(x_ptr, flat_ptr, block_ptr, height, width, H: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * H * W + tl.arange(0, H * W)
    row, column = i // width, i % width
    below, right = tl.minimum(row + 1, height - 1), tl.minimum(column + 2, width - 1)
    inside = i < height * width
    x = tl.load(x_ptr + below * width + tl.maximum(column - 1, 0), mask=inside)
    tl.store(flat_ptr + i, x + tl.load(x_ptr + row * width + right, mask=inside), mask=inside)
    rows, columns = tl.arange(0, H), tl.program_id(0) * W + tl.arange(0, W)
    mask = (rows < height)[:, None] & (columns < width)[None, :]
    above = tl.maximum(rows - 1, 0)
    near = tl.minimum(tl.maximum(columns - 2, 0), width - 1)
    far = tl.minimum(columns + 1, width - 1)
    x = tl.load(x_ptr + tl.minimum(above, height - 1)[:, None] * width + near[None, :])
    x += tl.load(x_ptr + tl.minimum(rows, height - 1)[:, None] * width + far[None, :])
    tl.store(block_ptr + rows[:, None] * width + columns[None, :], x, mask=mask)


@pytest.mark.parametrize(
    ("height", "width"), in_turn([(5, 100), (8, 64), (3, 7), (1, 1), (7, 130)], turns=3)
)
def test_images(run: KernelRunner, height: int, width: int) -> None:
    x = np.random.default_rng(2).integers(0, 1000, (height, width)).astype(np.int32)
    rows, columns = np.arange(height), np.arange(width)
    below, above = np.minimum(rows + 1, height - 1), np.maximum(rows - 1, 0)
    flat = x[below][:, np.maximum(columns - 1, 0)] + x[:, np.minimum(columns + 2, width - 1)]
    block = x[above][:, np.maximum(columns - 2, 0)] + x[:, np.minimum(columns + 1, width - 1)]
    programs = max(width, height * width // 8) // 64 + 1
    run(
        image_kernel,
        x_ptr=x,
        flat_ptr=Expected(flat),
        block_ptr=Expected(block),
        height=height, width=width, H=8, W=64, grid=(programs + 1,),
    )  # fmt: skip


@triton.jit
def turns_kernel(x_ptr, y_ptr, rows, width, base, low, high, total, N: tl.constexpr):
    i = tl.arange(0, N)
    mask = i < total
    near, far = tl.maximum(base + i, low), tl.minimum(base + i + 3, high)
    both = tl.minimum(tl.maximum(base + i - 1, low) + 1, high)
    sums = tl.full((N,), 0, tl.int32)
    for row in range(rows):
        line = x_ptr + row * width + 32
        here = tl.load(line + far, mask=mask, other=-5) + tl.load(line + both)
        sums += here * tl.load(line + near, mask=(i > 1) & mask)
    tl.store(y_ptr + i, sums, mask=mask)


@pytest.mark.parametrize(
    ("base", "limits", "total", "vlen_bits"),
    in_turn(
        [
            (0, (1, 299), 200, 256),
            (-20, (0, 90), 250, 128),
            (3, (3, 5), 256, 512),
            (-2, (7, 40), 33, 256),
            (0, (9, 3), 250, 1024),
        ],
        turns=3,
    ),
)
def test_turns_of_a_loop(
    run: KernelRunner, base: int, limits: tuple[int, int], total: int, vlen_bits: int
) -> None:
    """A walk over a whole block, of which all that is behind a row may be beyond a limit."""
    (low, high), size, width = limits, 256, 300
    x = np.random.default_rng(3).integers(0, 1000, (3, width)).astype(np.int32)
    # Columns with one limit reach beyond the rows.
    padded = np.zeros(32 + 3 * width + 2 * size, np.int32)
    padded[32 : 32 + 3 * width] = x.ravel()
    at = (base + np.arange(size)).astype(np.int32)
    near, far = np.maximum(at, low), np.minimum((at.astype(np.int64) + 3).astype(np.int32), high)
    before = np.maximum((at.astype(np.int64) - 1).astype(np.int32), low)
    both, y = np.minimum(before + 1, high), np.zeros(size, np.int32)
    for row in range(3):
        rest = padded[row * width :]
        here = np.where(np.arange(size) < total, rest[32 + far], -5) + rest[32 + both]
        y += here * np.where(np.arange(size) > 1, rest[32 + np.minimum(near, 2 * size)], 0)
    run(
        turns_kernel, x_ptr=padded, y_ptr=Expected(y[:total]), vlen_bits=vlen_bits,
        rows=3, width=width, base=base, low=low, high=high, total=total, N=size,
    )  # fmt: skip


@triton.jit
def mirrored_kernel(
    x_ptr, y_ptr, z_ptr, w_ptr, base, low, width, total, K: tl.constexpr, N: tl.constexpr
):
    """A row that is mirrored at both ends, one that goes on there at the other, and a block."""
    i = tl.arange(0, N)
    mask = i < total
    at = base + i * K
    near = tl.abs(at)
    near = tl.where(near < width, near, 2 * width - 2 - near)
    tl.store(y_ptr + i, tl.load(x_ptr + near, mask=mask, other=-1), mask=mask)
    on = tl.where(low > at, at + width, at)
    on = tl.where(on <= width + low - 1, on, on - width) - low
    tl.store(z_ptr + i, tl.load(x_ptr + on, mask=mask), mask=mask)
    rows = tl.arange(0, 4)[:, None]
    x = tl.load(x_ptr + rows + tl.maximum(near, 1)[None, :], mask=mask[None, :])
    tl.store(w_ptr + rows * N + i[None, :], tl.where(mask[None, :], x - near[None, :], 0))


@pytest.mark.parametrize(
    ("base", "low", "stride", "total"),
    in_turn(
        [
            (-12, 0, 1, 250),
            (0, -9, 1, 256),
            (3, 90, 1, 200),
            (120, 30, 1, 256),
            (-255, -200, 1, 256),
            (-40, -40, 2, 130),
            (-(2**31), -(2**31), 1, 0),
            (2**31 - 100, 2**31 - 100, 1, 0),
        ],
        turns=4,
    ),
)
def test_mirrored_rows(run: KernelRunner, base: int, low: int, stride: int, total: int) -> None:
    size, width = 256, 300
    x = np.random.default_rng(1).integers(0, 1000, width + 4).astype(np.int32)
    at = base + np.arange(total) * stride
    near = np.where(abs(at) < width, abs(at), 2 * width - 2 - abs(at))
    on = (at - low) % width
    w = np.zeros((4, size), np.int32)
    w[:, :total] = x[np.arange(4)[:, None] + np.maximum(near, 1)] - near
    run(
        mirrored_kernel,
        x_ptr=x,
        y_ptr=Expected(x[near]),
        z_ptr=Expected(x[on]),
        w_ptr=Expected(w),
        base=base, low=low, width=width, total=total, K=stride, N=size,
    )  # fmt: skip


@triton.jit
def neighbours_kernel(x_ptr, y_ptr, width, far, N: tl.constexpr):
    """Neighbours of a row beyond whose ends are its other end, itself, or a mirror."""
    i = tl.arange(0, N)
    mask = i < width
    before = tl.where(i == 0, width - 1, i - 1)
    behind = tl.where(i != width - 1, i + 1, 0)
    kept = tl.where(i > 0, i - 1, i)
    second = tl.where(i < width - 1, i + 1, width - 2)
    on = tl.where(i + far >= width, i + far - width, i + far)
    near = tl.where(far > i, far - i, i - far)
    third = tl.where(3 * i <= far, 3 * i, 3 * i - far)
    tl.store(y_ptr + i, tl.load(x_ptr + before, mask=mask), mask=mask)
    tl.store(y_ptr + width + i, tl.load(x_ptr + behind, mask=mask, other=7), mask=mask)
    tl.store(y_ptr + 2 * width + i, tl.load(x_ptr + kept, mask=mask) + i, mask=mask)
    tl.store(y_ptr + 3 * width + i, tl.load(x_ptr + tl.maximum(second, 0), mask=mask), mask=mask)
    sums = tl.load(x_ptr + on, mask=mask) + 2 * tl.load(x_ptr + near, mask=mask)
    tl.store(y_ptr + 4 * width + i, sums * tl.load(x_ptr + behind, mask=mask), mask=mask)
    tl.store(y_ptr + 5 * width + i, tl.load(x_ptr + third, mask=mask), mask=mask)


@pytest.mark.parametrize(
    ("width", "far", "vlen_bits"),
    in_turn(
        [(200, 3, 256), (256, 100, 128), (33, 1, 1024), (5, 4, 256), (2, 1, 128), (1, 0, 256)],
        turns=3,
    ),
)
def test_neighbours_at_the_ends_of_a_row(
    run: KernelRunner, width: int, far: int, vlen_bits: int
) -> None:
    size, i = 256, np.arange(width)
    x = np.random.default_rng(4).integers(0, 1000, 3 * size).astype(np.int32)
    behind = np.where(i != width - 1, i + 1, 0)
    second = np.maximum(np.where(i < width - 1, i + 1, width - 2), 0)
    y = np.zeros((6, width), np.int32)
    y[0] = x[np.where(i == 0, width - 1, i - 1)]
    y[1], y[3] = x[behind], x[second]
    y[2] = x[np.maximum(i - 1, 0)] + i
    y[4] = (x[(i + far) % width] + 2 * x[abs(i - far)]) * x[behind]
    y[5] = x[np.where(3 * i <= far, 3 * i, 3 * i - far)]
    run(
        neighbours_kernel, x_ptr=x, y_ptr=Expected(y), vlen_bits=vlen_bits,
        width=width, far=far, N=size,
    )  # fmt: skip


@triton.jit
def torus_kernel(x_ptr, y_ptr, height, width, up, on, H: tl.constexpr, W: tl.constexpr):
    """Blocks of an image that goes on from its other end, with negative remainders."""
    rows = tl.program_id(0) * H + tl.arange(0, H)
    columns = tl.program_id(1) * W + tl.arange(0, W)
    mask = (rows < height)[:, None] & (columns < width)[None, :]
    above = (rows - up) % height
    above = tl.where(above < 0, above + height, above)[:, None] * width
    here = rows[:, None] * width
    further = ((columns + on) % width + width) % width
    last = tl.where(columns == width - 1, 0, columns + 1)
    x = tl.load(x_ptr + above + further[None, :], mask=mask, other=0)
    x += 3 * tl.load(x_ptr + here + last[None, :], mask=mask, other=0)
    x += tl.load(x_ptr + ((rows + 1) % height)[:, None] * width + columns[None, :], mask=mask)
    tl.store(y_ptr + here + columns[None, :], x, mask=mask)


@pytest.mark.parametrize(
    ("shape", "far", "block", "vlen_bits"),
    in_turn(
        [
            ((7, 150), (1, 1), (4, 64), 256),
            ((3, 64), (5, -70), (8, 32), 128),
            ((6, 130), (2, 129), (1, 128), 1024),
            ((1, 1), (3, -9), (2, 16), 256),
            ((5, 6), (4, -40), (4, 64), 256),
        ],
        turns=3,
    ),
)
def test_images_that_go_on_from_the_other_end(
    run: KernelRunner,
    shape: tuple[int, int],
    far: tuple[int, int],
    block: tuple[int, int],
    vlen_bits: int,
) -> None:
    x = np.random.default_rng(5).integers(0, 1000, shape).astype(np.int16)
    y = np.roll(x, (far[0], -far[1]), (0, 1)) + 3 * np.roll(x, -1, 1) + np.roll(x, -1, 0)
    run(
        torus_kernel, x_ptr=x, y_ptr=Expected(y), vlen_bits=vlen_bits,
        height=shape[0], width=shape[1], up=far[0], on=far[1], H=block[0], W=block[1],
        grid=(-(-shape[0] // block[0]), -(-shape[1] // block[1])),
    )  # fmt: skip


def _marked(body: str) -> tuple[int, bool]:
    module = parse_module(function(body, "%p: !tt.ptr<f32>, %n: i32"))
    fired = mark_column_limits(Kernel(module, RVVTarget(), True))
    return fired, any(IS_COLUMN in each.attributes for each in module.walk())


_LIMIT = """
    %line = "tt.make_range"() <{start = 0 : i32, end = 64 : i32}> : () -> tensor<64xi32>
    %most = "tt.splat"(%n) : (i32) -> tensor<64xi32>
    %at = "arith.minsi"(%line, %most) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>"""


def _address(axis: int, shape: str) -> str:
    return f"""{_LIMIT}
    %part = "tt.expand_dims"(%at) <{{axis = {axis} : i32}}> : (tensor<64xi32>)
        -> tensor<{shape}xi32>
    %start = "tt.splat"(%p) : (!tt.ptr<f32>) -> tensor<{shape}x!tt.ptr<f32>>
    %to = "tt.addptr"(%start, %part) : (tensor<{shape}x!tt.ptr<f32>>, tensor<{shape}xi32>)
        -> tensor<{shape}x!tt.ptr<f32>>"""


_MIRROR = _address(0, "1x64").replace(
    '"arith.minsi"(%line, %most) : (tensor<64xi32>, ', '"math.absi"(%line) : ('
)


_WRAP = _address(0, "1x64").replace("arith.minsi", "arith.remsi")


@pytest.mark.parametrize(
    ("body", "fires"),
    [
        (_address(0, "1x64"), True),
        (_MIRROR, True),
        (_WRAP, True),
        (_address(1, "64x1").replace("arith.minsi", "arith.remsi"), False),
        (_address(1, "64x1"), False),
        (_LIMIT, False),
    ],
)
def test_limits_of_columns_alone_are_marked(body: str, fires: bool) -> None:
    assert _marked(body) == (fires, fires)
