"""Whether a configuration that is right at a study's sizes is wrong at others.

Sizes that are equal stand for each other, and a number of whole blocks hides a mask that is left
out: a kernel that takes M for N is right where both are 60.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from foundation.config import Config
from foundation.shapes import shape_text
from kernels.own.journal import Outcome

__all__ = ["on_other_sizes"]

Shape = Mapping[str, int]
# Sizes become smaller, so that blocks which cover one still do: by an odd number that differs from
# one size to the next, or, where a kernel takes only multiples of 16, by such.
_STEPS = (1, 16)
# By the clock: no other sizes are tried after so long.
_PATIENCE_S = 10.0


def on_other_sizes(
    shape: Shape,
    default: Config,
    config: Config,
    run: Callable[[Shape, Config], Outcome],
) -> str:
    """One sentence on the first other sizes at which the default configuration is right, if another
    one is wrong there; "" if that is right, too, or the default is right at none that are tried.

    Args:
        shape: the study's.
        default, config: the two configurations.
        run: gives the outcome of one at some sizes; not right where the file refuses them.
    """
    end_s = time.monotonic() + _PATIENCE_S
    for other in _others(shape):
        if time.monotonic() > end_s:
            break
        if not run(other, default).is_right:
            continue
        found = run(other, config)
        if found.is_right:
            break
        if wrong := found.out_of_bounds or found.mismatch:
            return (
                f"{config} is right at {shape_text(shape)} and wrong at {shape_text(other)}, where "
                f"the default configuration is right: {wrong}: use it at the tuned sizes "
                "alone"
            )
    return ""


def _others(shape: Shape) -> Iterator[Shape]:
    """Sizes to try: all of them changed, and then each alone, as where one is a number of heads."""
    for step in _STEPS:
        smaller = {
            name: max(size - (2 * place + 1) * step, 1)
            for place, (name, size) in enumerate(shape.items())
        }
        yield smaller
        if len(shape) > 1:
            yield from ({**shape, name: size} for name, size in smaller.items())
