"""Versions of a loop: what is known at run time of a whole block, told apart by branches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import guards_of_all
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, Extents, LoopVersion
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer

__all__ = ["all_fit", "all_of", "guarded", "guarded_within", "plain_columns"]


def guarded(
    context: Context,
    tensors: Sequence[Tensor],
    walk: Callable[[LoopVersion], None],
    otherwise: Callable[[], None] | None = None,
    is_plain: bool = True,
    step: int = 0,
    by_part: bool = False,
) -> None:
    """Write `walk` for each path that the tensors' guards tell apart at run time.

    ```
    if fits:  if linear:  if unmasked: walk(linear, unmasked)  else: walk(linear)
              else:       walk()
    else:     otherwise()
    ```

    The first of them, which nearly all programs take, is behind a single branch. Without
    `otherwise`, sums are known to fit. With `is_plain` false, blocks at an edge are all that comes
    here: one `walk()` is enough for them.

    With `step`, a walk takes so many columns at a time, by `steps_along`. Where that pays, its
    linear path is one, with and without masks.

    With `by_part`, blocks that are not linear are walked in parts that often are: fast enough for
    masks to count.
    """
    builder = context.builder
    fits = Val("i1", "true") if otherwise is None else all_fit(context, tensors)
    if not is_plain:
        builder.branches(fits, lambda: walk(LoopVersion(fits=True)), otherwise, likely=True)
        return
    linear = all_of(context, (guard for tensor in tensors for guard in tensor.linear_guards()))
    unmasked = all_of(
        context, (guard for tensor in tensors for guard in tensor.mask_guards(builder))
    )
    plain = builder.conjunction(linear, unmasked)
    if context.runs_once:
        builder.branches(
            builder.conjunction(fits, plain),
            lambda: walk(PLAIN_VERSION),
            otherwise or functools.partial(walk, LoopVersion(fits=True)),
        )
        return

    def masked() -> None:
        if unmasked.truth is not True:
            walk(LoopVersion(linear=True, fits=True))

    def tabulated() -> None:
        if linear.truth is True:
            return
        if by_part:
            builder.branches(
                unmasked,
                lambda: walk(LoopVersion(unmasked=True, fits=True)),
                lambda: walk(LoopVersion(fits=True)),
            )
        else:
            walk(LoopVersion(fits=True))

    def not_plain() -> None:
        if unmasked.truth is True or linear.truth is True:
            masked()
            tabulated()
        else:
            builder.branches(linear, masked, tabulated)

    # With two loops, a block that needs no masks takes longer.
    two_loops = context.target.masks_are_slow or unmasked.truth is False
    columns = None
    if step and two_loops and unmasked.truth is not True:
        columns = plain_columns(context, tensors, step)
    if columns is not None:
        builder.branches(
            builder.conjunction(fits, linear),
            lambda: walk(LoopVersion(linear=True, fits=True, plain_columns=columns)),
            otherwise
            if linear.truth is True
            else lambda: builder.branches(fits, tabulated, otherwise, likely=True),
            likely=fits.truth is not True,
        )
        return
    builder.branches(
        builder.conjunction(fits, plain),
        lambda: walk(PLAIN_VERSION),
        otherwise
        if plain.truth is True
        else lambda: builder.branches(fits, not_plain, otherwise, likely=True),
        likely=fits.truth is not True,
    )


def guarded_within(
    context: Context,
    tensors: Sequence[Tensor],
    extents: Extents,
    walk: Callable[[LoopVersion, Extents], None],
    otherwise: Callable[[], None],
    by_part: bool,
) -> None:
    """Write `walk` for the leading part of a block where, at run time, all of it is plain.

    With `by_part`, it is walked in parts where only its masks are known to hold.
    """
    builder = context.builder
    guards = guards_of_all(builder, tensors, extents)
    if guards is None:
        otherwise()
        return

    def not_linear() -> None:
        masks = [guard for tensor in tensors for guard in _masks_within(builder, tensor, extents)]
        fits = all_fit(context, tensors)
        version = LoopVersion(unmasked=True, fits=True)
        builder.branches(
            all_of(context, [fits, *masks]), lambda: walk(version, extents), otherwise, likely=True
        )

    plain = all_of(context, guards)
    side = not_linear if by_part else otherwise
    builder.branches(plain, lambda: walk(PLAIN_VERSION, extents), side, likely=True)


def _masks_within(builder: Builder, tensor: Tensor, extents: Extents) -> list[Val]:
    """Truth values under which all masks under a line hold in its leading part."""
    masks = [each for each in tensor.walk() if isinstance(each, Mask)]
    terms = [term for mask in masks for term in mask.terms if term.has_guard]
    guards = [term.guard(builder, extents[term.axis]) for term in terms]
    return [*(mask.uniform for mask in masks), *guards]


def plain_columns(context: Context, tensors: Sequence[Tensor], step: int) -> Val | None:
    """How many leading columns lie before the end of every mask, a multiple of `step`, as i64.

    None where no end is known.
    """
    builder, shape = context.builder, tensors[0].shape
    masks = dict.fromkeys(t for root in tensors for t in root.walk() if isinstance(t, Mask))
    last = len(shape) - 1
    ends = [mask.false_from(builder, last) for mask in masks if mask.shape == shape]
    known = [end for end in ends if end is not None]
    if not known:
        return None
    count = functools.reduce(lambda *two: builder.intrinsic("llvm.smin", two), known)
    count = builder.binary("and", count, integer(-step))
    guards = guards_of_all(builder, tensors, [*[None] * last, count])
    if guards is None:
        return None
    return builder.select(all_of(context, guards), count, integer(0))


def all_fit(context: Context, tensors: Sequence[Tensor]) -> Val:
    """Whether no 32-bit sum under the tensors wraps before it is widened."""
    return all_of(context, (guard for tensor in tensors for guard in tensor.fit_guards()))


def all_of(context: Context, guards: Iterable[Val]) -> Val:
    """One truth value that says whether all of the guards hold."""
    total = Val("i1", "true")
    for guard in dict.fromkeys(guards):
        total = context.builder.conjunction(total, guard)
    return total
