"""How a captured launch's grid may follow its constexprs, as far as its numbers tell."""

from __future__ import annotations

from collections.abc import Iterable

from kernels.captured.block_names import multiplied_names, program_axes
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
        self._products = multiplied_names(deployed.function.src)

    def largest_first(self, names: Iterable[str]) -> list[str]:
        """The constexprs in the order of their values: large blocks explain a grid best."""
        return sorted(names, key=lambda name: -_number(self._constants.get(name)))

    def ways(self, rule: GridRule, name: str) -> list[GridRule]:
        """The rules by which the grid may follow a parameter, if none is known.

        None if its value is not a positive integer.
        """
        is_known = any(name in factor.parameters for factor in rule.factors)
        if is_known or _number(self._constants[name]) < 1:
            return []
        factors = possible_factors(
            rule, name, self._constants, self._sizes, self._axes, self._products
        )
        found = [rule.following(factor, self._constants) for factor in factors]
        return [rule for rule in found if rule is not None]

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
        rules = [rule, *self.ways(rule, name)]
        return [rule for rule in rules if all(rule.grid(one) == grid for one, grid in own)]


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
