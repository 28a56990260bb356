"""What of a product anybody asks for: what its stores let through, if nothing else reads it."""

from __future__ import annotations

from typing import Any

import pytest
import triton
import triton.language as tl

from triton_rvv.frontend.ttir import Operation, parse_module
from triton_rvv.lowering.ttir.demanded_elements import DemandedElements
from triton_rvv.make_ttir import make_ttir
from triton_rvv.targets.target import RVVTarget


@triton.jit
def stored_kernel(a_ptr, c_ptr, m, turns, READ: tl.constexpr):
    rows, columns = tl.arange(0, 32)[:, None], tl.arange(0, 16)[None, :]
    a = tl.load(a_ptr + rows * 16 + columns)
    c = tl.zeros((32, 16), tl.float32)
    for _ in range(turns):
        c = tl.dot(a, tl.load(a_ptr + columns * 16 + tl.trans(columns)), c)
    if READ == "column sums":
        tl.store(c_ptr + tl.arange(0, 16), tl.sum(c, axis=0))
    if READ == "row sums":
        tl.store(c_ptr + tl.arange(0, 32), tl.sum(c, axis=1), tl.arange(0, 32) < m)
    if READ == "whole":
        tl.store(c_ptr + rows * 16 + columns, c)
    tl.store(c_ptr + rows * 16 + columns, c * 2, rows + tl.zeros_like(columns) < m)


def products(**constants: Any) -> tuple[DemandedElements, list[Operation]]:
    """What is wanted of a kernel's blocks, and its products."""
    names = stored_kernel.arg_names
    signature = dict.fromkeys(names, "i32") | {"a_ptr": "*fp32", "c_ptr": "*fp32"}
    signature |= dict.fromkeys(constants, "constexpr")
    text = make_ttir(stored_kernel, signature, constants, frozenset(), RVVTarget())
    module = parse_module(text)
    functions = module.regions[0].block.operations
    return DemandedElements(functions), [op for op in module.walk() if op.name == "tt.dot"]


@pytest.mark.parametrize(
    ("read", "masks"), [("stored", (1, 1)), ("row sums", (2, 0)), ("column sums", (0, 0))]
)
def test_masks_of_stores_are_found(read: str, masks: tuple[int, int]) -> None:
    """Sums of rows want whole rows, but only those that are stored; sums of columns want all."""
    wanted, (product,) = products(READ=read)
    assert tuple(len(wanted.masks(product.result, axis)) for axis in (0, 1)) == masks


def test_whole_block_is_wanted_where_it_is_stored_too() -> None:
    wanted, (product,) = products(READ="whole")
    assert not wanted.masks(product.result, 0)
