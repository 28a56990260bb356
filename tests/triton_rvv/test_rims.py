"""Masks of neighbours at the rim of an image, by any comparison, of rows of any length."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner

from triton_rvv import RVVTarget, compile_kernel, pipeline
from triton_rvv.codegen.llvm import MachineCode

Image = npt.NDArray[Any]

FILL = 50


def _shifted(x: Image, dy: int, dx: int) -> Image:
    """Each pixel's neighbour, FILL outside of the image."""
    padded = np.pad(x, 3, constant_values=FILL)
    height, width = x.shape
    return padded[3 + dy : 3 + dy + height, 3 + dx : 3 + dx + width]


@triton.jit
def line_kernel(x_ptr, y_ptr, H, W, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = at // W, at % W
    total = tl.zeros((BLOCK,), dtype=x_ptr.dtype.element_ty)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(FIRST, 2):
            r, c = row + dy, column + dx
            inside = (r >= 0) & (r < H) & (c > -1) & (c <= W - 1)
            total += tl.load(x_ptr + r * W + c, mask=inside, other=50)
    tl.store(y_ptr + at, total, mask=at < H * W)


@pytest.mark.parametrize(
    ("height", "width", "dtype", "first", "known", "vlen_bits"),
    in_turn(
        [(40, 5), (3, 100), (2, 301), (1, 1), (3, 33), (7, 56), (5, 128)],
        [
            (np.float32, -1, ("H", "W"), 256),
            (np.float32, -1, (), 256),
            (np.int8, 1, ("W",), 128),
            (np.int16, 0, (), 512),
            (np.int8, -3, ("W",), 128),  # is long: it takes ten seconds to compile
        ],
        turns=2,
    ),
)
def test_lines(
    run: KernelRunner,
    height: int,
    width: int,
    dtype: type,
    first: int,
    known: tuple[str, ...],
    vlen_bits: int,
) -> None:
    rng = np.random.default_rng(height)
    x: Image = rng.integers(-9, 9, (height, width)).astype(dtype)
    offsets = [(dy, dx) for dy in range(-1, 2) for dx in range(first, 2)]
    y = np.sum([_shifted(x, *offset) for offset in offsets], 0).astype(dtype)
    block = 256
    run(
        line_kernel,
        grid=(-(-y.size // block),),
        vlen_bits=vlen_bits,
        known=known,
        x_ptr=x, y_ptr=Expected(y), H=height, W=width, FIRST=first, BLOCK=block,
    )  # fmt: skip


def test_runs_inside_the_image_have_no_masks() -> None:
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "H": "i32", "W": "i32"}
    constants = {"FIRST": -1, "BLOCK": 256}
    compiled = compile_kernel(line_kernel, types, constants, RVVTarget(), disjoint_arguments=True)
    assert "vl2re32.v" in compiled.assembly  # which loads whole registers


@triton.jit
def tile_kernel(x_ptr, y_ptr, H, W, D: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    rows = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    columns = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)[None, :]
    at = x_ptr + rows * W + columns
    here = (rows < H) & (columns < W)
    total = tl.load(at, mask=here)
    total += tl.load(at - W, mask=here & (rows > 0), other=50)
    total += tl.load(at + W, mask=here & (rows < H - 1), other=50)
    total += tl.load(at - D, mask=here & (columns > D - 1), other=50)
    total += tl.load(at + D, mask=here & (columns + D <= W - 1), other=50)
    tl.store(y_ptr + rows * W + columns, total, mask=here)


@pytest.mark.parametrize(
    ("height", "width", "dtype", "distance"),
    in_turn(
        [(5, 7), (1, 1), (9, 64), (3, 129)],
        [(np.float32, 1), (np.int64, 1), (np.int8, 2), (np.float64, 3)],
        turns=2,
    ),
)
def test_tiles(run: KernelRunner, height: int, width: int, dtype: type, distance: int) -> None:
    rng = np.random.default_rng(width)
    x: Image = rng.integers(-9, 9, (height, width)).astype(dtype)
    offsets = [(0, 0), (-1, 0), (1, 0), (0, -distance), (0, distance)]
    y = np.sum([_shifted(x, *offset) for offset in offsets], 0).astype(dtype)
    run(
        tile_kernel,
        grid=(-(-width // 64), -(-height // 4)),
        x_ptr=x, y_ptr=Expected(y), H=height, W=width, D=distance, BLOCK_H=4, BLOCK_W=64,
    )  # fmt: skip


@pytest.mark.parametrize(("width", "rows"), [(150, 1), (300, 2), (700, 1)])
def test_long_rows(run: KernelRunner, width: int, rows: int) -> None:
    x: Image = np.random.default_rng(width).integers(-9, 9, (5, width)).astype(np.float32)
    y = np.sum([_shifted(x, *by) for by in [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)]], 0)
    run(
        tile_kernel,
        grid=(-(-width // 256), -(-5 // rows)),
        known=("H", "W"),
        x_ptr=x, y_ptr=Expected(y), H=5, W=width, D=1, BLOCK_H=rows, BLOCK_W=256,
    )  # fmt: skip


@triton.jit
def ends_kernel(x_ptr, z_ptr, y_ptr, n, m, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    z = tl.load(z_ptr + at, mask=at < m, other=0)
    tl.store(y_ptr + at, x + z, mask=at < n)


@triton.jit
def sides_kernel(x_ptr, y_ptr, H, W, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    columns = tl.arange(0, BLOCK_W)[None, :]
    at, here = x_ptr + rows * W + columns, (rows < H) & (columns < W)
    left = tl.load(at - 1, mask=here & (columns > 0), other=0)
    right = tl.load(at + 1, mask=here & (columns < W - 1), other=0)
    tl.store(y_ptr + rows * W + columns, right - left, mask=here)


@pytest.mark.parametrize(
    ("kernel", "types", "constants", "is_split"),
    [
        (tile_kernel, ("x_ptr", "y_ptr"), {"D": 1, "BLOCK_H": 2, "BLOCK_W": 256}, True),
        # Of few runs, most are at an edge.
        (tile_kernel, ("x_ptr", "y_ptr"), {"D": 1, "BLOCK_H": 2, "BLOCK_W": 64}, False),
        # Four runs are side by side.
        (sides_kernel, ("x_ptr", "y_ptr"), {"BLOCK_H": 4, "BLOCK_W": 256}, True),
        (sides_kernel, ("x_ptr", "y_ptr"), {"BLOCK_H": 4, "BLOCK_W": 128}, False),
        # What only ends is left out by other means.
        (ends_kernel, ("x_ptr", "z_ptr", "y_ptr"), {"BLOCK": 1024}, False),
    ],
)
def test_long_rows_are_split_where_masks_begin(
    kernel: Any,
    types: tuple[str, ...],
    constants: dict[str, int],
    is_split: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "generate", lambda llir, target: MachineCode(llir, b""))
    integers = [name for name in kernel.arg_names if name not in types and name not in constants]
    compiled = compile_kernel(
        kernel,
        dict.fromkeys(types, "*fp32") | dict.fromkeys(integers, "i32"),
        constants,
        RVVTarget.named("x60", 256),
        disjoint_arguments=True,
    )
    counts = {each.name: each.count for each in compiled.passes}
    assert (counts["split-at-edges"] > 0) == is_split


@triton.jit
def wrapping_kernel(x_ptr, y_ptr, base, low, high, N: tl.constexpr):
    i = tl.arange(0, N)
    at = base + i
    x = tl.load(x_ptr + i, mask=(at >= low) & (at < high), other=-1)
    y = tl.load(x_ptr + i, mask=(at > low) & (at <= high), other=-2)
    tl.store(y_ptr + i, x * 1000 + y, mask=i < N - 3)


@pytest.mark.parametrize(
    ("base", "low", "high", "size"),
    in_turn(
        [
            (2**31 - 100, -5, 2**31 - 50),
            (2**31 - 100, -(2**31), 2**31 - 1),
            (-(2**31), -(2**31) + 40, 7),
            (2**31 - 300, 2**31 - 290, 2**31 - 60),
            (0, 300, 200),
            (10, -(2**31), -(2**31)),
            (10, 2**31 - 1, 2**31 - 1),
        ],
        [8, 256],
    ),
)
def test_sums_that_wrap(run: KernelRunner, base: int, low: int, high: int, size: int) -> None:
    values = np.arange(size, dtype=np.int32)
    at = (base + np.arange(size)).astype(np.int32)
    y = np.where((at >= low) & (at < high), values, -1) * 1000
    y += np.where((at > low) & (at <= high), values, -2)
    y[-3:] = 9
    run(
        wrapping_kernel,
        x_ptr=values,
        y_ptr=Expected(y.astype(np.int32), start=np.full(size, 9, np.int32)),
        base=base, low=low, high=high, N=size,
    )  # fmt: skip
