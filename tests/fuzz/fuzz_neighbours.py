"""Draws loads of neighbours: of the places in one block of pointers, and of those behind them."""

from __future__ import annotations

from fuzz_effects import some_store
from fuzz_numbers import Block
from fuzz_program import Let, Machine, Store, Var
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


NEIGHBOURS = {neighbours: 3}
