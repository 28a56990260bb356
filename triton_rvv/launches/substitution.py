"""A launch in another configuration: its arguments, its grid, an autotuner's entry."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from triton_rvv.launches.decisions import Call
from triton_rvv.launches.grid_text import followed
from triton_rvv.launches.launch import Launch
from triton_rvv.launches.options import OPTIONS
from triton_rvv.launches.rule import Rule

__all__ = ["call_with", "configuration_with", "grid_with", "numbers_of"]


def call_with(
    launch: Launch, config: Mapping[str, Any], loads: Mapping[str, Sequence[int]]
) -> Call:
    """What gives launches of one form a configuration, written out: it runs at each of them.

    Args:
        launch: one of this form.
        config: constants and options.
        loads: by parameter, what one load of a tensor descriptor takes.
    """
    placed, named = launch.kernel.arg_names[: len(launch.args)], list(launch.kwargs)
    names = [*placed, *named]
    scope: dict[str, Any] = {"reshaped": _reshaped}

    def text(name: str) -> str:
        if name in config:
            scope[f"c_{name}"] = config[name]
            return f"c_{name}"
        if name in loads:
            scope[f"b_{name}"] = list(loads[name])
            return f"reshaped(x_{name}, b_{name})"
        return f"x_{name}"

    given = ", ".join(f"x_{name}" for name in names)
    args = "".join(f"{text(name)}, " for name in placed)
    others = [name for name in config if name not in names]
    kwargs = ", ".join(f"{name!r}: {text(name)}" for name in (*named, *others))
    call: Call = eval(f"lambda {given}: (({args}), {{{kwargs}}})", scope)
    return call


def _reshaped(value: Any, block: Sequence[int]) -> Any:
    """A tensor descriptor whose loads take another block; other values as they are."""
    if not hasattr(value, "block_shape"):
        return value
    return dataclasses.replace(value, block_shape=list(block))


def numbers_of(grid: Any) -> tuple[int, ...] | None:
    """A grid of numbers; None for one that is a function."""
    return None if callable(grid) else tuple(grid)


def grid_with(launch: Launch, rule: Rule) -> Any:
    """The grid of a launch in a rule's configuration; None if it cannot be told."""
    grid = launch.grid
    if callable(grid) or (rule.grid is None and not rule.is_grid_callable):
        return grid
    bound = launch.bound
    if rule.grid is not None:
        programs = (*map(int, grid), 1, 1)[:3]
        wanted = {**bound, **rule.config}
        try:
            return tuple(
                followed(text, bound, wanted, number)
                for text, number in zip(rule.grid, programs, strict=True)
            )
        except ValueError:
            return None
    # The task's grid followed by itself. Here it is numbers, for the program's constants.
    is_same = all(bound.get(n) == rule.config.get(n, bound.get(n)) for n in rule.followed)
    return grid if is_same else None


def configuration_with(listed: Sequence[Any], config: Mapping[str, Any]) -> Any:
    """The listed `triton.Config` with these values, hooks included; else a new one.

    What the values leave open is as in the first that is listed.
    """
    import triton

    for one in listed:
        options = {name: getattr(one, name, None) for name in OPTIONS}
        values = {**options, **one.kwargs}
        if all(values.get(name) == value for name, value in config.items()):
            return one
    first = listed[0] if listed else triton.Config({})
    options = {name: config.get(name, getattr(first, name, None)) for name in OPTIONS}
    values = {**first.kwargs, **{n: v for n, v in config.items() if n not in options}}
    given = {name: value for name, value in options.items() if value is not None}
    return triton.Config(values, **given, pre_hook=getattr(first, "pre_hook", None))
