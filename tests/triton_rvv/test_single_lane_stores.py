"""Masked stores of one lane that is known beforehand: nothing else is written."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from triton_rvv.codegen.single_lane_stores import with_single_lane_stores

MODULE = """define void @f(ptr %y, <4 x i16> %v) {{
  call void @llvm.masked.store.v4i16.p0(<4 x i16> %v, ptr align 8 %y, <4 x i1> {mask}), !dbg !5
  ret void
}}
"""


def module(*lanes: int) -> str:
    mask = ", ".join(f"i1 {'true' if lane in lanes else 'false'}" for lane in range(4))
    return MODULE.format(mask=f"<{mask}>")


def test_one_lane_is_stored_alone() -> None:
    written = with_single_lane_stores(module(2))
    assert "masked.store" not in written
    assert "extractelement <4 x i16> %v, i64 2, !dbg !5" in written
    assert "getelementptr i16, ptr %y, i64 2, !dbg !5" in written
    assert ", align 4, !dbg !5" in written
    assert ", align 8, !dbg !5" in with_single_lane_stores(module(0))


def test_other_stores_stay() -> None:
    for text in (module(), module(1, 2), MODULE.format(mask="%mask")):
        assert with_single_lane_stores(text) == text


@triton.jit
def one_lane_kernel(x, y, LANE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, (tl.load(x + at) + 3).to(y.dtype.element_ty), mask=at == LANE)


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize(
    ("wide", "narrow"),
    [(torch.float32, torch.uint8), (torch.float32, torch.bfloat16), (torch.int64, torch.bfloat16)],
)
def test_its_neighbours_stay_on_the_host(wide: torch.dtype, narrow: torch.dtype) -> None:
    for block, lane in ((8, 0), (16, 3), (32, 31)):
        x, y = torch.arange(block).to(wide), torch.full((block + 8,), 99).to(narrow)
        expected = y.clone()
        expected[lane] = lane + 3
        one_lane_kernel[(1,)](x, y, lane, block)
        assert torch.equal(y, expected)
