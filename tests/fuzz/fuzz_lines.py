"""Draws what works on whole lines: programs that go on in memory, loops that carry lines and store
them in each turn, rows that loaded numbers choose, and quotients by chosen numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import fuzz_reference as reference
import numpy as np
from fuzz_effects import store_at
from fuzz_numbers import KINDS, Block
from fuzz_program import Address, Array, Assign, Let, Loop, Machine, Statement, Store, Var
from fuzz_writer import Writer
from hypothesis import strategies as st

__all__ = ["LINES", "line_of_program"]

_KINDS = ["int32", "int32", "int8", "int64"]


def line_of_program(w: Writer) -> None:
    """All of a program's part of an array, in place or not, where the next one's part begins."""
    kind, shape = w.kind(), w.choose([(16,), (64,), (512,), (4, 32)])
    array = w.own_array(kind)
    mask = w.mask(shape) if w.chance(30) else None
    strides = [(str(step), step) for step in (shape[-1], 1)[-len(shape) :]]
    w.reach(array, math.prod(shape))
    found = w.load_at(Address(array, shape, tuple(strides), 0), mask, 1)
    number = w.cast(Var("pid", "int32", ()), kind)
    value = w.let(kind, shape, f"{found.name} + {number.name}", reference.add, found, number)
    if w.chance(50):
        array = w.own_array(kind)
        w.reach(array, math.prod(shape))
    store_at(w, Address(array, shape, tuple(strides), 0), value, mask)


@dataclass(frozen=True)
class Turn:
    """A turn changes a line by what it loads, and stores it; places are those of the first turn.

    Args:
        line: what the loop carries.
        counter: of turns.
        loaded, stored: arrays, and by how much their places move in each turn.
        begins: where the line to load and the line to store begin.
        end: behind the last lane that is loaded and stored; as written and as a number.
        stores_first: whether a turn stores the line before it loads.
    """

    line: Var
    counter: Var
    loaded: tuple[Array, tuple[str, int]]
    stored: tuple[Array, tuple[str, int]]
    begins: Sequence[int]
    end: tuple[str, int]
    stores_first: bool

    def lines(self) -> list[str]:
        (size,), line = self.line.shape, self.line.name
        mask = "" if self.end[1] == size else f", mask=tl.arange(0, {size}) < {self.end[0]}"
        places = [
            f"{array.name} + pid * {array.part} + {begin} + {self.counter.name} * {by[0]} "
            f"+ tl.arange(0, {size})"
            for (array, by), begin in zip((self.loaded, self.stored), self.begins, strict=True)
        ]
        load = f"{line} = {line} * 3 + tl.load({places[0]}{mask}{', other=0' if mask else ''})"
        lines = [load, f"tl.store({places[1]}, {line}{mask})"]
        return lines[::-1] if self.stores_first else lines

    def run(self, machine: Machine) -> None:
        steps = [lambda: self._load(machine), lambda: self._store(machine)]
        for step in steps[::-1] if self.stores_first else steps:
            step()

    def _places(self, machine: Machine, number: int):
        array, (_, by) = (self.loaded, self.stored)[number]
        start = array.start + machine.linear_id * machine.parts[array.buffer]
        start += self.begins[number] + int(machine.known(self.counter)) * by
        return machine.memory[array.buffer], slice(start, start + self.end[1])

    def _load(self, machine: Machine) -> None:
        memory, places = self._places(machine, 0)
        before, (size,) = machine[self.line], self.line.shape
        found = np.zeros(size, before.data.dtype), np.zeros(size)
        for lanes, source in zip(found, (memory.data, memory.slack), strict=True):
            lanes[: self.end[1]] = source[places]
        three = Block.exact(before.kind, 3)
        line = reference.add(reference.multiply(before, three), Block(before.kind, *found))
        machine.variables[self.line.name] = line

    def _store(self, machine: Machine) -> None:
        (memory, places), block = self._places(machine, 1), machine[self.line]
        memory.data[places] = block.data[: self.end[1]]
        memory.slack[places] = block.slack[: self.end[1]]


def carried_line(w: Writer) -> None:
    """A line that a loop carries, loaded and stored at rows that lie apart, or overlap, or stay."""
    kind, size = w.choose(_KINDS), w.choose([64, 256, 512])
    count, end = w.choose([3, 2, 1, 0, 5]), w.choose([size, size, size - 1, size // 2, 1])
    source = w.array(kind, writable=True)
    target = source if w.chance(50) else w.array(kind, writable=True)
    moves = [w.choose([size, end, end, -end, size - 1, 1, 0, 2 * size]) for _ in range(2)]
    moves[1] = moves[0] if w.chance(60) else moves[1]
    begins = [max(0, -by * count) + w.choose([0, 0, 0, 1, end, size]) for by in moves]
    for array, begin, by in zip((source, target), begins, moves, strict=True):
        w.reach(array, begin + max(0, by * count) + size)
    start, line = w.block(kind, (size,)), Var(w.fresh("c"), kind, (size,))
    counter = Var(w.fresh("i"), "int32", ())
    w.used.add(start.name)
    w.blocks[-1].append(Assign(line.name, start))
    written = [(w.scalar(by), by) for by in moves]
    turn = Turn(
        line,
        counter,
        (source, written[0]),
        (target, written[1]),
        begins,
        (w.scalar(end), end),
        w.chance(25),
    )
    head = f"for {counter.name} in range({w.scalar(count)}):"
    w.blocks[-1].append(Loop(head, counter, tuple(range(count)), [turn]))
    w.scopes[-1].append(line)


def chosen_rows(w: Writer) -> None:
    """A loop that adds up rows of which it loads the numbers, which its stores may change."""
    kind, size, count = w.choose(_KINDS), w.choose([16, 64, 256]), w.draw(st.integers(0, 9))
    numbers, rows = w.own_array("int32"), w.array(kind, writable=True)
    w.reach(numbers, max(count, 1))
    w.reach(rows, 8 * size)
    counter, total = Var(w.fresh("i"), "int32", ()), Var(w.fresh("c"), kind, (size,))
    number, row = Var(w.fresh(), "int32", ()), Var(w.fresh(), kind, (size,))
    one = " + tl.arange(0, 1)" if w.chance(30) else ""
    ahead = w.choose([0, 0, 1, 2])  # of the number that a turn changes
    start = w.block(kind, (size,))
    w.used.add(start.name)

    def place(machine: Machine) -> int:
        part = machine.parts[numbers.buffer]
        return machine.linear_id * part + int(machine.known(counter))

    def find(machine: Machine) -> Block:
        memory = machine.memory[numbers.buffer]
        return Block(memory.kind, memory.data[place(machine)] & 7, np.zeros(()))

    def load(machine: Machine) -> Block:
        memory = machine.memory[rows.buffer]
        begin = rows.start + machine.linear_id * machine.parts[rows.buffer]
        begin += int(machine.known(number)) * size
        data, slack = memory.data[begin : begin + size], memory.slack[begin : begin + size]
        return Block(memory.kind, data.copy(), slack.copy())

    def change(machine: Machine) -> None:
        if int(machine.known(counter)) + ahead < count:
            machine.memory[numbers.buffer].data[place(machine) + ahead] = counter_times_3(machine)

    def counter_times_3(machine: Machine) -> int:
        return int(machine.known(counter)) * 3

    at = f"{numbers.name} + pid * {numbers.part} + {counter.name}"
    found = f"{rows.name} + pid * {rows.part} + {number.name} * {size} + tl.arange(0, {size})"
    body: list[Statement] = [
        Let(number, f"tl.load({at}{one}) & 7", find),
        Let(row, f"tl.load({found})", load),
        Let(total, f"{total.name} + {row.name}", lambda m: reference.add(m[total], m[row])),
    ]
    if w.chance(40):
        mask = f"mask={counter.name} + {ahead} < {count}"
        body.append(Store(f"tl.store({at} + {ahead}, {counter.name} * 3, {mask})", change))
    w.blocks[-1].append(Assign(total.name, start))
    head = f"for {counter.name} in range({w.scalar(count)}):"
    w.blocks[-1].append(Loop(head, counter, tuple(range(count)), body))
    w.scopes[-1].append(total)


def chosen_quotient(w: Writer) -> None:
    """A block by one of two numbers, or a number by those, or what else becomes of these."""
    kind, shape = w.choose(["float32", "float32", "float64", "float16"]), w.choose([(64,), (8, 16)])
    x, condition = w.block(kind, shape), w.mask(shape)
    numbers = [w.choose([1.0, 2.0, -3.0, 0.0, 7.0, 0.5, float("inf")]) for _ in range(2)]
    sides = [Block.exact(KINDS[kind], np.full(shape, number)) for number in numbers]
    names = [
        w.argument(number) if kind == "float32" and w.chance(50) else f'float("{number}")'
        for number in numbers
    ]
    blocks = ", ".join(f"tl.full({shape}, {name}, tl.{kind})" for name in names)
    text = f"tl.where({condition.name}, {blocks})"

    def choose(condition: Block) -> Block:
        return reference.where(condition, *sides)

    choice = w.let(kind, shape, text, choose, condition)
    forms = {
        "{x} / {c}": reference.divide,
        "5.0 / {c}": lambda x, c: reference.divide(Block.exact(c.kind, 5.0), c),
        "{c} + 1.0": lambda x, c: reference.add(c, Block.exact(c.kind, 1.0)),
        "{c} * {x}": lambda x, c: reference.multiply(c, x),
    }
    form, compute = w.choose(forms.items())
    written = f"({form.format(x=x.name, c=choice.name)}).to(tl.{kind})"
    w.let(kind, shape, written, compute, x, choice)


LINES = {line_of_program: 2, carried_line: 4, chosen_rows: 3, chosen_quotient: 3}
