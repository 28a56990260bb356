"""Whether a configuration that is right with the whole numbers that a file passes is wrong with
others.

A study's sizes follow from some of them, so the check keeps them: a kernel that has a seed, or by
how much a row is turned, for a literal is right there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from foundation.config import Config
from kernels.own.changed_inputs import Change, changed
from kernels.own.journal import Outcome

__all__ = ["on_other_numbers"]

_CHANGES = (Change(larger=True), Change(halves=True))
# By the clock: no other numbers are tried after so long.
_PATIENCE_S = 10.0


def on_other_numbers(
    values: Mapping[str, Any],
    default: Config,
    config: Config,
    run: Callable[[dict[str, Change], Config], Outcome],
) -> str:
    """One sentence on the first number with another value for which the default configuration is
    right and another one is wrong; "" if there is none.

    Args:
        values: of the arguments.
        default, config: the two configurations.
        run: gives the outcome of one under changes; not right where these make no difference.
    """
    end_s = time.monotonic() + _PATIENCE_S
    for name in (n for n, value in values.items() if isinstance(value, int)):
        for change in _CHANGES:
            if time.monotonic() > end_s:
                return ""
            changes = {name: change}
            if not run(changes, default).is_right:
                continue
            found = run(changes, config)
            if wrong := found.out_of_bounds or found.mismatch:
                return (
                    f"{config} is right with {name}={values[name]} and wrong with "
                    f"{name}={changed(values, changes)[name]}, where the default configuration is "
                    f"right: {wrong}: use it with that {name} alone"
                )
            break
    return ""
