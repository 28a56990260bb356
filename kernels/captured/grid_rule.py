"""How the number of programs follows the configuration, from the numbers that were launched."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kernels.spec import Grid

__all__ = ["Factor", "GridRule", "possible_factors"]


@dataclass(frozen=True)
class Factor:
    """How one axis of the grid follows one parameter.

    Args:
        axis: 0, 1 or 2.
        parameter: the constexpr's name.
        size: what is divided by its value, rounded up; None if the axis is a multiple of the value.
        of: where the size was found, such as "n" or "x.shape[0]"; "" without one.
        others: where the same size was found besides.
    """

    axis: int
    parameter: str
    size: int | None
    of: str = ""
    others: tuple[str, ...] = ()

    @property
    def formula(self) -> str:
        """The factor with all that it may follow: "cdiv(n | x.shape[0], BLOCK)"."""
        sizes = " | ".join((self.of, *self.others))
        return self.parameter if self.size is None else f"cdiv({sizes}, {self.parameter})"

    def programs(self, value: int) -> int:
        """The factor of the axis for a value of the parameter."""
        return value if self.size is None else -(-self.size // value)

    def __str__(self) -> str:
        return self.parameter if self.size is None else f"cdiv({self.of}, {self.parameter})"


@dataclass(frozen=True)
class GridRule:
    """The number of programs along x, y and z as a function of the constexprs.

    Args:
        rest: of each axis, what follows no parameter.
        factors: the others.
    """

    rest: Grid
    factors: tuple[Factor, ...] = ()

    def grid(self, constants: Mapping[str, Any]) -> Grid:
        """The grid for these values of the constexprs."""
        sizes = list(self.rest)
        for factor in self.factors:
            sizes[factor.axis] *= factor.programs(int(constants[factor.parameter]))
        x, y, z = sizes
        return (x, y, z)

    def following(self, factor: Factor, deployed: Mapping[str, Any]) -> GridRule | None:
        """This rule with one more factor; None if the deployed grid is no multiple of it."""
        value = factor.programs(int(deployed[factor.parameter]))
        if self.rest[factor.axis] % value:
            return None
        x, y, z = (s // value if n == factor.axis else s for n, s in enumerate(self.rest))
        return GridRule((x, y, z), (*self.factors, factor))

    def texts(self) -> tuple[str, str, str]:
        """The number of programs along x, y and z: "cdiv(n | x.shape[0], BLOCK) * 4"."""
        x, y, z = (self._axis_text(axis) for axis in range(3))
        return (x, y, z)

    def _axis_text(self, axis: int) -> str:
        parts = [factor.formula for factor in self.factors if factor.axis == axis]
        if self.rest[axis] != 1 or not parts:
            parts.append(str(self.rest[axis]))
        return " * ".join(parts)

    def text(self, parameter: str) -> str:
        """How the grid follows a parameter: "cdiv(n, BLOCK)"; "" if it does not."""
        return " and ".join(str(f) for f in self.factors if f.parameter == parameter)


def possible_factors(
    rule: GridRule,
    parameter: str,
    deployed: Mapping[str, Any],
    sizes: Mapping[str, int],
    axes: Collection[int] = (0, 1, 2),
) -> list[Factor]:
    """The ways in which an axis may follow a parameter, as far as they give the deployed grid.

    An axis of one program may follow any size that one block covers: smaller blocks do not.

    Args:
        rule: what other parameters explain already.
        parameter: a constexpr that is an integer above 1.
        deployed: the values of the constexprs.
        sizes: integers of the launch by where they were found, the likeliest first.
        axes: which may follow though they have one program; by the others, the kernel does not tell
            its programs apart.
    """
    value = int(deployed[parameter])
    found: dict[tuple[int, int | None], Factor] = {}
    words = set(parameter.upper().split("_"))
    # BLOCK_N divides N rather than an M of the same size, and a size rather than a stride.
    same: dict[int, list[str]] = {}
    for of in sorted(sizes, key=lambda of: (of.upper() not in words, "stride" in of)):
        same.setdefault(sizes[of], []).append(of)
    for axis, programs in enumerate(rule.rest):
        if programs == 1 and axis not in axes:
            continue
        for size, (of, *others) in same.items():
            parts = math.ceil(size / value)
            if (parts > 1 or programs == 1) and programs % parts == 0:
                found[axis, size] = Factor(axis, parameter, size, of, tuple(others))
        if programs % value == 0:
            found[axis, None] = Factor(axis, parameter, None)
    return list(found.values())
