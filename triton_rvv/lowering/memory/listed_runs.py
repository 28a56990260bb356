"""Blocks whose columns are listed, copied column by column: most runs of them lie in one piece.

The pixels of a convolution's rows follow one another until a row of the image ends. Which runs do
is found out once, for all rows of the block.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import Component, Listed
from triton_rvv.lowering.addresses.masks import Mask, Term
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.sharing import replaced
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer, type_suffix
from triton_rvv.lowering.memory.load_recipe import Load

__all__ = ["with_runs"]


def with_runs(
    context: Context, tensor: Tensor, start: Val, width: int, copy: Callable[[Tensor], None]
) -> None:
    """Write `copy` of a tensor at the columns from `start` on, on the plain path.

    ```
    if columns lie in one piece:  if none is masked: copy(loads of runs)
                                  else:              copy(loads of runs with masks)
    else:                         copy(tensor)
    ```
    """
    load = _listed_load(context, tensor)
    if load is None or width == 1:
        copy(tensor)
        return
    builder = context.builder
    (listed, _), *_ = load.pointers.components[-1].listed
    first = listed.at(builder, start, 1)
    lanes = builder.add(builder.splat(first, width), builder.iota("i64", width))
    follow = _all_true(builder, builder.compare("eq", listed.at(builder, start, width), lanes))
    pointers = _from(builder, load.pointers, builder.binary("sub", first, start))
    runs = functools.partial(_copy_runs, context, tensor, load, pointers, start, width, copy)
    builder.branches(follow, runs, lambda: copy(tensor))


def _copy_runs(
    context: Context,
    tensor: Tensor,
    load: Load,
    pointers: Affine,
    start: Val,
    width: int,
    copy: Callable[[Tensor], None],
) -> None:
    """Copy columns that lie in one piece, at `pointers`; without their mask where it holds."""
    masked = replaced(tensor, load, load.with_runs(pointers, load.mask))
    term = None if load.mask is None else _listed_term(load.mask)
    if load.mask is None or term is None:
        copy(masked)
        return
    builder, mask = context.builder, load.mask
    others = [each for each in mask.terms if each is not term]
    rest = Mask(mask.type, others, mask.operands, mask.uniform)
    whole = replaced(tensor, load, load.with_runs(pointers, rest))
    (conditions, _), *_ = term.left.components[-1].listed
    zeros = builder.splat(integer(0, "i8"), width)
    wanted = builder.compare("ne", conditions.at(builder, start, width), zeros)
    builder.branches(_all_true(builder, wanted), lambda: copy(whole), lambda: copy(masked))


@rule("copy-listed-runs", nothing)
def _listed_load(context: Context, tensor: Tensor) -> Load | None:
    """The only load of a block whose columns are listed, and nothing else in them."""
    loads = [each for each in tensor.walk() if isinstance(each, Load) and each.materialised is None]
    if len(loads) != 1 or loads[0].pointers.extra is not None:
        return None
    last = loads[0].pointers.components[-1]
    is_alone = last.stride is None and len(last.looked_up) == len(last.listed) == 1
    return loads[0] if is_alone and last.listed[0][1].constant == 1 else None


def _listed_term(mask: Mask) -> Term | None:
    """The condition of a mask that is listed for the columns; see `with_lists`."""
    last = len(mask.shape) - 1
    found = [term for term in mask.terms if term.axis == last and _is_list(term)]
    return found[0] if found else None


def _is_list(term: Term) -> bool:
    part = term.left.components[term.axis]
    return (
        term.left.element.bits == 8
        and len(part.listed) == 1
        and isinstance(part.listed[0][0], Listed)
    )


def _from(builder: Builder, pointers: Affine, offset: Val) -> Affine:
    """Addresses whose columns follow one another."""
    element = pointers.pointee.llvm
    base = builder.element_pointer(element, pointers.base, offset)
    components = [*pointers.components[:-1], Component(integer(1))]
    return Affine(pointers.type, base, components)


def _all_true(builder: Builder, condition: Val) -> Val:
    return builder.call("i1", f"llvm.vector.reduce.and.{type_suffix(condition)}", [condition])
