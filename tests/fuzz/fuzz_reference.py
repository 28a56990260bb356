"""What the operations of Triton's language mean, in NumPy, with bounds on rounding errors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from fuzz_numbers import KINDS, UNKNOWN, Block, Kind, finish, round_to, spacing
from scipy import special

BOOL = KINDS["int1"]


def _slack(*blocks):
    return functools.reduce(np.maximum, (block.slack for block in blocks))


def _integers(kind: Kind, data, *blocks) -> Block:
    data = np.asarray(data).astype(kind.numpy)
    return Block(kind, data, np.where(np.broadcast_to(_slack(*blocks), data.shape) > 0, UNKNOWN, 0))


# -- arithmetic ------------------------------------------------------------------------------------


def add(a, b):
    if a.kind.is_float:
        return finish(a.kind, a.data + b.data, a.slack + b.slack)
    return _integers(a.kind, a.data + b.data, a, b)


def subtract(a, b):
    if a.kind.is_float:
        return finish(a.kind, a.data - b.data, a.slack + b.slack)
    return _integers(a.kind, a.data - b.data, a, b)


def multiply(a, b):
    if not a.kind.is_float:
        return _integers(a.kind, a.data * b.data, a, b)
    product = a.data * b.data
    slack = np.abs(a.data) * b.slack + np.abs(b.data) * a.slack + a.slack * b.slack
    result = finish(a.kind, product, slack)
    # It may be fused with the sum that it goes into, which then takes the product as it was.
    if a.kind.name == "float64":
        whole = (np.rint(a.data) == a.data) & (np.rint(b.data) == b.data)
        lost = np.where(whole & (np.abs(product) < 2.0**53), 0.0, spacing(a.kind, product))
    else:
        lost = np.abs(product - result.data)
    overflows = np.isfinite(a.data) & np.isfinite(b.data) & ~np.isfinite(result.data)
    fused = np.where(overflows, UNKNOWN, np.where(np.isfinite(lost), lost, 0.0))
    return Block(a.kind, result.data, result.slack + fused)


def divide(a, b):
    quotient = a.data / b.data
    least = np.abs(b.data) - b.slack
    slack = np.where(least > 0, (np.abs(quotient) * b.slack + a.slack) / least, UNKNOWN)
    return finish(a.kind, quotient, slack)


def remainder(a, b):
    """C's: with the sign of the dividend."""
    if a.kind.is_float:
        data = np.fmod(a.data, b.data)
        return Block(a.kind, data, np.where(_slack(a, b) > 0, UNKNOWN, np.zeros(data.shape)))
    return _integers(a.kind, a.data - _quotient(a.data, b.data) * b.data, a, b)


def integer_divide(a, b):
    return _integers(a.kind, _quotient(a.data, b.data), a, b)


def _quotient(a, b):
    quotient = a // b
    rest = a - quotient * b
    return quotient + ((rest != 0) & ((a < 0) != (b < 0))).astype(quotient.dtype)


def negate(a):
    return Block(a.kind, -a.data, a.slack)


def absolute(a):
    return Block(a.kind, np.abs(a.data), a.slack)


def minimum(a, b):
    return Block(a.kind, (np.fmin if a.kind.is_float else np.minimum)(a.data, b.data), _slack(a, b))


def maximum(a, b):
    return Block(a.kind, (np.fmax if a.kind.is_float else np.maximum)(a.data, b.data), _slack(a, b))


def minimum_or_nan(a, b):
    return Block(a.kind, np.minimum(a.data, b.data), _slack(a, b))


def maximum_or_nan(a, b):
    return Block(a.kind, np.maximum(a.data, b.data), _slack(a, b))


def fused(a, b, c):
    slack = np.abs(a.data) * b.slack + np.abs(b.data) * a.slack + a.slack * b.slack + c.slack
    total = a.data * b.data + c.data
    product = a.data * b.data
    exact = (total == round_to(a.kind, total)) & (np.abs(total) < 2.0**50)
    exact &= np.rint(product) == product
    # A double holds the product of two fp32 exactly, and rounds that of two fp64.
    lost = spacing(a.kind, total) + (spacing(a.kind, product) if a.kind.bits == 64 else 0.0)
    return finish(a.kind, total, slack + np.where(exact, 0.0, lost))


def multiply_high(a, b):
    """The upper half of the unsigned product."""
    mask = (1 << a.kind.bits) - 1
    wide = [block.data.astype(object) & mask for block in (a, b)]
    high = np.asarray((wide[0] * wide[1]) >> a.kind.bits, object)
    return _integers(a.kind, _wrapped(high, a.kind), a, b)


def _wrapped(values, kind):
    """Python's integers, as the kind's that have the same lowest bits."""
    lowest = np.asarray(values, object) & ((1 << kind.bits) - 1)
    unsigned = np.asarray(lowest).astype(f"uint{kind.bits}")
    return unsigned.view(kind.numpy)


# -- bits and comparisons --------------------------------------------------------------------------


def bits_and(a, b):
    return _integers(a.kind, a.data & b.data, a, b)


def bits_or(a, b):
    return _integers(a.kind, a.data | b.data, a, b)


def bits_xor(a, b):
    return _integers(a.kind, a.data ^ b.data, a, b)


def invert(a):
    return _integers(a.kind, ~a.data, a)


def shift_left(a, b):
    return _integers(a.kind, a.data << (b.data & b.data.dtype.type(a.kind.bits - 1)), a, b)


def shift_right(a, b):
    return _integers(a.kind, a.data >> (b.data & b.data.dtype.type(a.kind.bits - 1)), a, b)


def compare(relation, a, b):
    result = relation(a.data, b.data)
    off = a.slack + b.slack
    if a.kind.is_float:
        with np.errstate(invalid="ignore"):
            clear = np.abs(a.data - b.data) > off
        off = np.where(clear & np.isfinite(off), 0.0, off)
    return Block(BOOL, result, np.where(off > 0, UNKNOWN, np.zeros(result.shape)))


def where(condition, a, b):
    data = np.where(condition.data, a.data, b.data)
    slack = np.where(condition.data, a.slack, b.slack)
    with np.errstate(invalid="ignore"):
        apart = np.abs(a.data.astype(np.float64) - b.data) + a.slack + b.slack
    either = np.where(np.isnan(apart), UNKNOWN, apart)
    if not a.kind.is_float:
        either = np.where(either > 0, UNKNOWN, 0.0)
    return Block(a.kind, data, np.where(condition.slack > 0, either, slack))


# -- mathematics -----------------------------------------------------------------------------------

# Units in the last place that a function of one argument may be off; docs/reference/math.md
# promises less.
_FUNCTION_ULP = 2.0

FUNCTIONS = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "erf": special.erf,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": special.expit,
    "floor": np.floor,
    "ceil": np.ceil,
}
_EXACT = {"floor", "ceil"}


def function(name, a):
    """One of `FUNCTIONS`, of fp32 or fp64."""
    of = FUNCTIONS[name]
    result = of(a.data)
    ends = (of(a.data - a.slack), of(a.data + a.slack))
    slack = 1.5 * functools.reduce(np.maximum, (np.abs(end - result) for end in ends))
    slack = np.where(a.slack > 0, slack, 0.0)
    if name in _EXACT:
        return finish(a.kind, result, slack)
    if name in ("sin", "cos"):
        slack = np.where(a.slack > 0.5, UNKNOWN, np.maximum(slack, a.slack))
    if name == "rsqrt":
        slack = np.where(a.data == 0, UNKNOWN, slack)
    ulp = (4 if name == "sigmoid" else _FUNCTION_ULP) * spacing(a.kind, round_to(a.kind, result))
    off = np.where(np.isfinite(result) & (result != 0), slack + ulp, slack)
    # What may be anything may be NaN, and bounded functions pass that on.
    off = np.where(a.slack == UNKNOWN, UNKNOWN, off)
    # The double that an fp64 function is compared with is not exact itself.
    return finish(a.kind, result, off * (2 if a.kind.bits == 64 else 1))


# -- conversions -----------------------------------------------------------------------------------


def cast(kind: Kind, a: Block) -> Block:
    if kind == a.kind:
        return a
    if kind.family == "bool":
        return compare(np.not_equal, a, Block.exact(a.kind, np.zeros(a.shape)))
    if kind.is_float:
        return _to_float(kind, a)
    if a.kind.is_float:
        return _float_to_integer(kind, a)
    return _integers(kind, _wrapped(a.data.astype(object), kind), a)


def _to_float(kind, a):
    if not a.kind.is_float:
        wide = a.data.astype(np.float32 if kind.name == "float32" else np.float64)
        result = finish(kind, wide.astype(np.float64), a.slack)
        rounded_twice = (np.abs(wide) >= 2.0**53) & (kind.bits < 32)
        return Block(kind, result.data, np.where(rounded_twice, UNKNOWN, result.slack))
    result = finish(kind, a.data, a.slack)
    slack = result.slack
    if a.kind.bits == 64 and kind.bits < 32:  # by way of fp32 on most targets
        slack = np.where(result.data != a.data, slack + spacing(kind, result.data), slack)
    if kind.saturates:
        slack = np.where(np.isinf(a.data), UNKNOWN, slack)
    return Block(kind, result.data, slack)


def _float_to_integer(kind, a):
    limits = np.iinfo(kind.numpy)
    ends = [np.trunc(a.data - a.slack), np.trunc(a.data + a.slack)]
    fits = (ends[0] == ends[1]) & (ends[0] >= float(limits.min))
    fits &= ends[1] <= float(limits.max) if kind.bits < 64 else ends[1] < float(limits.max)
    data = np.where(fits, ends[0], 0.0)
    return Block(kind, data.astype(kind.numpy), np.where(fits, 0.0, UNKNOWN))


def bitcast(kind: Kind, a: Block) -> Block:
    """The same bits as another kind of the same size; both have a NumPy type."""
    stored: dict[str, Any] = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
    held = a.data.astype(stored[a.kind.name]) if a.kind.is_float else a.data
    unsure = (a.slack > 0) | (a.kind.is_float & ((a.data == 0) | np.isnan(held)))
    data = np.ascontiguousarray(held).view(stored.get(kind.name, kind.numpy)).reshape(a.shape)
    return Block(kind, data.astype(kind.numpy), np.where(unsure, UNKNOWN, 0.0))


# -- along an axis ---------------------------------------------------------------------------------


def fold(combine, blocks, axis, reverse=False):
    """Every partial result of combining the elements along an axis, first to last.

    Args:
        combine: of two lists of blocks, the earlier one first.
        blocks: one for each operand.
        axis: along which.
        reverse: whether the last element is the first.

    Returns:
        For each operand a list of blocks without the axis.
    """
    count = blocks[0].shape[axis]
    places = range(count)[::-1] if reverse else range(count)
    parts = [[b.map(lambda x, i=i: np.take(x, i, axis)) for b in blocks] for i in places]
    results = [parts[0]]
    for part in parts[1:]:
        results.append(combine(results[-1], part))
    return results


def total(a, axis):
    """The sum along an axis, in any order."""
    if not a.kind.is_float:
        with np.errstate(over="ignore"):
            data = np.add.reduce(a.data, axis, dtype=a.kind.numpy)
        return Block(a.kind, data, np.maximum.reduce(a.slack, axis))
    return _float_sum(a.kind, a.data.sum(axis), np.abs(a.data), a.slack, axis)


def running_total(a, axis, reverse):
    def along(x):
        flipped = np.flip(x, axis) if reverse else x
        summed = np.add.accumulate(flipped, axis, dtype=x.dtype)
        return np.flip(summed, axis) if reverse else summed

    if not a.kind.is_float:
        return Block(a.kind, along(a.data), np.where(along(a.slack) > 0, UNKNOWN, 0.0))
    sizes, slack = along(np.abs(a.data)), along(a.slack)
    return _bounded_sum(a.kind, along(a.data), sizes, slack, a.data.shape[axis], _whole(a.data))


def _float_sum(kind, data, sizes, slack, axis):
    whole = _whole(sizes)
    return _bounded_sum(kind, data, sizes.sum(axis), slack.sum(axis), sizes.shape[axis], whole)


def _whole(values):
    return bool(np.all(np.isfinite(values) & (np.rint(values) == values)))


def _bounded_sum(kind, data, sizes, slack, count, whole):
    """Whole numbers add exactly as long as they are small; others lose a bit with each addition."""
    exact = whole & (sizes < 2.0**kind.precision) & (sizes <= kind.largest)
    lost = np.where(exact, 0.0, count * 2.0**-kind.precision * sizes * 1.01)
    lost = np.where(np.isfinite(sizes) & (sizes <= kind.largest / 2), lost, UNKNOWN)
    # A NaN stays one in any order; one of sums that are infinite on the way need not.
    lost = np.where(np.isnan(sizes), 0.0, lost)
    return finish(kind, data, slack + lost)


def gather(a, index, axis):
    """The elements at some places of an axis, whose size is a power of two, modulo that."""
    at = index.data & (a.data.shape[axis] - 1)
    data, slack = (np.take_along_axis(x, at, axis) for x in (a.data, a.slack))
    return Block(a.kind, data, np.where(index.slack > 0, UNKNOWN, slack))


def dot(kind: Kind, a: Block, b: Block, c: Block) -> Block:
    """a @ b + c with an accumulator of `kind`."""
    if not kind.is_float:
        product = a.data.astype(np.int64) @ b.data.astype(np.int64)
        data = (product.astype(kind.numpy) + c.data).astype(kind.numpy)
        off = a.slack.max(-1)[:, None] + b.slack.max(0)[None, :] + c.slack
        return Block(kind, data, np.where(off > 0, UNKNOWN, 0.0))
    sizes = np.abs(a.data) @ np.abs(b.data) + np.abs(c.data)
    slack = (np.abs(a.data) + a.slack) @ b.slack + a.slack @ np.abs(b.data) + c.slack
    data = a.data @ b.data + c.data
    whole = _whole(a.data) and _whole(b.data) and _whole(c.data)
    count = a.shape[-1] + 1
    result = _bounded_sum(kind, data, sizes, slack, count, whole)
    finite = all(np.isfinite(x.data).all() for x in (a, b, c))
    return result if finite else Block(kind, result.data, np.full(data.shape, UNKNOWN))
