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
        if KIND == "volatile":
            b += tl.load(y_ptr + at, mask=mask, other=0, volatile=True)
        if KIND == "printed":
            tl.device_print("turn", turn)
    away = 2 if KIND == "away" else 0
    tl.store(x_ptr + 2 * at + away, a, mask=mask)
    tl.store(x_ptr + 2 * at + 1, b, mask=mask)


@pytest.mark.parametrize(
    ("size", "kind", "part"),
    [
        (256, "", 64),
        (128, "", 64),
        (64, "", 64),
        (128, "loaded", 64),
        (128, "whole", 128),
        (128, "again", 128),  # where another turn of another part has been
        (128, "trail", 128),  # the last turn's stays, of whatever part
        (128, "away", 128),  # what the next line loads
        (128, "volatile", 128),  # others would look on
        (128, "printed", 128),
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


@triton.jit
def paths_kernel(
    x_ptr, y_ptr, out_ptr, M, T, N, SIZE: tl.constexpr, STEP: tl.constexpr, KIND: tl.constexpr
):
    """Two numbers of each line in turns, of which each stores one or two."""
    at = tl.arange(0, SIZE)
    if KIND == "blocks":
        at += tl.program_id(0) * SIZE
    first = at + 2147483637 if KIND == "wraps" else at  # from some lane on
    mask = first >= M if KIND == "behind" else first < M
    mask = at % 3 < M if KIND == "every third" else mask
    a = tl.zeros((SIZE,), tl.int32)
    b = tl.zeros((SIZE,), tl.int32)
    for turn in range(T):
        here = turn * N + at * (at if KIND == "squares" else STEP)
        a += (b << 4) ^ turn
        b += (a >> 3) ^ tl.load(x_ptr + here, mask=mask, other=0)
        if KIND == "before":
            b += tl.load(out_ptr + here - N, mask=mask & (turn > 0), other=0)
        if KIND == "beside":
            b += tl.load(out_ptr + here - N + 1, mask=mask & (turn > 0), other=0)
        if KIND == "ahead":
            b += tl.load(out_ptr + here + N + 1, mask=mask, other=0)
        if KIND == "loads":
            b += tl.load(x_ptr + here + 1, mask=mask, other=0)
            b += tl.load(x_ptr + here + 2, mask=mask, other=0)
        if KIND == "unmasked":
            tl.store(out_ptr + here, a)
        else:
            tl.store(out_ptr + here, a, mask=mask)
        if KIND == "pairs":
            tl.store(out_ptr + here + 1, b, mask=mask)
    tl.store(y_ptr + at, b, mask=mask)


@pytest.mark.parametrize(
    ("m", "n", "step", "kind", "part"),
    [
        (128, 128, 1, "", 64),  # each turn has a row of its own
        (100, 100, 1, "", 64),  # so it has as far as the mask goes
        (100, 100, 1, "blocks", 128),  # which may begin anywhere
        (100, 100, 1, "unmasked", 128),
        (128, 127, 1, "", 128),  # the last element is the next row's first
        (128, 1, 9, "", 64),  # each element has a row of its own
        (128, 1, 8, "", 128),  # nine turns: the last is the next one's first
        (128, 1, 9, "pairs", 128),
        (128, 256, 2, "pairs", 64),
        (128, 0, 1, "", 64),  # each turn has the same places
        (128, (1 << 28) + 1, 1, "", 128),  # nine turns wrap
        (128, None, 1, "", 128),
        (None, 100, 1, "", 128),
        (100, 100, 1, "behind", 128),
        (100, 100, 1, "every third", 128),
        (100, 100, 1, "wraps", 128),
        (128, 128, 1, "squares", 128),
        (128, 128, 1, "before", 64),
        (128, 128, 1, "beside", 128),
        (128, 128, 1, "ahead", 128),  # what the second turn of another part stores
        (128, 128, 1, "loads", 128),  # more lines than are carried
        (128, 1024, 1, "", 128),  # pages apart, which share sets of L1
    ],
)
def test_lines_are_split_where_no_turn_stores_where_another_part_has_been(m, n, step, kind, part):
    kernel = kernel_of(
        paths_kernel, {"SIZE": 128, "STEP": step, "KIND": kind},
        {"x_ptr": "*i32", "y_ptr": "*i32", "out_ptr": "*i32", "T": "i32"},
        values=[m, 2 if kind == "ahead" else 9, n],
    )  # fmt: skip
    assert split_blocks(kernel) == int(part < 128)
    verify(kernel.module)
    assert carried(kernel.module) == [(part,), (part,)]


def test_paths(run):
    x = np.random.default_rng(3).integers(-999, 1000, (9, 100)).astype(np.int32)
    a, b = np.zeros((2, 100), np.int32)
    rows = [np.zeros(100, np.int32)]
    for turn, row in enumerate(x):
        a = a + ((b << 4) ^ turn)
        b = b + ((a >> 3) ^ row) + rows[-1]
        rows.append(a)
    run(
        paths_kernel, x_ptr=x, y_ptr=Expected(b), out_ptr=Expected(np.stack(rows[1:])),
        M=100, T=9, N=100, SIZE=128, STEP=1, KIND="before", known=["M", "T", "N"],
    )  # fmt: skip


@triton.jit
def counting_kernel(x_ptr, y_ptr, out_ptr, KIND: tl.constexpr):
    rows, columns = tl.arange(0, 16), tl.arange(0, 32)
    total = tl.zeros((16, 32), tl.int32)
    for turn in range(4):
        total += tl.abs(tl.load(x_ptr + turn * 16 + rows)[:, None] - columns[None, :])
        if KIND == "counted":
            at = turn * 64 + tl.arange(0, 64)
            tl.store(y_ptr + at, tl.load(y_ptr + at) + 1)
    tl.store(out_ptr + rows[:, None] * 32 + columns[None, :], total)


@pytest.mark.parametrize(("kind", "part"), [("", 4), ("counted", 16)])
def test_what_all_parts_have_in_common_is_stored_once(kind, part):
    types = {"x_ptr": "*i32", "y_ptr": "*i32", "out_ptr": "*i32"}
    kernel = kernel_of(counting_kernel, {"KIND": kind}, types)
    assert split_blocks(kernel) == int(part < 16)
    assert carried(kernel.module) == [(part, 32)]
