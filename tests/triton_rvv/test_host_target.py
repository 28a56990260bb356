"""What is found out about this machine's processor, and code for shorter vectors than it has."""

from __future__ import annotations

import ctypes
import dataclasses
import platform

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn

from triton_rvv import compile_kernel
from triton_rvv.lowering.control.grid_loop import CALL_HEADER
from triton_rvv.runtime.host_loader import load_object
from triton_rvv.targets.host_caches import cache_bytes
from triton_rvv.targets.host_target import _vectors, host_target


@pytest.mark.parametrize(
    ("features", "vectors"),
    [
        ({"sse2"}, (128, 16)),
        ({"sse2", "avx2"}, (256, 16)),
        ({"sse2", "avx2", "avx512f"}, (256, 16)),
        ({"sse2", "avx2", "avx512f", "avx512vl"}, (512, 32)),
        ({"neon"}, (128, 32)),
    ],
)
def test_vectors_follow_the_features(features, vectors):
    assert _vectors(frozenset(features)) == vectors


def test_this_machine():
    target = host_target()
    assert target.triple.startswith(platform.machine())
    assert target.lanes(32) * 32 == target.vector_bits in (128, 256, 512)
    # Accumulators of a tile leave registers to its operands.
    assert target.tile_rows * target.run_registers <= target.vector_registers / 2
    other = dataclasses.replace(target, features=f"{target.features},-avx2")
    assert str(other) != str(target)  # builds are kept by this


def test_caches_grow_with_their_level():
    known = [size for size in map(cache_bytes, (1, 2, 3)) if size is not None]
    assert known == sorted(known)
    assert all(size >= 4096 for size in known)
    assert cache_bytes(9) is None


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    rows, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    a = tl.load(a_ptr + rows[:, None] * BLOCK + columns[None, :], mask=rows[:, None] < n, other=0)
    b = tl.load(b_ptr + columns[:, None] * BLOCK + columns[None, :])
    c = tl.dot(a, b) + tl.sum(a, axis=1)[:, None]
    tl.store(c_ptr + rows[:, None] * BLOCK + columns[None, :], c, mask=rows[:, None] < n)


@pytest.mark.parametrize(
    ("vector_bits", "registers"), in_turn([(128, 16), (256, 16), (128, 32)], turns=2)
)
def test_shorter_vectors_than_the_machine_has(vector_bits, registers):
    target = dataclasses.replace(host_target(), vector_bits=vector_bits, vector_registers=registers)
    signature = {"a_ptr": "*fp32", "b_ptr": "*fp32", "c_ptr": "*fp32", "n": "i32"}
    compiled = compile_kernel(product_kernel, signature, {"BLOCK": 32}, target)
    kernel = load_object(compiled.object)
    n, random = 50, np.random.default_rng(0)
    a, b = (random.standard_normal((rows, 32), np.float32) for rows in (n, 32))
    c = np.zeros((n, 32), np.float32)
    slots = (ctypes.c_uint64 * 4)(*(x.ctypes.data for x in (a, b, c)), n)
    kernel.run_programs(CALL_HEADER.pack(0, 2, 1, 2, 1, 1, 0) + bytes(slots))
    np.testing.assert_allclose(c, a @ b + a.sum(1, keepdims=True), rtol=1e-4, atol=1e-4)


@triton.jit
def padded_kernel(x_ptr, y_ptr, m, WIDTH: tl.constexpr, BLOCK: tl.constexpr, FILL: tl.constexpr):
    rows, columns = tl.arange(0, 4), tl.arange(0, BLOCK)
    mask = (rows < m)[:, None] & (columns < WIDTH)[None, :]
    x = tl.load(x_ptr + rows[:, None] * WIDTH + columns[None, :], mask=mask, other=FILL)
    tl.store(y_ptr + rows[:, None] * BLOCK + columns[None, :], x)


@pytest.mark.parametrize(
    ("element", "dtype", "fill"),
    [("fp32", "f4", 0), ("fp64", "f8", 0), ("i32", "i4", 5), ("i64", "i8", 0)],
)
def test_registers_that_a_mask_leaves_out_are_filled_without_avx512(element, dtype, fill):
    features = host_target().features.split(",")
    if "+avx2" not in features:
        pytest.skip("this processor has no AVX2")
    fewer = ",".join(f"-{name[1:]}" if "avx512" in name else name for name in features)
    target = dataclasses.replace(
        host_target(), cpu="haswell", features=fewer, vector_bits=256, vector_registers=16
    )
    signature = {"x_ptr": f"*{element}", "y_ptr": f"*{element}", "m": "i32"}
    constants = {"WIDTH": 24, "BLOCK": 32, "FILL": fill}
    kernel = load_object(compile_kernel(padded_kernel, signature, constants, target).object)
    x = np.arange(1, 97, dtype=dtype).reshape(4, 24)
    y = np.full((4, 32), 77, x.dtype)
    slots = (ctypes.c_uint64 * 3)(x.ctypes.data, y.ctypes.data, 3)
    kernel.run_programs(CALL_HEADER.pack(0, 1, 1, 1, 1, 1, 0) + bytes(slots))
    expected = np.full_like(y, fill)
    expected[:3, :24] = x[:3]
    np.testing.assert_array_equal(y, expected)
