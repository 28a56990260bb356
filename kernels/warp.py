"""Moves each pixel of an image along its row by its own displacement, with linear interpolation.

Int8 planes, and displacements with eight fractional bits, as in the AI-Benchmark for RISC-V.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import input_array, output_array, seeded_integers, seeded_normal, sizes
from launchers.arguments import Argument

__all__ = ["SPEC"]

FRACTION_BITS = 8


@triton.jit
def warp_kernel(
    src_ptr,
    offset_ptr,
    out_ptr,
    channels,
    height,
    width,
    FRACTION_BITS: tl.constexpr,
    BLOCK_SIZE_H: tl.constexpr,
    BLOCK_SIZE_W: tl.constexpr,
):
    """out[c, y, x] is src at (c, y, x - offset[y, x]), rounded down and zero outside the image.

    src, out: (channels, height, width); offset: (height, width) in units of 2^-FRACTION_BITS.
    Where a pixel comes from is worked out once for all its channels.
    """
    rows = tl.program_id(axis=1) * BLOCK_SIZE_H + tl.arange(0, BLOCK_SIZE_H)
    columns = tl.program_id(axis=0) * BLOCK_SIZE_W + tl.arange(0, BLOCK_SIZE_W)
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    at = rows[:, None] * width + columns[None, :]
    offset = tl.load(offset_ptr + at, mask=inside, other=0).to(tl.int32)
    position = (columns[None, :] << FRACTION_BITS) - offset
    left = position >> FRACTION_BITS
    fraction = position & ((1 << FRACTION_BITS) - 1)
    left_inside = inside & (left >= 0) & (left < width)
    right_inside = inside & (left >= -1) & (left + 1 < width)
    left_at = rows[:, None] * width + left
    for channel in range(channels):
        src = src_ptr + channel * height * width
        left_pixel = tl.load(src + left_at, mask=left_inside, other=0).to(tl.int32)
        right_pixel = tl.load(src + left_at + 1, mask=right_inside, other=0).to(tl.int32)
        mixed = (left_pixel << FRACTION_BITS) + (right_pixel - left_pixel) * fraction
        out = (mixed >> FRACTION_BITS).to(out_ptr.dtype.element_ty)
        tl.store(out_ptr + channel * height * width + at, out, mask=inside)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    channels, height, width = (problem.shape[name] for name in "CHW")
    src = seeded_integers((channels, height, width), 0, -128, 127)
    one = 1 << FRACTION_BITS
    offset = (seeded_normal((height, width), 1) * (4 * one)).round().long()
    position = torch.arange(width) * one - offset
    left, fraction = position >> FRACTION_BITS, position % one
    mixed = _pixels_at(src, left) * (one - fraction) + _pixels_at(src, left + 1) * fraction
    return (
        input_array("src_ptr", src.to(torch.int8)),
        input_array("offset_ptr", offset.to(torch.int16)),
        output_array("out_ptr", (mixed >> FRACTION_BITS).to(torch.int8)),
        *sizes(channels=channels, height=height, width=width),
    )


def _pixels_at(src: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """src[c, y, columns[y, x]], or zero outside the image."""
    width = src.shape[2]
    within = (columns >= 0) & (columns < width)
    index = columns.clamp(0, width - 1).expand(src.shape)
    return torch.where(within, torch.gather(src, 2, index), 0)


def _grid(problem: Problem, config: Config) -> Grid:
    columns = triton.cdiv(problem.shape["W"], int(config["BLOCK_SIZE_W"]))
    rows = triton.cdiv(problem.shape["H"], int(config["BLOCK_SIZE_H"]))
    return (columns, rows, 1)


def _traffic_bytes(problem: Problem) -> float:
    channels, height, width = (problem.shape[name] for name in "CHW")
    return (2 * channels + 2) * height * width


SPEC = KernelSpec(
    name="warp",
    kernel=warp_kernel,
    default_shape={"C": 3, "H": 48, "W": 128},
    default_config=Config({"BLOCK_SIZE_H": 1, "BLOCK_SIZE_W": 16}),
    dtypes=("i8",),
    arguments=_arguments,
    grid=_grid,
    # Two shifts, a difference, a product and a sum per pixel.
    flops=lambda problem: 5 * problem.shape["C"] * problem.shape["H"] * problem.shape["W"],
    traffic_bytes=_traffic_bytes,
    constants={"FRACTION_BITS": FRACTION_BITS},
)
