"""Correlation of two feature maps over a range of displacements: the cost volume of stereo vision.

Int8 inputs; a shift makes the outputs int8, as in the AI-Benchmark for RISC-V.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import input_array, output_array, seeded_integers, sizes
from launchers.arguments import Argument

__all__ = ["SPEC"]


@triton.jit
def correlation_kernel(
    left_ptr,
    right_ptr,
    out_ptr,
    channels,
    height,
    width,
    shift,
    displacements,
    BLOCK_SIZE_D: tl.constexpr,
    BLOCK_SIZE_H: tl.constexpr,
    BLOCK_SIZE_W: tl.constexpr,
):
    """out[d, y, x] = (sum over c of left[c, y, x] * right[c, y, x - d]) >> shift.

    left, right: (channels, height, width); elements left of the first column count as zero. Tiles
    of the image along x and y, blocks of displacements along z, for which left is read once.
    """
    shifts = tl.program_id(axis=2) * BLOCK_SIZE_D + tl.arange(0, BLOCK_SIZE_D)[:, None, None]
    rows = tl.program_id(axis=1) * BLOCK_SIZE_H + tl.arange(0, BLOCK_SIZE_H)[None, :, None]
    columns = tl.program_id(axis=0) * BLOCK_SIZE_W + tl.arange(0, BLOCK_SIZE_W)[None, None, :]
    at = rows * width + columns
    inside = (rows < height) & (columns < width)
    shifted_inside = inside & (columns >= shifts)
    total = tl.zeros((BLOCK_SIZE_D, BLOCK_SIZE_H, BLOCK_SIZE_W), dtype=tl.int32)
    for channel in range(channels):
        plane = channel * height * width
        left = tl.load(left_ptr + plane + at, mask=inside, other=0)
        right = tl.load(right_ptr + plane + at - shifts, mask=shifted_inside, other=0)
        # A product of two bytes fits 16 bits.
        total += left.to(tl.int16) * right.to(tl.int16)
    out_ptrs = out_ptr + shifts * height * width + at
    out = (total >> shift).to(out_ptr.dtype.element_ty)
    tl.store(out_ptrs, out, mask=inside & (shifts < displacements))


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    channels, height, width, displacements = (problem.shape[name] for name in "CHWD")
    left, right = (seeded_integers((channels, height, width), seed, -127, 127) for seed in (0, 1))
    # No sum may overflow the eight bits of the result; 7 bits are for the product.
    shift = 7 + (channels - 1).bit_length()
    expected = torch.zeros((displacements, height, width), dtype=torch.int64)
    for d in range(min(displacements, width)):
        expected[d, :, d:] = (left[:, :, d:] * right[:, :, : width - d]).sum(dim=0) >> shift
    return (
        input_array("left_ptr", left.to(torch.int8)),
        input_array("right_ptr", right.to(torch.int8)),
        output_array("out_ptr", expected.to(torch.int8)),
        *sizes(channels=channels, height=height, width=width, shift=shift),
        *sizes(displacements=displacements),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    columns = triton.cdiv(problem.shape["W"], int(config["BLOCK_SIZE_W"]))
    rows = triton.cdiv(problem.shape["H"], int(config["BLOCK_SIZE_H"]))
    return (columns, rows, triton.cdiv(problem.shape["D"], int(config["BLOCK_SIZE_D"])))


def _flops(problem: Problem) -> float:
    """Products and sums of integers."""
    channels, height, width, displacements = (problem.shape[name] for name in "CHWD")
    return 2 * channels * height * width * displacements


def _traffic_bytes(problem: Problem) -> float:
    channels, height, width, displacements = (problem.shape[name] for name in "CHWD")
    return (2 * channels + displacements) * height * width


SPEC = KernelSpec(
    name="correlation",
    kernel=correlation_kernel,
    default_shape={"C": 16, "H": 48, "W": 64, "D": 8},
    default_config=Config({"BLOCK_SIZE_D": 1, "BLOCK_SIZE_H": 4, "BLOCK_SIZE_W": 16}),
    dtypes=("i8",),
    arguments=_arguments,
    grid=_grid,
    flops=_flops,
    traffic_bytes=_traffic_bytes,
)
