"""Whether a configuration that is right at a study's sizes is wrong at others.

Sizes that are equal stand for each other, and a number of whole blocks hides a mask that is left
out: a kernel that takes M for N is right where both are 60.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from foundation.config import Config
from foundation.shapes import shape_text
from kernels.own.journal import Outcome
from kernels.spec import UNTRIED_SIZES

__all__ = ["on_other_sizes", "untried"]

Shape = Mapping[str, int]
# Sizes become smaller, so that blocks which cover one still do: by an odd number that differs from
# one size to the next, or, where a kernel takes only multiples of 16, 32 or 128, by such. A size of
# whole blocks loses a third first, so that much of a block lies behind it.
_STEPS = (1, 16, 32, 128)
# By the clock: no other sizes are tried after so long.
_PATIENCE_S = 10.0


def on_other_sizes(
    shape: Shape,
    default: Config,
    config: Config,
    run: Callable[[Shape, Config], Outcome],
    whole: Collection[str],
    maker: str,
    refusals: Sequence[str] = (),
) -> str:
    """One sentence on the first other sizes at which a configuration is wrong, if the default one
    is right there, or if only sizes of whole blocks differ; "" if it is right at other sizes. If
    nothing can be told at any that are tried, the sentence says why.

    Args:
        shape: the study's.
        default, config: the two configurations, which may be the same.
        run: gives the outcome of one at some sizes; without what is wrong where the file refuses
            them.
        refusals: what the file said of sizes that it refuses, as `run` finds it.
        whole: names of the sizes that are whole blocks.
        maker: the file's function that may refuse sizes.
    """
    end_s = time.monotonic() + _PATIENCE_S
    said, covered, why = "", set[str](), ""
    for other in _others(shape, whole):
        if time.monotonic() > end_s:
            break
        changed = {name for name, size in shape.items() if other[name] != size}
        if changed <= covered:
            continue
        usual = run(other, default)
        is_ragged = all(other[name] == size or name in whole for name, size in shape.items())
        if not usual.is_right and (said or not is_ragged or not _wrong(usual)):
            there = f"the default configuration is wrong at others, such as {shape_text(other)}"
            why = why or (_wrong(usual) and there)
            continue
        found = usual if config == default else run(other, config)
        if found.is_right:
            covered |= changed
        if wrong := _wrong(found):
            here, there = shape_text(shape), shape_text(other)
            if usual.is_right:
                return (
                    f"{config} is right at {here} and wrong at {there}, where the default "
                    f"configuration is right: {wrong}: use it at the tuned sizes alone"
                )
            as_default = "" if config == default else ", as the default configuration is"
            said = (
                f"{config} is right at {here} and wrong at {there}{as_default}: {wrong}: mask what "
                f"lies behind a size, or let {maker} refuse such sizes"
            )
    if said or covered:
        return said
    return untried(config, why or next(iter(refusals), "those that were tried tell nothing"))


def untried(config: Config, why: str) -> str:
    """That a configuration was tried at no other sizes, and why."""
    return f"{UNTRIED_SIZES}, since {why}: {config} may be wrong elsewhere"


def _wrong(outcome: Outcome) -> str:
    return outcome.out_of_bounds or outcome.mismatch


def _others(shape: Shape, whole: Collection[str]) -> Iterator[Shape]:
    """Sizes to try: those of whole blocks changed, all of them, and then each alone, as where one
    is a number of heads."""
    for step in _STEPS:
        smaller = {
            name: max(size - _less(size, step, place, is_whole=name in whole), 1)
            for place, (name, size) in enumerate(shape.items())
        }
        every = [smaller]
        if len(shape) > 1:
            every += ({**shape, name: size} for name, size in smaller.items())
        if step == 1:
            every.insert(1, {**shape, **{name: smaller[name] for name in whole}})
        tried: list[Shape] = [shape]
        for one in every:
            if one not in tried:
                tried.append(one)
                yield one


def _less(size: int, step: int, place: int, *, is_whole: bool) -> int:
    """How much smaller a size becomes, by its place among the sizes."""
    odd = 2 * place + 1
    return (size // 3 | 1) + odd - 1 if step == 1 and is_whole else odd * step
