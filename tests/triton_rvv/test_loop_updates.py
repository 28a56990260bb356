"""Blocks that each turn of a loop updates with a product, tile by tile."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv.lowering.products import loop_updates


@pytest.fixture
def planned(monkeypatch):
    """Whether each product found an update, in the order of the products."""
    found, plan = [], loop_updates.plan_loop_update

    def recorded(*arguments):
        update = plan(*arguments)
        found.append(update is not None)
        return update

    monkeypatch.setattr("triton_rvv.lowering.products.dot.plan_loop_update", recorded)
    return found


@triton.jit
def scaled_kernel(
    a_ptr, b_ptr, by_row_ptr, by_column_ptr, out_ptr, rows, turns,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    inside = m < rows
    total = tl.zeros((M, N), dtype=tl.float32)
    seen = tl.zeros((M, N), dtype=tl.float32)
    if FORM == "added to another":
        a = tl.load(a_ptr + m[:, None] * turns * K + k[None, :], mask=inside[:, None], other=0)
        first = 2.0 * tl.dot(a, tl.load(b_ptr + k[:, None] * N + n[None, :]))
    for turn in range(turns):
        a_ptrs = a_ptr + (m[:, None] * turns + turn) * K + k[None, :]
        a = tl.load(a_ptrs, mask=inside[:, None], other=0)
        b = tl.load(b_ptr + (turn * K + k[:, None]) * N + n[None, :])
        product = tl.dot(a, b)
        by_row = tl.load(by_row_ptr + m * turns + turn, mask=inside, other=0.0)
        if FORM == "stored between":
            tl.store(out_ptr + m * N, turn + 1.0, mask=inside)
            by_row *= tl.load(out_ptr + m * N, mask=inside, other=0.0)
        by_column = tl.load(by_column_ptr + turn * N + n)
        scaled = product.to(tl.float32) * by_row[:, None] * by_column[None, :]
        if FORM == "read twice":
            seen += total
        if FORM == "used twice":
            seen += product.to(tl.float32)
        if FORM == "added to another":
            total = first + scaled
        else:
            total += scaled
        if FORM == "used later":
            seen += total
    tl.store(out_ptr + m[:, None] * N + n[None, :], total + seen, mask=inside[:, None])


@pytest.mark.parametrize(
    ("shape", "rows", "dtype"),
    in_turn([((16, 64, 16), 13), ((8, 16, 32), 8), ((4, 32, 8), 1)], [np.int8, np.float32]),
)
def test_totals_of_scaled_products(run, planned, shape, rows, dtype):
    _check(run, shape, rows, dtype, "plain")
    assert all(planned)


@pytest.mark.parametrize(
    "form", ["read twice", "used twice", "used later", "stored between", "added to another"]
)
def test_others_keep_the_array_of_the_product(run, planned, form):
    _check(run, (8, 16, 32), 7, np.float32 if form == "added to another" else np.int8, form)
    assert not any(planned)


def _check(run, shape, rows, dtype, form):
    m, n, k = shape
    turns, random = 3, np.random.default_rng(11)
    a = random.integers(-9, 9, (m, turns, k)).astype(dtype)
    b = random.integers(-9, 9, (turns, k, n)).astype(dtype)
    # Powers of two: every sum is exact, so its order does not matter.
    by_row = 2.0 ** random.integers(-3, 3, (m, turns))
    by_column = 2.0 ** random.integers(-3, 3, (turns, n))
    products = np.einsum("mtk,tkn->tmn", a.astype(np.float64), b.astype(np.float64))
    scaled = products * by_row.T[:, :, None] * by_column[:, None, :]
    if form == "stored between":
        scaled = scaled * np.arange(1, turns + 1)[:, None, None]
    total = scaled.sum(0)
    if form == "added to another":
        total = 2.0 * products[0] + scaled[-1]
    if form == "used later":
        total = total + np.cumsum(scaled, axis=0).sum(0)
    if form == "read twice":
        total = total + np.cumsum(scaled, axis=0)[:-1].sum(0)
    if form == "used twice":
        total = total + products.sum(0)
    total[rows:] = 0
    run(
        scaled_kernel,
        a_ptr=a.reshape(m, -1),
        b_ptr=b.reshape(-1, n),
        by_row_ptr=by_row.astype(np.float32),
        by_column_ptr=by_column.astype(np.float32),
        out_ptr=Expected(total.astype(np.float32), start=np.zeros((m, n), np.float32)),
        rows=rows,
        turns=turns,
        M=m,
        N=n,
        K=k,
        FORM=form,
        vlen_bits=256,
    )
