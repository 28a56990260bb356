"""Paths through the code: what is known at run time of a whole block, told apart by branches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from triton_rvv.lowering.context import Context
from triton_rvv.lowering.tensors import PLAIN_PATH, Path, Tensor
from triton_rvv.lowering.values import Val

__all__ = ["all_fit", "all_of", "guarded"]


def guarded(
    context: Context,
    tensors: Sequence[Tensor],
    walk: Callable[[Path], None],
    otherwise: Callable[[], None] | None = None,
    is_plain: bool = True,
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
    """
    builder = context.builder
    fits = Val("i1", "true") if otherwise is None else all_fit(context, tensors)
    if not is_plain:
        builder.branches(fits, lambda: walk(Path(fits=True)), otherwise, likely=True)
        return
    linear = all_of(context, (guard for tensor in tensors for guard in tensor.linear_guards()))
    unmasked = all_of(
        context, (guard for tensor in tensors for guard in tensor.mask_guards(builder))
    )
    plain = builder.conjunction(linear, unmasked)

    def masked() -> None:
        if unmasked.ref != "true":
            walk(Path(linear=True, fits=True))

    def tabulated() -> None:
        if linear.ref != "true":
            walk(Path(fits=True))

    def not_plain() -> None:
        if unmasked.ref == "true" or linear.ref == "true":
            masked()
            tabulated()
        else:
            builder.branches(linear, masked, tabulated)

    builder.branches(
        builder.conjunction(fits, plain),
        lambda: walk(PLAIN_PATH),
        otherwise
        if plain.ref == "true"
        else lambda: builder.branches(fits, not_plain, otherwise, likely=True),
        likely=fits.ref != "true",
    )


def all_fit(context: Context, tensors: Sequence[Tensor]) -> Val:
    """Whether no 32-bit sum under the tensors wraps before it is widened."""
    return all_of(context, (guard for tensor in tensors for guard in tensor.fit_guards()))


def all_of(context: Context, guards: Iterable[Val]) -> Val:
    """One truth value that says whether all of the guards hold."""
    total = Val("i1", "true")
    for guard in dict.fromkeys(guards):
        total = context.builder.conjunction(total, guard)
    return total
