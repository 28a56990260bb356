"""How a captured launch's grid may follow its constexprs, as far as its numbers tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernels.captured.block_names import counts_programs, multiplied_names, program_axes
from kernels.captured.deployed import Deployed
from kernels.captured.grid_rule import GridRule, divided_sizes, possible_factors
from kernels.captured.memory import Memory

__all__ = ["SampledGrid"]


class SampledGrid:
    """The rules that a launch's numbers, and what its function gave for others, leave open.

    Args:
        deployed: the launch.
        given: its tensors; their contents do not count.
    """

    def __init__(self, deployed: Deployed, given: Memory) -> None:
        self._constants = deployed.constants
        self._samples = deployed.grid_samples
        self._sizes = divided_sizes(deployed.scalars, given.views)
        self._axes = program_axes(deployed.function.src)
        self._shares = counts_programs(deployed.function.src)
        self._products = multiplied_names(deployed.function.src)

    def largest_first(self, names: Iterable[str]) -> list[str]:
        """The constexprs in the order of their values: large blocks explain a grid best."""
        return sorted(names, key=lambda name: -_number(self._constants.get(name)))

    def ways(self, rule: GridRule, name: str, *, may_cover: bool = False) -> list[GridRule]:
        """The other rules by which the grid may follow a parameter.

        Where it follows a size already, those of other sizes: 160 and 136 give the same number of
        blocks of 64, and not of blocks of 8. None if its value is not a positive integer.

        Args:
            rule: what holds so far.
            name: the parameter.
            may_cover: as for `possible_factors`.
        """
        if _number(self._constants[name]) < 1:
            return []
        rest = rule.without(name, self._constants)
        factors = possible_factors(
            *(rest, name, self._constants, self._sizes, self._axes, self._products),
            may_cover=may_cover,
        )
        if rest != rule:
            factors = [factor for factor in factors if factor.size is not None]
        found = [rest.following(factor, self._constants) for factor in factors]
        return [one for one in found if one not in (None, rule)]

    def in_turn(self, rules: Sequence[GridRule], constants: Mapping[str, Any]) -> list[GridRule]:
        """Rules in the order in which to try them.

        The one with the fewest programs comes first: more of them may do no harm. Where a kernel
        shares its work out to however many there are, the first comes first.

        Args:
            rules: the first is the one that holds so far.
            constants: the values of the constexprs.
        """
        in_turn = sorted(rules, key=lambda rule: math.prod(rule.grid(constants)))
        return sorted(in_turn, key=lambda rule: self._shares and rule != rules[0])

    def rules(self, rule: GridRule, name: str) -> list[GridRule]:
        """The rules that give what the program's own function did for other values of a name.

        None where there is no such function, or no rule is like it.
        """
        own = [
            ({**self._constants, **changed}, grid)
            for changed, grid in self._samples
            if [*changed] == [name]
        ]
        if not own:
            return []
        # Blocks that the function was asked for may be smaller than the size, and the deployed not.
        rules = [rule, *self.ways(rule, name, may_cover=True)]
        return [rule for rule in rules if all(rule.grid(one) == grid for one, grid in own)]


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
