"""Blocks computed in parts, sums added up late, rows that are loaded once for several results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv.frontend.ttir import Operation, parse_module
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.accumulators import add_late
from triton_rvv.lowering.ttir.infer_access import infer_access
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.shared_rows import share_rows
from triton_rvv.lowering.ttir.split_blocks import split_blocks
from triton_rvv.make_ttir import make_ttir
from triton_rvv.targets.target import RVVTarget

FLOATS = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "M": "i32", "N": "i32"}


def kernel_of(
    function,
    constants: Mapping[str, object],
    types: Mapping[str, str],
    disjoint: bool = True,
    values: Sequence[int | None] = (),
) -> Kernel:
    """The kernel of a function before passes.

    Args:
        values: of the arguments behind three pointers, where they are known.
    """
    signature = {**FLOATS, "D": "i32", **types}
    signature = {name: signature.get(name, "constexpr") for name in function.arg_names}
    signature |= dict.fromkeys(constants, "constexpr")
    target = RVVTarget(vlen_bits=256)
    ttir = make_ttir(function, signature, dict(constants), frozenset(), target)
    return Kernel(parse_module(ttir), target, disjoint, [None, None, None, *values])


def carried(module: Operation) -> list[tuple[int, ...]]:
    """The shapes of the blocks that loops carry."""
    loops = [operation for operation in module.walk() if operation.name == "scf.for"]
    types = [result.type for loop in loops for result in loop.results]
    return [type_.shape for type_ in types if isinstance(type_, TensorType)]


# -- blocks in parts -------------------------------------------------------------------------------


@triton.jit
def distances_kernel(
    x_ptr, y_ptr, out_ptr, M, N, D, BM: tl.constexpr, BN: tl.constexpr, KIND: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.int32)
    for d in range(D):
        x = tl.load(x_ptr + rows * D + d, mask=rows < M, other=0)
        y = tl.load(y_ptr + d * N + columns, mask=columns < N, other=0)
        total += tl.abs(x[:, None] - y[None, :])
    at = rows[:, None] * N + columns[None, :]
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    if KIND == "again":
        total += tl.load(out_ptr + at, mask=inside, other=0)
    if KIND == "total":
        tl.store(out_ptr + columns, tl.sum(total, axis=0))
    else:
        tl.store(out_ptr + at, total, mask=inside)


INTEGERS = {"x_ptr": "*i32", "y_ptr": "*i32", "out_ptr": "*i32"}


@pytest.mark.parametrize(
    ("sizes", "parts"),
    in_turn(
        [((16, 32), (4, 32)), ((32, 256), (4, 32)), ((4, 128), (4, 32)), ((64, 64), (2, 64))],
        turns=2,
    ),
)
def test_parts_fit_the_registers(sizes, parts):
    constants = dict(zip(("BM", "BN"), sizes, strict=True)) | {"KIND": ""}
    kernel = kernel_of(distances_kernel, constants, INTEGERS)
    assert split_blocks(kernel) == sum(a != b for a, b in zip(sizes, parts, strict=True))
    verify(kernel.module)
    assert carried(kernel.module) == [parts]


@pytest.mark.parametrize(
    ("sizes", "kind", "disjoint"),
    [
        ((4, 32), "", True),  # fits as it is
        ((16, 32), "", False),  # a part's store may change what another one loads
        ((16, 32), "again", True),  # so it may here
        ((16, 32), "total", True),  # needs all rows at once
    ],
)
def test_blocks_that_stay_whole(sizes, kind, disjoint):
    constants = dict(zip(("BM", "BN"), sizes, strict=True)) | {"KIND": kind}
    kernel = kernel_of(distances_kernel, constants, INTEGERS, disjoint)
    assert split_blocks(kernel) == 0
    assert carried(kernel.module) == [sizes]


def test_code_relies_on_what_parts_load_and_store_to_be_apart():
    kernel = kernel_of(distances_kernel, {"BM": 16, "BN": 32, "KIND": ""}, INTEGERS)
    split_blocks(kernel)
    assert {(each.loaded, each.stored) for each in kernel.aliases.apart} == {(0, 2), (1, 2)}


@pytest.mark.parametrize(
    ("sizes", "m", "n", "d"),
    in_turn([((16, 32),), ((4, 128),), ((16, 16),)], [(37, 67, 5), (16, 130, 1), (3, 9, 0)]),
)
def test_distances(run, sizes, m, n, d):
    random = np.random.default_rng(0)
    x, y = (random.integers(-9, 10, shape).astype(np.int32) for shape in ((m, d), (d, n)))
    expected = np.abs(x[:, :, None] - y[None]).sum(1, dtype=np.int32)
    run(
        distances_kernel,
        grid=(-(-m // sizes[0]), -(-n // sizes[1])),
        x_ptr=x if d else np.zeros(1, np.int32),
        y_ptr=y if d else np.zeros(1, np.int32),
        out_ptr=Expected(expected),
        **{"M": m, "N": n, "D": d, "BM": sizes[0], "BN": sizes[1], "KIND": ""},
    )


@triton.jit
def moved_kernel(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows, columns = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
    at = x_ptr + rows * N + columns
    total = tl.full((BM, BN), 1, tl.int8)
    for _ in range(M):
        total += tl.load(at)
        at += 1
    tl.store(out_ptr + rows * (BN + 1) + columns, total)


BYTES = {"x_ptr": "*i8", "out_ptr": "*i8"}


@pytest.mark.parametrize(("sizes", "parts"), [((16, 16), (4, 4)), ((32, 4), (4, 4))])
def test_parts_are_whole_beside_addresses(sizes, parts):
    """Addresses take eight times the bits of bytes: with both, powers of two fit nothing."""
    kernel = kernel_of(moved_kernel, dict(zip(("BM", "BN"), sizes, strict=True)), BYTES)
    assert split_blocks(kernel) > 0
    verify(kernel.module)
    assert carried(kernel.module) == [parts, parts]


def test_nothing_between_rows_is_stored(run):
    x = np.arange(16 * 20, dtype=np.int8).reshape(16, 20)
    total = sum((x[:, start : start + 16] for start in range(3)), np.ones((16, 16), np.int8))
    start = np.full((16, 17), 77, np.int8)
    expected = start.copy()
    expected[:, :16] = total
    sizes = {"M": 3, "N": 20, "BM": 16, "BN": 16}
    run(moved_kernel, x_ptr=x, out_ptr=Expected(expected, start), **sizes)


@triton.jit
def pairs_kernel(
    x_ptr, y_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr, KIND: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    x = tl.load(x_ptr + rows, mask=rows < M, other=0)
    least = tl.full((BM,), 9999, tl.int32)
    total = tl.zeros((BM,), tl.int32)
    for start in range(0, N, BN):
        at = start + tl.arange(0, BN)
        if KIND == "loaded":
            y = tl.load(y_ptr + at[:, None] * M + rows[None, :])
        else:
            y = tl.load(y_ptr + at, mask=at < N, other=9999)[:, None]
        apart = tl.abs(x[None, :] - y)
        least = tl.minimum(least, tl.min(apart, axis=0))
        total += tl.sum(tl.minimum(apart, 5), axis=0)
    if KIND == "whole":
        total -= tl.max(total, axis=0)
    tl.store(out_ptr + rows, least + total, mask=rows < M)


@pytest.mark.parametrize(
    ("rows", "kind", "part"),
    [(64, "", 32), (128, "", 32), (32, "", 32), (64, "whole", 64), (64, "loaded", 64)],
)
def test_lines_of_pairs_are_split(rows, kind, part):
    kernel = kernel_of(pairs_kernel, {"BM": rows, "BN": 8, "KIND": kind}, INTEGERS)
    assert split_blocks(kernel) == int(part < rows)
    verify(kernel.module)
    assert carried(kernel.module) == [(part,), (part,)]


def test_pairs(run):
    random = np.random.default_rng(0)
    x, y = (random.integers(-99, 100, size).astype(np.int32) for size in (70, 21))
    apart = np.abs(x[:, None] - y)
    beyond = 5 * (-21 % 8)
    expected = apart.min(1) + np.minimum(apart, 5).sum(1, dtype=np.int32) + np.int32(beyond)
    blocks = {"BM": 64, "BN": 8, "KIND": ""}
    run(pairs_kernel, grid=(2,), x_ptr=x, y_ptr=y, out_ptr=Expected(expected), M=70, N=21, **blocks)


# -- sums added up late ----------------------------------------------------------------------------


@triton.jit
def scaled_sums_kernel(
    x_ptr, y_ptr, out_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr, KIND: tl.constexpr
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.full((ROWS,), 3, tl.int32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = (rows < M)[:, None] & (at < N)[None, :]
        x = tl.load(x_ptr + rows[:, None] * N + at[None, :], mask=mask, other=0).to(tl.int32)
        y = tl.load(y_ptr + at, mask=at < N, other=0)
        if KIND == "largest":
            total = tl.maximum(total, tl.max(x * y[None, :], axis=1))
        elif KIND == "needed":
            total += tl.sum(x * y[None, :], axis=1) * total
        else:
            total += tl.sum(x * y[None, :], axis=1) * (rows + start)
    tl.store(out_ptr + rows, total, mask=rows < M)


@pytest.mark.parametrize(
    ("rows", "kind", "fired", "shape"),
    [
        (2, "", 1, (2, 32)),
        (2, "largest", 1, (2, 32)),
        (2, "needed", 0, (2,)),  # each turn needs the sum
        (16, "", 0, (16,)),  # too many for the registers, unless they are split before
    ],
)
def test_add_late(rows, kind, fired, shape):
    constants = {"ROWS": rows, "BLOCK": 32, "KIND": kind}
    kernel = kernel_of(scaled_sums_kernel, constants, INTEGERS | {"x_ptr": "*i8"})
    assert add_late(kernel) == fired
    verify(kernel.module)
    assert carried(kernel.module) == [shape]


def test_sums_are_not_late_where_they_take_half_of_the_registers():
    kernel = kernel_of(scaled_sums_kernel, {"ROWS": 4, "BLOCK": 32, "KIND": ""}, INTEGERS)
    assert add_late(kernel) == 0
    assert carried(kernel.module) == [(4,)]


def test_rows_are_split_so_that_sums_can_be_late():
    constants = {"ROWS": 16, "BLOCK": 32, "KIND": ""}
    kernel = kernel_of(scaled_sums_kernel, constants, INTEGERS | {"x_ptr": "*i8"})
    assert (split_blocks(kernel), add_late(kernel)) == (1, 1)
    assert carried(kernel.module) == [(2, 32)]


@pytest.mark.parametrize(
    ("kind", "rows", "block", "m", "n"),
    in_turn(["", "largest", "needed"], [(16, 32, 21, 77), (2, 256, 5, 300)]),
)
def test_scaled_sums(run, kind, rows, block, m, n):
    random = np.random.default_rng(1)
    x = random.integers(-9, 10, (m, n)).astype(np.int8)
    y = random.integers(-9, 10, n).astype(np.int32)
    total, numbers = np.full(m, 3), np.arange(m)
    for start in range(0, n, block):
        products = x[:, start : start + block].astype(np.int32) * y[start : start + block]
        sums = products.sum(1)
        if kind == "largest":
            rest = 0 if products.shape[1] < block else -(2**31)  # what is masked is 0
            total = np.maximum(total, np.maximum(products.max(1), rest))
        else:
            total = total + sums * (total if kind == "needed" else numbers + start)
    run(
        scaled_sums_kernel,
        grid=(-(-m // rows),),
        x_ptr=x,
        y_ptr=y,
        out_ptr=Expected(total.astype(np.int32)),
        **{"M": m, "N": n, "ROWS": rows, "BLOCK": block, "KIND": kind},
    )


# -- rows that are loaded once ---------------------------------------------------------------------


@triton.jit
def stencil_kernel(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr, KIND: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.int32)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    for dy in tl.static_range(3):
        for dx in tl.static_range(3):
            y, x = rows + dy - 1, columns + dx - 1
            if KIND == "rim":
                mask = ((y >= 0) & (y < M))[:, None] & ((x >= 0) & (x < N))[None, :]
                value = tl.load(x_ptr + y[:, None] * N + x[None, :], mask=mask, other=1)
            elif KIND == "uneven":
                value = tl.load(x_ptr + (y * y)[:, None] * N + x[None, :], mask=inside, other=0)
            else:
                at = (y + 1)[:, None] * (N + 2) + (x + 1)[None, :]
                value = tl.load(x_ptr + at, mask=inside, other=0)
            total += value * (3 * dy + dx + 1)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total, mask=inside)


@pytest.mark.parametrize(("kind", "fired"), [("", 9), ("rim", 9), ("uneven", 0)])
def test_share_rows(kind, fired):
    types = {"x_ptr": "*i32", "out_ptr": "*i32"}
    kernel = kernel_of(stencil_kernel, {"BM": 4, "BN": 32, "KIND": kind}, types)
    infer_access(kernel)
    assert share_rows(kernel) == fired
    found = [access.rows for access in kernel.accesses.values() if access.rows is not None]
    if kind == "rim":
        # What is loaded of a row does not depend on for which result it is.
        assert [each.below for each in found] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
        assert {each.conditions for each in found} == {0}
    elif kind == "":
        # Each result leaves out what lies outside for itself: rows differ, unless nothing does.
        assert {each.conditions for each in found} == {0, 1, 2}


@pytest.mark.parametrize(
    ("kind", "sizes", "m", "n"),
    in_turn(
        ["", "rim"],
        [((4, 32),), ((2, 16),), ((1, 64),), ((8, 64),)],
        [(3, 5), (13, 70), (8, 64)],
        turns=3,
    ),
)
def test_stencils(run, kind, sizes, m, n):
    x = np.random.default_rng(2).integers(-99, 100, (m + 2, n + 2)).astype(np.int32)
    if kind == "rim":
        x[[0, -1]] = x[:, [0, -1]] = 1
    taps = np.arange(1, 10).reshape(3, 3)
    out = sum(
        taps[dy, dx] * x[dy : dy + m, dx : dx + n] for dy in range(3) for dx in range(3)
    ).astype(np.int32)
    run(
        stencil_kernel,
        grid=(-(-m // sizes[0]), -(-n // sizes[1])),
        x_ptr=np.ascontiguousarray(x[1:-1, 1:-1]) if kind == "rim" else x,
        out_ptr=Expected(out),
        **{"M": m, "N": n, "BM": sizes[0], "BN": sizes[1], "KIND": kind},
    )
