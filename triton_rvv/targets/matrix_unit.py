"""Matrix units: what one of their instructions multiplies, and in which registers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "MATRIX_EXTENSION",
    "MOST_STEPS_WITHOUT_LOOP",
    "OPERANDS_AHEAD",
    "TILE_FUNCTION",
    "MatrixUnit",
    "TileShape",
    "has_idle_unit",
    "matrix_unit_of",
]

# LLVM's name of SpacemiT's instructions for integers.
MATRIX_EXTENSION = "+xsmtvdot"

# A tile's loads reach so many operands beyond the last step along K.
OPERANDS_AHEAD = 4

# What the names of functions that compute a tile begin with.
TILE_FUNCTION = "triton_rvv_tile_"

# Steps along K up to which a tile has no loop, whose end is mispredicted, and no loads ahead of it.
MOST_STEPS_WITHOUT_LOOP = 16


@dataclass(frozen=True)
class MatrixUnit:
    """A unit that adds the product of two small matrices of 8-bit integers to one of 32 bits.

    An operand takes one register, A row by row and B column by column. The sums take two, row by
    row. (SpacemiT, "AI Matrix Extension", 1.4 and 2.1.)

    Args:
        instruction: its name in assembly, which takes the registers of the sums, of A and of B.
        side: rows of A, and columns of B.
        depth: columns of A, and rows of B.
        tile: how many operands of A and of B a tile of the result has. All of its sums stay in
            registers, with as many operands as leave no load waiting.
        loads_ahead: loads from a prefetch to the one that takes its line.
    """

    instruction: str
    side: int
    depth: int
    tile: tuple[int, int]
    loads_ahead: int = 4

    @property
    def register_bytes(self) -> int:
        """Bytes of an operand."""
        return self.side * self.depth

    @property
    def turn_depth(self) -> int:
        """Elements along K of a turn of a tile's loop, which is two steps."""
        return 2 * self.depth

    @property
    def rows_per_register(self) -> int:
        """Rows of the sums in one of their two registers."""
        return self.side // 2


# By the bits of a vector register. 3 x 4 operands: 24 registers of sums, and 7 loads for 12
# instructions, the fewest that 32 registers allow.
_UNITS = {256: MatrixUnit("smt.vmadot", 4, 8, (3, 4))}


def matrix_unit_of(extensions: Iterable[str], vlen_bits: int) -> MatrixUnit | None:
    """The matrix unit of a core; None without one.

    Args:
        extensions: LLVM's names of what its code may use.
        vlen_bits: bits in a vector register.

    Raises:
        ValueError: for a vector length that no core with such a unit has.
    """
    if MATRIX_EXTENSION not in extensions:
        return None
    if vlen_bits not in _UNITS:
        lengths = " or ".join(map(str, _UNITS))
        raise ValueError(
            f"the matrix unit of x60-ime works on vectors of {lengths} bits, not of {vlen_bits}: "
            "leave out the vector length"
        )
    return _UNITS[vlen_bits]


_INTEGER_PRODUCT = re.compile(r"\bvw?(?:mul|macc|madd)(?:u|su|us)?\.v[vx]\b")


def has_idle_unit(assembly: str) -> bool:
    """Whether code for a core with a matrix unit, as LLVM prints it, never uses that and multiplies
    vectors of integers: the unit takes no other numbers."""
    is_for_one = f"_{MATRIX_EXTENSION[1:]}" in assembly  # its attribute of the architecture
    if not is_for_one or any(unit.instruction in assembly for unit in _UNITS.values()):
        return False
    return _INTEGER_PRODUCT.search(assembly) is not None


@dataclass(frozen=True)
class TileShape:
    """What a function that computes a tile multiplies, and what it does with the product.

    Args:
        rows, columns: how many operands of A and of B in each step along K.
        adds: whether sums that were before are added.
        steps: along K, one or an even number; 0 for a loop of as many turns as a call says.
        prefetches: whether lines of the operands are asked for ahead.
        scales: whether sums are taken to floats, and added to a total with a factor for each row
            and each column.
    """

    rows: int
    columns: int
    adds: bool
    steps: int
    prefetches: bool
    scales: bool

    @property
    def pairs(self) -> int:
        """Operands of A that lie side by side for each step; a third one lies apart."""
        return min(self.rows, 2)

    @property
    def halves(self) -> int:
        """Parts of the columns, each loaded at once."""
        return self.columns // self.half

    @property
    def half(self) -> int:
        """Operands of B in such a part."""
        return 2

    @property
    def begins_as_float(self) -> bool:
        """Whether sums are counted from the bits of a float: those of few steps are small enough,
        16 of 8 products of up to 2**14 each, where 2**22 would be too large."""
        return self.scales and self.steps > 0

    def function(self, unit: MatrixUnit) -> str:
        """The name of the function."""
        size = f"{unit.side}x{unit.depth}_{self.rows}x{self.columns}"
        flags = "".join(str(int(flag)) for flag in (self.adds, self.prefetches, self.scales))
        return f"{TILE_FUNCTION}{size}_{self.steps}_{flags}"

    @staticmethod
    def of_function(name: str) -> tuple[MatrixUnit, TileShape] | None:
        """The unit and the tile of a function; None for other functions."""
        numbers = r"(\d+)x(\d+)_(\d)x(\d)_(\d+)_([01])([01])([01])"
        found = re.fullmatch(TILE_FUNCTION + numbers, name)
        if found is None:
            return None
        side, depth, rows, columns, steps, *flags = map(int, found.groups())
        unit = next(each for each in _UNITS.values() if (each.side, each.depth) == (side, depth))
        return unit, TileShape(rows, columns, bool(flags[0]), steps, *map(bool, flags[1:]))
