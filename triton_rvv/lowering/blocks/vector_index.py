"""Where a recipe is evaluated: a vector of neighbours, and what is known of the block there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from triton_rvv.lowering.llvm.values import Val

__all__ = ["ANY_VERSION", "PLAIN_VERSION", "Extents", "LoopVersion", "VectorIndex"]


@dataclass(frozen=True)
class LoopVersion:
    """What is known at run time of the block on this path through the code.

    Args:
        linear: every table of positions is linear, so that addresses are.
        unmasked: every comparison in a mask that has a guard holds for the whole block.
        in_bounds: the same of masks of loads and stores alone.
        rows_inside: what masks say of whole runs holds for those that are visited.
        columns_inside: what masks say of leading and of last lanes holds for them.
        fits: no 32-bit sum in an address or a mask wraps before it is widened.
        plain_columns: how many leading columns of every row are on the plain path, as i64; None
            where that is not known.
        starts: where tables begin that are linear for this part of the block only.
        origin: where the part begins, as i64; None for the whole block.
    """

    linear: bool = False
    unmasked: bool = False
    in_bounds: bool = False
    rows_inside: bool = False
    columns_inside: bool = False
    fits: bool = False
    plain_columns: Val | None = None
    starts: Mapping[object, Val] = field(default_factory=dict)
    origin: Val | None = None

    @property
    def linear_rows(self) -> bool:
        """Whether tables of all dimensions are linear: of a part, it is known of its columns."""
        return self.linear and self.origin is None

    @property
    def of_memory(self) -> LoopVersion:
        """The same for the mask of a load or store."""
        return replace(self, unmasked=True) if self.in_bounds else self

    @property
    def of_rows(self) -> LoopVersion:
        """The same of numbers that rows have: of these, nothing is known by a part of columns."""
        if self.origin is None:
            return self
        return replace(self, linear=False, starts={}, origin=None)

    def __str__(self) -> str:
        """What is known, for people."""
        if self.linear and self.unmasked and self.fits:
            return "plain"
        if self.plain_columns is not None:
            return "plain columns"
        names = ("linear", "unmasked", "in_bounds", "rows_inside", "columns_inside", "fits")
        known = [name.replace("_", " ") for name in names if getattr(self, name)]
        return " and ".join(known) or "nothing known"


# How many leading positions of each dimension are meant, as i64; None for all of them.
Extents = Sequence[Val | None]

ANY_VERSION = LoopVersion()
PLAIN_VERSION = LoopVersion(linear=True, unmasked=True, fits=True)


@dataclass(frozen=True)
class VectorIndex:
    """Where to evaluate: a run of `width` neighbours in row-major order.

    Runs stay within a row, except in blocks with rows so short that a run takes several of them
    whole. `Tensor.spans_rows` says whether a recipe can do that.

    Args:
        index: the position in each dimension but the last, as i64.
        start: the position of the first element in the last dimension, as i64.
        width: how many elements; one of them is a scalar, more are a vector.
        version: what is known of the whole block here.
        memo: what has been computed already at the same place in the code.
        number: of the first element in row-major order, where blocks are walked by it.
        rows_ahead: how many rows further on a load asks for what comes next; None for the
            `rows_ahead` of the machine.
        rows_together: how many neighbouring rows are visited side by side.
        row: which of these rows this is.
        row_runs: how many runs of a row are visited before the next row is.
        lanes: how many of the elements are wanted, as i64, where not all; loads leave others alone.
        clears: whether loads have what is behind those lanes be 0, or their `other`.
    """

    index: tuple[Val, ...]
    start: Val
    width: int
    version: LoopVersion = ANY_VERSION
    memo: dict[object, Val] = field(default_factory=dict, compare=False)
    number: Val | None = None
    rows_ahead: int | None = None
    rows_together: int = 1
    row: int = 0
    row_runs: int = 1
    lanes: Val | None = None
    clears: bool = False

    def __str__(self) -> str:
        """The size of the run, and what is known there, for people."""
        tail = "" if self.lanes is None else ", fewer at the end"
        return f"{self.width} lanes{tail}, {self.version}"

    @property
    def coordinates(self) -> tuple[Val, ...]:
        """The position of the first element in every dimension."""
        return (*self.index, self.start)
