"""Products of bytes whose sums fit into 16 bits."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.frontend.types import element_type
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.narrow_products import narrow_products
from triton_rvv.targets.target import RVVTarget


def _products(operation: str, number: int, steps: int, target: RVVTarget) -> tuple[int, list[str]]:
    """How many products became narrower, and the type of each one's elements.

    B is what an operation makes of bytes and a number.
    """
    a, b, c = (f"tensor<{shape}>" for shape in (f"4x{steps}xi8", f"{steps}x8xi8", "4x8xi32"))
    body = f"""
    %n = "arith.constant"() <{{value = dense<{number}> : {b}}}> : () -> {b}
    %w = "arith.{operation}"(%b, %n) : ({b}, {b}) -> {b}
    %d = "tt.dot"(%a, %w, %c) <{{inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32}}>
      : ({a}, {b}, {c}) -> {c}
    %e = "arith.addi"(%d, %d) : ({c}, {c}) -> {c}
    """
    body = body.replace("\n      :", " :")
    module = parse_module(function(body, f"%a: {a}, %b: {b}, %c: {c}"))
    fired = narrow_products(Kernel(module, target, True))
    verify(module)
    results = [each.result for each in module.walk() if each.name == "tt.dot"]
    return fired, [str(element_type(result.type)) for result in results]


@pytest.mark.parametrize(("operation", "number"), [("andi", 15), ("shrui", 4), ("andi", 7)])
def test_sums_that_fit_take_16_bits(operation, number):
    assert _products(operation, number, 16, RVVTarget()) == (1, ["i16"])


@pytest.mark.parametrize(
    ("operation", "number", "steps"),
    [
        ("andi", 15, 32),  # up to 32 * 15 * 128
        ("subi", 1, 16),  # any byte less one is any byte
        ("shrui", 3, 16),
        ("shrsi", 4, 32),  # nothing is known of the sign
        ("andi", 1, 4),  # to widen sums takes as long
    ],
)
def test_others_keep_32_bits(operation, number, steps):
    assert _products(operation, number, steps, RVVTarget()) == (0, ["i32"])


def test_a_matrix_unit_keeps_32_bits():
    target = RVVTarget(vlen_bits=256, cpu="spacemit-x60", extensions=("+xsmtvdot",))
    assert target.matrix_unit is not None
    assert _products("andi", 15, 16, target) == (0, ["i32"])


@triton.jit
def halves_kernel(
    a_ptr, b_ptr, start_ptr, out_ptr, rows, turns, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    places = m[:, None] * N + n[None, :]
    total = tl.load(start_ptr + places)
    for turn in range(turns):
        a_ptrs = a_ptr + (m[:, None] * turns + turn) * 2 * K + k[None, :]
        low = tl.load(a_ptrs, mask=m[:, None] < rows, other=0)
        high = tl.load(a_ptrs + K, mask=m[:, None] < rows, other=0)
        packed = tl.load(b_ptr + (turn * K + k[:, None]) * N + n[None, :])
        total = tl.dot(low, (packed & 15).to(tl.int8), total, out_dtype=tl.int32)
        total = tl.dot(high, (packed >> 4).to(tl.int8) - 8, total, out_dtype=tl.int32)
    tl.store(out_ptr + places, total, mask=m[:, None] < rows)


@pytest.mark.parametrize(
    ("m", "n", "k", "vlen_bits"),
    in_turn([(1, 32, 16), (4, 16, 16), (8, 128, 16), (16, 64, 16)], [128, 256]),
)
@pytest.mark.parametrize("are_extreme", [True, False])
def test_sums_are_exact(run, m, n, k, vlen_bits, are_extreme):
    rows, turns, random = max(1, m - 1), 3, np.random.default_rng(7)
    a = random.integers(-128, 128, (m, turns, 2, k)).astype(np.int8)
    packed = random.integers(0, 256, (turns, k, n)).astype(np.uint8)
    if are_extreme:
        a[:], packed[:] = -128, 0x0F
    start = random.integers(-(2**31), 2**31, (m, n)).astype(np.int32)
    wide = a.astype(np.int64)
    low = np.einsum("mtk,tkn->mn", wide[:, :, 0], (packed & 15).astype(np.int64))
    high = np.einsum("mtk,tkn->mn", wide[:, :, 1], (packed >> 4).astype(np.int64) - 8)
    total = (start + low + high).astype(np.int32)
    total[rows:] = 0
    run(
        halves_kernel,
        a_ptr=a.reshape(m, -1),
        b_ptr=packed.reshape(-1, n),
        start_ptr=start,
        out_ptr=Expected(total, start=np.zeros_like(total)),
        rows=rows,
        turns=turns,
        M=m,
        N=n,
        K=k,
        vlen_bits=vlen_bits,
    )
