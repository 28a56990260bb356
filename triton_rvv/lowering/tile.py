"""One register tile of a matrix product.

A tile keeps its part of the accumulator in vector registers and walks along K:

    for k: b = B[k, columns]; for each row r of the tile: acc[r] += A[r, k] * b

which is one vector load, and one scalar load and one `vfmacc.vf` a row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.operands import UNROLL_K, Columns, Rows
from triton_rvv.lowering.values import Val, integer
from triton_rvv.lowering.variable import Variable

__all__ = ["Tile"]

# A row of B is loaded this many steps before it is used: a load of LMUL 2 takes about 18 cycles
# on the X60, and a step with 8 rows 16.
LOOK_AHEAD = 2
# While a row of B is loaded, which takes 4.4 cycles with LMUL 2, so many multiply-adds go by before
# another load is asked for: an in-order core would wait with everything behind it.
QUIET_ROWS = 2


@dataclass(frozen=True)
class Ahead:
    """What is carried from some steps along K to the next ones.

    Args:
        pointers: into the rows of A.
        elements: the first of each row.
        runs: of B, the first ones.
    """

    pointers: Sequence[Variable]
    elements: Sequence[Variable]
    runs: Sequence[Variable]

    def write(self, pointers: Sequence[Val], elements: Sequence[Val], runs: Sequence[Val]) -> None:
        """Change all of them; without `runs`, these stay."""
        old, new = (*self.pointers, *self.elements, *self.runs), (*pointers, *elements, *runs)
        for variable, value in zip(old, new, strict=False):
            variable.write(value)


@dataclass(frozen=True)
class Tile:
    """What one tile multiplies.

    Args:
        builder: writes the code.
        rows: of A.
        panels: the right operand.
        column: the tile's first.
        stays: whether the next tile takes the same columns, and not those beside them.
        longest: how many steps along K may be written out.
    """

    builder: Builder
    rows: Rows
    panels: Columns
    column: Val
    stays: bool
    longest: int = UNROLL_K

    @property
    def unroll(self) -> int:
        """Steps that are written out at a time."""
        return min(self.rows.run_length, self.longest // self.panels.runs)

    def begin(self, depth: Val) -> Ahead:
        """Load early what the first multiply-adds need, before a loop if there is one."""
        builder, starts = self.builder, self.rows.starts
        loops = depth.constant != self.unroll
        with builder.fixed_loads() if loops else contextlib.nullcontext():
            runs = [self._b(*place) for place in self._places(integer(0), self.unroll)[:LOOK_AHEAD]]
            elements = [self.rows.load(starts, row, 0) for row in range(self.rows.count)]
        return Ahead(*([Variable(builder, v) for v in some] for some in (starts, elements, runs)))

    def multiply_add(self, base: Val, depth: Val, ahead: Ahead, totals: Sequence[Variable]) -> None:
        """`unroll` steps along K, written in the order in which an in-order core best runs them.

        Args:
            base: the first of them.
            depth: the extent of K.
            ahead: what the first multiply-adds need; afterwards, what those need that follow.
            totals: the accumulators, of each row one for each run of columns.
        """
        builder, unroll, rows = self.builder, self.unroll, self.rows
        pointers = following = [pointer.read() for pointer in ahead.pointers]
        elements = [element.read() for element in ahead.elements]
        b_runs, runs = [run.read() for run in ahead.runs], self.panels.runs
        places, advance, after = self._places(base, unroll), None, integer(0)
        if depth.constant != unroll:
            inside = builder.compare("slt", base, builder.binary("sub", depth, integer(unroll)))
            # Behind the last step nothing is needed: any place will do.
            after = builder.select(inside, builder.add(base, integer(unroll)), integer(0))
            places += self._places(after, unroll)[:LOOK_AHEAD]
            advance = rows.advance(base, after, inside, unroll)
        # What the next turn reads, or the next tile: its panel is the same one, or lies behind it.
        row_ahead, steps_ahead = (after, 0) if self.stays else (base, unroll)
        distance = rows.prefetch_distance(base, depth)
        for turn in range(unroll * runs):
            step, run = divmod(turn, runs)
            b_runs += [self._b(*place) for place in places[turn + LOOK_AHEAD :][:1]]
            if run == 0 and advance is not None:
                self.panels.prefetch(builder, row_ahead, steps_ahead + step, self.column)
            # Addresses are computed late, since registers are scarce, but before they are needed.
            lines = rows.lines_ahead(pointers, distance, step, unroll) if run == 0 else ()
            source = (pointers, step + 1) if run + 1 == runs and step + 1 < unroll else None
            if turn + 1 == unroll * runs and advance is not None:
                following = rows.moved(pointers, advance)
                source = (following, 0)
            self._turn(elements, b_runs[turn], totals[run::runs], lines, source)
        ahead.write(following, elements, b_runs[unroll * runs :])

    def _turn(
        self,
        elements: list[Val],
        b_run: Val,
        totals: Sequence[Variable],
        lines: Sequence[Val],
        source: tuple[Sequence[Val], int] | None,
    ) -> None:
        """Multiply an element of each row by a run of B.

        Args:
            elements: one of each row; replaced by what `source` says.
            b_run: the run.
            totals: the accumulators, one for each row.
            lines: addresses in cache lines to ask for.
            source: pointers and an offset, where the elements are that come next, if any do.
        """
        builder, waiting = self.builder, list[int]()
        for row, total in enumerate(totals):
            total.write(_multiplied_and_added(builder, elements[row], b_run, total.read()))
            for line in lines if row == len(totals) // 2 else ():
                builder.prefetch(line)
            waiting.append(row)
            if source is not None and (row >= QUIET_ROWS or row + 1 == len(totals)):
                count = 2 if row + 1 < len(totals) else len(waiting)
                loaded, waiting = waiting[:count], waiting[count:]
                for each in loaded:
                    elements[each] = self.rows.load(source[0], each, source[1])

    def _places(self, base: Val, steps: int) -> list[tuple[Val, int, int]]:
        """The runs of B that some steps multiply, in their order."""
        return [(base, step, run) for step in range(steps) for run in range(self.panels.runs)]

    def _b(self, base: Val, offset: int, run: int) -> Val:
        """A run of the tile's columns of a row of B."""
        row = self.builder.add(base, integer(offset))
        column = self.builder.add(self.column, integer(run * self.panels.panel))
        return self.panels.at(self.builder, row, column)


def _multiplied_and_added(builder: Builder, left: Val, right: Val, total: Val) -> Val:
    """`total + left * right` of a scalar and vectors; narrower operands are widened by the way."""
    is_integer = total.element.startswith("i")
    if is_integer:
        left = builder.resize(left, right.element)
    factors = [builder.splat(left, right.width), right]
    if right.element != total.element:
        widen = "sext" if is_integer else "fpext"
        factors = [builder.cast(widen, factor, total.element) for factor in factors]
    if is_integer:
        return builder.add(total, builder.mul(*factors))
    return builder.intrinsic("llvm.fma", (*factors, total))
