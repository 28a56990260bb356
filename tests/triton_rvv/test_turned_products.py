"""Products that are turned around, so that what stays in a loop is transposed."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import only
from qemu_kernels import Expected, KernelRunner

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.turned_products import turn_products
from triton_rvv.make_ttir import make_ttir
from triton_rvv.targets.target import RVVTarget


@triton.jit
def retention_kernel(
    q_ptr, k_ptr, v_ptr, y_ptr, s_ptr, N, BY_COLUMN: tl.constexpr, STAYS: tl.constexpr,
    IS_KEPT: tl.constexpr, M: tl.constexpr, B: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    rows, columns, dims = tl.arange(0, M), tl.arange(0, B), tl.arange(0, D)
    q_at = rows[:, None] * D + dims[None, :]
    q = tl.load(q_ptr + q_at)
    total = tl.zeros((M, D), tl.float32)
    sums = tl.zeros((M,), tl.float32)
    for first in range(0, N, B):
        if not STAYS:
            q = tl.load(q_ptr + q_at + first * D)
        at = first + columns
        if BY_COLUMN:
            k = tl.load(k_ptr + dims[:, None] + at[None, :] * D)
        else:
            k = tl.trans(tl.load(k_ptr + at[:, None] * D + dims[None, :]))
        is_before = at[None, :] <= rows[:, None] * 3
        s = tl.where(is_before, tl.dot(q, k, input_precision="ieee") * 0.5, 0.0)
        if IS_KEPT:
            tl.store(s_ptr + rows[:, None] * N + at[None, :], s)
        sums += tl.sum(s * s, axis=1)
        v = tl.load(v_ptr + at[:, None] * D + dims[None, :])
        total = tl.dot(s, v, total, input_precision="ieee")
    tl.store(y_ptr + q_at, total * sums[:, None])


@pytest.mark.parametrize("by_column", [False, True])
def test_products_of_a_turned_product(run: KernelRunner, by_column: bool) -> None:
    random = np.random.default_rng(1)
    q, k, v = (random.integers(-4, 4, (n, 16)).astype(np.float32) for n in (8, 48, 48))
    s = np.where(np.arange(48) <= np.arange(8)[:, None] * 3, q @ k.T * 0.5, 0)
    run(
        retention_kernel, q_ptr=q, k_ptr=k, v_ptr=v, s_ptr=np.zeros(1, np.float32),
        y_ptr=Expected((s @ v * (s * s).sum(1)[:, None]).astype(np.float32), rtol=1e-6),
        N=48, BY_COLUMN=by_column, STAYS=True, IS_KEPT=False, M=8, B=16, D=16,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "fires"),
    [
        ({}, 1),
        ({"BY_COLUMN": True}, 1),
        ({"STAYS": False}, 0),  # both would be transposed in each turn
        ({"IS_KEPT": True}, 0),
        ({"M": 1}, 0),  # lanes of one row
    ],
)
def test_when_products_are_turned_around(changed: dict[str, bool], fires: int) -> None:
    constants = {"BY_COLUMN": False, "STAYS": True, "IS_KEPT": False, "M": 8, "B": 16, "D": 32}
    pointers = ("q_ptr", "k_ptr", "v_ptr", "y_ptr", "s_ptr")
    signature = dict.fromkeys(pointers, "*fp32") | {"N": "i32"}
    signature |= dict.fromkeys(constants, "constexpr")
    target = RVVTarget()
    ttir = make_ttir(retention_kernel, signature, constants | changed, frozenset(), target)
    module = parse_module(ttir)
    assert turn_products(Kernel(module, target, True)) == fires
    verify(module)
    summed = only(module, "tt.reduce").operands[0].type
    rows = 8 if "M" not in changed else 1
    assert getattr(summed, "shape", None) == ((16, rows) if fires else (rows, 16))
