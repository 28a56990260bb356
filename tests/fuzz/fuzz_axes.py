"""Draws the statements of a random kernel that work along an axis or change the arrangement."""

from __future__ import annotations

import math

import fuzz_reference as reference
import numpy as np
from fuzz_numbers import INTEGERS, KINDS, Block
from fuzz_writer import Writer
from hypothesis import strategies as st

__all__ = ["AXIS_OPERATIONS"]


def _block_and_axis(w: Writer, kinds=None):
    kind = w.choose(kinds) if kinds else w.kind()
    shape = w.shape()
    a = w.block(kind, shape)
    return a, w.draw(st.integers(0, len(shape) - 1))


def _without(shape, axis, keep=False):
    return (*shape[:axis], *([1] if keep else []), *shape[axis + 1 :])


# -- reductions ------------------------------------------------------------------------------------


def reduction(w: Writer) -> None:
    a, axis = _block_and_axis(w)
    kind = KINDS[a.kind]
    name = w.choose(["sum", "max", "min"] if kind.is_float else ["sum", "max", "min", "xor_sum"])
    keep = w.chance(25)
    of = {"sum": reference.total, "max": _extreme(np.fmax), "min": _extreme(np.fmin)}
    if not kind.is_float:
        of = {**of, "max": _extreme(np.maximum), "min": _extreme(np.minimum), "xor_sum": _xor}

    def compute(a):
        result = of[name](a, axis)
        return result.map(lambda x: np.expand_dims(x, axis)) if keep else result

    more = ", keep_dims=True" if keep else ""
    written = axis - len(a.shape) if w.chance(20) and name != "xor_sum" else axis
    text = f"tl.{name}({a.name}, axis={written}{more}).to(tl.{a.kind})"
    w.let(a.kind, _without(a.shape, axis, keep), text, compute, a)


def _extreme(of):
    def compute(a, axis):
        slack = np.maximum.reduce(a.slack, axis)
        return Block(a.kind, of.reduce(a.data, axis), slack)

    return compute


def _xor(a, axis):
    data = np.bitwise_xor.reduce(a.data, axis)
    return Block(a.kind, data, np.maximum.reduce(a.slack, axis))


def whole_reduction(w: Writer) -> None:
    a, _ = _block_and_axis(w)

    def compute(a):
        return reference.total(a.map(np.ravel), 0)

    w.let(a.kind, (), f"tl.sum({a.name}).to(tl.{a.kind})", compute, a)


def count(w: Writer) -> None:
    """How many elements along an axis compare in a way with a number."""
    a, axis = _block_and_axis(w)
    kind = w.choose(["int8", "int32", "int64"])
    sign, of = w.choose([("<", np.less), (">=", np.greater_equal), ("!=", np.not_equal)])

    def compute(a):
        truths = reference.compare(of, a, Block.exact(a.kind, np.full(a.shape, 1)))
        return reference.total(reference.cast(KINDS[kind], truths), axis)

    text = f"tl.sum(({a.name} {sign} 1).to(tl.{kind}), axis={axis}).to(tl.{kind})"
    w.let(kind, _without(a.shape, axis), text, compute, a)


def place_of_extreme(w: Writer) -> None:
    a, axis = _block_and_axis(w)
    name, of = w.choose([("argmax", np.argmax), ("argmin", np.argmin)])

    def compute(a):
        data = of(a.data, axis).astype(np.int32)
        doubtful = np.any((a.slack > 0) | np.isnan(a.data.astype(np.float64)), axis)
        return Block(KINDS["int32"], data, np.where(doubtful, np.inf, 0.0))

    text = f"tl.{name}({a.name}, axis={axis}).to(tl.int32)"
    w.let("int32", _without(a.shape, axis), text, compute, a)


def _times(earlier, later):
    return [reference.multiply(earlier[0], later[0])]


def _larger(earlier, later):
    greater = reference.compare(np.greater, earlier[0], later[0])
    return [reference.where(greater, earlier[0], later[0])]


def _later(earlier, later):
    return later


def _compose(earlier, later):
    (a1, b1), (a2, b2) = earlier, later
    return [reference.multiply(a1, a2), reference.add(reference.multiply(b1, a2), b2)]


_COMBINES = {"times": (_times, 1), "larger": (_larger, 1), "later": (_later, 1)}
_COMBINES["compose"] = (_compose, 2)


def own_reduction(w: Writer) -> None:
    """With a function of the kernel's own; associative, and not all of them commutative."""
    name, operands, axis = _own_operands(w)
    text = f"tl.reduce({_tuple(operands)}, {axis}, {name})"
    shape = _without(operands[0].shape, axis)
    _let_parts(w, name, operands, shape, text, axis, lambda rows: rows[-1])


def own_scan(w: Writer) -> None:
    name, operands, axis = _own_operands(w)
    reverse = w.chance(40)
    text = f"tl.associative_scan({_tuple(operands)}, {axis}, {name}, reverse={reverse})"

    def stacked(rows):
        rows = rows[::-1] if reverse else rows
        return [
            Block(
                rows[0][part].kind,
                np.stack([row[part].data for row in rows], axis),
                np.stack([row[part].slack for row in rows], axis),
            )
            for part in range(len(rows[0]))
        ]

    _let_parts(w, name, operands, operands[0].shape, text, axis, stacked, reverse)


def _own_operands(w: Writer):
    name = w.choose(_COMBINES)
    first, axis = _block_and_axis(w, INTEGERS)
    count = _COMBINES[name][1]
    return name, [first, *(w.block(first.kind, first.shape) for _ in range(count - 1))], axis


def _tuple(operands):
    names = ", ".join(operand.name for operand in operands)
    return f"({names})" if len(operands) > 1 else names


def _let_parts(w, name, operands, shape, text, axis, finish, reverse=False):
    """A variable for each part of the result; the text makes a tuple where there are several."""
    combine, count = _COMBINES[name]
    for part in range(count):
        own = f"{text}[{part}]" if count > 1 else text

        def compute(*blocks, part=part):
            return finish(reference.fold(combine, blocks, axis, reverse))[part]

        w.let(operands[0].kind, shape, own, compute, *operands)


def scan(w: Writer) -> None:
    a, axis = _block_and_axis(w)
    reverse = w.chance(40)
    text = f"tl.cumsum({a.name}, {axis}, reverse={reverse}).to(tl.{a.kind})"
    w.let(a.kind, a.shape, text, lambda a: reference.running_total(a, axis, reverse), a)


def picked(w: Writer) -> None:
    """One element of each row, in a known place or one of run time, perhaps outside of the row."""
    a, axis = _block_and_axis(w)
    size, is_float = a.shape[axis], KINDS[a.kind].is_float
    name = w.choose(["sum", "max", "min"])
    rest = 0 if name == "sum" else w.choose([0, 7])
    number = w.choose(w.visible(lambda var: var.kind == "int32" and not var.shape))
    place = w.draw(st.integers(-1, size))
    is_fixed = w.chance(50)
    of = {"sum": np.sum, "max": np.fmax.reduce, "min": np.fmin.reduce}[name]

    def compute(a, number):
        at = place if is_fixed else int(number.data) + place
        is_there = np.arange(size) == at
        is_there = is_there.reshape([-1 if each == axis else 1 for each in range(len(a.shape))])
        data = np.where(is_there, a.data, a.data.dtype.type(rest))
        slack = np.where(is_there, a.slack, 0.0).sum(axis)
        of_number = 0.0 if is_fixed or not number.slack.any() else np.inf
        return Block(a.kind, of(data, axis=axis).astype(a.data.dtype), slack + of_number)

    lines = ", ".join(":" if each == axis else "None" for each in range(len(a.shape)))
    at = f"{place}" if is_fixed else f"{number.name} + {place}"
    other = float(rest) if is_float else rest
    chosen = f"tl.where((tl.arange(0, {size}) == {at})[{lines}], {a.name}, {other})"
    text = f"tl.{name}({chosen}.to(tl.{a.kind}), axis={axis}).to(tl.{a.kind})"
    w.let(a.kind, _without(a.shape, axis), text, compute, a, number)


# -- arrangement -----------------------------------------------------------------------------------


def reshape(w: Writer) -> None:
    a, _ = _block_and_axis(w)
    dims: list[int] = []
    left = math.prod(a.shape)
    while left > 1 and len(dims) < 2 and w.chance(60):
        dims.append(w.choose([d for d in (1, 2, 4, 8, 16) if left % d == 0]))
        left //= dims[-1]
    shape = (*dims, left)
    w.let(a.kind, shape, f"tl.reshape({a.name}, {shape})", lambda a: a.map(_shaped(shape)), a)


def _shaped(shape):
    return lambda x: x.reshape(shape)


def expand(w: Writer) -> None:
    a, axis = _block_and_axis(w)
    if len(a.shape) == 3:
        return
    shape = (*a.shape[:axis], 1, *a.shape[axis:])
    text = f"tl.expand_dims({a.name}, {axis})"
    w.let(a.kind, shape, text, lambda a: a.map(_shaped(shape)), a)


def broadcast(w: Writer) -> None:
    shape = w.shape()
    a = w.operand(w.kind(), shape)
    if len(a.shape) not in (0, len(shape)):  # Triton adds no dimensions here
        return
    text = f"tl.broadcast_to({a.name}, {shape})"
    w.let(a.kind, shape, text, lambda a: a.map(lambda x: np.broadcast_to(x, shape)), a)


def transpose(w: Writer) -> None:
    a, _ = _block_and_axis(w)
    order = w.draw(st.permutations(range(len(a.shape))))
    shape = tuple(a.shape[axis] for axis in order)
    text = f"tl.permute({a.name}, {tuple(order)})"
    w.let(a.kind, shape, text, lambda a: a.map(lambda x: x.transpose(order)), a)


def join(w: Writer) -> None:
    a, _ = _block_and_axis(w)
    b = w.block(a.kind, a.shape)
    if math.prod(a.shape) > 512 or len(a.shape) > 2:
        return

    def compute(a, b):
        return Block(a.kind, np.stack([a.data, b.data], -1), np.stack([a.slack, b.slack], -1))

    w.let(a.kind, (*a.shape, 2), f"tl.join({a.name}, {b.name})", compute, a, b)


def split(w: Writer) -> None:
    pairs = w.visible(lambda var: var.shape[-1:] == (2,) and len(var.shape) > 1)
    if not pairs:
        return
    a = w.choose(pairs)
    part = w.choose([0, 1])
    text = f"tl.split({a.name})[{part}]"
    w.let(a.kind, a.shape[:-1], text, lambda a: a.map(lambda x: x[..., part]), a)


def flip(w: Writer) -> None:
    a, axis = _block_and_axis(w)
    if a.shape[axis] == 1:  # Triton's own flip takes no such axis
        return
    text = f"tl.flip({a.name}, {axis})"
    w.let(a.kind, a.shape, text, lambda a: a.map(lambda x: np.flip(x, axis)), a)


def sort(w: Writer) -> None:
    a, _ = _block_and_axis(w)
    if math.prod(a.shape) > 256 or a.shape[-1] == 1:
        return
    descending = w.chance(50)

    def compute(a):
        data = np.sort(a.data, -1)
        data = np.flip(data, -1) if descending else data
        off = a.slack.max(-1, keepdims=True)
        nan = np.isnan(a.data.astype(np.float64)).any(-1, keepdims=True)
        return Block(a.kind, data, np.broadcast_to(np.where(nan, np.inf, off), a.shape))

    more = ", descending=True" if descending else ""
    w.let(a.kind, a.shape, f"tl.sort({a.name}{more})", compute, a)


def gather(w: Writer) -> None:
    a, axis = _block_and_axis(w)
    index = w.operand("int32", a.shape)
    index = w.block("int32", a.shape) if index.shape != a.shape else index
    last = a.shape[axis] - 1

    text = f"tl.gather({a.name}, {index.name} & {last}, {axis})"
    w.let(a.kind, a.shape, text, lambda a, at: reference.gather(a, at, axis), a, index)


def histogram(w: Writer) -> None:
    rows = w.visible(lambda var: var.kind == "int32" and len(var.shape) == 1)
    a = w.choose(rows) if rows else w.load("int32", (w.choose([4, 64]),))
    bins = w.choose([2, 8, 32])

    def compute(a):
        counts = np.bincount((a.data & (bins - 1)).ravel(), minlength=bins).astype(np.int32)
        return Block(KINDS["int32"], counts, np.full(bins, np.inf if a.slack.any() else 0.0))

    text = f"tl.histogram({a.name} & {bins - 1}, {bins})"
    w.let("int32", (bins,), text, compute, a)


def kinds(w: Writer) -> None:
    """How many numbers are of each kind, or which of its kind each is, by comparisons with all."""
    rows = w.visible(lambda var: var.kind == "int32" and len(var.shape) == 1)
    a = w.choose(rows) if rows else w.load("int32", (w.choose([4, 64]),))
    count, first, shift = w.choose([4, 16, 64]), w.choose([0, 0, 2]), w.choose([0, 3])
    (size,), more = a.shape, w.draw(st.integers(1, a.shape[0]))
    ranked = w.chance(50)

    def compute(a):
        truths = (a.data & (count - 1))[:, None] == np.arange(first, first + count)
        truths &= (np.arange(size) < more)[:, None]
        data = (truths.cumsum(0) * truths).sum(1) + shift * truths.any(1)
        data = data if ranked else truths.sum(0)
        slack = np.full(data.shape, np.inf if a.slack.any() else 0.0)
        return Block(KINDS["int32"], data.astype(np.int32), slack)

    lane, line = f"({a.name} & {count - 1})[:, None]", f"tl.arange(0, {count})"
    line = f"({line} + {first})" if first else line
    truths = f"(({lane} == {line}[None, :]) & (tl.arange(0, {size}) < {more})[:, None])"
    ones = f"{truths}.to(tl.int32)"
    text = f"tl.sum({ones}, axis=0)"
    if ranked:
        text = f"tl.sum(tl.where({truths}, tl.cumsum({ones}, axis=0) + {shift}, 0), axis=1)"
    w.let("int32", (size,) if ranked else (count,), text, compute, a)


# -- matrix product --------------------------------------------------------------------------------

_DOTS = dict.fromkeys(("float16", "bfloat16", "float32", "float8e5", "float8e4nv"), "float32")
_DOTS |= {"int8": "int32", "float64": "float64"}


def dot(w: Writer) -> None:
    kind = w.choose(_DOTS)
    m, n, k = (w.choose([1, 2, 4, 16, 32]) for _ in range(3))
    a, b = w.block(kind, (m, k)), w.block(kind, (k, n))
    out = _DOTS[kind]
    operands = [a, b, *([w.block(out, (m, n))] if w.chance(50) else [])]

    def compute(a, b, *c):
        start = c[0] if c else Block.exact(KINDS[out], np.zeros((m, n)))
        return reference.dot(KINDS[out], a, b, start)

    names = ", ".join(var.name for var in operands)
    text = f'tl.dot({names}, input_precision="ieee", out_dtype=tl.{out})'
    w.let(out, (m, n), text, compute, *operands)


AXIS_OPERATIONS = {
    operation: weight
    for weight, operations in {
        3: (reduction, picked, scan, reshape, transpose, dot),
        2: (own_reduction, own_scan, expand, broadcast, flip, join),
        1: (whole_reduction, count, place_of_extreme, split, sort, gather, histogram, kinds),
    }.items()
    for operation in operations
}
