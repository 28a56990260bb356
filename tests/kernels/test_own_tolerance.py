"""How far outputs of a user's own kernel may be off: as far as each one's own rounding goes."""

from __future__ import annotations

import pytest
import torch

from kernels.own.tolerance import (
    DRAWS,
    accepted_constant,
    accepts_half,
    byte_slack,
    disturbed,
    relative_tolerance,
    share_of,
    slack,
    turned,
    within,
)

SEED = 3


def allowed(reference, dtype=torch.float32, **values):
    """The reference's output, and how far its elements may be from it."""
    expected = reference(**values)
    draws = [reference(**disturbed(values, draw)) for draw in range(DRAWS)]
    absolute = slack(expected, draws, share_of(values), dtype)
    return expected, absolute + relative_tolerance(dtype) * expected.abs()


def normal(*shape, dtype=torch.float32):
    torch.manual_seed(SEED)
    return torch.randn(*shape).to(dtype)


def test_zeros_beside_an_outlier_have_to_be_zero():
    x = torch.zeros(1000)
    x[7] = 1e6
    _, tolerance = allowed(lambda x: 2 * x, x=x)
    assert tolerance[7] > 100
    assert tolerance[x == 0].max() < 1e-40


def test_small_numbers_beside_large_ones_have_their_own_tolerance():
    x = torch.where(torch.arange(1000) < 50, 1e6, 1e-3)
    _, tolerance = allowed(lambda x: 2 * x, x=x)
    assert tolerance[500] < 1e-5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_sums_may_be_off_as_their_terms_are_rounded(dtype):
    """A product whose sums are kept in the type of its output, which is coarser than fp32 sums."""
    a, b = normal(64, 256, dtype=dtype), normal(256, 64, dtype=dtype)

    def product(a, b):
        return a.double() @ b.double()

    expected, tolerance = allowed(product, dtype, a=a, b=b)
    rounded = (a @ b).double()
    assert ((rounded - expected).abs() <= tolerance).all()
    assert not ((1.05 * expected - expected).abs() <= tolerance).all()


def test_a_sum_that_nearly_cancels_may_be_off_by_the_rounding_of_its_terms():
    large = normal(64, 512)
    x = torch.cat([large, 1e-4 * large.flip(1) - large], dim=1)
    expected, tolerance = allowed(lambda x: x.double().sum(dim=1), x=x)
    in_order = torch.cumsum(x, dim=1)[:, -1].double()
    assert (in_order != expected).any()
    assert ((in_order - expected).abs() <= tolerance).all()
    assert (tolerance < 0.1).all()


def test_rounding_beside_a_constant_of_the_kernel_passes():
    """exp(x) - 1 for small x, where expm1 is exact."""
    x = normal(4096)
    x[:64] *= 1e-5
    expected, tolerance = allowed(torch.expm1, x=x)
    assert ((torch.exp(x) - 1 - expected).abs() <= tolerance).all()


def test_integers_are_exact():
    assert relative_tolerance(torch.int32) == 0


def absolute(reference, dtype, **values):
    """The reference's output and its slack."""
    expected = reference(**values)
    draws = [reference(**disturbed(values, draw)) for draw in range(DRAWS)]
    return expected, slack(expected, draws, share_of(values), dtype)


def product(a, b):
    return a.double() @ b.double()


@pytest.mark.parametrize("transposed", [False, True])
def test_rows_beside_larger_ones_have_a_tolerance_of_their_own(transposed):
    x = normal(64, 512, dtype=torch.bfloat16)
    x[:32] *= 256
    x = x.T if transposed else x
    expected, tolerance = allowed(lambda x: 2 * x.double(), torch.bfloat16, x=x)
    small = (expected.T if transposed else expected)[32:].abs()
    assert (small <= (tolerance.T if transposed else tolerance)[32:]).double().mean() < 0.1


def test_fp64_beyond_the_range_of_fp32_has_to_be_right():
    for size in (1e60, 1e200, 1e300):
        x = size * normal(16, 100).double()
        expected, tolerance = allowed(lambda x: 2 * x, torch.float64, x=x)
        assert (tolerance < 1e-3 * expected.abs()).all()
        x = torch.full((64,), 1e-60, dtype=torch.float64)
        expected, tolerance = allowed(lambda x: 2 * x, torch.float64, x=x)
        assert (tolerance < 1e-3 * expected.abs()).all()


def test_sums_of_positive_factors_might_be_a_constant():
    torch.manual_seed(SEED)
    a, b = torch.rand(32, 8192).bfloat16(), torch.rand(8192, 32).bfloat16()
    expected, off = absolute(product, torch.bfloat16, a=a, b=b)
    constant = accepted_constant(expected, off, torch.bfloat16)
    assert constant == pytest.approx(8192 / 4, rel=0.01)
    expected, off = absolute(product, torch.bfloat16, a=a - 0.5, b=b - 0.5)
    assert accepted_constant(expected, off, torch.bfloat16) is None


def test_what_is_constant_is_no_reason_to_warn():
    ones = torch.ones(100)
    assert accepted_constant(ones, 0.1 * ones, torch.float32) is None
    assert accepted_constant(torch.ones(0), torch.ones(0), torch.float32) is None


def test_half_of_what_cancels_is_accepted():
    x = normal(8, 512, dtype=torch.bfloat16)
    both = torch.cat([x, -x + 1e-4], dim=1).float()
    expected, off = absolute(lambda x: x.double().sum(dim=1), torch.bfloat16, x=both)
    assert accepts_half(expected, off, torch.bfloat16)
    expected, off = absolute(lambda x: x.double(), torch.bfloat16, x=x)
    assert not accepts_half(expected, off, torch.bfloat16)
    assert not accepts_half(torch.zeros(4), torch.ones(4), torch.float32)


def test_only_the_same_is_near_to_what_is_infinite():
    expected = torch.tensor([torch.inf, torch.inf, -torch.inf, torch.nan, 1.0, 1.0, 1.0])
    found = torch.tensor([torch.inf, 3.0, torch.inf, torch.nan, 1.00005, 1.2, torch.inf])
    right = within(found, expected, torch.zeros(7), torch.float32)
    assert right.tolist() == [True, False, False, True, True, False, False]
    assert within(found, expected, torch.full((7,), 0.3), torch.float32)[5]


def quantised(x):
    scale = x.abs().amax(1, keepdim=True) / 127
    return (x / scale).round().to(torch.int8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_bytes_that_another_rounding_turns_into_a_neighbour_may_be_that(dtype):
    x = normal(256, 512, dtype=dtype)
    expected = quantised(x.float())
    allowed_by = byte_slack(expected, [quantised(each["x"].float()) for each in turned({"x": x})])
    assert allowed_by.max() == 1
    # Another order of operations in fp32, which is off by an ulp before it rounds.
    other = (x.float() * (1 / (x.float().abs().amax(1, keepdim=True) / 127))).round()
    assert within(other.to(torch.int8), expected, allowed_by, torch.int8).all()
    cut = (x.float() / (x.float().abs().amax(1, keepdim=True) / 127)).trunc().to(torch.int8)
    assert not within(cut, expected, allowed_by, torch.int8).all()


def test_numbers_of_elements_in_bytes_have_to_be_exact():
    x = normal(64, 100)

    def places(x):
        return x.argmax(1).to(torch.int8)

    close = torch.cat((x, x.amax(1, keepdim=True)), 1)  # the largest is there twice
    values = {"x": close}
    assert byte_slack(places(close), [places(each["x"]) for each in turned(values)]) is None
