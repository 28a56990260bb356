"""Doubles the width and height of an image, by linear interpolation with integers.

Int8 planes, as in the AI-Benchmark for RISC-V.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import TORCH_TYPES, input_array, output_array, seeded_integers, sizes
from launchers.arguments import Argument

__all__ = ["SPEC"]


@triton.jit
def resize_kernel(
    src_ptr,
    out_ptr,
    height,
    width,
    BLOCK_SIZE_H: tl.constexpr,
    BLOCK_SIZE_W: tl.constexpr,
):
    """out[c, y, x] is src at (c, y / 2, x / 2), means rounded down and the last pixels repeated.

    src: (channels, height, width). Each pixel gives four, so all that is read lies together. Tiles
    of the source along x and y, channels along z.
    """
    channel = tl.program_id(axis=2)
    rows = tl.program_id(axis=1) * BLOCK_SIZE_H + tl.arange(0, BLOCK_SIZE_H)
    columns = tl.program_id(axis=0) * BLOCK_SIZE_W + tl.arange(0, BLOCK_SIZE_W)
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    not_last = columns[None, :] + 1 < width
    right_inside = (rows[:, None] < height) & not_last
    lower_rows = tl.minimum(rows + 1, height - 1)
    src = src_ptr + channel * height * width + columns[None, :]

    upper_ptrs = src + rows[:, None] * width
    upper = tl.load(upper_ptrs, mask=inside, other=0).to(tl.int16)
    upper_right = tl.load(upper_ptrs + 1, mask=right_inside, other=0).to(tl.int16)
    upper_right = tl.where(not_last, upper_right, upper)
    lower_ptrs = src + lower_rows[:, None] * width
    lower = tl.load(lower_ptrs, mask=inside, other=0).to(tl.int16)
    lower_right = tl.load(lower_ptrs + 1, mask=right_inside, other=0).to(tl.int16)
    lower_right = tl.where(not_last, lower_right, lower)

    pixel: tl.constexpr = out_ptr.dtype.element_ty
    out = out_ptr + channel * height * width * 4
    out_ptrs = out + rows[:, None] * (4 * width) + columns[None, :] * 2
    tl.store(out_ptrs, upper.to(pixel), mask=inside)
    tl.store(out_ptrs + 1, ((upper + upper_right) >> 1).to(pixel), mask=inside)
    out_ptrs += 2 * width
    left = upper + lower
    tl.store(out_ptrs, (left >> 1).to(pixel), mask=inside)
    tl.store(out_ptrs + 1, ((left + upper_right + lower_right) >> 2).to(pixel), mask=inside)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    channels, height, width = (problem.shape[name] for name in "CHW")
    pixel = TORCH_TYPES[problem.dtype]
    limits = torch.iinfo(pixel)
    src = seeded_integers((channels, height, width), 0, limits.min, limits.max)
    return (
        input_array("src_ptr", src.to(pixel)),
        output_array("out_ptr", _doubled(src).to(pixel)),
        *sizes(height=height, width=width),
    )


def _doubled(src: torch.Tensor) -> torch.Tensor:
    """For each position of the finer grid, the mean of the four pixels around it."""
    _, height, width = src.shape
    y, x = torch.arange(2 * height), torch.arange(2 * width)
    y_next, x_next = ((y + 1) // 2).clamp(max=height - 1), ((x + 1) // 2).clamp(max=width - 1)
    corners = [src[:, ys][:, :, xs] for ys in (y // 2, y_next) for xs in (x // 2, x_next)]
    return torch.stack(corners).sum(dim=0) >> 2


def _grid(problem: Problem, config: Config) -> Grid:
    columns = triton.cdiv(problem.shape["W"], int(config["BLOCK_SIZE_W"]))
    rows = triton.cdiv(problem.shape["H"], int(config["BLOCK_SIZE_H"]))
    return (columns, rows, problem.shape["C"])


def _pixels(problem: Problem) -> int:
    return problem.shape["C"] * problem.shape["H"] * problem.shape["W"]


SPEC = KernelSpec(
    name="resize",
    kernel=resize_kernel,
    default_shape={"C": 3, "H": 64, "W": 128},
    default_config=Config({"BLOCK_SIZE_H": 1, "BLOCK_SIZE_W": 32}),
    dtypes=("i8", "u8"),
    arguments=_arguments,
    grid=_grid,
    # Four sums and three shifts per pixel of the source.
    flops=lambda problem: 7 * _pixels(problem),
    traffic_bytes=lambda problem: 5 * _pixels(problem),
)
