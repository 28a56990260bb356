"""Loads of rows and columns that wrap around at a multiple of a few, as one line of what counts.

In `at % n` with such an n, vectors of that few are contiguous in any block. In most blocks all that
counts is: what wraps around is behind it.
"""

from __future__ import annotations

from triton_rvv.lowering.blocks.sharing import replaced
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.memory.load_recipe import Load

__all__ = ["in_lines", "with_lines"]


def in_lines(builder: Builder, load: Load) -> Load:
    """The same elements, where guards hold that code written here computes."""
    pointers = load.pointers.as_lines(builder)
    if pointers is load.pointers:
        return load
    lines = Load(load.type, pointers, load.mask, load.other, load.source)
    lines.is_denser_by_column, lines.hints = load.is_denser_by_column, load.hints
    return lines


def with_lines(builder: Builder, tensor: Tensor) -> Tensor:
    """The same function, element by element, of loads in lines."""
    loads = [each for each in tensor.walk() if isinstance(each, Load) and not each.materialised]
    for load in loads:
        tensor = replaced(tensor, load, in_lines(builder, load))
    return tensor
