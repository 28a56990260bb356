"""Whether a winner can be used at other sizes than those it was tuned at."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from triton_rvv.launches.grid_text import divisions
from triton_rvv.launches.rule import Rule
from triton_rvv.launches.signature import Signature

__all__ = ["listed_values", "reaching", "unfit"]


def unfit(rule: Rule, signature: Signature, chosen: frozenset[str]) -> str:
    """Why a rule for other sizes cannot be used; "" if it can.

    A constant that the grid does not follow may have to cover a row, which may be longer here,
    unless an autotuner has chosen it. One that changed no number of programs may make more of them
    here, and a kernel may write something for each program.
    """
    for name, value in rule.config.items():
        changed = name in signature.constants and signature.constants[name] != value
        if not changed or name in chosen:
            continue
        if name not in rule.followed:
            return f"it was tuned at other sizes, to which {name}={value} may be bound"
        if name in rule.untold:
            return f"it was tuned where {name}={value} has as many programs as the program's own"
    return ""


def reaching(rule: Rule, given: Mapping[str, Any], listed: Mapping[str, Sequence[Any]]) -> str:
    """Why a winner may reach behind the tensors at other sizes; "" if it does not.

    Args:
        rule: of the winner.
        given: the parameters of the launch, as far as they are known.
        listed: by constant, the values that the program has for all sizes.
    """
    uneven: set[str] = set()
    even: set[str] = set()
    for text in rule.grid or ():
        with contextlib.suppress(ValueError):
            for one in divisions(text, {**given, **rule.config}):
                (even if one.is_even else uneven).update(one.names)
    for name in rule.followed:
        if name in rule.loose or name not in rule.config:
            continue
        value, own = rule.config[name], listed.get(name, ())
        if value not in own and not _divides(value, own) and name not in even - uneven:
            return (
                f"it was tuned at other sizes, which {name}={value} divides, and nothing shows "
                "that the kernel has masks"
            )
    return ""


def _divides(value: Any, own: Sequence[Any]) -> bool:
    """Whether a block ends wherever the program's own end; a grid may also follow a switch."""
    numbers = [one for one in (value, *own) if type(one) is int and one > 0]
    return len(own) > 0 and len(numbers) == len(own) + 1 and not any(one % value for one in own)


def listed_values(configurations: Sequence[Any]) -> dict[str, list[Any]]:
    """The values of each constant that an autotuner may choose."""
    names = {name for one in configurations for name in one.kwargs}
    return {
        name: [one.kwargs[name] for one in configurations if name in one.kwargs] for name in names
    }
