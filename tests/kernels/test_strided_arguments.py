"""Tensors of a user's file that are transposed, sliced, broadcast, or ask for a gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from kernel_runs import HOST, run_kernel

from foundation.errors import UserError
from foundation.strides import copied, has_shared_elements, memory_of, view_of
from kernels.on_device import without_contents
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem

# A layer as networks have them: half of a wider input, a transposed weight that asks for a
# gradient, one bias for all columns, and a part of a wider output.
LINEAR = """import torch
import triton
import triton.language as tl

@triton.jit
def linear_kernel(x, w, bias, out, M, N, K, sxm, sxk, swk, swn, sb, som, son, EXTRA: tl.constexpr,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr = 16):
    rm = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
    rn = (tl.program_id(1) * BN + tl.arange(0, BN))[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(x + rm * sxm + rk[None, :] * sxk, mask=(rm < M) & (rk[None, :] < K), other=0.)
        b = tl.load(w + rk[:, None] * swk + rn * swn, mask=(rk[:, None] < K) & (rn < N), other=0.)
        total += tl.dot(a, b)
    total += tl.load(bias + rn * sb, mask=rn < N, other=0.)
    tl.store(out + rm * som + rn * son, total, mask=(rm < M) & (rn < N + EXTRA * (rm + 1 < M)))

def linear(x, weight, bias, out):
    (M, K), w = x.shape, weight.t()
    N = w.shape[1]
    linear_kernel[lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))](
        x, w, bias, out, M, N, K, *x.stride(), *w.stride(), *bias.stride(), *out.stride(), EXTRA=0
    )

def get_linear_kernel_autotune_config():
    return [triton.Config({"BM": rows, "BN": columns}) for rows in (16, 32) for columns in (16, 8)]

def call(M=21, N=10, K=40):
    bias = torch.randn(1).expand(N)
    out = torch.empty(M, N + 7)[:, 3 : N + 3]
    linear(torch.randn(M, 2 * K)[:, K:], torch.nn.Linear(K, N).weight, bias, out)

def reference(x, w, bias):
    assert (x.stride(1), w.stride(0), bias.stride(0)) == (1, 1, 0)
    return {"out": x @ w + bias}
"""


@pytest.fixture
def problem_of(tmp_path):
    def make(text: str) -> Problem:
        path = tmp_path / "linear.py"
        path.write_text(text)
        return make_problem(load_kernel(str(path)), {})

    return make


@pytest.mark.parametrize(
    ("has_reference", "target"),
    [
        (True, None),
        pytest.param(False, HOST, marks=pytest.mark.long),
        pytest.param(True, HOST, marks=pytest.mark.long),
        pytest.param(False, None, marks=pytest.mark.long),
    ],
)
def test_the_kernel_gets_the_memory_that_strides_count_in(
    problem_of, tmp_path, has_reference, target
):
    problem = problem_of(LINEAR if has_reference else LINEAR.replace("def reference", "def other"))
    passed = {argument.name: argument for argument in problem.arguments(problem.default_config)}
    assert [np.size(passed[name].value) for name in ("x", "w", "bias")] == [20 * 80 + 40, 400, 1]
    assert passed["out"].expected.shape == (20 * 17 + 10,)
    between = passed["out"].expected[10:17]
    assert (between == between[0]).all()  # what the file left there, and stays
    assert np.isfinite(between[0])
    assert (passed["out"].slack[10:17] == 0).all()
    run_kernel(problem, {"BM": 32}, tmp_path, *([target] if target else []))


def test_what_lies_between_the_rows_of_an_output_must_stay(problem_of, tmp_path):
    problem = problem_of(LINEAR.replace("EXTRA=0", "EXTRA=2"))
    with pytest.raises(AssertionError, match="out"):
        run_kernel(problem, {}, tmp_path)


def test_types_and_sizes_alone(problem_of):
    problem = problem_of(LINEAR)
    x = without_contents(problem, problem.default_config)[0]
    assert (x.type, np.shape(x.value)) == ("*fp32", (20 * 80 + 40,))


def test_an_output_whose_elements_share_places(problem_of):
    problem = problem_of(LINEAR.replace("[:, 3 : N + 3]", "[:, :1].expand(M, N)"))
    with pytest.raises(UserError, match=r"out is an output whose elements share places .* \(17, 0"):
        problem.arguments(problem.default_config)


@pytest.mark.parametrize(
    ("tensor", "shares"),
    [
        (torch.arange(24).view(2, 3, 4), False),
        (torch.arange(24).view(2, 3, 4).permute(2, 0, 1), False),
        (torch.arange(24).view(2, 3, 4)[:, 1:, ::2], False),
        (torch.arange(3).expand(4, 3), True),
        (torch.arange(9).as_strided((3, 4), (2, 1)), True),
        (torch.arange(9)[4:5].expand(1, 1), False),
        (torch.empty(0, 3).t(), False),
        (torch.tensor(5), False),
    ],
)
def test_memory_and_back(tensor, shares):
    memory = memory_of(tensor)
    assert memory.is_contiguous()
    assert torch.equal(view_of(memory, tensor), tensor)
    copy = copied(tensor)
    assert torch.equal(copy, tensor)
    assert copy.stride() == tensor.stride()
    assert has_shared_elements(tensor) == shares
