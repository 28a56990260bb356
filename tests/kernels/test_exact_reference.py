"""What a reference loses by rounding is no kernel's fault."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from own_kernel_files import HEAD

from foundation.config import Config
from kernels.own.exact_reference import exact_outputs, largest, nearer
from kernels.own.expected import expected_outputs
from kernels.own.kernel_file import read_kernel_file
from kernels.own.launch import Launch
from kernels.own.tolerance import relative_tolerance

GELU = (
    HEAD
    + """
@triton.jit
def gelu_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))

def arguments(N=64):
    x = torch.linspace(-5.2, -4.2, N).repeat(N, 1)
    return {"x_ptr": x, "y_ptr": torch.empty(N, N)}

def reference(x_ptr):
    return {"y_ptr": torch.nn.functional.gelu(x_ptr.float(), approximate="tanh")}
"""
)


def of(reference, x, took_s=60.0):
    """What a reference of one input gives in fp64; None if nothing."""
    return exact_outputs(lambda values: {"y": reference(values["x"])}, {"x": x}, took_s).get("y")


def passes(found, expected, slack, dtype=torch.float32):
    wanted = expected.double()
    off = (found.double() - wanted).abs()
    return off <= relative_tolerance(dtype) * wanted.abs() + slack.double()


def near_either(reference, x, dtype=torch.float32, **more):
    """The reference's output in fp32, and what is expected and allowed with that of fp64."""
    plain, exact = reference(x).to(dtype), of(reference, x).to(dtype)
    size = largest([x, *more.values()])
    return plain, *nearer(plain, exact, torch.zeros(x.shape), dtype, size)


def by_sigmoid(x):
    """GELU's approximation by tanh, which loses no digits where the result is nearly zero."""
    return x * torch.sigmoid(2 * 0.7978845608 * (x + 0.044715 * x**3))


def test_a_kernel_passes_that_is_more_exact_than_the_reference(tmp_path):
    path = tmp_path / "gelu.py"
    path.write_text(GELU)
    launch = Launch(read_kernel_file(path), {"N": 64}, "fp32", Config({"BLOCK": 64}))
    output = expected_outputs(launch, with_unnamed=False)["y_ptr"]
    x = launch.values()["x_ptr"]
    plain = launch.reference(launch.values())["y_ptr"]
    found = by_sigmoid(x)
    assert ((found - plain).abs() > 5e-3 * plain.abs()).any()
    assert passes(found, output.tensor, output.slack).all()
    assert passes(plain, output.tensor, output.slack).all()
    assert not passes(1.05 * found, output.tensor, output.slack)[x > -4.7].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_what_passed_beside_the_reference_in_fp32_passes_still(dtype):
    torch.manual_seed(5)
    x = 4 * torch.randn(4096)
    plain, expected, slack = near_either(lambda x: F.gelu(x, approximate="tanh"), x, dtype)
    share = relative_tolerance(dtype)
    for sign in (1 - share, 1 + share):
        found = (plain.double() * sign).float().double()
        was_right = (found - plain.double()).abs() <= share * plain.double().abs()
        assert passes(found, expected, slack, dtype)[was_right].all()


def rounded_by_a_constant(x):
    return x + 12582912.0 - 12582912.0


def square_root_by_its_bits(x):
    return (0x5F3759DF - (x.view(torch.int32) >> 1)).view(torch.float32)


@pytest.mark.parametrize("reference", [rounded_by_a_constant, square_root_by_its_bits])
def test_a_reference_that_means_fp32_counts_as_it_is(reference):
    """A kernel that leaves out its rounding is wrong; the first is also right nowhere else."""
    x = torch.linspace(0.5, 100, 199)
    plain, expected, slack = near_either(reference, x)
    assert torch.allclose(expected, plain, rtol=1e-4, atol=1e-3)
    assert (slack < 1e-3 + 1.01e-4 * plain).all()
    assert not passes(x, expected, slack)[(x - x.round()).abs() > 0.05].any()


def test_what_fp64_loses_too_may_be_there():
    """Far below zero, 1 + tanh is zero in fp64, and a kernel gives numbers that are nearly zero."""
    x = torch.cat([torch.linspace(-9, -5, 500), torch.linspace(-5, 500, 500)])
    _, expected, slack = near_either(lambda x: F.gelu(x, approximate="tanh"), x)
    found = by_sigmoid(x)
    is_lost = (expected == 0) & (found != 0)
    assert is_lost.any()
    assert passes(found, expected, slack)[is_lost].all()
    assert float(slack[is_lost].max()) < 1e-12


def test_a_large_number_in_a_mask_allows_nothing_more():
    x = torch.linspace(1e-3, 1, 100)
    mask = torch.tensor([torch.finfo(torch.float32).min, -1e9])
    _, _, alone = near_either(torch.exp, x)
    _, _, slack = near_either(torch.exp, x, mask=mask)
    assert float(slack.max()) < 1e-6
    assert torch.allclose(slack, alone, rtol=0, atol=1e-12)


def test_the_rounding_beside_a_constant_of_the_reference_is_none_of_the_kernels():
    x = torch.linspace(1e-5, 2e-5, 100)
    _, expected, slack = near_either(lambda x: torch.log(1 + x), x)
    assert passes(torch.log1p(x), expected, slack).all()
    assert not passes(torch.log1p(x), torch.log(1 + x), torch.zeros(100)).all()


def test_infinities_and_nans_are_those_of_the_reference():
    x = torch.tensor([1e30, float("inf"), float("nan"), 2.0])
    _, expected, _ = near_either(lambda x: x * x, x)
    assert torch.equal(expected.isfinite(), torch.tensor([False, False, False, True]))
    assert expected[0] == float("inf")


def test_an_infinity_in_fp32_alone_stays_and_allows_nothing():
    plain, expected, allowed = near_either(lambda x: x.exp().log(), torch.full((4,), 100.0))
    assert plain.isinf().all()
    assert torch.equal(expected, plain)
    assert not allowed.any()


def test_casts_to_narrower_types_stay_what_they_are():
    x = torch.linspace(1, 2, 77)
    for dtype in (torch.bfloat16, torch.float16, torch.int32):
        found = of(lambda x, dtype=dtype: x.to(dtype).float(), x)
        assert found.dtype == torch.float64
        assert torch.equal(found.float(), x.to(dtype).float())
    assert of(lambda x: x.half() * x.half(), x).dtype == torch.float16


def written_into(x):
    out = torch.zeros(x.shape, dtype=x.dtype)
    out[:] = x / 3
    out += 1
    return out.to(torch.float32)


def gradient(x):
    x = x.clone().requires_grad_()
    torch.logsumexp(x, 0).backward()
    return x.grad


WEIGHT = torch.linspace(0, 1, 49).reshape(7, 7)


@pytest.mark.parametrize(
    "reference",
    [
        written_into,
        gradient,
        lambda x: F.softmax(x, 0, dtype=torch.float32),
        lambda x: F.linear(x, WEIGHT),
        lambda x: torch.stack([x.to(dtype=torch.float), torch.arange(7.0)]).sum(0) / 7,
        lambda x: x / (x.abs().amax() + torch.finfo(x.dtype).eps),
        lambda x: torch.from_numpy(x.numpy() / 7),
    ],
)
def test_references_are_computed_in_fp64(reference):
    x = torch.linspace(-1, 2, 7)
    found = of(reference, x)
    assert found.dtype == torch.float64
    assert not torch.equal(found, found.float().double())
    assert torch.allclose(found.float(), reference(x), rtol=1e-5)


def fails_in_fp64(x):
    return x if x.untyped_storage().nbytes() == 28 else 1 / 0


def never_ends_in_fp64(x):
    while x.untyped_storage().nbytes() != 28:
        pass
    return x


def test_a_reference_that_fails_in_fp64_counts_as_it_is(monkeypatch):
    monkeypatch.setattr("kernels.own.exact_reference._LEAST_LIMIT_S", 0.05)
    assert of(never_ends_in_fp64, torch.ones(7), took_s=0.01) is None
    with pytest.raises(ZeroDivisionError):  # as `Launch.reference` never raises
        of(fails_in_fp64, torch.ones(7))
    assert of(lambda x: x.dtype, torch.ones(7)) is torch.float32


def test_a_compiled_reference_is_not_compiled_anew():
    compiled = []

    def backend(module, inputs):
        compiled.append(module)
        return module.forward

    reference = torch.compile(lambda x: x / 3, backend=backend)
    x = torch.linspace(1, 2, 7)
    reference(x)
    found = of(reference, x)
    assert torch.equal(found, x.double() / 3)
    assert len(compiled) == 1
