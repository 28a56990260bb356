"""Stores to neighbouring elements in an order that is known beforehand, such as even ones first."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv.codegen.permuted_stores import with_permuted_stores

MODULE = """define void @f(ptr %y, <4 x i32> %v) {{
  %a = getelementptr inbounds {type}, ptr %y, <4 x i64> <{steps}>
  call void @llvm.masked.scatter.v4i32.v4p0(<4 x i32> %v, <4 x ptr> align 4 %a, <4 x i1> {mask})
  ret void
}}
"""
ALL = "splat (i1 true)"


def module(steps: list[int], type_: str = "i32", mask: str = ALL) -> str:
    return MODULE.format(type=type_, mask=mask, steps=", ".join(f"i64 {step}" for step in steps))


def test_a_permutation_is_stored_in_order() -> None:
    for text in (module([2, 0, 3, 1]), module([8, 0, 12, 4], "i8")):
        written = with_permuted_stores(text)
        assert "masked.scatter" not in written
        assert "<4 x i32> <i32 1, i32 3, i32 0, i32 2>" in written
        assert "store <4 x i32> %in.order.2, ptr %y, align 4" in written


def test_blocks_come_in_any_order() -> None:
    head, address, scatter, *rest = module([2, 0, 3, 1]).splitlines()
    jump, blocks = "  br label %first", ("last:", scatter, *rest[:-1], "first:", address)
    text = "\n".join((head, jump, *blocks, "  br label %last", rest[-1]))
    assert "masked.scatter" not in with_permuted_stores(text)


def test_other_scatters_stay() -> None:
    for text in (
        module([2, 0, 3, 4]),
        module([2, 0, 3, 3]),
        module([2, 0, 3, 1], "i8"),
        module([2, 0, 3, 1], mask="<i1 true, i1 true, i1 true, i1 false>"),
    ):
        assert with_permuted_stores(text) == text


@triton.jit
def evens_first_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at // 2 + at % 2 * (BLOCK // 2), tl.load(x_ptr + at))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
def test_evens_come_first(run, dtype: type[np.generic]) -> None:
    for block in (8, 16, 32):
        x = np.arange(1, block + 1).astype(dtype)
        expected = Expected(np.concatenate((x[::2], x[1::2])))
        run(evens_first_kernel, x_ptr=x, y_ptr=expected, BLOCK=block)
