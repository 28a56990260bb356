"""Products whose rows and columns wrap around behind the last ones, at a multiple of a few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner
from test_ragged_products import VLENS, Case, product_kernel, run_case

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.products import dot, pack, unpacked_rhs
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.target import RVVTarget

KNOWN = ("M", "N", "K", "stride_a", "stride_b", "stride_c")
# Sizes, blocks, how A and B lie.
CASES = [
    ((40, 48, 36), (32, 32, 32), "rows", "rows"),
    ((24, 80, 33), (16, 64, 64), "rows", "rows"),
    ((8, 176, 40), (8, 128, 32), "rows", "rows"),
    ((72, 56, 40), (64, 32, 64), "transposed", "columns"),
    ((48, 72, 64), (64, 128, 64), "columns", "rows"),
]


@pytest.mark.parametrize(
    ("dtype", "vlen_bits", "number"), in_turn(["fp32", "fp16"], VLENS, range(len(CASES)), turns=2)
)
def test_last_blocks_are_exact(run: KernelRunner, dtype: str, vlen_bits: int, number: int) -> None:
    sizes, blocks, a, b = CASES[number]
    case = Case(sizes=sizes, blocks=blocks, rows="wrapped", a=a, b=b)
    run_case(run, dtype, vlen_bits, number, case, KNOWN)


def _is_in_granules(tensor: Tensor) -> bool:
    places = [each for each in tensor.walk() if isinstance(each, Affine)]
    return any(part.granular for each in places for part in each.components)


def _compile(sizes: tuple[int, int, int], blocks: tuple[int, int, int], vlen_bits: int) -> None:
    """Compile a product of matrices that lie by row, without masks where they are read."""
    _, n, k = sizes
    names = [*KNOWN, "BLOCK_M", "BLOCK_N", "BLOCK_K"]
    constants: dict[str, Any] = dict(zip(names, [*sizes, k, n, n, *blocks], strict=True))
    constants |= {"ROWS": "wrapped", "A": "rows", "B": "rows"}
    constants |= dict.fromkeys(["MASK_A", "MASK_B", "BIAS", "TOTALS", "BATCH"], False)
    pointers = ("a_ptr", "b_ptr", "bias_ptr", "c_ptr", "total_ptr")
    signature = dict.fromkeys(pointers, "*fp32")
    compile_kernel(product_kernel, signature, constants, RVVTarget(vlen_bits=vlen_bits))


# M, N, and whether B's copies and A's rows are in granules; columns wrap at 48, rows at 40.
IN_LINES = [
    (64, 48, [False, True], [False]),
    (64, 64, [False], [False]),
    (64, 50, [False], [False]),
    (40, 64, [False], [False]),
]


@pytest.mark.parametrize(("m", "n", "copies", "rows"), IN_LINES)
def test_what_counts_is_one_line(
    monkeypatch: pytest.MonkeyPatch, m: int, n: int, copies: list[bool], rows: list[bool]
) -> None:
    """Only where vectors of a few are known to be contiguous is there another copy for these."""
    copied, in_place, copy_part, rows_in_place = [], [], pack.copy_part, dot._rows_in_place

    def noting_copies(context: Any, tensor: Tensor, array: Any, extents: Any, *rest: Any) -> None:
        if tensor.shape == (32, 64):
            copied.append(_is_in_granules(tensor))
        copy_part(context, tensor, array, extents, *rest)

    def noting_rows(context: Any, left: Any, *rest: Any) -> Any:
        in_place.append(_is_in_granules(left))
        return rows_in_place(context, left, *rest)

    monkeypatch.setattr(pack, "copy_part", noting_copies)
    monkeypatch.setattr(dot, "_rows_in_place", noting_rows)
    monkeypatch.setattr(dot, "unpacked_rhs", lambda *_: [])
    _compile((m, n, 32), (32, 64, 32), 512)
    assert copied == copies
    assert [*dict.fromkeys(in_place)] == rows


def test_few_rows_are_multiplied_by_columns_where_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    found, in_place = [], unpacked_rhs._in_place

    def noting(context: Any, right: Any, *rest: Any) -> Any:
        found.append(_is_in_granules(right))
        return in_place(context, right, *rest)

    monkeypatch.setattr(unpacked_rhs, "_in_place", noting)
    _compile((8, 48, 32), (8, 32, 32), 128)
    assert found == [False]


@triton.jit
def repeated_columns_kernel(a_ptr, b_ptr, c_ptr, M, WIDTH, ROWS: tl.constexpr, N: tl.constexpr,
                            K: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """C = A @ B, whose N columns are repeated up to WIDTH."""
    rows, k = tl.arange(0, ROWS), tl.arange(0, K)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + rows[:, None] * K + k[None, :], mask=(rows < M)[:, None], other=0)
    b = tl.load(b_ptr + k[:, None] * N + (columns % N)[None, :])
    inside = (rows < M)[:, None] & (columns < WIDTH)[None, :]
    tl.store(c_ptr + rows[:, None] * WIDTH + columns[None, :], tl.dot(a, b), mask=inside)


@pytest.mark.parametrize(("rows", "vlen_bits"), [(32, 128), (4, 256), (16, 512)])
def test_columns_that_wrap_around_before_the_last_one_are_exact(
    run: KernelRunner, rows: int, vlen_bits: int
) -> None:
    n, k, width = 48, 16, 200
    random = np.random.default_rng(rows)
    a, b = (random.integers(-9, 10, shape).astype(np.float32) for shape in ((rows, k), (k, n)))
    c = (a @ b)[:, np.arange(width) % n]
    values: dict[str, Any] = {"a_ptr": a, "b_ptr": b, "c_ptr": Expected(c), "M": rows}
    values |= {"WIDTH": width, "ROWS": rows, "N": n, "K": k, "BLOCK": 64}
    run(repeated_columns_kernel, **values, grid=(4,), vlen_bits=vlen_bits)
