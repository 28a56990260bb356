"""Inputs of checks are changed whatever type they have."""

from __future__ import annotations

import pytest
import torch

from kernels.own.changed_inputs import Change, changed


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64])
def test_integers_that_torch_does_not_compute_with(dtype: torch.dtype) -> None:
    given = {"x": torch.arange(64).to(dtype)}
    backwards = changed(given, {"x": Change(backwards=True)})["x"]
    assert backwards.dtype == dtype
    assert backwards.tolist() == [*range(63, -1, -1)]
    uneven = changed(given, {"x": Change(uneven=True, extremes=True)})["x"].tolist()
    assert uneven[:3] == [0, torch.iinfo(dtype).max, 0]
