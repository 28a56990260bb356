"""Loads whose mask leaves out every other lane, and whose other lanes follow one another.

See `triton_rvv.lowering.ttir.every_other`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.as_affine import as_affine
from triton_rvv.lowering.blocks.buffer import memory_type
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vp_memory import masked_load
from triton_rvv.lowering.memory.accesses import first_where

__all__ = ["EveryOther", "every_other_of", "every_other_run"]

_LEAST_WIDTH = 4  # half of two lanes is a number, and no vector


@dataclass(frozen=True)
class EveryOther:
    """The lanes that a load's mask lets through at most: where a line of integers is even.

    Args:
        line: it rises by 1 from lane to lane.
        fits: true at run time where it does not wrap.
    """

    line: Tensor
    fits: Val


def every_other_of(context: Context, halved: Tensor) -> EveryOther | None:
    """The lanes of a load whose places are the halves of a block; None if that is no line."""
    line, builder = as_affine(halved), context.builder
    if line is None or line.wrapped is not None or line.components[0].constant_stride != 1:
        return None
    bits = int(line.base.type[1:])
    last = (1 << bits - 1) - line.shape[0]
    fits = builder.compare("sle", line.base, integer(last, line.base.type))
    return EveryOther(line, fits)


@rule("load-every-other", nothing)
def every_other_run(
    builder: Builder, lanes: EveryOther | None, pointers: Affine, condition: Val, point: VectorIndex
) -> Val | None:
    """A run, with zeros in the lanes that are left out, by one load of half as many elements.

    Of each two lanes, one is odd, and the condition leaves it out. So the two conditions say
    together whether an element is loaded, which an integer of twice its width puts in place.

    Args:
        lanes: which are even; None where that is not known.
        pointers: of the elements, those of even lanes one behind another.
        condition: of each lane, where all are wanted.
        point: where; sums in addresses and masks do not wrap there.
    """
    if lanes is None or not point.version.fits or condition.width != point.width:
        return None
    if point.width < _LEAST_WIDTH:
        return None
    condition = first_where(builder, condition, point.lanes, point.width)
    half, size_bytes = point.width // 2, pointers.pointee.size_bytes
    narrow, wide = f"i{8 * size_bytes}", f"i{16 * size_bytes}"
    first = lanes.line.at(builder, replace(point, width=1, memo={}))
    odd = builder.resize(builder.binary("and", first, integer(1, first.type)), "i64")
    start = builder.add(point.start, odd)
    address = pointers.at(builder, replace(point, start=start, width=1, memo={}))
    pairs = builder.reinterpret(builder.cast("zext", condition, "i8"), vector_type("i16", half))
    wanted = builder.compare("ne", pairs, builder.splat(integer(0, "i16"), half))
    fill = builder.splat(integer(0, narrow), half)
    loaded = masked_load(builder, address, wanted, fill, size_bytes)
    bits = builder.resize(builder.mul(odd, integer(8 * size_bytes)), wide)
    in_place = builder.binary("shl", builder.cast("zext", loaded, wide), builder.splat(bits, half))
    return builder.reinterpret(in_place, vector_type(memory_type(pointers.pointee), point.width))
