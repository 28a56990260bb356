"""Draws loops that hand blocks on from turn to turn, and that mostly end in a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import fuzz_reference as reference
import numpy as np
from fuzz_effects import store_at
from fuzz_numbers import KINDS, Block
from fuzz_program import Address, Array, Assign, Loop, Machine, Store, Var
from fuzz_writer import Writer
from hypothesis import strategies as st

__all__ = ["LOOPS", "carrying_loop"]

_DEEPEST = 2


@dataclass(frozen=True)
class HandOn:
    """Carried variables get new values; all are read before any is changed."""

    names: Sequence[str]
    sources: Sequence[Var]

    def lines(self) -> list[str]:
        return [f"{', '.join(self.names)} = {', '.join(source.name for source in self.sources)}"]

    def run(self, machine: Machine) -> None:
        values = [machine[source] for source in self.sources]
        machine.variables.update(zip(self.names, values, strict=True))


@dataclass(frozen=True)
class Blocks:
    """What the statements of one loop work with.

    Args:
        w: takes the statements.
        kind: of all elements.
        wide: the shape of blocks of two dimensions, `(size, size)` or `(1, size)`; others are rows.
        arrays: which are read and written.
        carried: what the loop hands on.
    """

    w: Writer
    kind: str
    wide: tuple[int, int]
    arrays: Sequence[Array]
    carried: Sequence[Var]

    @property
    def size(self) -> int:
        return self.wide[1]

    # -- memory ------------------------------------------------------------------------------------

    def places(self, shape) -> Address:
        """Rows or columns of an array, often the same ones as those of other statements."""
        w, array = self.w, self.w.choose(self.arrays)
        steps = [self.size, 1][-len(shape) :]
        steps = steps[::-1] if shape == (self.size, self.size) and w.chance(25) else steps
        start, terms, end = w.choose([0, 0, 0, 0, 1, self.size]), [], int(np.prod(shape))
        if w.counters and w.chance(15):
            counter, largest = w.counters[-1]
            terms.append((counter, w.choose([1, end])))
            end += largest * terms[0][1]
        w.reach(array, start + end)
        strides = tuple((str(step), step) for step in steps)
        return Address(array, shape, strides, start, tuple(terms))

    def load(self, shape) -> Var:
        mask = self.w.mask(shape) if self.w.chance(20) else None
        return self.w.load_at(self.places(shape), mask, other=5)

    def store(self, value: Var) -> None:
        store_at(self.w, self.places(value.shape), value, self._mask(value.shape))

    def _mask(self, shape) -> Var | None:
        kind = self.w.choose(["none", "none", "places", "wrapping", "values"])
        if kind == "none":
            return None
        if kind == "places":
            return self.w.mask(shape)
        if kind == "values":
            return self._compare(self.w.block(self.kind, shape))
        first, end = (1 << 31) - self.w.choose([1, 3, self.size]), self.w.choose([0, self.size])
        sums = np.arange(shape[-1], dtype=np.int32) + np.int32(first)
        lanes = f"(tl.arange(0, {shape[-1]}) + {self.w.argument(first)}).to(tl.int64)"
        lanes = f"({lanes} < {end})" + ("[None, :]" if len(shape) > 1 else "")
        holds = (sums < end).reshape([1] * (len(shape) - 1) + [-1])
        return self.w.let("int1", holds.shape, lanes, lambda: Block.exact(KINDS["int1"], holds))

    def _compare(self, a: Var) -> Var:
        bound = self.w.draw(st.integers(-5, 5))

        def compute(a: Block) -> Block:
            return reference.compare(np.greater, a, Block.exact(a.kind, bound))

        return self.w.let("int1", a.shape, f"{a.name} > {bound}", compute, a)

    # -- values ------------------------------------------------------------------------------------

    def value(self, shape, levels: int = 2) -> Var:
        """A block made of others: of what is carried, loaded, moved, scaled or summed up."""
        if levels == 0 or self.w.chance(30):
            return self.load(shape) if self.w.chance(25) else self.w.block(self.kind, shape)
        if len(shape) == 1 and self.w.chance(20):
            return self._reduced(self.value(self.wide, levels - 1))
        return self._made_of(self.value(shape, levels - 1), levels - 1)

    def _made_of(self, a: Var, levels: int) -> Var:
        makers = [self._scaled, self._combined, self._combined, self._chosen, self._gathered]
        makers += [self._with_row] * (len(a.shape) > 1)
        makers += [self._transposed, self._transposed] * (a.shape == (self.size, self.size))
        return self.w.choose(makers)(a, levels)

    def _let(self, shape, text: str, compute, *sources: Var) -> Var:
        return self.w.let(self.kind, shape, text, compute, *sources)

    def _combined(self, a: Var, levels: int) -> Var:
        b = self.value(a.shape, levels)
        forms = [
            ("{} + {}", reference.add),
            ("{} - {}", reference.subtract),
            ("tl.maximum({}, {})", reference.maximum),
        ]
        text, compute = self.w.choose(forms)
        return self._let(a.shape, text.format(a.name, b.name), compute, a, b)

    def _scaled(self, a: Var, levels: int) -> Var:
        factor = Block.exact(KINDS[self.kind], self.w.choose([2, 3]))

        def compute(a: Block) -> Block:
            return reference.multiply(a, factor)

        a = self._let(a.shape, f"{a.name} * {int(factor.data)}", compute, a)
        if not self.w.counters or self.w.chance(50):
            return a
        counter = self.w.cast(self.w.counters[-1][0], self.kind)
        return self._let(a.shape, f"{a.name} + {counter.name}", reference.add, a, counter)

    def _chosen(self, a: Var, levels: int) -> Var:
        b, c = self.value(a.shape, levels), self._compare(self.value(a.shape, levels))
        text = f"tl.where({c.name}, {a.name}, {b.name})"
        return self._let(a.shape, text, reference.where, c, a, b)

    def _gathered(self, a: Var, levels: int) -> Var:
        index, axis = self.w.block("int32", a.shape), self.w.choose(range(len(a.shape)))
        text = f"tl.gather({a.name}, {index.name} & {a.shape[axis] - 1}, {axis})"
        return self._let(a.shape, text, lambda a, at: reference.gather(a, at, axis), a, index)

    def _transposed(self, a: Var, levels: int) -> Var:
        return self._let(a.shape, f"tl.trans({a.name})", lambda a: a.map(np.transpose), a)

    def _with_row(self, a: Var, levels: int) -> Var:
        row, axis = self.value((self.size,), levels), self._axis()
        expanded = f"{row.name}[{'None, :' if axis == 0 else ':, None'}]"

        def compute(a: Block, row: Block) -> Block:
            return reference.add(a, row.map(lambda x: np.expand_dims(x, axis)))

        return self._let(a.shape, f"{a.name} + {expanded}", compute, a, row)

    def _reduced(self, a: Var) -> Var:
        axis = self._axis()
        text = f"tl.sum({a.name}, {axis}).to(tl.{self.kind})"
        return self._let((self.size,), text, lambda a: reference.total(a, axis), a)

    def _axis(self) -> int:
        """One that leaves, or takes, a row of `size` elements."""
        return self.w.choose([0, 1]) if self.wide[0] > 1 else 0

    # -- loops -------------------------------------------------------------------------------------

    def loop(self) -> None:
        """Some statements in a loop; the carried variables get their new values at its end."""
        w, count = self.w, self.w.choose([3, 2, 1, 0, 4])
        counter = Var(w.fresh("i"), "int32", ())
        w.counters.append((counter, max(count - 1, 0)))
        w.blocks.append([])
        w.scopes.append([counter])
        for _ in range(w.draw(st.integers(0, 2))):
            self._statement()
        order = w.draw(st.permutations(self.carried))
        split = w.draw(st.integers(0, len(order)))
        before = {var.name: self._next(var) for var in order[:split]}
        if w.chance(85):
            held = w.choose(self.carried)
            self.store(self._made_of(held, 1) if w.chance(40) else self.value(held.shape))
        after = {var.name: self._next(var) for var in order[split:]}
        sources = {name: new for name, new in (before | after).items() if new.name != name}
        if sources:
            w.blocks[-1].append(HandOn(tuple(sources), tuple(sources.values())))
        w.scopes.pop()
        body = w.blocks.pop() or [Store("pass", lambda machine: None)]
        w.counters.pop()
        head = f"for {counter.name} in range({w.scalar(count)}):"
        w.blocks[-1].append(Loop(head, counter, tuple(range(count)), body))

    def _statement(self) -> None:
        shape = self.w.choose(self.carried).shape
        if len(self.w.blocks) <= _DEEPEST and self.w.chance(25):
            self.loop()
        elif self.w.chance(50):
            self.load(shape)
        else:
            self.store(self.value(shape))

    def _next(self, var: Var) -> Var:
        """What a carried variable is in the next turn."""
        how = self.w.choose(["value", "itself", "itself", "late"])
        if how == "late":
            return self.w.choose([other for other in self.carried if other.shape == var.shape])
        return self._made_of(var, 1) if how == "itself" else self.value(var.shape)


def carrying_loop(w: Writer) -> None:
    """A loop that carries one to three blocks, and what comes of them."""
    if len(w.blocks) > _DEEPEST:
        return
    kind = w.choose(["int32", "int32", "int32", "int64", "int8", "float32"])
    size, is_square = w.choose([4, 8, 32]), w.chance(60)
    wide = (size, size) if is_square else (1, size * size)
    arrays, carried = [w.array(kind, writable=True) for _ in range(2)], list[Var]()
    blocks = Blocks(w, kind, wide, arrays, carried)
    for _ in range(w.choose([1, 2, 2, 3])):
        source, name = blocks.load(w.choose([wide, wide[1:]])), w.fresh("c")
        carried.append(Var(name, kind, source.shape))
        w.blocks[-1].append(Assign(name, source))
    w.scopes[-1] += carried
    blocks.loop()
    own = w.own_array(kind)
    for number, var in enumerate(carried):
        result = var
        if w.chance(25):
            text = f"tl.sum({var.name}, 0).to(tl.{kind})"
            result = w.let(kind, var.shape[1:], text, lambda a: reference.total(a, 0), var)
        strides = tuple((str(step), step) for step in [wide[1], 1][2 - len(result.shape) :])
        w.reach(own, (number + 1) * 1024)
        store_at(w, Address(own, result.shape, strides, number * 1024), result, None)


LOOPS = {carrying_loop: 6}
