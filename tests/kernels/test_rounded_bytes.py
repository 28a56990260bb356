"""Quantisers of 16-bit floats: right where another order of sums turns a byte, else wrong."""

from __future__ import annotations

import pytest
from kernel_runs import HOST, run_kernel

QUANTISER = """
import torch, triton
import triton.language as tl

@triton.jit
def quantise_kernel(x_ptr, w_ptr, q_ptr, M, N, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    squares = tl.zeros((ROWS,), tl.float32)
    largest = tl.zeros((ROWS,), tl.float32)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        m = (rows < M)[:, None] & (c < N)[None, :]
        x = tl.load(x_ptr + rows[:, None] * N + c[None, :], mask=m, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + c, mask=c < N, other=0.0).to(tl.float32)
        squares += tl.sum(x * x, 1)
        largest = tl.maximum(largest, tl.max(tl.abs(x * w[None, :]), 1))
    rstd = tl.rsqrt(squares / N + eps)
    factor = rstd / (largest * rstd / 127.0)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        m = (rows < M)[:, None] & (c < N)[None, :]
        x = tl.load(x_ptr + rows[:, None] * N + c[None, :], mask=m, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + c, mask=c < N, other=0.0).to(tl.float32)
        q = tl.floor(x * w[None, :] * factor[:, None] + 0.5)
        tl.store(q_ptr + rows[:, None] * N + c[None, :], q.to(tl.int8), mask=m)

def get_quantise_kernel_autotune_config():
    return [triton.Config({"ROWS": 2, "BLOCK": 256})]

def arguments(M=64, N=1000, dtype=torch.bfloat16):
    x, w = torch.randn(M, N), 1 + 0.1 * torch.randn(N)
    return dict(x_ptr=x.to(dtype), w_ptr=w.to(dtype), q_ptr=torch.empty(M, N, dtype=torch.int8),
                M=M, N=N, eps=1e-6)

def grid(meta):
    return (triton.cdiv(meta["M"], meta["ROWS"]),)
"""
REFERENCE = """
def reference(x_ptr, w_ptr, eps):
    x, w = x_ptr.float(), w_ptr.float()
    y = x * torch.rsqrt((x * x).mean(1, keepdim=True) + eps) * w
    scale = y.abs().amax(1, keepdim=True) / 127.0
    return {"q_ptr": torch.floor(y / scale + 0.5).to(torch.int8)}
"""
NARROW_ONLY = REFERENCE.replace("    x, w", "    assert x_ptr.itemsize == 2\n    x, w")


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32"])
def test_a_right_quantiser_is_right(problem_of, tmp_path, dtype):
    problem = problem_of(QUANTISER + REFERENCE, "quantiser", dtype=dtype)
    run_kernel(problem, {}, tmp_path, HOST)
    by_name = {made.name: made for made in problem.timed_arguments(problem.default_config)}
    assert 0 < by_name["q_ptr"].slack.mean() < 0.2


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("tl.floor(x * w[None, :] * factor[:, None] + 0.5)", "x * w[None, :] * factor[:, None]"),
        ("largest * rstd / 127.0", "largest * rstd / 126.0"),
        ("largest * rstd / 127.0", "largest * rstd / 126.9"),
        ("(rows < M)", "(rows < M - 1)"),
    ],
)
def test_a_wrong_quantiser_is_wrong(problem_of, tmp_path, right, wrong):
    assert right in QUANTISER
    problem = problem_of(QUANTISER.replace(right, wrong) + REFERENCE, "quantiser", dtype="bf16")
    with pytest.raises(AssertionError, match=r"q_ptr\[\d+\] is .* of 64000 (is|are) wrong"):
        run_kernel(problem, {}, tmp_path, HOST)


@pytest.mark.parametrize("end", ["", NARROW_ONLY])
def test_what_takes_the_place_of_a_reference_or_refuses_fp32_is_used(problem_of, end):
    """A kernel is compiled for fp32, too; a reference that refuses it gets steps of bf16, which
    move a byte by more than two, so that all are exact."""
    problem = problem_of(QUANTISER + end, "quantiser", {"M": 8}, "bf16")
    by_name = {made.name: made for made in problem.timed_arguments(problem.default_config)}
    assert (by_name["q_ptr"].slack is None) == bool(end)
