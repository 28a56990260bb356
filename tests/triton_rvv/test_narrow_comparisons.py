"""Blocks of 32 bits compared with numbers of 64."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

N = 250


@triton.jit
def chosen_kernel(x_ptr, label_ptr, out_ptr, others_ptr, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + columns, mask=mask, other=0.0)
    label = tl.load(label_ptr)
    is_it = columns == label
    tl.store(out_ptr, tl.sum(tl.where(is_it, x, 0.0)))
    tl.store(others_ptr + columns, tl.where(label != columns, x, is_it.to(tl.float32)), mask=mask)


@pytest.mark.parametrize("label", [0, 7, 249, 250, -1, 2**32, 2**32 + 7, -(2**31), -(2**63), 2**31])
def test_what_does_not_fit_equals_nothing(run, label):
    x = np.random.default_rng(0).integers(2, 99, N).astype(np.float32)
    is_it = np.arange(N) == label
    run(
        chosen_kernel,
        x_ptr=x,
        label_ptr=np.array([label], np.int64),
        out_ptr=Expected(np.array([x[is_it].sum()], np.float32)),
        others_ptr=Expected(np.where(is_it, np.float32(1), x)),
        N=N,
        BLOCK=256,
    )
