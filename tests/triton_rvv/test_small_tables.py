"""Gathers from tables that one register holds."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel


@triton.jit
def lookup_kernel(
    x_ptr, t_ptr, y_ptr, n, MOST: tl.constexpr, BEHIND: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    if BEHIND:
        t_ptr += n
    tl.store(y_ptr + at, tl.load(t_ptr + (x & MOST)), mask=at < n)


@pytest.mark.parametrize(
    ("element", "most", "behind", "block", "is_kept"),
    [
        ("i8", 15, False, 64, True),
        ("i8", 31, False, 64, True),
        ("i8", 63, False, 64, False),  # more than a register
        ("i8", 15, False, 8, False),  # more than is looked up
        ("fp16", 15, False, 64, True),
        ("fp16", 31, False, 64, False),
        ("fp32", 7, False, 64, False),
        ("i8", 15, True, 64, False),  # its first element may lie outside of memory
    ],
)
def test_tables_that_are_kept(element, most, behind, block, is_kept):
    signature = {"x_ptr": "*u8", "t_ptr": f"*{element}", "y_ptr": f"*{element}", "n": "i32"}
    constants = {"MOST": most, "BEHIND": behind, "BLOCK": block}
    compiled = compile_kernel(lookup_kernel, signature, constants, RVVTarget(vlen_bits=256))
    counts = {fired.name: fired.count for fired in compiled.passes}
    assert counts["find-small-tables"] == counts["keep-tables"] == is_kept
    assert ("vrgather.vv" in compiled.assembly) == is_kept
    assert ("vluxei" in compiled.assembly) != is_kept


@triton.jit
def changing_kernel(x_ptr, t_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at, row = tl.arange(0, BLOCK), tl.arange(0, 16)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    for turn in range(3):
        y = tl.load(t_ptr + (x & 15))
        tl.store(t_ptr + row, tl.load(t_ptr + row) + 1)
        tl.store(y_ptr + turn * n + at, y, mask=at < n)


@pytest.mark.parametrize("vlen_bits", [128, 1024])
@pytest.mark.parametrize("dtype", [np.int8, np.float16], ids=str)
def test_each_lane_gets_its_element(run, dtype, vlen_bits):
    rng = np.random.default_rng(11)
    table = rng.integers(-100, 100, 16).astype(dtype)
    x = rng.integers(0, 256, 100).astype(np.uint8)
    for block in (16, 128):
        run(
            lookup_kernel, grid=(triton.cdiv(100, block),), x_ptr=x, t_ptr=table,
            y_ptr=Expected(table[x & 15]), n=100, MOST=15, BEHIND=False, BLOCK=block,
            vlen_bits=vlen_bits,
        )  # fmt: skip
    turns = np.concatenate([table[x & 15] + dtype(turn) for turn in range(3)])
    run(
        changing_kernel, grid=(1,), x_ptr=x, t_ptr=table, y_ptr=Expected(turns), n=100, BLOCK=128,
        vlen_bits=vlen_bits,
    )  # fmt: skip
