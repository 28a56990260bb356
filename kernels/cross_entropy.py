"""Cross entropy of rows of logits, each with its class as the target."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config, ParameterValue
from kernels.alignment import alignment, known_multiple
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import (
    Tolerance,
    input_array,
    output_array,
    seeded_integers,
    seeded_normal,
    size_bytes,
    sizes,
)
from launchers.arguments import Argument

__all__ = ["SPEC"]

# Rows with this label have loss 0, as in torch.nn.functional.cross_entropy.
IGNORED = -100


@triton.jit
def cross_entropy_kernel(
    logits_ptr,
    labels_ptr,
    loss_ptr,
    M,
    N,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    ALIGNED: tl.constexpr = 1,
):
    """loss[m] = log(sum over n of exp(logits[m, n])) - logits[m, labels[m]]; 0 for labels below 0.

    BLOCK_SIZE_M rows a program, BLOCK_SIZE_N columns at a time: once for the largest logit, once
    for the sum. Lanes are brought together at the end of each. ALIGNED divides N.
    """
    N = known_multiple(N, ALIGNED)
    rows = tl.program_id(axis=0) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    block = tl.arange(0, BLOCK_SIZE_N)
    logits_ptrs = logits_ptr + rows[:, None] * N + block[None, :]
    largest = tl.full((BLOCK_SIZE_M, BLOCK_SIZE_N), -float("inf"), dtype=tl.float32)
    for first in range(0, N, BLOCK_SIZE_N):
        mask = (rows[:, None] < M) & (first + block[None, :] < N)
        logits = tl.load(logits_ptrs + first, mask=mask, other=-float("inf"))
        largest = tl.maximum(largest, logits.to(tl.float32))
    row_largest = tl.max(largest, axis=1)

    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for first in range(0, N, BLOCK_SIZE_N):
        mask = (rows[:, None] < M) & (first + block[None, :] < N)
        logits = tl.load(logits_ptrs + first, mask=mask, other=-float("inf"))
        total += tl.exp(logits.to(tl.float32) - row_largest[:, None])
    logsumexp = row_largest + tl.log(tl.sum(total, axis=1))

    labels = tl.load(labels_ptr + rows, mask=rows < M, other=-1)
    counted = labels >= 0
    right = tl.load(logits_ptr + rows * N + labels, mask=counted, other=0.0).to(tl.float32)
    tl.store(loss_ptr + rows, tl.where(counted, logsumexp - right, 0.0), mask=rows < M)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, n = problem.shape["M"], problem.shape["N"]
    logits = seeded_normal((m, n), 0, problem.dtype)
    labels = seeded_integers((m,), 1, 0, n - 1)
    labels[::7] = IGNORED
    labels[1:2], labels[2:3] = 0, n - 1  # always include the first and the last class
    expected = torch.nn.functional.cross_entropy(
        logits.double(), labels, ignore_index=IGNORED, reduction="none"
    )
    return (
        input_array("logits_ptr", logits),
        input_array("labels_ptr", labels),
        output_array("loss_ptr", expected.float(), Tolerance(atol=1e-5, rtol=1e-5)),
        *sizes(M=m, N=n),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    return (triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"])), 1, 1)


def _default_config(problem: Problem) -> Config:
    return Config({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": triton.next_power_of_2(problem.shape["N"])})


def _constants(problem: Problem, config: Config) -> dict[str, ParameterValue]:
    return {"ALIGNED": alignment(problem, config, problem.shape["N"])}


def _traffic_bytes(problem: Problem) -> float:
    m, n = problem.shape["M"], problem.shape["N"]
    return size_bytes(problem.dtype) * m * n + (size_bytes("i64") + size_bytes("fp32")) * m


SPEC = KernelSpec(
    name="cross_entropy",
    kernel=cross_entropy_kernel,
    default_shape={"M": 64, "N": 1024},
    default_config=_default_config,
    dtypes=("fp32", "fp16", "bf16"),
    arguments=_arguments,
    grid=_grid,
    # A comparison, a difference, an exponential and a sum per element.
    flops=lambda problem: 4 * problem.shape["M"] * problem.shape["N"],
    traffic_bytes=_traffic_bytes,
    constants=_constants,
)
