"""One register tile of a matrix product.

A tile keeps its part of the accumulator in vector registers and walks along K:

    for k: b = B[k, columns]; for each row r of the tile: acc[r] += A[r, k] * b

which is one vector load, and one scalar load and one `vfmacc.vf` a row.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import FALSE, Val, integer
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.products.lhs_tiles import Lhs
from triton_rvv.lowering.products.rhs_tiles import KStep, Rhs, RhsStep

__all__ = ["MultiplyAdd", "Tile", "multiplied_and_added"]

# Adds to sums the products of an element of A, by which all lanes are multiplied, and a run of B.
MultiplyAdd = Callable[[Builder, Val, Val, Val], Val]


def multiplied_and_added(builder: Builder, left: Val, right: Val, total: Val) -> Val:
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
        stays: whether the next tile takes the same columns, and not those beside them.
        multiply_add: the instruction.
        longest: how many steps along K may be written out; None for those of the machine.
    """

    builder: Builder
    rows: Lhs
    panels: Rhs
    column: Val
    stays: bool
    multiply_add: MultiplyAdd
    longest: int | None = None

    @property
    def unroll(self) -> int:
        """Steps that are written out at a time."""
        longest = self.panels.machine.unroll_k if self.longest is None else self.longest
        return min(self.rows.run_length, max(1, longest // self.panels.runs))

    @property
    def _look_ahead(self) -> int:
        """How many runs of B are on their way, as many behind the last whole turn.

        There operands may end after `tail_k` steps.
        """
        most = min(self.unroll, self.panels.machine.tail_k) * self.panels.runs
        return min(self.panels.machine.loads_ahead_of(self.panels.runs), most)

    def _turn_of_b(self, base: Val, after: Val, inside: Val) -> RhsStep:
        loaded = -(-self._look_ahead // self.panels.runs)
        place = (self.column, base, after, inside)
        turn = KStep(*place, self.unroll, loaded, self.stays)
        return self.panels.turn(self.builder, turn)

    def begin(self, depth: Val) -> Ahead:
        """Load early what the first multiply-adds need, before a loop if there is one."""
        builder, starts = self.builder, self.rows.starts
        loops = depth.constant != self.unroll
        with builder.fixed_loads() if loops else contextlib.nullcontext():
            first = self._turn_of_b(integer(0), integer(0), FALSE)
            runs = [load() for load in self._loads(first, 1)[: self._look_ahead]]
            elements = [self.rows.load(starts, row, 0) for row in range(self.rows.count)]
        if elements[0].type == "i64":  # if LLVM knew them to be narrow, it would carry them so
            elements = [builder.of_unknown_origin(element) for element in elements]
        return Ahead(*([Variable(builder, v) for v in some] for some in (starts, elements, runs)))

    def multiply(self, base: Val, depth: Val, ahead: Ahead, totals: Sequence[Variable]) -> None:
        """`unroll` steps along K, written in the order in which an in-order core best runs them.

        Args:
            ahead: what the first multiply-adds need; afterwards, what those need that follow.
            totals: the accumulators, of each row one for each run of columns.
        """
        builder, unroll, rows = self.builder, self.unroll, self.rows
        pointers = following = [pointer.read() for pointer in ahead.pointers]
        elements = [element.read() for element in ahead.elements]
        b_runs, runs = [run.read() for run in ahead.runs], self.panels.runs
        loops, inside, advance = depth.constant != unroll, FALSE, None
        if loops:
            inside = builder.compare("slt", base, builder.binary("sub", depth, integer(unroll)))
        # Behind the last step nothing is needed: any place will do.
        after = builder.select(inside, builder.add(base, integer(unroll)), integer(0))
        turn_of_b = self._turn_of_b(base, after, inside)
        loads = self._loads(turn_of_b, 2 if loops else 1)[self._look_ahead :]
        if loops:
            advance = rows.advance(base, after, inside, unroll)
        distance = rows.prefetch_distance(base, depth)
        for turn in range(unroll * runs):
            step, run = divmod(turn, runs)
            b_runs += [load() for load in loads[turn : turn + 1]]
            if run == 0:
                turn_of_b.prefetch(step)
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
            totals: the accumulators, one for each row.
            lines: addresses in cache lines to ask for.
            source: pointers and an offset, where the elements are that come next, if any do.
        """
        builder, waiting = self.builder, list[int]()
        in_between = self.panels.machine.fmas_between_loads
        for row, total in enumerate(totals):
            total.write(self.multiply_add(builder, elements[row], b_run, total.read()))
            for line in lines if row == len(totals) // 2 else ():
                builder.prefetch(line)
            waiting.append(row)
            if source is not None and (row >= in_between or row + 1 == len(totals)):
                count = 2 if row + 1 < len(totals) else len(waiting)
                loaded, waiting = waiting[:count], waiting[count:]
                for each in loaded:
                    elements[each] = self.rows.load(source[0], each, source[1])

    def _loads(self, turn: RhsStep, turns: int) -> list[Callable[[], Val]]:
        """What loads the runs of B that so many turns multiply, in their order."""
        steps, runs = range(turns * self.unroll), range(self.panels.runs)
        return [functools.partial(turn.load, step, run) for step in steps for run in runs]
