"""Draws loads of neighbours by one block of pointers, of halves of even places, and of mirrors."""

from __future__ import annotations

import numpy as np
from fuzz_effects import some_store
from fuzz_numbers import Block
from fuzz_program import Address, Let, Machine, Store, Var
from fuzz_writer import Writer

__all__ = ["NEIGHBOURS"]


def neighbours(w: Writer) -> None:
    """Two or three loads by one block of pointers, with stores between them or without."""
    kind, shape = w.kind(), w.shape()
    array = w.array(kind, writable=True)
    address = w.address(array, shape, apart=False)
    distances = w.choose([(0, 1), (1, 0), (0, 1, 2), (0, 2)])
    w.reach(array, w.extents[array.buffer] - array.start + max(distances))
    pointers, is_bool = w.fresh("q"), kind == "int1"
    w.blocks[-1].append(Store(f"{pointers} = {address.text()}", lambda machine: None))
    for distance in distances:

        def load(machine: Machine, distance: int = distance) -> Block:
            memory, places = machine.memory[array.buffer], address.places(machine) + distance
            return Block(memory.kind, memory.data[places], memory.slack[places])

        var = Var(w.fresh(), kind, shape)
        text = f"tl.load({pointers} + {distance})" + (".to(tl.int1)" if is_bool else "")
        w.blocks[-1].append(Let(var, text, load))
        w.scopes[-1].append(var)
        if w.chance(40):
            some_store(w)


def halves(w: Writer) -> None:
    """A load of the halves of even places, under a mask that leaves out the others."""
    kind, size = w.choose(["int8", "int16", "int32", "int64", "float32"]), w.choose(w.sizes)
    first, forms = w.choose([0, 1, 2, -1, -3, -16]), w.choose([("// 2", "% 2"), (">> 1", "& 1")])
    others = w.mask((size,)) if w.chance(60) else None
    array = w.array(kind, writable=True)
    start = max(-first, 0)
    w.reach(array, start + max(size + first, 0) // 2 + 1)
    address = Address(array, (size,), (("0", 0),), start)
    line = f"(tl.arange(0, {size}) + {w.scalar(first)})"
    places = np.arange(size) + first

    def load(machine: Machine) -> Block:
        on = places % 2 == 0
        if others is not None:
            on = on & np.broadcast_to(machine.known(others), (size,))
        memory = machine.memory[array.buffer]
        at = np.where(on, address.places(machine) + places // 2, 0)
        data = np.where(on, memory.data[at], memory.data.dtype.type(0))
        return Block(memory.kind, data, np.where(on, memory.slack[at], 0.0))

    var, mask = Var(w.fresh(), kind, (size,)), f"(({line} {forms[1]}) == 0)"
    if others is not None:
        w.used.add(others.name)
        mask = f"{mask} & {others.name}"
    text = f"tl.load({address.text()} + ({line} {forms[0]}), mask={mask}, other=0)"
    w.blocks[-1].append(Let(var, text, load))
    w.scopes[-1].append(var)


# Places that differ beyond a limit: how they are written, and what they are.
_BENT = [
    (
        "tl.where(tl.abs({at}) < {n}, tl.abs({at}), 2 * {n} - 2 - tl.abs({at}))",
        lambda at, n: np.where(abs(at) < n, abs(at), 2 * n - 2 - abs(at)),
    ),
    ("tl.where({at} > {n}, {n} - {at}, {at})", lambda at, n: np.where(at > n, n - at, at)),
    ("tl.where({at} >= 0, {at}, {at} + {n})", lambda at, n: np.where(at >= 0, at, at + n)),
    ("tl.maximum(tl.abs({at}), {n})", lambda at, n: np.maximum(abs(at), n)),
]


def bent(w: Writer) -> None:
    """A load from places that are mirrored at the ends of a row, or go on at its other end."""
    kind, size = w.choose(["int8", "int32", "int64", "float32"]), w.choose(w.sizes)
    first, n = w.choose([0, 1, -1, -5, -40, 7]), w.choose([1, 2, 5, 16, 31, size, size + 3])
    text, of = w.choose(_BENT)
    places = of(np.arange(size) + first, n)
    array, start = w.array(kind, writable=True), max(-int(places.min()), 0)
    w.reach(array, start + max(int(places.max()), 0) + 1)
    address = Address(array, (size,), (("0", 0),), start)
    others = w.mask((size,)) if w.chance(60) else None

    def load(machine: Machine) -> Block:
        on = True if others is None else np.broadcast_to(machine.known(others), (size,))
        memory, at = machine.memory[array.buffer], address.places(machine) + places
        data = np.where(on, memory.data[at], memory.data.dtype.type(0))
        return Block(memory.kind, data, np.where(on, memory.slack[at], 0.0))

    at = text.format(at=f"(tl.arange(0, {size}) + {w.scalar(first)})", n=w.scalar(n))
    mask = ""
    if others is not None:
        w.used.add(others.name)
        mask = f", mask={others.name}, other=0"
    var = Var(w.fresh(), kind, (size,))
    w.blocks[-1].append(Let(var, f"tl.load({address.text()} + {at}{mask})", load))
    w.scopes[-1].append(var)


NEIGHBOURS = {neighbours: 3, halves: 2, bent: 2}
