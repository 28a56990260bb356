"""How the number of programs follows the configuration, from the numbers that were launched."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kernels.captured.memory import View
from kernels.spec import Grid

__all__ = ["Factor", "GridRule", "divided_sizes", "possible_factors"]


@dataclass(frozen=True)
class Factor:
    """How one axis of the grid follows one parameter.

    Args:
        axis: 0, 1 or 2.
        parameter: the constexpr's name.
        size: what is divided by its value, rounded up; None if the axis is a multiple of the value.
        of: where the size was found, such as "n" or "x.shape[0]"; "" without one.
        others: where the same size was found besides.
        turns: another constexpr, if the size is divided by the product of the two, as where each
            program takes a number of blocks; "" if there is none.
    """

    axis: int
    parameter: str
    size: int | None
    of: str = ""
    others: tuple[str, ...] = ()
    turns: str = ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The constexprs that the axis follows by this factor."""
        return (self.parameter, self.turns) if self.turns else (self.parameter,)

    @property
    def formula(self) -> str:
        """The factor with all that it may follow: "cdiv(n | x.shape[0], BLOCK)"."""
        return str(replace(self, of=" | ".join((self.of, *self.others))))

    def programs(self, constants: Mapping[str, Any]) -> int:
        """The factor of the axis for values of the constexprs."""
        value = math.prod(int(constants[name]) for name in self.parameters)
        return value if self.size is None else -(-self.size // value)

    def __str__(self) -> str:
        product = " * ".join(self.parameters)
        return product if self.size is None else f"cdiv({self.of}, {product})"


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
            sizes[factor.axis] *= factor.programs(constants)
        x, y, z = sizes
        return (x, y, z)

    def following(self, factor: Factor, deployed: Mapping[str, Any]) -> GridRule | None:
        """This rule with one more factor; None if the deployed grid is no multiple of it."""
        value = factor.programs(deployed)
        if self.rest[factor.axis] % value:
            return None
        x, y, z = (s // value if n == factor.axis else s for n, s in enumerate(self.rest))
        return GridRule((x, y, z), (*self.factors, factor))

    def without(self, parameter: str, deployed: Mapping[str, Any]) -> GridRule:
        """This rule with the deployed number of programs on the axes that follow a parameter."""
        sizes, others = list(self.rest), []
        for factor in self.factors:
            if parameter in factor.parameters:
                sizes[factor.axis] *= factor.programs(deployed)
            else:
                others.append(factor)
        x, y, z = sizes
        return GridRule((x, y, z), tuple(others))

    def untold(self, deployed: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[str, ...]:
        """The constants that the grid follows and that a configuration changes, without effect on
        the number of programs."""
        before = self.grid(deployed)
        return tuple(
            name
            for name in dict.fromkeys(n for factor in self.factors for n in factor.parameters)
            if name in config
            and config[name] != deployed[name]
            and self.grid({**deployed, name: config[name]}) == before
        )

    def texts(self) -> tuple[str, str, str]:
        """The number of programs along x, y and z: "cdiv(n | x.shape[0], BLOCK) * 4"."""
        x, y, z = (self._axis_text(axis, lambda factor: factor.formula) for axis in range(3))
        return (x, y, z)

    def _axis_text(self, axis: int, shown: Callable[[Factor], str]) -> str:
        parts = [shown(factor) for factor in self.factors if factor.axis == axis]
        if self.rest[axis] != 1 or not parts:
            parts.append(str(self.rest[axis]))
        return " * ".join(parts)

    def text(self, parameter: str) -> str:
        """The axes that follow a parameter: "cdiv(n, BLOCK) * 4"; "" if none does."""
        axes = dict.fromkeys(f.axis for f in self.factors if parameter in f.parameters)
        return " and ".join(self._axis_text(axis, str) for axis in axes)


def divided_sizes(
    scalars: Mapping[str, tuple[str, int | float]], views: Mapping[str, View]
) -> dict[str, int]:
    """The integers that a wrapper may have divided by a block, the likeliest first.

    Args:
        scalars: numbers of the launch by parameter, and their types.
        views: its tensors.
    """
    sizes = {n: v for n, (_, v) in scalars.items() if isinstance(v, int) and v > 1}
    for name, view in views.items():
        sizes |= {f"{name}.shape[{axis}]": size for axis, size in enumerate(view.shape) if size > 1}
        elements = math.prod(view.shape)
        if elements:  # an empty tensor stands for one that is left out
            sizes[str(elements)] = elements
    return sizes


def possible_factors(
    rule: GridRule,
    parameter: str,
    deployed: Mapping[str, Any],
    sizes: Mapping[str, int],
    axes: Collection[int] = (0, 1, 2),
    products: Collection[Collection[str]] = (),
    *,
    may_cover: bool = False,
) -> list[Factor]:
    """The ways in which an axis may follow a parameter, as far as they give the deployed grid.

    An axis of one program may follow any size that one block covers: smaller blocks do not. An axis
    of more that follows no size divided by the parameter alone may follow one divided by the
    product with another parameter.

    Args:
        rule: what other parameters explain already.
        parameter: a constexpr that is an integer above 1.
        deployed: the values of the constexprs.
        sizes: integers of the launch by where they were found, the likeliest first.
        axes: which may follow though they have one program; by the others, the kernel does not tell
            its programs apart.
        products: names that the kernel multiplies with each other.
        may_cover: whether an axis of more programs, too, may follow a size that one block covers.
    """
    value = int(deployed[parameter])
    found: list[Factor] = []
    words = set(parameter.upper().split("_"))
    words |= {word[1] for word in words if len(word) == 2 and word[0] == "B"}
    # BLOCK_N and BN divide N rather than an M of the same size, and a size rather than a stride.
    same: dict[int, list[str]] = {}
    for of in sorted(sizes, key=lambda of: (of.upper() not in words, "stride" in of)):
        same.setdefault(sizes[of], []).append(of)
    for axis, programs in enumerate(rule.rest):
        if programs == 1 and axis not in axes:
            continue
        alone = [Factor(axis, parameter, size, *_named(same[size])) for size in same]
        # Of 32 programs, 512 in blocks of 16 explains all, and 128 leaves a factor of 4 open.
        alone.sort(key=lambda f: (f.of.upper() not in words, f.programs(deployed) != programs))
        explaining = [f for f in alone if _explains(f, programs, deployed, may_cover=may_cover)]
        if not explaining and programs > 1:
            others = {name for names in products if parameter in names for name in names}
            turns = _turns(others - {parameter}, deployed)
            together = [replace(f, turns=name) for name in turns for f in alone]
            explaining = [f for f in together if _explains(f, programs, deployed)]
        found += explaining
        if programs % value == 0:
            found.append(Factor(axis, parameter, None))
    return found


def _named(places: list[str]) -> tuple[str, tuple[str, ...]]:
    first, *others = places
    return first, tuple(others)


def _explains(
    factor: Factor, programs: int, deployed: Mapping[str, Any], *, may_cover: bool = False
) -> bool:
    """Whether an axis of so many programs is a multiple of the factor, which is more than one
    unless one block may cover the size."""
    parts = factor.programs(deployed)
    return (parts > 1 or programs == 1 or may_cover) and programs % parts == 0


def _turns(names: Collection[str], deployed: Mapping[str, Any]) -> list[str]:
    """The constexprs among names that may be the number of blocks that each program takes."""
    return [name for name in deployed if name in names and _is_number(deployed[name])]


def _is_number(value: object) -> bool:
    return type(value) is int and value > 1
