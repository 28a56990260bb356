"""How far outputs of a user's own kernel may be off: as far as each one's own rounding goes."""

from __future__ import annotations

import pytest
import torch

from kernels.own.tolerance import DRAWS, disturbed, relative_tolerance, share_of, slack

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
