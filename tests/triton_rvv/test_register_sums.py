"""Sums of a loop that take many registers: none is saved on the stack, and few are waited for."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.target import RVVTarget

DEPTH, BLOCK = 16, 128


@triton.jit
def group_sums_kernel(x_ptr, f_ptr, s_ptr, y_ptr, groups, depth, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for group in range(groups):
        sums = tl.zeros((BLOCK,), dtype=tl.int16)
        for k in range(depth):
            x = tl.load(x_ptr + (group * depth + k) * BLOCK + lanes)
            sums += (x >> 4).to(tl.int16) * tl.load(f_ptr + k).to(tl.int16)
        total += sums.to(tl.float32) * tl.load(s_ptr + group * BLOCK + lanes)
    tl.store(y_ptr + lanes, total)


@pytest.fixture
def assembly(faster_order):
    signature = {"x_ptr": "*u8", "f_ptr": "*i8", "s_ptr": "*fp32", "y_ptr": "*fp32"}
    signature |= {"groups": "i32", "depth": "i32"}
    constants = {"BLOCK": BLOCK}
    return compile_kernel(
        group_sums_kernel, signature, constants, RVVTarget.named("x60"), disjoint_arguments=True
    ).commented_assembly


def test_sums_stay_in_registers(assembly):
    assert "vscale x" not in assembly  # the comment beside each one that is saved


def test_sums_of_eight_registers_take_one_instruction(assembly):
    added = r"vsetvli\s+\w+, \w+, e8, m4, ta, ma\n(?:(?!vset).)*?vwmacc"
    assert re.search(added, assembly, re.DOTALL)


def test_products_are_added_where_the_sum_is(assembly):
    assert re.search(r"\bvfmacc\.vv", assembly)
    assert not re.search(r"\bvmv\.v\.v", assembly), "a sum is copied back to its registers"


def test_sums_are_right(run):
    random = np.random.default_rng(1)
    x = random.integers(0, 256, (3, DEPTH, BLOCK), np.uint8)
    s = random.standard_normal((3, BLOCK)).astype(np.float32)
    sums = ((x >> 4).astype(np.int64) * np.arange(1, DEPTH + 1)[:, None]).sum(1)
    expected = Expected((sums * s.astype(np.float64)).sum(0).astype(np.float32), atol=1e-3)
    for core in ("generic-rv64", "spacemit-x60"):
        run(
            group_sums_kernel,
            core=core,
            x_ptr=x.ravel(),
            f_ptr=np.arange(1, DEPTH + 1, dtype=np.int8),
            s_ptr=s.ravel(),
            y_ptr=expected,
            groups=3,
            depth=DEPTH,
            BLOCK=BLOCK,
        )
