"""Lines that a loop carries, computed in parts that registers hold."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected
from test_split_blocks import carried, kernel_of

from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.lowering.ttir.split_blocks import split_blocks


@triton.jit
def rounds_kernel(x_ptr, y_ptr, M, N, SIZE: tl.constexpr, KIND: tl.constexpr):
    """Two numbers of each line are mixed, in turns."""
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    mask = at < M
    a = tl.load(x_ptr + 2 * at, mask=mask, other=0)
    b = tl.load(x_ptr + 2 * at + 1, mask=mask, other=0)
    for turn in range(N):
        a += (b << 4) ^ turn
        b += (a >> 3) ^ (
            tl.load(y_ptr + turn * M + at, mask=mask, other=0) if KIND == "loaded" else 5
        )
        if KIND == "whole":
            b += tl.sum(a, axis=0)
        if KIND == "again":
            tl.store(x_ptr + 2 * (at + turn), a, mask=mask)
        if KIND == "trail":
            tl.store(y_ptr + at + turn, a, mask=mask)
    away = 2 if KIND == "away" else 0
    tl.store(x_ptr + 2 * at + away, a, mask=mask)
    tl.store(x_ptr + 2 * at + 1, b, mask=mask)


@pytest.mark.parametrize(
    ("size", "kind", "part"),
    [
        (256, "", 64),
        (128, "", 64),
        (64, "", 64),
        (128, "loaded", 128),  # of what lines load, rows are best read whole
        (128, "whole", 128),
        (128, "again", 128),  # where another turn of another part has been
        (128, "trail", 128),  # the last turn's stays, of whatever part
        (128, "away", 128),  # what the next line loads
    ],
)
def test_lines_are_split_where_elements_meet_at_their_own_places_alone(size, kind, part):
    types = {"x_ptr": "*i32", "y_ptr": "*i32", "M": "i32", "N": "i32"}
    kernel = kernel_of(rounds_kernel, {"SIZE": size, "KIND": kind}, types)
    assert split_blocks(kernel) == int(part < size)
    verify(kernel.module)
    assert carried(kernel.module) == [(part,), (part,)]


def test_rounds(run):
    start = np.random.default_rng(3).integers(-999, 1000, (300, 2)).astype(np.int32)
    a, b = start.T.copy()
    for turn in range(3):
        a += (b << 4) ^ turn
        b += (a >> 3) ^ 5
    run(
        rounds_kernel, grid=(2,), x_ptr=Expected(np.stack([a, b], 1), start), y_ptr=start,
        M=300, N=3, SIZE=256, KIND="",
    )  # fmt: skip
