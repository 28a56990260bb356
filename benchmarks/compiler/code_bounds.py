"""The least cycles that an emulated X60 could need for a kernel, worked out by hand.

The bound is the larger of two, both estimates:

- DRAM: each line of an input crosses the bus once, and so does each line of an output, at the
  prices of the cost table. Up to 512 KiB may still lie in L2 after the check run, so a kernel may
  beat it.
- arithmetic: what the busiest vector unit needs, in cycles for a full register at VLEN 256 (8
  lanes of 32 bits): 1 for a sum, a product or a multiply-add, 2 for a shift, a bit operation or a
  conversion.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import rvv_runner.emulated
from foundation.shapes import Shape
from kernels.spec import Problem
from launchers import Argument

__all__ = ["bound_cycles"]

_LANES = 8
# e^x: 2 to clamp, 2 to round, 2 to reduce, 6 for the polynomial.
_EXP = 12

_COSTS = Path(rvv_runner.emulated.__file__).with_name("x60_costs.toml")


def bound_cycles(problem: Problem) -> float:
    """The larger of the DRAM and the arithmetic bound, in cycles."""
    arithmetic = _ARITHMETIC.get(problem.spec.name)
    of_units = arithmetic(problem.shape) if arithmetic else 0.0
    return max(of_units, _bus_cycles(problem.arguments(problem.default_config)))


def _bus_cycles(arguments: tuple[Argument, ...]) -> float:
    memory = tomllib.loads(_COSTS.read_text(encoding="utf-8"))["memory"]
    arrays = [argument for argument in arguments if argument.is_pointer]
    read = sum(np.asarray(a.value).nbytes for a in arrays if a.value is not None)
    written = sum(a.expected.nbytes for a in arrays if a.expected is not None)
    cycles = read * memory["dram_read"] + written * memory["dram_write"]
    return float(cycles / memory["line_bytes"])


def _product(shape: Shape) -> float:
    """A multiply-add of 8 lanes a cycle, whatever the type: all sums have 32 bits."""
    return shape["M"] * shape["N"] * shape["K"] * shape.get("B", 1) / _LANES


def _attention(shape: Shape) -> float:
    """Two products; for each score the exponential, the difference, the maximum and the sum."""
    scores = shape["Z"] * shape["H"] * shape["N_CTX"] ** 2 / _LANES
    return float(scores * (2 * shape["D_HEAD"] + _EXP + 3))


def _pixels(shape: Shape) -> int:
    return shape["C"] * shape["H"] * shape["W"]


def _convolution(shape: Shape) -> float:
    """Of images that are padded so that a stride of 1 keeps their size."""
    stride = shape.get("STRIDE", 1)
    pixels = shape["N"] * -(-shape["H"] // stride) * -(-shape["W"] // stride)
    return pixels * shape["K"] * shape["C"] * shape["R"] ** 2 / _LANES


_ARITHMETIC: Mapping[str, Callable[[Shape], float]] = {
    "matmul": _product,
    "batched_matmul": _product,
    "split_k_matmul": _product,
    "gemm_a8w8_blockscale": _product,
    # Two experts for each token; without the rows that pad an expert's tokens.
    "fused_moe": lambda shape: 2 * _product(shape),
    "conv2d_flat": _convolution,
    "conv2d_taps": _convolution,
    "conv2d_nhwc": _convolution,
    "flash_attention_fwd": _attention,
    # Half of the scores are not needed.
    "flash_attention_fwd_causal": lambda shape: _attention(shape) / 2,
    # Besides the exponential: maximum, difference, sum, and the product with 1 / sum.
    "softmax": lambda shape: shape["M"] * shape["N"] / _LANES * (_EXP + 4),
    "cross_entropy": lambda shape: shape["M"] * shape["N"] / _LANES * (_EXP + 3),
    # Ten rounds of Philox: two products, their upper halves, and four bit operations.
    "dropout": lambda shape: shape["N"] / _LANES * 10 * 12,
    # For 32 products: two loads, a widening product and a widening sum, 8 cycles together.
    "correlation": lambda shape: _pixels(shape) * shape["D"] / 32 * 8,
    # For 16 pixels: four widenings, four sums, three shifts and three narrowings, 20 cycles.
    "resize": lambda shape: _pixels(shape) / 16 * 20,
    # For each pixel two indexed loads at 1.3 cycles, and for 16 of them ten operations.
    "warp": lambda shape: _pixels(shape) * (2 * 1.3 + 10 / 16),
}
