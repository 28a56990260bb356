"""Draws the frame of a random kernel: variables, operands, arrays, addresses, scalar arguments."""

from __future__ import annotations

import math

import numpy as np
from fuzz_numbers import KINDS, Block
from fuzz_program import Address, Array, Let, Machine, Statement, Var
from fuzz_reference import cast
from fuzz_rows import Rows
from hypothesis import strategies as st

__all__ = ["ARITHMETIC", "Writer", "broadcasts"]

# Kinds that Triton computes with; the 8-bit floats are loaded, stored, converted and multiplied.
ARITHMETIC = [name for name in KINDS if not name.startswith("float8") and name != "int1"]

_MOST_ELEMENTS = 1024


def broadcasts(shape, to) -> bool:
    """Whether a block of one shape can stand for one of the other."""
    if len(shape) > len(to):
        return False
    return all(a in (1, b) for a, b in zip(shape[::-1], to[::-1], strict=False))


class Writer:
    """Appends statements to a kernel; what it draws decides everything."""

    def __init__(self, draw, one_program: bool) -> None:
        self.draw = draw
        self.one_program = one_program
        self.arrays: list[Array] = []
        self.extents: dict[int, int] = {}
        self.scalars: list[tuple[str, object]] = []
        self.blocks: list[list[Statement]] = [[]]
        self.scopes: list[list[Var]] = [[Var("pid", "int32", ())]]
        self.used: set[str] = {"pid"}
        self.counters: list[tuple[Var, int]] = []
        self._names = 0
        self.kinds = draw(st.lists(st.sampled_from(ARITHMETIC), min_size=1, max_size=2))
        self.sizes = draw(st.lists(st.sampled_from([1, 2, 4, 8, 16, 32, 64]), max_size=3))
        self.sizes = self.sizes or [draw(st.sampled_from([8, 16, 128, 256, 1024]))]

    # -- variables ---------------------------------------------------------------------------------

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def choose(self, values):
        return self.draw(st.sampled_from(list(values)))

    def fresh(self, letter: str = "v") -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def let(self, kind: str, shape, text: str, compute, *sources: Var) -> Var:
        """A new variable; `compute` gets the blocks of the sources."""
        var = Var(self.fresh(), kind, tuple(shape))
        self.used.update(source.name for source in sources)

        def run(machine: Machine) -> Block:
            block = compute(*(machine[source] for source in sources))
            return Block(block.kind, np.asarray(block.data), np.broadcast_to(block.slack, shape))

        self.blocks[-1].append(Let(var, text, run))
        self.scopes[-1].append(var)
        return var

    def visible(self, test=lambda var: True) -> list[Var]:
        return [var for scope in self.scopes for var in scope if test(var)]

    def kind(self) -> str:
        return self.choose(self.kinds)

    def shape(self) -> tuple[int, ...]:
        """The shape of some block."""
        shapes = {var.shape for var in self.visible() if var.shape}
        if shapes and self.chance(80):
            return self.choose(sorted(shapes))
        return self._new_shape()

    def _new_shape(self) -> tuple[int, ...]:
        shape = self.draw(st.permutations(self.sizes))[: self.draw(st.integers(1, 3))]
        while math.prod(shape) > _MOST_ELEMENTS:
            shape = shape[1:]
        return tuple(shape)

    # -- operands ----------------------------------------------------------------------------------

    def operand(self, kind: str, shape) -> Var:
        """A variable of a kind that broadcasts to a shape."""
        fits = self.visible(lambda var: broadcasts(var.shape, shape))
        same = [var for var in fits if var.kind == kind]
        if same and self.chance(75):
            return self.choose(same)
        if self.chance(50):
            from_others = [var for var in fits if var.kind != kind and _converts(var.kind, kind)]
            if from_others:
                return self.cast(self.choose(from_others), kind)
        return self.load(kind, shape) if self.chance(70) else self.constant(kind, shape)

    def block(self, kind: str, shape) -> Var:
        """A variable of exactly this kind and shape."""
        same = self.visible(lambda var: var.kind == kind and var.shape == tuple(shape))
        if same and self.chance(80):
            return self.choose(same)
        return self.load(kind, shape)

    def cast(self, var: Var, kind: str) -> Var:
        if var.kind == kind:
            return var
        text = f"{var.name}.to(tl.{kind})"
        return self.let(kind, var.shape, text, lambda a: cast(KINDS[kind], a), var)

    def constant(self, kind: str, shape) -> Var:
        number = self._number(kind)
        text = f"tl.full({tuple(shape)}, {number!r}, tl.{kind})"
        return self.let(
            kind, shape, text, lambda: Block.exact(KINDS[kind], np.full(tuple(shape), number))
        )

    def _number(self, kind: str):
        if kind == "int1":
            return self.draw(st.booleans())
        if KINDS[kind].is_float:
            return self.choose([0.0, 1.0, -1.0, 0.5, 3.0, -2.5])
        limits = np.iinfo(KINDS[kind].numpy)
        edges = [0, 1, 2, 5, 7, 16, 100, int(limits.max)]
        return self.choose(edges if limits.min == 0 else [*edges, -1, -3, int(limits.min)])

    def scalar(self, value: int, wide: bool = False) -> str:
        """An integer as a literal, or as an argument."""
        if self.chance(60):
            return str(value) if value >= 0 else f"({value})"
        return self.argument(value)

    def argument(self, value) -> str:
        name = self.fresh("n")
        self.scalars.append((name, value))
        return name

    # -- arrays ------------------------------------------------------------------------------------

    def array(self, kind: str, writable: bool) -> Array:
        """An array of a kind, sometimes one that there is already or a view of its memory."""
        same = [a for a in self.arrays if a.kind == kind]
        if same and self.chance(60 if writable or self.one_program else 40):
            return self.choose(same)
        buffer, start = len(self.extents), 0
        fill = self.choose(["small", "islands", "bits", "normal"])
        seed = self.draw(st.integers(0, 1000))
        if same and self.chance(25):
            other = self.choose(same)
            buffer, start = other.buffer, self.draw(st.sampled_from([0, 1, 3, 16]))
            fill, seed = other.fill, other.seed
        self.extents.setdefault(buffer, 1)
        array = Array(f"p{len(self.arrays)}", kind, buffer, start, fill, seed)
        self.arrays.append(array)
        return array

    def own_array(self, kind: str) -> Array:
        """A new array in memory of its own."""
        buffer = len(self.extents)
        self.extents[buffer] = 1
        array = Array(f"p{len(self.arrays)}", kind, buffer, 0, "small", 1)
        self.arrays.append(array)
        return array

    def reach(self, array: Array, end: int) -> None:
        """Make room for so many elements."""
        self.extents[array.buffer] = max(self.extents[array.buffer], array.start + end)

    def address(self, array: Array, shape, apart: bool) -> Address:
        """Places in an array.

        Args:
            array: which.
            shape: of the block.
            apart: whether each element has a place of its own.
        """
        shape = tuple(shape)
        if not apart and shape and self.chance(15):
            return self._gathered(array, shape)
        if not apart and len(shape) > 1 and self.chance(15):
            return self._listed(array, shape)
        steps = self._apart(shape) if apart or self.chance(70) else self._any_strides(shape)
        low = sum(min(s * (d - 1), 0) for s, d in zip(steps, shape, strict=True))
        high = sum(max(s * (d - 1), 0) for s, d in zip(steps, shape, strict=True))
        start = -low + self.choose([0, 0, 1, 5, 16])
        terms = []
        if self.counters and self.chance(60):
            counter, largest = self.choose(self.counters)
            factor = self.choose([1, 2, math.prod(shape)])
            terms.append((counter, factor))
            self.used.add(counter.name)
            high += largest * factor
        strides = tuple((self._written(step), step) for step in steps)
        rows = self._rows(high + start, shape, apart) if shape and self.chance(20) else None
        last = rows.places(np.arange(high + start + 1)).max() if rows else high + start
        self.reach(array, int(last) + 1)
        return Address(array, shape, strides, start, tuple(terms), rows)

    def _rows(self, last: int, shape, apart: bool) -> Rows:
        """Rows of any length for flat indices up to `last`; `apart` as in `address`."""
        length = self.choose([self.draw(st.integers(1, max(last, 1) + 3)), math.prod(shape), 16])
        pitch, step = self.choose([(length + 3, 1), (1, last // length + 1)])
        if not apart:
            pitch, step = self.choose([(pitch, step), (0, 1), (1, 0), (3, 0), (2, 1)])
        return Rows((self.scalar(length), length), pitch, step)

    def _written(self, step: int) -> str:
        return "1" if step == 1 and self.chance(70) else self.scalar(step)

    def _apart(self, shape) -> list[int]:
        order = self.draw(st.permutations(range(len(shape)))) if self.chance(40) else None
        order = order or list(range(len(shape)))[::-1]
        steps, step = [0] * len(shape), self.choose([1, 1, 1, 2, 3])
        for axis in order:
            steps[axis] = -step if self.chance(12) else step
            step *= shape[axis] + self.choose([0, 0, 0, 1, 3])
        return steps

    def _any_strides(self, shape) -> list[int]:
        return [self.choose([0, 1, 1, -1, 2, 3, 16, -5]) for _ in shape]

    def _gathered(self, array: Array, shape) -> Address:
        kinds = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
        indices = self.visible(lambda var: var.kind in kinds and var.shape == shape)
        index = self.choose(indices) if indices else self.cast(self.load("int32", shape), "int32")
        self.used.add(index.name)
        span = self.choose([1, 4, 32, 256])
        self.reach(array, span)
        return Address(array, shape, (), 0, index=index, span=span)

    def _listed(self, array: Array, shape) -> Address:
        """Places along one dimension are found in memory, as those of tokens or pages are."""
        axis = self.choose([0, 0, len(shape) - 2, len(shape) - 1])
        index = self.block(self.choose(["int32", "int64"]), (shape[axis],))
        self.used.add(index.name)
        span, steps = self.choose([1, 4, 32]), [*self._any_strides(shape)[1:], 1]
        reaches = [
            step * ((span if each == axis else size) - 1)
            for each, (step, size) in enumerate(zip(steps, shape, strict=True))
        ]
        start = -sum(min(reach, 0) for reach in reaches)
        self.reach(array, start + sum(max(reach, 0) for reach in reaches) + 1)
        strides = tuple((self._written(step), step) for step in steps)
        turned = len(shape) == 2 and self.chance(30)
        more = {"index": index, "span": span, "axis": axis, "turned": turned}
        return Address(array, shape, strides, start, **more)

    # -- loads -------------------------------------------------------------------------------------

    def load(self, kind: str, shape) -> Var:
        """The elements at some places of an array; masked-off ones are `other`."""
        shape = tuple(shape)
        address = self.address(self.array(kind, writable=False), shape, apart=False)
        # Triton makes no 8-bit float of a number, for lanes that are masked off.
        is_masked = shape and not _is_narrow(kind) and self.chance(40)
        mask = self.mask(shape) if is_masked else None
        return self.load_at(address, mask, 0 if _is_narrow(kind) else self._number(kind))

    def load_at(self, address: Address, mask: Var | None, other) -> Var:
        """The elements at certain places; masked-off ones are `other`."""
        kind, shape = address.array.kind, address.shape
        var = Var(self.fresh(), kind, shape)

        def run(machine: Machine) -> Block:
            places, memory = address.places(machine), machine.memory[address.array.buffer]
            if mask is None:
                return Block(memory.kind, memory.data[places], memory.slack[places])
            on = np.broadcast_to(machine.known(mask), shape)
            places = np.where(on, places, 0)
            fallback = np.asarray(other).astype(KINDS[kind].numpy)
            data = np.where(on, memory.data[places], fallback)
            return Block(memory.kind, data, np.where(on, memory.slack[places], 0.0))

        more = "" if mask is None else f", mask={mask.name}, other={other!r}"
        if mask is not None:
            self.used.add(mask.name)
        # Of a pointer to booleans Triton loads bytes.
        text = f"tl.load({address.text()}{more})" + (".to(tl.int1)" if kind == "int1" else "")
        self.blocks[-1].append(Let(var, text, run))
        self.scopes[-1].append(var)
        return var

    def mask(self, shape) -> Var:
        """Truth values that broadcast to a shape: of the places, or any others."""
        fits = self.visible(lambda var: var.kind == "int1" and broadcasts(var.shape, shape))
        if fits and self.chance(40):
            return self.choose(fits)
        rank = len(shape)
        axis = self.draw(st.integers(0, rank - 1))
        bound = self.draw(st.integers(0, shape[axis]))
        expand = ", ".join(":" if other == axis else "None" for other in range(rank))
        lanes = f"tl.arange(0, {shape[axis]})" + (f"[{expand}]" if rank > 1 else "")
        sign, relation = self.choose(
            [("<", np.less), (">=", np.greater_equal), ("!=", np.not_equal)]
        )
        own = [1] * rank
        own[axis] = shape[axis]
        places = np.arange(shape[axis], dtype=np.int32)
        if self.chance(25):  # sums of which some may wrap before they are widened
            first = self.choose([0, 3, (1 << 31) - 1 - self.draw(st.integers(0, shape[axis]))])
            lanes = f"({lanes} + {self.scalar(first)}).to(tl.int64)"
            places = places + np.int32(first)
        data = relation(places, bound).reshape(own)
        text = f"{lanes} {sign} {self.scalar(bound)}"
        return self.let("int1", own, text, lambda: Block.exact(KINDS["int1"], data))


def _is_narrow(kind: str) -> bool:
    return kind.startswith("float8")


def _converts(kind: str, to: str) -> bool:
    """Whether Triton has a conversion: of 8-bit floats it has those from and to other floats."""
    narrow = _is_narrow(kind) or _is_narrow(to)
    return not narrow or (KINDS[kind].is_float and KINDS[to].is_float)
