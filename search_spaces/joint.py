"""The search space of one configuration for several shapes: what is valid at all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from foundation.config import Config
from foundation.errors import UserError
from search_spaces.space import Parameter, Rule, SearchSpace

__all__ = ["joint_space"]


def joint_space(spaces: Mapping[str, SearchSpace]) -> SearchSpace:
    """The configurations that are valid in every one of the spaces.

    Rules keep their names, and their reasons say at which shape they hold. The default is the first
    of the spaces' defaults that is valid in all of them; if there is none, it has no default.

    Args:
        spaces: of one kernel, at least one, by the shape as users write it.

    Raises:
        UserError: if the parameters differ, or a parameter has no value that all spaces share.
    """
    first = next(iter(spaces.values()))
    for shape, space in spaces.items():
        if {p.name for p in space.parameters} != {p.name for p in first.parameters}:
            raise UserError(
                f"the kernel has other parameters at {shape} than at {next(iter(spaces))}, so no "
                "configuration is valid at both: leave --together out"
            )
    joint = SearchSpace(
        parameters=tuple(_parameter(p.name, spaces) for p in first.parameters),
        rules=tuple(_at(shape, rule) for shape, space in spaces.items() for rule in space.rules),
    )
    notes = dict.fromkeys(note for space in spaces.values() for note in space.notes)
    joint = replace(joint, members=_members(joint, list(spaces.values())), notes=tuple(notes))
    defaults = (space.default for space in spaces.values())
    default = next((c for c in defaults if c is not None and joint.holds(c)), None)
    return replace(joint, default=default)


def _parameter(name: str, spaces: Mapping[str, SearchSpace]) -> Parameter:
    """A parameter with the values that it has in all spaces."""
    parts = [space.parameter(name) for space in spaces.values()]
    shared = tuple(v for v in parts[0].values if all(v in part.values for part in parts))
    if not shared:
        listed = "; ".join(
            f"{', '.join(map(str, part.values))} at {shape}"
            for shape, part in zip(spaces, parts, strict=True)
        )
        raise UserError(
            f"no value of {name} is valid at every shape ({listed}): "
            "leave --together out, or give shapes that share one"
        )
    conditions = [part.only_if for part in parts]
    if any(condition is None for condition in conditions):
        return replace(parts[0], values=shared, only_if=None)
    # It has an effect in a configuration if it has one at any shape.
    return replace(
        parts[0],
        values=shared,
        only_if=lambda config: any(holds(config) for holds in conditions if holds),
    )


def _at(shape: str, rule: Rule) -> Rule:
    return replace(rule, reason=f"{rule.reason} (at {shape})")


def _members(joint: SearchSpace, spaces: Sequence[SearchSpace]) -> frozenset[Config] | None:
    """The configurations that every table lists; None if no space is a table."""
    tables = [space.members for space in spaces if space.members is not None]
    if not tables:
        return None
    return frozenset(c for c in frozenset.intersection(*tables) if joint.is_combination(c))
