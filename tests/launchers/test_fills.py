"""What an output holds before a run: two fills, and an expected output is neither."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from launchers import STORAGE_TYPES, Argument
from launchers.fills import fill

FLOATS = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
}


def every_extreme(kind: str) -> torch.Tensor:
    limits = torch.finfo(FLOATS[kind])
    special = [0.0, -0.0, 1.0, -1.0, limits.max, limits.min, limits.tiny, torch.nan]
    has_infinity = kind != "fp8e4nv"
    values = special + [torch.inf, -torch.inf] * has_infinity
    return torch.tensor(values, dtype=torch.float64).to(FLOATS[kind])


def numbers(bits: np.ndarray, kind: str) -> np.ndarray:
    return torch.from_numpy(bits.view(np.uint8)).view(FLOATS[kind]).double().numpy()


@pytest.mark.parametrize("kind", FLOATS)
def test_no_fill_passes_for_a_float(kind):
    tensor = every_extreme(kind)
    bits = tensor.view(torch.uint8).numpy().view(STORAGE_TYPES[kind])
    fills = [fill(Argument("out", f"*{kind}", None, bits), number) for number in (0, 1)]
    expected = tensor.double().numpy()
    for filled in fills:
        got = numbers(filled, kind)
        assert not ((got == expected) | (np.isnan(got) & np.isnan(expected))).any()
        finite = np.isfinite(expected) & np.isfinite(got)
        off = np.abs(got[finite] - expected[finite])
        assert (off > 0.1 * np.abs(expected[finite])).all()
    # For an ordinary number one lies above and the other below it.
    assert numbers(fills[0], kind)[2] > 1 > numbers(fills[1], kind)[2]


@pytest.mark.parametrize("kind", [kind for kind in STORAGE_TYPES if kind not in FLOATS])
def test_no_fill_passes_for_an_integer(kind):
    limits = np.iinfo(np.dtype(STORAGE_TYPES[kind]))
    middle = limits.max // 3
    values = [limits.min, limits.min + 1, 0, 1, middle, limits.max - 1, limits.max]
    expected = np.array(values, STORAGE_TYPES[kind])
    fills = [fill(Argument("out", f"*{kind}", None, expected), number) for number in (0, 1)]
    for filled in fills:
        assert (filled != expected).all()
    above = [int(filled[4]) > middle for filled in fills]
    assert sorted(above) == [False, True]
