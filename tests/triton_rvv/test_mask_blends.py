"""Choices between two masks by a lane's place."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv.codegen.mask_blends import with_mask_blends

MODULE = """define <4 x i1> @f(<4 x i1> %a, <4 x i1> %b) {{
  %c = shufflevector <4 x i1> %a, <4 x i1> %b, <4 x i32> <{lanes}>
  ret <4 x i1> %c
}}
"""


def test_lanes_in_place_are_chosen_by_constants() -> None:
    written = with_mask_blends(MODULE.format(lanes="i32 0, i32 5, i32 poison, i32 3"))
    assert "shufflevector" not in written
    assert "%blend.1.first.whole, <i1 true, i1 false, i1 false, i1 true>" in written
    assert "%blend.1.other.whole, <i1 false, i1 true, i1 true, i1 false>" in written
    assert "%c = or disjoint <4 x i1> %blend.1.first, %blend.1.other" in written


def test_lanes_that_move_stay() -> None:
    text = MODULE.format(lanes="i32 0, i32 4, i32 2, i32 3")
    assert with_mask_blends(text) == text


@triton.jit
def sides_kernel(x_ptr, y_ptr, LANES: tl.constexpr):
    row = tl.arange(0, 4)
    place = tl.arange(0, LANES)[None, :]
    x = tl.load(x_ptr + row[:, None] * LANES + place)
    good = tl.where(place < LANES - 5, x < 10, x > 5)
    tl.store(y_ptr + row, tl.sum(good.to(tl.int32), axis=1))


def test_lanes_count_on_their_side(run) -> None:
    for lanes in (16, 64):
        x = np.random.default_rng(0).integers(0, 16, (4, lanes)).astype(np.int32)
        good = np.where(np.arange(lanes) < lanes - 5, x < 10, x > 5)
        expected = Expected(good.sum(axis=1, dtype=np.int32))
        run(sides_kernel, x_ptr=x, y_ptr=expected, LANES=lanes)
