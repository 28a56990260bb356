"""What is known of a load or store of a block before code is written."""

from __future__ import annotations

from dataclasses import dataclass, field

from triton_rvv.frontend.attributes import Attribute
from triton_rvv.lowering.ttir.conditions import Condition, as_text
from triton_rvv.lowering.ttir.polynomials import ONE, ZERO, Polynomial, Unknown, axes_of

__all__ = ["ACCESS", "Access", "RowsAhead", "SharedRows", "Streams"]

_SCATTERED = ("strided", "by column", "gathered")
# The attribute of loads and stores that says what was found, for people.
ACCESS = "triton_rvv.access"


@dataclass(frozen=True, eq=False)
class Streams:
    """Loads, or stores, of every so many elements of the same rows, under one mask.

    Args:
        stride: from an element of a stream to its next one.
        places: where the streams begin, in elements from the first one's.
    """

    stride: int
    places: tuple[int, ...]


@dataclass(eq=False)
class RowsAhead:
    """Which of the rows that one block of code loads are asked for ahead: those loaded first.

    L1 evicts any line but the last used. The lines of arrays at the same place of their pages share
    a set, so each line that comes before one is used may evict it: of more rows that are asked for,
    or of one that is loaded before.
    """

    chosen: list[object] = field(default_factory=list)

    def takes(self, load: object, most: int) -> bool:
        """Whether to ask for the row of a load, which is written now; of so many at most."""
        if load not in self.chosen and len(self.chosen) < most:
            self.chosen.append(load)
        return load in self.chosen


@dataclass(frozen=True)
class SharedRows:
    """Loads of which a row is also a row of another one.

    Args:
        first: the name of what the first of them loads.
        below: how many rows further down than that one this one begins.
        conditions: a number for the elements that masks let through, and what takes the place of
            others. Rows are the same for loads with one number; where nothing is masked, for all.
    """

    first: str
    below: int
    conditions: int


@dataclass(frozen=True)
class Access:
    """What is known of a load or store.

    Args:
        address: of each element, in elements.
        rank: dimensions of the block.
        moves_by: elements to the block of the next turn of the loop around; 0 where there is no
            loop, None if it is not known.
        to_next_program: elements to the block of the next program along x; None if not known.
        is_denser_by_column: whether neighbours in a column are known to be nearer than in a row.
        mask: the conditions under which elements are loaded or stored; none for all.
        streams: the loads that take neighbouring elements, or the stores that fill rows together,
            this one among them.
        place: where this one begins among these.
        rows: the loads with which it shares rows.
        streams_in: whether a loop moves it that waits for loads alone, and other programs read
            elsewhere.
        ahead: which rows of its block of code are asked for ahead, where its own may be.
    """

    address: Polynomial
    rank: int
    moves_by: Polynomial | None
    to_next_program: Polynomial | None
    is_denser_by_column: bool = False
    mask: tuple[Condition, ...] = ()
    streams: Streams | None = None
    place: int = 0
    rows: SharedRows | None = None
    streams_in: bool = False
    ahead: RowsAhead | None = None

    @property
    def kind(self) -> str:
        """How the elements of a row lie in memory."""
        if self.streams is not None:
            return f"{self.place - min(self.streams.places)} of {self.streams.stride} in turn"
        last = self.rank - 1
        stride = self.address.stride(last)
        if stride is None:
            varying = [atom for atom in self.address.atoms if last in axes_of(atom)]
            unknown = [atom for atom in varying if isinstance(atom, Unknown)]
            return "pieces" if all(atom.is_quotient for atom in unknown) else "gathered"
        if stride == ONE:
            return "contiguous"
        if stride == ZERO:
            return "one element"
        is_by_column = last and self.address.stride(last - 1) == ONE
        return "by column" if is_by_column or self.is_denser_by_column else "strided"

    @property
    def is_scattered(self) -> bool:
        """Whether neighbours in a row are not neighbours in memory, or not of other accesses."""
        return self.kind in _SCATTERED

    @property
    def attribute(self) -> dict[str, Attribute]:
        """What people see."""
        seen: dict[str, Attribute] = {"address": str(self.address), "kind": self.kind}
        if self.mask:
            seen["mask"] = as_text(self.mask)
        if self.rows is not None:
            seen["rows"] = f"{self.rows.below} below those of {self.rows.first}"
        for name in ("moves_by", "to_next_program"):
            growth: Polynomial | None = getattr(self, name)
            if growth is not None and growth != ZERO:
                seen[name] = str(growth)
        return seen
