"""Products by instructions that take several steps along K at once, against NumPy's exact ones."""

from __future__ import annotations

import ctypes
import dataclasses

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from pairs import in_turn
from test_ragged_products import Case, product_kernel
from test_ragged_rows import wide_mask_kernel

import triton_rvv
from triton_rvv import compile_kernel
from triton_rvv.lowering.control.grid_loop import CALL_HEADER
from triton_rvv.runtime.host_loader import load_object
from triton_rvv.targets.host_target import HostTarget, host_target
from triton_rvv.targets.target import RVVTarget

pytestmark = pytest.mark.usefixtures("on_host")

# What an element may be, and what NumPy makes of it without loss.
LIMITS = {"bf16": 64, "i8": 128}
DTYPES = {"bf16": torch.bfloat16, "i8": torch.int8}
INSTRUCTIONS = {"bf16": "vdpbf16ps", "i8": "vpdpbusd"}
CASES = 6

needs_instructions = pytest.mark.skipif(
    any(host_target().steps_together(dtype) == 1 for dtype in LIMITS),
    reason="this processor has no AVX512-BF16 and AVX512-VNNI",
)


def whole_numbers(dtype, *shape):
    """Drawn numbers of which every product and sum is exact in 32 bits, the extremes among them."""
    limit = LIMITS[dtype]
    return torch.randint(-limit, limit, shape).to(DTYPES[dtype])


def exact(a, b):
    return a.to(torch.int64).numpy() @ b.to(torch.int64).numpy()


def total_dtype(dtype):
    return torch.int32 if dtype == "i8" else torch.float32


@pytest.mark.parametrize(
    ("dtype", "number"),
    in_turn([*DTYPES], range(CASES)),
)
def test_ragged_products(dtype, number):
    case = Case.drawn(np.random.default_rng([number, LIMITS[dtype]]))
    (m, n, k), (block_m, block_n, _) = case.sizes, case.blocks
    bad = 99 if dtype == "i8" else float("nan")
    a_rows, b_columns = (
        case.allocated(size, block, masked)
        for size, block, masked in ((m, block_m, case.mask_a), (n, block_n, case.mask_b))
    )
    a, b = (torch.full(shape, bad, dtype=DTYPES[dtype]) for shape in ((a_rows, k), (k, b_columns)))
    a[:m], b[:, :n] = whole_numbers(dtype, m, k), whole_numbers(dtype, k, n)
    bias, c = torch.randint(-9, 9, (n,)).to(total_dtype(dtype)), torch.zeros(m, n)
    c, grid = c.to(total_dtype(dtype)), (triton.cdiv(m, block_m), triton.cdiv(n, block_n))
    totals = torch.zeros(m, grid[1], dtype=c.dtype)
    masks = (case.rows, case.mask_a, case.mask_b)
    extras = (case.bias, case.totals, case.batch, case.a, case.b)
    left = a if case.a == "rows" else a.T.contiguous()
    right = b if case.b == "rows" else b.T.contiguous()
    strides = (left.shape[1], right.shape[1], n)
    product_kernel[grid](
        left, right, bias, c, totals, m, n, k, *strides, *case.blocks, *masks, *extras
    )
    expected = exact(a[:m], b[:, :n]) + (bias.numpy() if case.bias else 0)
    np.testing.assert_array_equal(c.numpy(), expected)


@triton.jit
def turned_kernel(
    a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TURNED: tl.constexpr
):
    """The product twice, from operands that are used elsewhere too; B lies turned if asked."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    if TURNED:
        b = tl.trans(tl.load(b_ptr + n[:, None] * K + k[None, :]))
    else:
        b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    total_type: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty.is_int() else tl.float32
    once = tl.dot(a, b, out_dtype=total_type)
    c = tl.dot(a, b, once, out_dtype=total_type) + tl.sum(a.to(total_type), 1)[:, None]
    tl.store(c_ptr + m[:, None] * N + n[None, :], c + once)


@pytest.mark.parametrize(
    ("turned", "dtype", "shape"),
    in_turn(
        [False, True],
        [*DTYPES],
        [
            ((4, 4, 2),),
            ((4, 4, 4),),
            ((8, 128, 16),),
            ((16, 8, 1),),
            ((64, 16, 256),),
            ((128, 64, 8),),
        ],
        rounds=2,
    ),
)
def test_blocks(shape, dtype, turned):
    m, n, k = shape
    a, b = whole_numbers(dtype, m, k), whole_numbers(dtype, k, n)
    c = torch.zeros(m, n, dtype=total_dtype(dtype))
    turned_kernel[(1,)](a, b.T.contiguous() if turned else b, c, m, n, k, turned)
    expected = 3 * exact(a, b) + a.to(torch.int64).numpy().sum(1, keepdims=True)
    np.testing.assert_array_equal(c.numpy(), expected)


@pytest.mark.parametrize("depth", in_turn([0, 49, 3, 35], turns=2))
def test_steps_behind_the_end_are_zero_under_a_wide_mask(depth):
    """The first program leaves NaN where the second one has its copy of A."""
    a, b = whole_numbers("bf16", 64, 64), whole_numbers("bf16", 64, 32)
    a[:32] = float("nan")
    kept, depths = torch.ones(64, dtype=torch.int64), torch.tensor([64, depth], dtype=torch.int32)
    c = torch.zeros(64, 32)
    triton_rvv.set_num_threads(1)
    wide_mask_kernel[(2,)](a, b, kept, depths, c, BLOCK_K=64)
    assert c[:32].isnan().all()
    np.testing.assert_array_equal(c[32:].numpy(), exact(a[32:, :depth], b[:depth]))


@triton.jit
def overwritten_kernel(a_ptr, b_ptr, c_ptr, n):
    """A is used again after its memory has changed."""
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    inside = (rows < n) & (columns < n)
    a = tl.load(a_ptr + rows * 64 + columns, mask=inside, other=0)
    b = tl.load(b_ptr + rows * 64 + columns)
    c = tl.dot(a, b, out_dtype=tl.int32)
    tl.store(a_ptr + rows * 64 + columns, b)
    tl.store(c_ptr + rows * 64 + columns, c + a)


@pytest.mark.parametrize("n", [50, 64])
def test_an_operand_outlives_its_memory(n):
    a, b = whole_numbers("i8", 64, 64), whole_numbers("i8", 64, 64)
    kept = torch.zeros_like(a)
    kept[:n, :n] = a[:n, :n]
    c = torch.zeros(64, 64, dtype=torch.int32)
    overwritten_kernel[(1,)](a, b, c, n)
    assert torch.equal(a, b)
    np.testing.assert_array_equal(c.numpy(), exact(kept, b) + kept.numpy())


@triton.jit
def computed_kernel(x_ptr, y_ptr, c_ptr, SIZE: tl.constexpr):
    """Operands that are computed and rounded, as in attention."""
    places = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x, y = tl.load(x_ptr + places) * 0.5, tl.load(y_ptr + places)
    tl.store(c_ptr + places, tl.dot(x.to(tl.bfloat16), y.to(tl.bfloat16)))


def test_operands_that_are_computed():
    x, y = torch.randn(64, 64), torch.randn(64, 64)
    c = torch.zeros(64, 64)
    computed_kernel[(1,)](x, y, c, 64)
    expected = (x * 0.5).bfloat16().double() @ y.bfloat16().double()
    torch.testing.assert_close(c.double(), expected, atol=1e-4, rtol=1e-5)


@triton.jit
def wraps_kernel(a_ptr, c_ptr, K, BLOCK: tl.constexpr):
    rows, columns, steps = tl.arange(0, 8), tl.arange(0, 16), tl.arange(0, BLOCK)
    places = c_ptr + rows[:, None] * 16 + columns[None, :]
    c = tl.load(places)
    b = tl.full((BLOCK, 16), -128, tl.int8)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + rows[:, None] * K + k + steps[None, :])
        c = tl.dot(a, b, c, out_dtype=tl.int32)
    tl.store(places, c)


def test_sums_of_bytes_wrap():
    a = torch.full((8, 65536), -128, dtype=torch.int8)
    c = torch.full((8, 16), 2**30, dtype=torch.int32)
    wraps_kernel[(1,)](a, c, 65536, 256)
    assert torch.equal(c, torch.full((8, 16), -(2**31), dtype=torch.int32))


@triton.jit
def plain_kernel(a_ptr, b_ptr, c_ptr, SIZE: tl.constexpr):
    places = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    a, b = tl.load(a_ptr + places), tl.load(b_ptr + places)
    total_type: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty.is_int() else tl.float32
    tl.store(c_ptr + places, tl.dot(a, b, out_dtype=total_type))


def compiled_plain(dtype: str, target: HostTarget):
    total = "i32" if dtype == "i8" else "fp32"
    signature = {"a_ptr": f"*{dtype}", "b_ptr": f"*{dtype}", "c_ptr": f"*{total}"}
    return compile_kernel(plain_kernel, signature, {"SIZE": 32}, target)


def without(target: HostTarget, *features: str) -> HostTarget:
    kept = [feature for feature in target.features.split(",") if feature not in features]
    return dataclasses.replace(target, features=",".join(kept))


def check_runs(compiled, dtype):
    a, b = whole_numbers(dtype, 32, 32), whole_numbers(dtype, 32, 32)
    c = torch.zeros(32, 32, dtype=total_dtype(dtype))
    slots = (ctypes.c_uint64 * 3)(*(x.data_ptr() for x in (a, b, c)))
    kernel = load_object(compiled.object)
    kernel.run_programs(CALL_HEADER.pack(0, 1, 1, 1, 1, 1, 0) + bytes(slots))
    np.testing.assert_array_equal(c.numpy(), exact(a, b))


@needs_instructions
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_instruction_is_used_where_the_processor_has_it(dtype):
    with_it = compiled_plain(dtype, host_target())
    assert INSTRUCTIONS[dtype] in with_it.assembly
    other = without(host_target(), "+avx512bf16", "+avx512vnni", "+avxvnni")
    without_it = compiled_plain(dtype, other)
    assert INSTRUCTIONS[dtype] not in without_it.assembly
    check_runs(without_it, dtype)


@needs_instructions
@pytest.mark.skipif("+avxvnni" not in host_target().features, reason="no AVX-VNNI")
def test_bytes_in_shorter_vectors():
    wide = [f for f in host_target().features.split(",") if f.startswith("+avx512")]
    target = dataclasses.replace(
        without(host_target(), *wide), cpu="alderlake", vector_bits=256, vector_registers=16
    )
    compiled = compiled_plain("i8", target)
    assert INSTRUCTIONS["i8"] in compiled.assembly
    assert "zmm" not in compiled.assembly
    check_runs(compiled, "i8")


def test_targets_say_what_they_have():
    assert RVVTarget().steps_together("bf16") == 1
    target = HostTarget("x86_64-linux-gnu", "x", "+avx512bf16,-avx512vnni", 512, 32)
    assert [target.steps_together(name) for name in ("bf16", "i8", "f16")] == [2, 1, 1]
    assert dataclasses.replace(target, vector_bits=256).steps_together("bf16") == 1
