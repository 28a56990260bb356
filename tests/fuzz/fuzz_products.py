"""Draws products of which only parts count: blocks at edges of matrices, in loops, under masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import fuzz_reference as reference
import numpy as np
from fuzz_numbers import KINDS, UNKNOWN, Block
from fuzz_program import Array, Machine, Var
from fuzz_writer import Writer
from hypothesis import strategies as st

__all__ = ["PRODUCTS"]

_SUMS = {"float32": "float32", "float16": "float32", "bfloat16": "float32", "int8": "int32"}


@dataclass(frozen=True)
class Edge:
    """Which positions of a dimension count.

    Args:
        text: a condition on the positions `{at}` in turn `{turn}`.
        holds: the same of an array of positions and a turn.
    """

    text: str
    holds: Callable[[np.ndarray, int], np.ndarray]


_WIDE = "{at}.to(tl.int64) < {end}"
_SKIPS = "({at} < {end}) & ({at} != {skipped})"
_WRAPS = "({at} + {start}).to(tl.int64) < {end}"
_ALL = Edge("", lambda at, turn: np.full(at.shape, True))


def _edge(w: Writer, end: int, per_turn: bool = False) -> Edge:
    """Positions before an end, written in one of the ways that kernels have."""
    step = w.choose([0, 1, -3, 8]) if per_turn else 0
    form = w.choose(["{at} < {end}", "{at} <= {last}", "{end} > {at}", _WIDE, _SKIPS, _WRAPS])
    number = end - 1 if "{last}" in form else end
    bound = f"({w.scalar(number)} + {{turn}} * {step})" if step else w.scalar(number)
    skipped, first = w.draw(st.integers(0, 40)), (1 << 31) - w.choose([1, 8, 13, 30])
    start = w.argument(first) if form == _WRAPS else ""

    def holds(at: np.ndarray, turn: int) -> np.ndarray:
        if form == _WRAPS:
            return (at + first).astype(np.int32).astype(np.int64) < end + turn * step
        return (at < end + turn * step) & ((at != skipped) | (form != _SKIPS))

    parts = {"at": "{at}", "end": bound, "last": bound, "skipped": skipped, "start": start}
    return Edge(form.format(**parts), holds)


@dataclass(frozen=True)
class Matrix:
    """An operand in memory: element (i, j) of a turn is `i * strides[0] + j * strides[1]` further.

    Args:
        array: where it lies.
        strides: of rows and columns.
        edges: of rows and of columns; what is outside is 0.
        listed: numbers of rows, if these are not in order; they are used modulo `span`.
        span: a power of two.
    """

    array: Array
    strides: tuple[int, int]
    edges: tuple[Edge, Edge]
    listed: Var | None = None
    span: int = 1

    def load(self, rows: str, columns: str, turn: str) -> str:
        first = f"({self.listed.name} & {self.span - 1})" if self.listed else rows
        base = f"{self.array.name} + pid * {self.array.part}"
        at = f"{first}[:, None] * {self.strides[0]} + {columns}[None, :] * {self.strides[1]}"
        masks = [
            f"({edge.text.format(at=places, turn=turn)}){expand}"
            for edge, places, expand in zip(
                self.edges, (rows, columns), ("[:, None]", "[None, :]"), strict=True
            )
            if edge.text
        ]
        more = f", mask={' & '.join(masks)}, other=0" if masks else ""
        return f"tl.load({base} + {at}{more})"

    def on(self, rows: np.ndarray, columns: np.ndarray, turn: int) -> np.ndarray:
        first, second = self.edges
        return first.holds(rows, turn)[:, None] & second.holds(columns, turn)[None, :]

    def places(self, first: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return first[:, None] * self.strides[0] + columns[None, :] * self.strides[1]

    def read(self, machine: Machine, rows: np.ndarray, columns: np.ndarray, turn: int) -> Block:
        first = rows if self.listed is None else machine.known(self.listed) & (self.span - 1)
        on, part = self.on(rows, columns, turn), machine.parts[self.array.buffer]
        places = self.places(first, columns) + self.array.start + machine.linear_id * part
        memory, places = machine.memory[self.array.buffer], np.where(on, places, 0)
        data = np.where(on, memory.data[places], 0).astype(memory.data.dtype)
        return Block(memory.kind, data, np.where(on, memory.slack[places], 0.0))


@dataclass(frozen=True)
class Kept:
    """A store of the sums.

    Args:
        when: "before" or "after" the product of each turn, or at the "end".
        array: where it goes.
        edges: of rows and columns.
        of_rows: whether it is of the sums of rows.
    """

    when: str
    array: Array
    edges: tuple[Edge, Edge]
    of_rows: bool


@dataclass(frozen=True)
class Product:
    """Blocks along K of a product, with stores of its sums.

    Args:
        names: of rows, columns, steps, the turn and the sums.
        sizes: of blocks: M, N, K.
        turns: how many blocks along K, and how that is written.
        first: where along K they begin.
        left, right: the operands.
        out: the type of the sums.
        adds: whether each turn adds to the sums of the one before.
        stores: of the sums.
    """

    names: tuple[str, ...]
    sizes: tuple[int, int, int]
    turns: tuple[int, str]
    first: int
    left: Matrix
    right: Matrix
    out: str
    adds: bool
    stores: Sequence[Kept]

    def lines(self) -> list[str]:
        rows, columns, steps, turn, c = self.names
        m, n, k = self.sizes
        inner = [f"{steps} = {self.first} + {turn} * {k} + tl.arange(0, {k})"]
        inner += [
            line for kept in self.stores if kept.when == "before" for line in self._store(kept)
        ]
        a, b = self.left.load(rows, steps, turn), self.right.load(steps, columns, turn)
        start = f", {c}" if self.adds else ""
        inner.append(
            f'{c} = tl.dot({a}, {b}{start}, input_precision="ieee", out_dtype=tl.{self.out})'
        )
        inner += [
            line for kept in self.stores if kept.when == "after" for line in self._store(kept)
        ]
        return [
            f"{rows}, {columns} = tl.arange(0, {m}), tl.arange(0, {n})",
            f"{c} = tl.zeros(({m}, {n}), tl.{self.out})",
            f"for {turn} in range({self.turns[1]}):",
            *(f"    {line}" for line in inner),
            *(line for kept in self.stores if kept.when == "end" for line in self._store(kept)),
        ]

    def _store(self, kept: Kept) -> list[str]:
        rows, columns, _, turn, c = self.names
        m, n, _ = self.sizes
        number = "0" if kept.when == "end" else turn
        masks = [
            edge.text.format(at=at, turn=number)
            for edge, at in zip(kept.edges, (rows, columns), strict=True)
        ]
        base = f"{kept.array.name} + pid * {kept.array.part} + {number} * {m * n}"
        if kept.of_rows:
            return [f"tl.store({base} + {rows}, tl.sum({c}, 1), mask={masks[0]})"]
        mask = f"({masks[0]})[:, None] & ({masks[1]})[None, :]"
        at = f"{rows}[:, None] * {n} + {columns}[None, :]"
        return [f"tl.store({base} + {at}, {c}, mask={mask})"]

    def run(self, machine: Machine) -> None:
        m, n, k = self.sizes
        rows, columns = np.arange(m), np.arange(n)
        zeros = c = Block.exact(KINDS[self.out], np.zeros((m, n)))
        for turn in range(self.turns[0]):
            steps = self.first + turn * k + np.arange(k)
            self._keep(machine, "before", c, turn)
            a = self.left.read(machine, rows, steps, turn)
            b = self.right.read(machine, steps, columns, turn)
            c = _multiplied(KINDS[self.out], a, b, c if self.adds else zeros)
            self._keep(machine, "after", c, turn)
        self._keep(machine, "end", c, 0)

    def _keep(self, machine: Machine, when: str, c: Block, turn: int) -> None:
        m, n, _ = self.sizes
        for kept in self.stores:
            if kept.when != when:
                continue
            block, on = c, kept.edges[0].holds(np.arange(m), turn)
            if kept.of_rows:
                block = reference.total(c, 1)
            else:
                on = on[:, None] & kept.edges[1].holds(np.arange(n), turn)[None, :]
            memory, part = machine.memory[kept.array.buffer], machine.parts[kept.array.buffer]
            first = kept.array.start + machine.linear_id * part + turn * m * n
            places = (first + np.arange(on.size)).reshape(on.shape)[on]
            memory.data[places], memory.slack[places] = block.data[on], block.slack[on]


def _multiplied(kind, a: Block, b: Block, c: Block) -> Block:
    """`a @ b + c`; a number that is not finite makes its row or column unknown, and no others."""
    bad_rows, bad_columns = (~np.isfinite(x.data).all(axis) for x, axis in ((a, 1), (b, 0)))
    clean = [Block(x.kind, np.where(np.isfinite(x.data), x.data, 0), x.slack) for x in (a, b, c)]
    result = reference.dot(kind, *clean)
    unknown = bad_rows[:, None] | bad_columns[None, :] | ~np.isfinite(c.data)
    return Block(kind, result.data, np.where(unknown, UNKNOWN, result.slack))


def product(w: Writer) -> None:
    """Sums of products of two matrices' blocks, of which some are outside."""
    kind = w.choose(["float32", "float32", *_SUMS])
    sizes = m, n, k = w.choose([8, 16, 32, 64]), w.choose([8, 16, 32, 64]), w.choose([16, 32, 64])
    turns, first = w.choose([1, 1, 2, 3]), w.choose([0, 0, 0, k])
    reached = first + turns * k
    depth = w.choose([reached, first, reached - k, w.draw(st.integers(0, reached))])
    depth_edges = [_edge(w, depth), _edge(w, depth)]
    row_edge = w.choose([_ALL, _edge(w, w.draw(st.integers(0, m)))])
    column_edge = w.choose([_ALL, _edge(w, w.draw(st.integers(0, n)))])
    out = _SUMS[kind]
    left = _matrix(w, kind, (m, reached), (row_edge, depth_edges[0]), may_list=True)
    right = _matrix(w, kind, (reached, n), (depth_edges[1], column_edge))
    stores = [_kept(w, out, sizes, turns) for _ in range(w.choose([1, 1, 2]))]
    names = tuple(w.fresh(letter) for letter in "rqsic")
    w.blocks[-1].append(
        Product(
            names,
            sizes,
            (turns, w.scalar(turns)),
            first,
            left,
            right,
            out,
            w.chance(60),
            tuple(stores),
        )
    )


def _matrix(w: Writer, kind: str, shape, edges, may_list: bool = False) -> Matrix:
    """An operand that ends where its memory does."""
    rows = shape[0]
    at = [np.arange(size) for size in shape]
    used = [edge.holds(places, 0) for edge, places in zip(edges, at, strict=True)]
    width = [int(np.flatnonzero(on)[-1]) + 1 if on.any() else 0 for on in used]
    if w.chance(75):
        strides = (max(1, width[1] + w.choose([0, 0, 1, 3])), 1)
    else:
        strides = (1, max(1, width[0] + w.choose([0, 0, 1, 3])))
    listed, span = None, w.choose([1, 8, 32])
    if may_list and w.chance(25):
        listed = w.block("int32", (rows,))
        w.used.add(listed.name)
    array = w.array(kind, writable=False)
    matrix = Matrix(array, strides, edges, listed, span)
    on = used[0][:, None] & used[1][None, :]
    first = at[0] if listed is None else np.full(rows, span - 1)
    places = matrix.places(first, at[1])[on]
    w.reach(array, int(places.max(initial=-1)) + 1)
    return matrix


def _kept(w: Writer, out: str, sizes, turns: int) -> Kept:
    m, n, _ = sizes
    when = w.choose(["before", "after", "end", "end"])
    per_turn = when != "end"
    rows, columns = (_edge(w, w.draw(st.integers(0, size)), per_turn) for size in (m, n))
    array = w.array(out, writable=True)
    w.reach(array, m * n * (turns if per_turn else 1))
    return Kept(when, array, (rows, columns), w.chance(20))


PRODUCTS = {product: 6}
