"""A loop that may never end stays in the code, even where nothing uses what it computes."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl

from triton_rvv import RVVTarget, compile_kernel


@triton.jit
def doubling_kernel(out_ptr, n):
    turn = 0
    while turn < n:
        turn *= 2
    tl.store(out_ptr, n)


@triton.jit
def waiting_kernel(out_ptr, n):
    while tl.load(out_ptr) != n:
        pass
    tl.store(out_ptr + 1, n)


@pytest.mark.parametrize("kernel", [doubling_kernel, waiting_kernel], ids=["doubling", "waiting"])
def test_loop_that_nothing_uses_is_not_removed(kernel):
    signature = {"out_ptr": "*i32", "n": "i32"}
    compiled = compile_kernel(kernel, signature, {}, RVVTarget(vlen_bits=256))
    assert "scf.while" in compiled.ttir
    assert compiled.llir.count("br i1") >= 1
    assert "mustprogress" not in compiled.llir
