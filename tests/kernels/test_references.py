"""What the references of several kernels rest on, against results published elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kernels.references.moe_alignment import moe_align_block_size
from kernels.references.philox import uniform
from kernels.references.products import factors_and_product
from kernels.values import seeded_normal, unit_roundoff


def test_padding_of_the_documents_example():
    """Experts with 7, 5, 2 and 2 tokens get 8, 8, 4 and 4 rows in blocks of 4."""
    topk_ids = torch.repeat_interleave(torch.arange(4), torch.tensor([7, 5, 2, 2]))
    shuffled = topk_ids[torch.randperm(16, generator=torch.Generator().manual_seed(0))]
    aligned = moe_align_block_size(shuffled.reshape(8, 2), 4, num_experts=4)
    assert aligned.expert_ids.tolist() == [0, 0, 1, 1, 2, 3]
    rows = aligned.sorted_token_ids.reshape(-1, 4)
    assert (rows < 16).sum(dim=1).tolist() == [4, 3, 4, 1, 2, 2]
    for block, expert in zip(rows, aligned.expert_ids, strict=True):
        assert (shuffled[block[block < 16].long()] == expert).all()
    assert sorted(aligned.sorted_token_ids[aligned.sorted_token_ids < 16].tolist()) == list(
        range(16)
    )


def test_an_expert_without_tokens_has_no_block():
    aligned = moe_align_block_size(torch.tensor([[0, 3], [3, 0]]), 2, num_experts=5)
    assert aligned.expert_ids.tolist() == [0, 3]
    assert aligned.sorted_token_ids.tolist() == [0, 3, 1, 2]


def test_philox_of_the_known_answers():
    """The first word for a counter and a key of zero, from Random123's kat_vectors."""
    (found,) = uniform(0, np.zeros(1, np.int32))
    assert found == np.float32(0x6627E8D5) * np.float32(4.6566127342e-10)


def test_uniform_numbers_are_spread_over_0_to_1():
    found = uniform(2**40 + 7, np.arange(100_000, dtype=np.int32))
    assert 0 <= found.min() < 1e-4
    assert 1 - 1e-4 < found.max() < 1
    counts, _ = np.histogram(found, bins=10, range=(0, 1))
    assert np.abs(counts - 10_000).max() < 500


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "fp8e4nv", "fp8e5"])
def test_normals_are_rounded_to_their_type(dtype):
    exact, rounded = seeded_normal((999,), 3), seeded_normal((999,), 3, dtype)
    normal = exact.abs() > torch.finfo(rounded.dtype).smallest_normal
    error = ((rounded.double() - exact.double()).abs() / exact.double().abs())[normal].max()
    assert error <= unit_roundoff(dtype)
    assert dtype == "fp32" or error > unit_roundoff(dtype) / 4


def test_products_of_bytes_are_exact():
    a, b, product = factors_and_product("i8", (3, 400), (400, 5))
    assert torch.equal(product.long(), a.long() @ b.long())
    assert (a.min(), a.max()) == (-128, 127)
