"""What every registered kernel says of itself has to fit its Triton function."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_runs import values_of
from small_shapes import RAGGED

from kernels.registry import kernel_names, load_kernel, make_problem

# Their length depends on the configuration.
NOT_COUNTED = {"sorted_token_ids_ptr", "expert_ids_ptr", "partials_ptr", "arrivals_ptr"}

TYPES = [(name, dtype) for name in kernel_names() for dtype in load_kernel(name).dtypes]


def arguments(problem):
    return problem.spec.arguments(problem, problem.default_config)


@pytest.mark.parametrize(("name", "dtype"), TYPES)
def test_it_fits(name, dtype):
    """One test of all, since making the arguments takes longer than looking at them."""
    problem = make_problem(load_kernel(name), RAGGED[name], dtype)
    assert problem.spec.kernel.__name__ == f"{name}_kernel"
    found = arguments(problem)
    check_parameters(problem, found)
    check_outputs(found)
    check_grid(problem.spec.grid(problem, problem.default_config))
    check_work(problem, found)
    for first, second in zip(found, arguments(problem), strict=True):  # contents are reproducible
        np.testing.assert_array_equal(first.value, second.value)
        np.testing.assert_array_equal(first.expected, second.expected)


def check_parameters(problem, found):
    """Arguments and constants are the parameters, in order."""
    parameters = problem.spec.kernel.params
    assert [a.name for a in found] == [p.name for p in parameters if not p.is_constexpr]
    constants = problem.constants(problem.default_config)
    assert set(constants) == {p.name for p in parameters if p.is_constexpr}


def check_outputs(found):
    outputs = [argument for argument in found if argument.expected is not None]
    # Some must only end as they began, such as counters that a kernel sets back.
    written = [out for out in outputs if not np.array_equal(out.value, out.expected)]
    assert written
    for output in written:
        expected = values_of(output.expected, output)
        assert expected.isfinite().all()
        assert expected.std() > 10 * output.atol  # a constant would not pass


def check_grid(grid):
    assert len(grid) == 3
    assert all(isinstance(size, int) and size > 0 for size in grid)


def check_work(problem, found):
    # The lists of fused MoE depend on the configuration, and traffic is the problem's.
    counted = [a for a in found if a.name not in NOT_COUNTED]
    outputs = sum(a.expected.nbytes for a in counted if a.expected is not None)
    inputs = sum(a.value.nbytes for a in counted if isinstance(a.value, np.ndarray))
    assert problem.spec.traffic_bytes(problem) == inputs + outputs
    assert problem.spec.flops(problem) > 0


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("matmul", lambda a, b: a @ b),
        ("vector_add", lambda x, y: x + y),
        ("softmax", lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)),
    ],
)
def test_expected_outputs_against_numpy(name, reference):
    problem = make_problem(load_kernel(name), RAGGED[name])
    found = arguments(problem)
    inputs = [a.value.astype(np.float64) for a in found if isinstance(a.value, np.ndarray)]
    (output,) = (a for a in found if a.expected is not None)
    difference = np.abs(reference(*inputs) - output.expected)
    assert (difference <= output.atol + output.rtol * np.abs(output.expected) + 1e-6).all()


@pytest.mark.parametrize(
    ("name", "flops"), [("matmul", 2 * 33 * 17 * 65), ("vector_add", 1500), ("softmax", 5 * 5 * 77)]
)
def test_operations_of_known_kernels(name, flops):
    problem = make_problem(load_kernel(name), RAGGED[name])
    assert problem.spec.flops(problem) == flops
