"""What a user may ask of a kernel's outputs: their element type, and how exact they are."""

from __future__ import annotations

import numpy as np
import pytest

from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from kernels.spec import Outputs

SHAPE = {"M": 4, "N": 8, "K": 16}


def output_of(kernel, dtype, outputs):
    problem = make_problem(load_kernel(kernel), SHAPE, dtype, outputs)
    arguments = problem.arguments(problem.default_config)
    (output,) = [argument for argument in arguments if argument.name == "c_ptr"]
    return problem, output


@pytest.mark.parametrize(
    ("kernel", "dtype"), [("matmul", "bf16"), ("matmul", "fp32"), ("gemm_a8w8_blockscale", "i8")]
)
@pytest.mark.parametrize("wanted", ["fp32", "fp16", "bf16"])
def test_output_type_follows_the_choice(kernel, dtype, wanted):
    problem, output = output_of(kernel, dtype, Outputs(dtype=wanted))
    assert output.type == f"*{wanted}"
    _, exact = output_of(kernel, dtype, Outputs(dtype="fp32"))
    values = output.expected
    if wanted == "bf16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(values.astype(np.float32), exact.expected, rtol=2**-8)
    smaller = problem.spec.traffic_bytes(problem)
    larger, _ = output_of(kernel, dtype, Outputs(dtype="fp32"))
    difference = larger.spec.traffic_bytes(larger) - smaller
    assert difference == (0 if wanted == "fp32" else 2 * SHAPE["M"] * SHAPE["N"])


def test_tolerances_replace_the_kernels_own():
    _, own = output_of("matmul", "fp32", Outputs())
    _, wide = output_of("matmul", "fp32", Outputs(atol=0.5))
    assert (wide.atol, wide.rtol) == (0.5, own.rtol)
    _, whole = output_of("matmul", "i8", Outputs(atol=0.5, rtol=0.5))
    assert (whole.atol, whole.rtol) == (0, 0)


@pytest.mark.parametrize(
    ("kernel", "dtype", "wanted", "says"),
    [
        ("matmul", "fp32", "i8", "no outputs in i8"),
        ("matmul", "i8", "fp32", "cannot be chosen"),
        ("split_k_matmul", "fp32", "fp16", "cannot be chosen"),
    ],
)
def test_types_that_cannot_be_had(kernel, dtype, wanted, says):
    with pytest.raises(UserError, match=says):
        make_problem(load_kernel(kernel), SHAPE, dtype, Outputs(dtype=wanted))
