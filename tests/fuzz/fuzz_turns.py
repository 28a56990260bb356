"""Draws two to four stores to every n-th element of rows, which may overlap one another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from fuzz_program import Array, Machine, Var
from fuzz_writer import Writer

__all__ = ["TURNS"]


@dataclass(frozen=True)
class Turn:
    """What a place holds, and what is `shift` further on, decides what goes to it.

    So it does not matter which element of a store comes last where several go to one place; it
    matters which store does.

    Args:
        names: of the offsets and of what is there before.
        array: of integers.
        shape: rows and columns.
        stride: of rows.
        start: what is added, so that no place is before the array.
        count: of stores, and how far apart the elements of each are.
        apart: from each store to the next.
        shift: from the first store to what is loaded.
        mask: of all stores, if any.
        rows: numbers of rows below 8, if these are not in order.
    """

    names: tuple[str, str]
    array: Array
    shape: tuple[int, int]
    stride: tuple[str, int]
    start: int
    count: int
    apart: tuple[str, int]
    shift: int
    mask: Var | None
    rows: Var | None

    def lines(self) -> list[str]:
        (at, x), base = self.names, f"{self.array.name} + pid * {self.array.part}"
        m, n = self.shape
        rows = f"({self.rows.name} & 7)" if self.rows else f"tl.arange(0, {m})"
        places = f"{rows}[:, None] * {self.stride[0]} + tl.arange(0, {n})[None, :] * {self.count}"
        mask = f", mask={self.mask.name}" if self.mask else ""
        kind = self.array.kind
        return [
            f"{at} = {places} + {self.start}",
            f"{x} = tl.load({base} + {at} + {self.shift})",
            *(
                f"tl.store({base} + {at} + {number} * {self.apart[0]}, "
                f"({x} * {2 * number + 1} + 3).to(tl.{kind}){mask})"
                for number in range(self.count)
            ),
        ]

    def run(self, machine: Machine) -> None:
        m, n = self.shape
        rows = np.arange(m) if self.rows is None else machine.known(self.rows) & 7
        part = machine.parts[self.array.buffer]
        at = (
            rows[:, None].astype(np.int64) * self.stride[1] + self.count * np.arange(n) + self.start
        )
        at += self.array.start + machine.linear_id * part
        memory = machine.memory[self.array.buffer]
        data, slack = memory.data[at + self.shift], memory.slack[at + self.shift]
        on = np.broadcast_to(True if self.mask is None else machine.known(self.mask), at.shape)
        for number in range(self.count):
            places, values = at + number * self.apart[1], data * (2 * number + 1) + 3
            memory.data[places[on]], memory.slack[places[on]] = values[on], slack[on]


def turn(w: Writer) -> None:
    """Some stores under one mask, of what lay in the same array."""
    shape = rows, columns = w.choose([1, 2, 4, 8, 16]), w.choose([4, 8, 16, 32, 64])
    count = w.choose([2, 2, 3, 4])
    strides = [-3, -1, 0, 1, 2, 3, 16, *(count * columns + more for more in (-1, 0, 1))]
    stride, apart = w.choose(strides), w.choose([-1, 0, 1, 1, 1, 3])
    shift = w.choose([0, 0, 1, 2])
    listed = w.block("int32", (rows,)) if w.chance(25) else None
    mask = w.mask(shape) if w.chance(40) else None
    w.used.update(var.name for var in (listed, mask) if var is not None)
    array = w.array(w.choose(["int32", "int32", "int8", "int64"]), writable=True)
    last = 7 if listed else rows - 1
    start = count + max(0, -stride * last)
    w.reach(array, start + max(0, stride * last) + count * (columns - 1) + 3 * count)
    names, written = (w.fresh("a"), w.fresh("x")), (w.scalar(stride), w.scalar(apart))
    w.blocks[-1].append(
        Turn(
            names,
            array,
            shape,
            (written[0], stride),
            start,
            count,
            (written[1], apart),
            shift,
            mask,
            listed,
        )
    )


TURNS = {turn: 3}
