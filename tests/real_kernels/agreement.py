"""Random values for real kernels, and what it means that a result agrees with its reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

__all__ = ["agree", "agree_with_gradients", "randint", "randn"]

# Relative to the largest magnitude of the reference: a few roundings of the result's type.
_TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 2e-5,
    torch.float16: 4e-3,
    torch.bfloat16: 3e-2,
    torch.float8_e4m3fn: 0.13,
    torch.float8_e5m2: 0.26,
}


def randn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Normal values of `shape`, the same ones on each run."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def randint(
    low: int, high: int, shape: Sequence[int], seed: int = 0, dtype: torch.dtype = torch.int64
) -> torch.Tensor:
    """Integers from `low` to below `high`, the same ones on each run."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, tuple(shape), generator=generator).to(dtype)


def agree(result: Any, reference: Any, tolerance: float | None = None) -> None:
    """Fail where `result` is not the tensor `reference`, or the tuple of tensors.

    Args:
        result: what the kernel computed.
        reference: what torch computed, in any type; its shape has to be the result's.
        tolerance: of a difference, relative to the reference's largest magnitude, or to 1 where
            that is less. Integers are compared exactly where it is not given.
    """
    if isinstance(reference, tuple | list):
        assert len(result) == len(reference)
        for one, expected in zip(result, reference, strict=True):
            agree(one, expected, tolerance)
        return
    if not isinstance(reference, torch.Tensor):
        assert result == reference
        return
    assert result.shape == reference.shape, f"{result.shape} instead of {reference.shape}"
    bound = _TOLERANCE.get(result.dtype, 0.0) if tolerance is None else tolerance
    got, expected = result.detach().double(), reference.detach().double()
    finite = expected[torch.isfinite(expected)].abs()
    scale = max(float(finite.max()) if finite.numel() else 0.0, 1.0)
    torch.testing.assert_close(got, expected, rtol=0, atol=bound * scale, equal_nan=True)


def agree_with_gradients(
    function: Callable[..., Any],
    reference: Callable[..., Any],
    *inputs: torch.Tensor,
    tolerance: float | None = None,
) -> None:
    """Fail where two functions differ in a result, or in a gradient of one of the inputs.

    Each gets copies of the inputs, since kernels may write into them.
    """
    outcomes: list[tuple[list[torch.Tensor], list[torch.Tensor]]] = []
    for one in (function, reference):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        given = [leaf * 1 for leaf in leaves]
        returned = one(*given)
        outputs: tuple[torch.Tensor, ...] = returned if isinstance(returned, tuple) else (returned,)
        kept = [output.detach().clone() for output in outputs]
        upstream = [randn(*output.shape, seed=90 + i) for i, output in enumerate(outputs)]
        upstream = [
            tensor.to(output.dtype) for tensor, output in zip(upstream, outputs, strict=True)
        ]
        slopes = torch.autograd.grad(outputs, leaves, upstream, allow_unused=True)
        outcomes.append((kept, [slope for slope in slopes if slope is not None]))
    (results, gradients), (expected, expected_gradients) = outcomes
    agree(results, expected, tolerance)
    agree(gradients, expected_gradients, tolerance)
