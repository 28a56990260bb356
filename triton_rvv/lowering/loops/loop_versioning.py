"""Versions of a loop: what is known at run time of a whole block, told apart by branches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import guards_of_all
from triton_rvv.lowering.blocks.tensors import Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, Extents, LoopVersion
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import TRUE, Val, integer

__all__ = [
    "all_fit",
    "all_of",
    "guarded",
    "guarded_within",
    "plain_columns",
    "row_ends",
    "under_masks",
]


_FITTING = LoopVersion(fits=True)
_LINEAR = replace(_FITTING, linear=True)


def guarded(
    context: Context,
    tensors: Sequence[Tensor],
    walk: Callable[[LoopVersion], None],
    otherwise: Callable[[], None] | None = None,
    is_plain: bool = True,
    step: int = 0,
    by_part: bool = False,
) -> None:
    """Write `walk` for each version that the tensors' guards tell apart at run time.

    ```
    if fits:  if linear:  if unmasked: walk(linear, unmasked)  else: walk(linear)
              else:       walk()
    else:     otherwise()
    ```

    The first of them, which nearly all programs take, is behind a single branch. Without
    `otherwise`, sums are known to fit. With `is_plain` false, blocks at an edge are all that comes
    here: one `walk()` is enough for them.

    With `step`, a walk takes so many columns at a time, by `steps_along`. Where that pays, its
    linear version is one, with and without masks.

    With `by_part`, blocks that are not linear are walked in parts that often are: fast enough for
    masks to count.
    """
    builder = context.builder
    fits = TRUE if otherwise is None else all_fit(context, tensors)
    if not is_plain:
        builder.branches(fits, lambda: walk(_FITTING), otherwise, likely=True)
        return
    linear = all_of(context, (guard for tensor in tensors for guard in tensor.linear_guards()))
    unmasked = all_of(
        context, (guard for tensor in tensors for guard in tensor.mask_guards(builder))
    )
    plain = builder.conjunction(linear, unmasked)
    versions = _Versions(builder, fits, linear, unmasked, plain, walk, otherwise, by_part)
    if context.runs_once:
        versions.write_two()
        return
    # With two loops, a block that needs no masks takes longer.
    two_loops = context.target.masks_are_slow or unmasked.truth is False
    columns = None
    if step and two_loops and unmasked.truth is not True:
        columns = plain_columns(context, tensors, step)
    if columns is None:
        versions.write(plain, PLAIN_VERSION, versions.not_plain)
    else:
        versions.write(linear, replace(_LINEAR, plain_columns=columns), versions.not_linear)


@dataclass(frozen=True)
class _Versions:
    """Writes the versions of a walk, and branches between them.

    Args:
        fits, linear, unmasked, plain: what is known at run time where it is true; the last one is
            `linear` and `unmasked`.
        walk, otherwise, by_part: as of `guarded`.
    """

    builder: Builder
    fits: Val
    linear: Val
    unmasked: Val
    plain: Val
    walk: Callable[[LoopVersion], None]
    otherwise: Callable[[], None] | None
    by_part: bool

    def write(self, holds: Val, version: LoopVersion, others: Callable[[], None]) -> None:
        """Write a version behind a single branch, and the others where `holds` is false."""
        builder = self.builder
        builder.branches(
            builder.conjunction(self.fits, holds),
            lambda: self.walk(version),
            self.otherwise
            if holds.truth is True
            else lambda: builder.branches(self.fits, others, self.otherwise, likely=True),
            likely=self.fits.truth is not True,
        )

    def write_two(self) -> None:
        """Write the plain version and one that is right for all."""
        holds = self.builder.conjunction(self.fits, self.plain)
        any_version = self.otherwise or (lambda: self.walk(_FITTING))
        self.builder.branches(holds, lambda: self.walk(PLAIN_VERSION), any_version)

    def not_plain(self) -> None:
        """Write the versions with masks."""
        if self.unmasked.truth is True:
            self.not_linear()
        else:
            self.builder.branches(self.linear, lambda: self.walk(_LINEAR), self.not_linear)

    def not_linear(self) -> None:
        """Write the versions whose addresses are not linear."""
        if self.linear.truth is not True and self.by_part:
            in_parts = replace(_FITTING, unmasked=True)
            self.builder.branches(
                self.unmasked, lambda: self.walk(in_parts), lambda: self.walk(_FITTING)
            )
        elif self.linear.truth is not True:
            self.walk(_FITTING)


def guarded_within(
    context: Context,
    tensors: Sequence[Tensor],
    extents: Extents,
    walk: Callable[[LoopVersion, Extents], None],
    otherwise: Callable[[], None],
    by_part: bool,
) -> None:
    """Write `walk` for the leading part of a block where, at run time, all of it is plain.

    It is walked, too, where only the masks of loads and stores are known to hold, and not what
    else is chosen by places; with `by_part`, in parts where it is not linear.
    """
    builder = context.builder
    guards = guards_of_all(builder, tensors, extents)
    if guards is None:
        otherwise()
        return

    masks = _memory_masks(tensors, extents)
    of_memory = {mask for mask, _ in masks}
    below = recipes_under(tensors)
    is_all = all(each in of_memory for each in below if isinstance(each, Mask))

    def not_plain() -> None:
        bounds = [guard for mask, within in masks for guard in _guards_of(builder, mask, within)]
        version = replace(_FITTING, unmasked=is_all, in_bounds=True)
        if not by_part:
            linear = [guard for tensor in tensors for guard in tensor.linear_guards()]
            version, bounds = replace(version, linear=True), [*bounds, *linear]
        holds = all_of(context, [all_fit(context, tensors), *bounds])
        builder.branches(holds, lambda: walk(version, extents), otherwise, likely=True)

    plain = all_of(context, guards)
    side = otherwise if is_all and not by_part else not_plain
    builder.branches(plain, lambda: walk(PLAIN_VERSION, extents), side, likely=True)


def under_masks(
    context: Context, tensors: Sequence[Tensor], walk: Callable[[LoopVersion], None]
) -> None:
    """Write `walk` for blocks that are not plain; sums are known to fit."""
    linear = all_of(context, (guard for tensor in tensors for guard in tensor.linear_guards()))
    context.builder.branches(linear, lambda: walk(_LINEAR), lambda: walk(_FITTING), likely=True)


def _memory_masks(tensors: Iterable[Tensor], extents: Extents) -> list[tuple[Mask, Extents]]:
    """The masks of loads and of a store, and the leading part of each that a line asks for."""
    found: list[tuple[Mask, Extents]] = []
    seen = set[tuple[Tensor, tuple[Val | None, ...], bool]]()
    waiting = [(each, extents, isinstance(each, Mask)) for each in tensors]
    while waiting:
        tensor, within, is_mask = waiting.pop()
        if (key := (tensor, tuple(within), is_mask)) in seen:
            continue
        seen.add(key)
        if is_mask and isinstance(tensor, Mask):
            found.append((tensor, within))
        own = tensor.extents_below(within)
        waiting += [(each, own, is_mask or each is tensor.own_mask) for each in tensor.operands]
    return found


def _guards_of(builder: Builder, mask: Mask, extents: Extents) -> list[Val]:
    """Truth values under which what has a guard holds in the leading part of a mask."""
    terms = [term for term in mask.terms if term.has_guard]
    return [mask.uniform, *(term.guard(builder, extents[term.axis]) for term in terms)]


@rule("end-plain-columns", nothing)
def plain_columns(context: Context, tensors: Sequence[Tensor], step: int) -> Val | None:
    """How many leading columns lie before the end of every mask, a multiple of `step`, as i64.

    None where no end is known.
    """
    builder, last = context.builder, len(tensors[0].shape) - 1
    count = row_ends(context, tensors, last)
    if count is None:
        return None
    count = builder.binary("and", count, integer(-step))
    guards = guards_of_all(builder, tensors, [*[None] * last, count])
    if guards is None:
        return None
    return builder.select(all_of(context, guards), count, integer(0))


def row_ends(context: Context, tensors: Sequence[Tensor], axis: int) -> Val | None:
    """The position along a dimension from which on one mask holds for no element, as i64."""
    builder, shape = context.builder, tensors[0].shape
    masks = [each for each in recipes_under(tensors) if isinstance(each, Mask)]
    ends = [mask.false_from(builder, axis) for mask in masks if mask.shape == shape]
    known = [end for end in ends if end is not None]
    return builder.smin(*known) if known else None


def all_fit(context: Context, tensors: Sequence[Tensor]) -> Val:
    """Whether no 32-bit sum under the tensors wraps before it is widened."""
    return all_of(context, (guard for tensor in tensors for guard in tensor.fit_guards()))


def all_of(context: Context, guards: Iterable[Val]) -> Val:
    """One truth value that says whether all of the guards hold."""
    total = TRUE
    for guard in dict.fromkeys(guards):
        total = context.builder.conjunction(total, guard)
    return total
