"""Updates of memory without atomic instructions, for programs that all run in one thread.

A load, an operation and a store do the same there as an atomic operation, and neighbours in memory
are updated as vectors. The program around a kernel knows whether there is one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from triton_rvv.frontend.float_formats import SMALL_FLOATS
from triton_rvv.frontend.ttir import Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.elementwise.arith import constant
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import index_loops, loop_nests, materialise
from triton_rvv.lowering.math.narrow_floats import narrow, widen
from triton_rvv.lowering.memory.accesses import condition_at
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.memory.loads import as_mask
from triton_rvv.lowering.memory.stores import store_run

__all__ = [
    "Combine",
    "combined",
    "has_one_thread",
    "lanes_are_distinct",
    "update_elements",
    "update_runs",
    "updated_plainly",
    "with_threads_told",
]

# `launchers/cores.h`. A kernel that is not for the launcher takes threads for many.
_ONE_THREAD = "triton_rvv_one_thread"
_MANY_THREADS = "%one.thread = add i32 0, 0"
_TOLD = f"%one.thread = call i32 @{_ONE_THREAD}()"
_EXTREMES = {"max": "smax", "min": "smin", "umax": "umax", "umin": "umin"}
# Offsets that are less apart than this stay apart where 32 bits wrap.
_FARTHEST = 1 << 31

# Elements whose addresses are read before the first of them is updated.
_TOGETHER = 4

# What memory holds and what comes in -> what memory holds then.
Combine = Callable[[Val, Val], Val]


@rule("update-plainly", nothing)
def has_one_thread(context: Context) -> Val | None:
    """Whether, at run time, one thread runs all programs; None where no code is made for that."""
    if context.runs_once or context.target.backend != "rvv":
        return None
    allocas, line = context.builder.allocas, f"  {_MANY_THREADS}"
    if line not in allocas:  # once for each program, before all loops
        allocas.append(line)
    return context.builder.compare("ne", Val("i32", "%one.thread"), integer(0, "i32"))


def with_threads_told(llir: str) -> str:
    """A module whose kernel asks the launcher whether one thread runs all programs."""
    told = llir.replace(_MANY_THREADS, _TOLD)
    return llir if told == llir else f"{told}declare i32 @{_ONE_THREAD}()\n"


def combined(builder: Builder, name: str, element: ScalarType) -> Combine:
    """What an atomic operation of LLVM's name computes, of elements or of vectors of them."""

    def combine(before: Val, value: Val) -> Val:
        if name == "xchg":
            return value
        if name in _EXTREMES:
            return builder.intrinsic(f"llvm.{_EXTREMES[name]}", (before, value))
        if name == "fadd" and element.is_kept_as_bits:
            small = SMALL_FLOATS[element.name]
            terms = widen(builder, before, small), widen(builder, value, small)
            return narrow(builder, builder.binary("fadd", *terms), small)
        return builder.binary(name, before, value)

    return combine


def updated_plainly(
    builder: Builder, combine: Combine, element: ScalarType
) -> Callable[[Val, Sequence[Val]], Val]:
    """Updates one element at an address, and gives what was there before."""

    def update(address: Val, operands: Sequence[Val]) -> Val:
        (value,) = operands
        before = builder.load(value.type, address, element.size_bytes)
        builder.store(combine(before, value), address, element.size_bytes)
        return before

    return update


def lanes_are_distinct(addresses: Affine) -> bool:
    """Whether no two elements of a row of a block have the same address."""
    last, size = addresses.components[-1], addresses.shape[-1]
    if addresses.extra is not None or last.stride is None or not last.has_rule:
        return False
    return 0 < abs(last.stride.constant or 0) * size < _FARTHEST


def update_runs(
    context: Context,
    source: Value,
    addresses: Affine,
    others: Sequence[Tensor],
    combine: Combine,
    before: Buffer | None,
) -> None:
    """Update all elements, run by run: elements of different rows may have one address.

    Args:
        source: the addresses, as the kernel has them.
        addresses: those for which `lanes_are_distinct` holds.
        others: the values, and the mask where there is one; memory that an update changes is read
            for none of them.
        combine: what memory then holds.
        before: takes what memory held, if anything asks for that.
    """
    builder, value = context.builder, others[0]
    mask = as_mask(others[1]) if len(others) > 1 else None
    type_ = TensorType(value.shape, addresses.pointee)
    memory = Load(type_, addresses, mask, None, source)

    def commit(point: VectorIndex, change: Val) -> None:
        here = replace(point, memo={})
        found = memory.evaluate(builder, here)
        condition = condition_at(builder, mask, here)
        store_run(builder, addresses, combine(found, change), condition, here)
        if before is not None:
            before.write(builder, here, found)

    loop_nests.for_each_run(
        context,
        [addresses, *others, *([] if before is None else [before])],
        lambda point: value.at(builder, point),
        commit,
    )


def update_elements(
    context: Context, addresses: Affine, others: Sequence[Tensor], combine: Combine
) -> None:
    """Update one element after another, since any two may have one address.

    Addresses are computed as vectors before. Those that the mask leaves out lead to a place of
    their own, which takes no branch. The arguments are those of `update_runs`.
    """
    builder, (value, *masks), pointee = context.builder, others, addresses.pointee
    assert isinstance(pointee, ScalarType)
    update = updated_plainly(builder, combine, pointee)
    spare = builder.alloca(pointee.llvm, 1)
    builder.store(constant(pointee, 0), spare, pointee.size_bytes)

    def place(builder: Builder, values: Sequence[Val]) -> Val:
        address, *wanted = values
        others = builder.splat(spare, address.width)
        return builder.select(wanted[0], address, others) if wanted else address

    recipe = Elementwise(addresses.type, place, [addresses, *masks])
    places = materialise.row_major_array(context, addresses.type)
    pairs: list[tuple[Tensor, Buffer]] = [(recipe, places)]
    if value.cost > 0:
        changes = materialise.row_major_array(context, value.type)
        pairs.append((value, changes))
        value = changes
    materialise.copy_all(context, pairs)
    together = min(_TOGETHER, value.shape[-1])
    for *index, first in index_loops.positions(context, value.shape, False, together):
        starts = [builder.add(first, integer(number)) for number in range(together)]
        points = [VectorIndex(tuple(index), start, 1) for start in starts]
        parts = [(places.at(builder, each), value.at(builder, each)) for each in points]
        for address, change in parts:
            update(address, [change])
