"""Factors of matrix products and their exact product, for all kernels that multiply."""

from __future__ import annotations

import torch

from kernels.values import TORCH_TYPES, seeded_integers, seeded_normal

__all__ = ["factor", "factors_and_product"]


def factor(dtype: str, shape: tuple[int, ...], seed: int) -> torch.Tensor:
    """Unit normals of a floating-point type, or the whole range of int8."""
    if dtype == "i8":
        return seeded_integers(shape, seed, -128, 127).to(torch.int8)
    return seeded_normal(shape, seed, dtype)


def factors_and_product(
    dtype: str, left: tuple[int, ...], right: tuple[int, ...], output_dtype: str | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A, B and A @ B, multiplied in double precision and rounded once, or in int32 for int8.

    Args:
        dtype: Triton's name of the element type of A and B.
        left, right: shapes (..., M, K) and (..., K, N).
        output_dtype: of the product; None for the type of A and B, or int32 if that is int8.
    """
    a, b = factor(dtype, left, seed=0), factor(dtype, right, seed=1)
    # Sums of fewer than 2^38 products of int8 are exact in double too.
    product = torch.matmul(a.double(), b.double())
    output_dtype = output_dtype or ("i32" if dtype == "i8" else dtype)
    return a, b, product.to(TORCH_TYPES[output_dtype])
