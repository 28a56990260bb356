"""Inputs of checks are changed whatever type they have."""

from __future__ import annotations

import pytest
import torch

from kernels.own.changed_inputs import Change, changed


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64])
def test_integers_that_torch_does_not_compute_with(dtype: torch.dtype) -> None:
    given = torch.arange(0, 128, 2).to(dtype)

    def first(change: Change) -> list[int]:
        other = changed({"x": given}, {"x": change})["x"]
        assert other.dtype == dtype
        return other[:4].tolist()

    assert first(Change(backwards=True)) == [126, 124, 122, 120]
    assert first(Change(uneven=True)) == [0, 1, 4, 5]
    assert first(Change(extremes=True)) == [0, torch.iinfo(dtype).max, 0, 6]


def test_a_masks_infinities_stay_and_rows_lie_far_from_zero_or_are_masked() -> None:
    given = torch.rand(16, 64)
    given[:, 5] = -torch.inf
    more = Change(row_scale=64.0, heavy=8.0, far=True, masked_rows=True)
    found = changed({"x": given}, {"x": more})["x"]
    hidden = found.isinf()
    assert hidden[8].all()
    assert hidden[:, 5].all()
    assert hidden.sum() == 16 + 63
    far = found[2][~hidden[2]]
    assert far.mean() > 32 * far.std()
