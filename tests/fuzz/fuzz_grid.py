"""How the programs of a random kernel's grid are numbered, each of which has a part of memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

__all__ = ["X_FASTEST", "Numbering", "grids", "numberings"]

# One program in half of the kernels, since these may do more.
_GRIDS = [*[(1, 1, 1)] * 4, (3, 1, 1), (2, 2, 2), (2, 3, 1), (4, 1, 2), (1, 2, 3)]


@dataclass(frozen=True)
class Numbering:
    """Programs are counted along axes, and then perhaps again column by column in groups of rows.

    Args:
        axes: of the grid, the one along which numbers follow one another first.
        columns: of the rows that the count is taken to be of.
        group: rows of a group, as grouped products have them; 0 where the count is the number.
    """

    axes: Sequence[int]
    columns: int = 1
    group: int = 0

    def lines(self) -> list[str]:
        """What gives a kernel its program's number, `pid`."""
        text = f"tl.program_id({self.axes[-1]})"
        for axis in self.axes[-2::-1]:
            text = f"({text}) * tl.num_programs({axis}) + tl.program_id({axis})"
        if not self.group:
            return [f"pid = {text}"]
        width = self.group * self.columns
        rows = "tl.num_programs(0) * tl.num_programs(1) * tl.num_programs(2)"
        return [
            f"count = {text}",
            f"first = count // {width} * {self.group}",
            f"of_group = tl.minimum({rows} // {self.columns} - first, {self.group})",
            f"row = first + count % {width} % of_group",
            f"pid = row * {self.columns} + count % {width} // of_group",
        ]

    def number(self, ids: Sequence[int], grid: Sequence[int]) -> int:
        """The number of the program at a place of the grid."""
        count = 0
        for axis in self.axes[::-1]:
            count = count * grid[axis] + ids[axis]
        if not self.group:
            return count
        place, width = count % (self.group * self.columns), self.group * self.columns
        first = count // width * self.group
        of_group = min(math.prod(grid) // self.columns - first, self.group)
        return (first + place % of_group) * self.columns + place // of_group


X_FASTEST = Numbering((0, 1, 2))


def grids():
    """Programs along x, y and z."""
    return st.sampled_from(_GRIDS)


@st.composite
def numberings(draw, grid: Sequence[int]):
    """A way to number the programs of a grid from 0 on."""
    if math.prod(grid) == 1:
        return X_FASTEST
    axes = tuple(draw(st.permutations(range(3))))
    if draw(st.integers(0, 3)):
        return Numbering(axes)
    columns = draw(st.sampled_from([n for n in range(1, 9) if math.prod(grid) % n == 0]))
    return Numbering(axes, columns, draw(st.integers(1, 3)))
