"""Draws the statements of a random kernel that change memory or decide what runs."""

from __future__ import annotations

import fuzz_reference as reference
import numpy as np
from fuzz_memory import blur
from fuzz_numbers import KINDS, Block
from fuzz_program import (
    Address,
    Assign,
    Choice,
    Let,
    Loop,
    Machine,
    Statement,
    Store,
    Var,
)
from fuzz_writer import Writer
from hypothesis import strategies as st

__all__ = ["EFFECTS", "draw_statement", "some_store", "store", "store_at"]

_DEEPEST = 2


# -- memory ----------------------------------------------------------------------------------------


def some_store(w: Writer) -> None:
    a = w.operand(w.kind(), w.shape())
    store(w, a)


def store(w: Writer, value: Var) -> None:
    """The elements of a variable go to places of their own, some only under a mask."""
    array = w.array(value.kind, writable=True)
    address = w.address(array, value.shape, apart=True)
    mask = w.mask(value.shape) if value.shape and w.chance(30) else None
    store_at(w, address, value, mask)


def store_at(w: Writer, address: Address, value: Var, mask: Var | None) -> None:
    """The elements of a variable go to certain places."""
    w.used.add(value.name)
    if mask is not None:
        w.used.add(mask.name)

    def change(machine: Machine) -> None:
        places, block = address.places(machine), machine[value]
        _write(machine, address.array.buffer, places, block, mask)

    more = "" if mask is None else f", mask={mask.name}"
    w.blocks[-1].append(Store(f"tl.store({address.text()}, {value.name}{more})", change))


def _write(machine, buffer, places, block, mask) -> None:
    memory = machine.memory[buffer]
    slack = np.broadcast_to(block.slack, places.shape)
    if mask is None:
        memory.data[places], memory.slack[places] = block.data, slack
        return
    on = np.broadcast_to(machine[mask].data, places.shape)
    memory.data[places[on]] = np.broadcast_to(block.data, places.shape)[on]
    memory.slack[places[on]] = slack[on]
    blur(memory, places[np.broadcast_to(machine[mask].slack > 0, places.shape)])


_ATOMICS = {
    "add": reference.add,
    "max": reference.maximum,
    "min": reference.minimum,
    "and": reference.bits_and,
    "or": reference.bits_or,
    "xor": reference.bits_xor,
    "xchg": lambda old, new: new,
}


def atomic(w: Writer) -> None:
    """Each element updates a place of its own, and gets what was there."""
    kind = w.choose(["int32", "uint32", "int64", "float32"])
    is_float = KINDS[kind].is_float
    name = w.choose(["add", "xchg"] if is_float else _ATOMICS)
    value = w.block(kind, w.shape())
    array = w.array(kind, writable=True)
    address = w.address(array, value.shape, apart=True)
    w.used.add(value.name)
    var = Var(w.fresh(), kind, value.shape)

    def run(machine: Machine) -> Block:
        places, memory = address.places(machine), machine.memory[array.buffer]
        old = Block(memory.kind, memory.data[places], memory.slack[places])
        _write(machine, array.buffer, places, _ATOMICS[name](old, machine[value]), None)
        return old

    w.blocks[-1].append(Let(var, f"tl.atomic_{name}({address.text()}, {value.name})", run))
    w.scopes[-1].append(var)


def shared_counters(w: Writer) -> None:
    """Elements that update the same few places; nobody looks at what was there."""
    name = w.choose(["add", "max", "or", "xor"])
    value = w.block("int32", w.shape())
    index = w.block("int32", value.shape)
    array = w.own_array("int32")
    w.reach(array, 8)
    w.used.update((value.name, index.name))

    def change(machine: Machine) -> None:
        memory, part = machine.memory[array.buffer], machine.parts[array.buffer]
        places = (machine.known(index).astype(np.int64) & 7) + machine.linear_id * part
        block = machine[value]
        for place, x, off in zip(
            places.ravel(), block.data.ravel(), block.slack.ravel(), strict=True
        ):
            one = Block(block.kind, memory.data[place], memory.slack[place])
            result = _ATOMICS[name](one, Block(block.kind, x, off))
            memory.data[place], memory.slack[place] = result.data, result.slack

    pointers = f"{array.name} + pid * {array.part} + ({index.name} & 7)"
    w.blocks[-1].append(Store(f"tl.atomic_{name}({pointers}, {value.name})", change))


# -- block pointers and descriptors ----------------------------------------------------------------


def window(w: Writer) -> None:
    """A block of a matrix by a block pointer or a descriptor, which may reach beyond the edges."""
    kind = w.kind()
    rows, columns = (w.draw(st.integers(1, 40)) for _ in range(2))
    shape = (w.choose([1, 2, 4, 8]), w.choose([16, 32]))
    at = [w.draw(st.integers(0, size)) for size in (rows, columns)]
    is_descriptor = w.chance(50) and not w.counters
    row_stride = -(-columns // 16) * 16 if is_descriptor else columns + w.choose([0, 0, 3])
    start = 0 if is_descriptor else w.choose([0, 5])
    array = w.array(kind, writable=True)
    if is_descriptor and array.start:
        return
    w.reach(array, start + rows * row_stride)
    inside, places = _window_places(rows, columns, row_stride, start, shape, at)
    # Each program's part begins at a multiple of 16 elements, as descriptors demand.
    base = f"{array.name} + pid * {array.part} + {start}"
    if is_descriptor:
        sizes = f"[{w.scalar(rows)}, {w.scalar(columns)}], [{row_stride}, 1], {list(shape)}"
        text, ends = (
            f"tl.make_tensor_descriptor({base}, {sizes})",
            (".load({at})", ".store({at}, {v})"),
        )
    else:
        sizes = f"({w.scalar(rows)}, {w.scalar(columns)}), ({w.scalar(row_stride)}, 1)"
        text = f"tl.make_block_ptr({base}, {sizes}, ({at[0]}, {at[1]}), {shape}, (1, 0))"
        check = "boundary_check=(0, 1)"
        ends = (f'{check}, padding_option="zero")', f"{check})")
    name = w.fresh("b")
    w.blocks[-1].append(Store(f"{name} = {text}", lambda machine: None))
    if w.chance(50):
        load = f"{name}{ends[0].format(at=at)}" if is_descriptor else f"tl.load({name}, {ends[0]}"
        _load_window(w, array, shape, inside, places, load)
    else:
        value = w.block(kind, shape)
        write = ends[1].format(at=at, v=value.name) if is_descriptor else None
        line = f"{name}{write}" if write else f"tl.store({name}, {value.name}, {ends[1]}"
        _store_window(w, array, value, inside, places, line)


def _window_places(rows, columns, row_stride, start, shape, at):
    i, j = np.mgrid[at[0] : at[0] + shape[0], at[1] : at[1] + shape[1]]
    inside = (i < rows) & (j < columns)
    return inside, np.where(inside, start + i * row_stride + j, 0)


def _load_window(w, array, shape, inside, places, text) -> None:
    var = Var(w.fresh(), array.kind, shape)

    def run(machine: Machine) -> Block:
        memory = machine.memory[array.buffer]
        own = places + array.start + machine.linear_id * machine.parts[array.buffer]
        data, slack = (np.where(inside, x[own], 0) for x in (memory.data, memory.slack))
        return Block(memory.kind, data.astype(memory.data.dtype), slack)

    w.blocks[-1].append(Let(var, text, run))
    w.scopes[-1].append(var)


def _store_window(w, array, value, inside, places, line) -> None:
    w.used.add(value.name)

    def change(machine: Machine) -> None:
        memory, block = machine.memory[array.buffer], machine[value]
        own = places + array.start + machine.linear_id * machine.parts[array.buffer]
        memory.data[own[inside]], memory.slack[own[inside]] = (
            block.data[inside],
            block.slack[inside],
        )

    w.blocks[-1].append(Store(line, change))


# -- control ---------------------------------------------------------------------------------------


def loop(w: Writer) -> None:
    """A loop that carries some variables, by `for` or by `while`."""
    if len(w.blocks) > _DEEPEST:
        return
    low, step = w.choose([0, 0, 2]), w.choose([1, 1, 2])
    count = w.draw(st.integers(0, 5))
    values = tuple(range(low, low + count * step, step))
    counter = Var(w.fresh("i"), "int32", ())
    carried = _start_carried(w)
    is_while = w.chance(35)
    bound = f"({w.scalar(low + count * step)})"
    if is_while:
        before = f"{counter.name} = tl.full((), {low}, tl.int32)"
        w.blocks[-1].append(Store(before, lambda machine: None))
        head = f"while {counter.name} < {bound}:"
    else:
        head = f"for {counter.name} in range({low}, {bound}, {step}):"
    w.counters.append((counter, max(values, default=0)))
    body = _side(w, carried, [counter])
    w.counters.pop()
    if is_while:
        body.append(Store(f"{counter.name} += {step}", lambda machine: None))
    w.blocks[-1].append(Loop(head, counter, values, body))


def walk(w: Writer) -> None:
    """A loop that moves a block of pointers, and adds up what it finds or replaces it."""
    kind, shape = w.kind(), w.shape()
    count, step = w.draw(st.integers(0, 5)), w.choose([1, 1, 16, 40])
    array = w.array(kind, writable=True)
    address = w.address(array, shape, apart=True)
    reached = w.extents[array.buffer] - array.start
    w.reach(array, reached + count * step)
    pointers, counter = w.fresh("q"), Var(w.fresh("i"), "int32", ())
    total, found, added = (Var(w.fresh(letter), kind, shape) for letter in "cvv")
    start = w.block(kind, shape)
    w.used.add(start.name)

    def moved(machine: Machine) -> np.ndarray:
        return address.places(machine) + machine.known(counter) * step

    def load(machine: Machine) -> Block:
        memory, places = machine.memory[array.buffer], moved(machine)
        return Block(memory.kind, memory.data[places], memory.slack[places])

    body: list[Statement] = [
        Let(found, f"tl.load({pointers})", load),
        Let(
            added,
            f"{total.name} + {found.name}",
            lambda machine: reference.add(machine[total], machine[found]),
        ),
    ]
    if w.chance(40):

        def replace(machine: Machine) -> None:
            _write(machine, array.buffer, moved(machine), machine[total], None)

        body.append(Store(f"tl.store({pointers}, {total.name})", replace))
    body.append(Assign(total.name, added))
    body.append(Store(f"{pointers} += {w.scalar(step)}", lambda machine: None))
    head = f"for {counter.name} in range({w.scalar(count)}):"
    w.blocks[-1].append(Assign(total.name, start))
    w.blocks[-1].append(Store(f"{pointers} = {address.text()}", lambda machine: None))
    w.blocks[-1].append(Loop(head, counter, tuple(range(count)), body))
    w.scopes[-1].append(total)


def branch(w: Writer) -> None:
    """Both sides give new values to some variables."""
    if len(w.blocks) > _DEEPEST:
        return
    sources = w.visible(lambda var: var.kind == "int32" and var.shape == ())
    source = w.choose(sources)
    w.used.add(source.name)
    bound, sign = w.choose([0, 1, 2]), w.choose(["<", ">=", "=="])
    relation = {"<": np.less, ">=": np.greater_equal, "==": np.equal}[sign]
    condition = w.let(
        "int1",
        (),
        f"{source.name} {sign} {bound}",
        lambda a: reference.compare(relation, a, Block.exact(a.kind, bound)),
        source,
    )
    carried = _start_carried(w)
    sides = (_side(w, carried, []), _side(w, carried, []))
    w.blocks[-1].append(Choice(condition, sides))


def _start_carried(w: Writer) -> list[Var]:
    """Variables of their own for what a loop or a branch changes.

    Each starts with a value of its own: Triton 3.7's front end takes `a = b` in a loop for no
    change where both have started as the same one, even if the loop changes b.
    """
    carried = []
    for _ in range(w.draw(st.integers(1, 2))):
        source = w.block(w.kind(), w.shape())
        text = f"tl.reshape({source.name}, {source.shape})"
        start = w.let(source.kind, source.shape, text, lambda block: block, source)
        var = Var(w.fresh("c"), start.kind, start.shape)
        w.used.add(start.name)
        w.blocks[-1].append(Assign(var.name, start))
        w.scopes[-1].append(var)
        carried.append(var)
    return carried


def _side(w: Writer, carried: list[Var], visible: list[Var]) -> list[Statement]:
    """Some statements, of which the last give the carried variables their new values."""
    w.blocks.append([])
    w.scopes.append(list(visible))
    for _ in range(w.draw(st.integers(0, 3))):
        draw_statement(w)
    for var in carried:
        source = w.block(var.kind, var.shape)
        if source.name != var.name:
            w.used.add(source.name)
            w.blocks[-1].append(Assign(var.name, source))
    w.scopes.pop()
    return w.blocks.pop() or [Store("pass", lambda machine: None)]


EFFECTS = {
    **{some_store: 3, atomic: 2, shared_counters: 1, window: 2},
    **{loop: 5, walk: 3, branch: 3},
}


def draw_statement(w: Writer) -> None:
    """One statement of any family, with what it needs."""
    from fuzz_axes import AXIS_OPERATIONS
    from fuzz_lines import LINES
    from fuzz_loops import LOOPS
    from fuzz_neighbours import NEIGHBOURS
    from fuzz_operations import OPERATIONS
    from fuzz_products import PRODUCTS
    from fuzz_turns import TURNS

    tables = OPERATIONS | AXIS_OPERATIONS | EFFECTS | NEIGHBOURS | LOOPS | LINES | TURNS | PRODUCTS
    weighted = [operation for operation, weight in tables.items() for _ in range(weight)]
    w.choose(weighted)(w)
