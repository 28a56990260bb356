"""A random kernel: its statements as Triton's text, and what they do to arrays, in NumPy."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from fuzz_grid import X_FASTEST, Numbering
from fuzz_memory import filled
from fuzz_numbers import KINDS, Block
from fuzz_rows import Rows

__all__ = [
    "Address",
    "Array",
    "Assign",
    "Choice",
    "Let",
    "Loop",
    "Machine",
    "Program",
    "Statement",
    "Store",
    "UnknownControl",
    "Var",
]


class UnknownControl(Exception):
    """A branch, or an address, that depends on a number that may be off: the program is no test."""


@dataclass(frozen=True)
class Var:
    """A variable of a kernel."""

    name: str
    kind: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Array:
    """A pointer argument.

    Args:
        name: the parameter's.
        kind: of the elements.
        buffer: number of the memory that it leads to; several arrays may share one.
        start: where in a program's part of the buffer it begins.
        fill: how the buffer is filled at first.
        seed: of that.
    """

    name: str
    kind: str
    buffer: int
    start: int
    fill: str
    seed: int

    @property
    def part(self) -> str:
        """The parameter that says how many elements of the buffer belong to a program."""
        return f"part{self.buffer}"


class Machine:
    """One program of the grid while it runs: its variables, and the memory of all."""

    def __init__(self, memory, parts, ids):
        self.memory: dict[int, Block] = memory
        self.parts: dict[int, int] = parts
        self.ids: tuple[int, int, int] = ids
        self.linear_id = 0
        self.variables: dict[str, Block] = {}

    def __getitem__(self, var: Var) -> Block:
        return self.variables[var.name]

    def known(self, var: Var) -> np.ndarray:
        """The values of a variable that must not be off."""
        block = self[var]
        if np.any(block.slack > 0):
            raise UnknownControl
        return block.data


@dataclass(frozen=True)
class Address:
    """Places in an array, one for each element of a block.

    Args:
        array: which.
        shape: of the block.
        strides: of each dimension, as written in the kernel and as a number.
        start: what is added.
        terms: integer scalars that are added, with factors.
        rows: what becomes of the sum, if anything.
        index: a block of integers, which are used modulo `span`, instead of the strides.
        span: a power of two.
        axis: if not None, the only dimension whose positions `index` stands for.
        turned: whether the block of pointers is written the other way round, and transposed.
    """

    array: Array
    shape: tuple[int, ...]
    strides: tuple[tuple[str, int], ...]
    start: int
    terms: tuple[tuple[Var, int], ...] = ()
    rows: Rows | None = None
    index: Var | None = None
    span: int = 0
    axis: int | None = None
    turned: bool = False

    def text(self) -> str:
        """The block of pointers."""
        base = f"{self.array.name} + pid * {self.array.part}"
        pointers = f"{base} + {self._offsets()}"
        return f"tl.trans({pointers})" if self.turned else pointers

    def _offsets(self) -> str:
        if self.index is not None and self.axis is None:
            return f"({self.index.name}.to(tl.int32) & {self.span - 1})"
        rank = len(self.shape)
        parts = []
        for axis, (size, (stride, _)) in enumerate(zip(self.shape, self.strides, strict=True)):
            written = rank - 1 - axis if self.turned else axis
            expand = ", ".join(":" if other == written else "None" for other in range(rank))
            lanes = f"tl.arange(0, {size})"
            if self.index is not None and axis == self.axis:
                lanes = f"({self.index.name} & {self.span - 1})"
            lanes += f"[{expand}]" if rank > 1 else ""
            parts.append(lanes if stride == "1" else f"{lanes} * {stride}")
        parts += [f"{var.name} * {factor}" for var, factor in self.terms]
        if self.start or not parts:
            parts.append(str(self.start))
        total = f"({' + '.join(parts)})"
        return self.rows.text(total) if self.rows else total

    def places(self, machine: Machine) -> np.ndarray:
        """Indices into the buffer."""
        listed = None
        if self.index is not None:
            listed = machine.known(self.index).astype(np.int64) & (self.span - 1)
        if listed is not None and self.axis is None:
            offsets = listed
        else:
            offsets = np.full(self.shape, self.start, np.int64)
            for axis, (_, stride) in enumerate(self.strides):
                lanes = np.arange(self.shape[axis]) if axis != self.axis else listed
                offsets = offsets + (lanes * stride).reshape(
                    [-1] + [1] * (len(self.shape) - axis - 1)
                )
            for var, factor in self.terms:
                offsets = offsets + int(machine.known(var)) * factor
            if self.rows:
                offsets = self.rows.places(offsets)
        part = machine.parts[self.array.buffer]
        return offsets + self.array.start + machine.linear_id * part


# -- statements ------------------------------------------------------------------------------------


class Statement(Protocol):
    """A part of a kernel."""

    def lines(self) -> list[str]:
        """Its text."""
        ...

    def run(self, machine: Machine) -> None:
        """What it does."""
        ...


@dataclass(frozen=True)
class Let:
    """A variable gets a value."""

    var: Var
    text: str
    compute: Callable[[Machine], Block]

    def lines(self) -> list[str]:
        return [f"{self.var.name} = {self.text}"]

    def run(self, machine: Machine) -> None:
        block = self.compute(machine)
        assert block.kind == KINDS[self.var.kind], (self.text, block.kind)
        assert block.data.shape == self.var.shape, (self.text, block.data.shape, self.var.shape)
        assert np.shape(block.slack) == self.var.shape, (self.text, "slack")
        machine.variables[self.var.name] = block


@dataclass(frozen=True)
class Assign:
    """A variable that a loop carries, or that the sides of a branch share, gets another's value."""

    name: str
    source: Var

    def lines(self) -> list[str]:
        return [f"{self.name} = {self.source.name}"]

    def run(self, machine: Machine) -> None:
        machine.variables[self.name] = machine[self.source]


@dataclass(frozen=True)
class Store:
    """A change of memory.

    Args:
        text: the statement.
        change: carries it out.
    """

    text: str
    change: Callable[[Machine], None]

    def lines(self) -> list[str]:
        return [self.text]

    def run(self, machine: Machine) -> None:
        self.change(machine)


@dataclass(frozen=True)
class Loop:
    """`head` is a `for` over a range, or a `while` that counts `counter` up itself."""

    head: str
    counter: Var
    values: tuple[int, ...]
    body: Sequence[Statement]
    goes_on: Var | None = None

    def lines(self) -> list[str]:
        inner = itertools.chain.from_iterable(s.lines() for s in self.body)
        return [self.head, *(f"    {line}" for line in inner)]

    def run(self, machine: Machine) -> None:
        for value in self.values:
            if self.goes_on is not None and not machine.known(self.goes_on):
                return
            counter = Block.exact(KINDS[self.counter.kind], value)
            machine.variables[self.counter.name] = counter
            for statement in self.body:
                statement.run(machine)


@dataclass(frozen=True)
class Choice:
    """A branch."""

    condition: Var
    sides: tuple[Sequence[Statement], Sequence[Statement]]

    def lines(self) -> list[str]:
        sides = [[f"    {x}" for s in side for x in s.lines()] for side in self.sides]
        return [f"if {self.condition.name}:", *sides[0], "else:", *sides[1]]

    def run(self, machine: Machine) -> None:
        for statement in self.sides[0 if machine.known(self.condition) else 1]:
            statement.run(machine)


# -- the whole -------------------------------------------------------------------------------------

_FUNCTIONS = {
    "times": "(a, b):\n    return a * b\n",
    "larger": "(a, b):\n    return tl.where(a > b, a, b)\n",
    "later": "(a, b):\n    return b\n",
    "compose": "(a1, b1, a2, b2):\n    return a1 * a2, b1 * a2 + b2\n",
    "chosen": "(x, y, c):\n    if c > 0:\n        return x\n    return y\n",
}


@dataclass(frozen=True)
class Program:
    """A kernel with everything that a run of it needs.

    Args:
        arrays: the pointer arguments.
        scalars: the others: names with values.
        parts: for each buffer, how many elements belong to one program of the grid.
        grid: programs along x, y and z.
        body: the statements.
        target: what it runs on: "host" or "rvv256", for example.
        is_study: whether the code need only be right for these arguments and this grid, as a
            study's is.
        skipped: passes of the compiler that are left out.
        numbering: which part of each buffer is a program's.
    """

    arrays: tuple[Array, ...]
    scalars: tuple[tuple[str, object], ...]
    parts: dict[int, int]
    grid: tuple[int, int, int]
    body: Sequence[Statement] = field(repr=False)
    target: str = "host"
    is_study: bool = False
    skipped: tuple[str, ...] = ()
    numbering: Numbering = X_FASTEST

    def text(self) -> str:
        """A module with the kernel."""
        names = [array.name for array in self.arrays]
        names += [name for name, _ in self.scalars] + [f"part{buffer}" for buffer in self.parts]
        lines = self.numbering.lines()
        lines += [line for statement in self.body for line in statement.lines()]
        body = "".join(f"    {line}\n" for line in lines)
        called = [name for name in _FUNCTIONS if re.search(rf"\b{name}\b", body)]
        functions = [f"@triton.jit\ndef {name}{_FUNCTIONS[name]}\n\n" for name in called]
        head = f"@triton.jit\ndef kernel({', '.join(names)}):\n"
        return f"import triton\nimport triton.language as tl\n\n\n{''.join(functions)}{head}{body}"

    def memory(self) -> dict[int, Block]:
        """The buffers at first."""
        memory: dict[int, Block] = {}
        programs = int(np.prod(self.grid))
        for array in self.arrays:
            if array.buffer not in memory:
                size = self.parts[array.buffer] * programs
                memory[array.buffer] = filled(array.kind, array.fill, size, array.seed)
        return memory

    def expected(self) -> dict[int, Block]:
        """The buffers after a run of the grid.

        Raises:
            UnknownControl: where what happens is not certain.
        """
        memory = self.memory()
        with np.errstate(all="ignore"):
            counted = itertools.product(*(range(size) for size in self.grid[::-1]))
            for ids in counted:
                machine = Machine(memory, self.parts, ids[::-1])
                machine.linear_id = self.numbering.number(ids[::-1], self.grid)
                pid = Block.exact(KINDS["int32"], machine.linear_id)
                machine.variables["pid"] = pid
                for statement in self.body:
                    statement.run(machine)
        return memory
