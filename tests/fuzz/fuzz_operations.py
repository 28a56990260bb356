"""Draws the statements of a random kernel that compute: element by element, and along an axis."""

from __future__ import annotations

import fuzz_reference as reference
import numpy as np
from fuzz_numbers import FLOATS, KINDS, Block
from fuzz_writer import ARITHMETIC, Writer

__all__ = ["OPERATIONS"]

BOOL = "int1"
_WIDE_FLOATS = ("float32", "float64")

_INTEGER_BINARY = {
    "{} + {}": reference.add,
    "{} - {}": reference.subtract,
    "{} * {}": reference.multiply,
    "{} & {}": reference.bits_and,
    "{} | {}": reference.bits_or,
    "{} ^ {}": reference.bits_xor,
    "tl.minimum({}, {})": reference.minimum,
    "tl.maximum({}, {})": reference.maximum,
}
_ALL = "propagate_nan=tl.PropagateNan.ALL"
_FLOAT_BINARY = {
    "{} + {}": reference.add,
    "{} - {}": reference.subtract,
    "{} * {}": reference.multiply,
    "{} / {}": reference.divide,
    "{} % {}": reference.remainder,
    "tl.minimum({}, {})": reference.minimum,
    "tl.maximum({}, {})": reference.maximum,
    f"tl.minimum({{}}, {{}}, {_ALL})": reference.minimum_or_nan,
    f"tl.maximum({{}}, {{}}, {_ALL})": reference.maximum_or_nan,
}
_RELATIONS = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def _spread(shape, *vars_):
    """The shape of an operation on variables, at least one of which should have it in full."""
    return np.broadcast_shapes(*(var.shape for var in vars_))


def binary(w: Writer) -> None:
    kind, shape = w.kind(), w.shape()
    table = _FLOAT_BINARY if KINDS[kind].is_float else _INTEGER_BINARY
    text, of = w.choose(table.items())
    a, b = w.operand(kind, shape), w.operand(kind, shape)
    written = text.format(a.name, b.name)
    if text in ("{} / {}", "{} % {}") or (kind == "bfloat16" and "tl." in text):
        written = f"({written}).to(tl.{kind})"
    w.let(kind, _spread(shape, a, b), written, of, a, b)


def truth(w: Writer) -> None:
    shape = w.shape()
    sign = w.choose("&|^")
    of = {"&": reference.bits_and, "|": reference.bits_or, "^": reference.bits_xor}[sign]
    a, b = w.mask(shape), w.mask(shape)
    w.let(BOOL, _spread(shape, a, b), f"{a.name} {sign} {b.name}", of, a, b)


def division(w: Writer) -> None:
    """Of integers, by odd numbers, which are not 0."""
    kind, shape = w.choose([k for k in ARITHMETIC if not KINDS[k].is_float]), w.shape()
    a, b = w.operand(kind, shape), w.operand(kind, shape)
    sign, of = w.choose([("//", reference.integer_divide), ("%", reference.remainder)])

    def compute(a, b):
        return of(a, Block(b.kind, b.data | b.data.dtype.type(1), b.slack))

    w.let(kind, _spread(shape, a, b), f"{a.name} {sign} ({b.name} | 1)", compute, a, b)


def shift(w: Writer) -> None:
    kind, shape = w.choose([k for k in ARITHMETIC if not KINDS[k].is_float]), w.shape()
    a, b = w.operand(kind, shape), w.operand(kind, shape)
    sign, of = w.choose([("<<", reference.shift_left), (">>", reference.shift_right)])
    text = f"{a.name} {sign} ({b.name} & {KINDS[kind].bits - 1})"
    w.let(kind, _spread(shape, a, b), text, of, a, b)


def few_bits(w: Writer) -> None:
    """Some bits of loaded integers, and what is computed of them."""
    kind, shape = w.choose(["int32", "uint32"]), w.shape()
    a, distance = w.load(kind, shape), w.choose([0, 4, 8, 16, 24])
    mask, number = w.choose([1, 15, 127, 255, 4095, 65535, 65537]), w.choose([3, 127, 255])
    signs = {"+": reference.add, "-": reference.subtract, "*": reference.multiply}
    sign, of = w.choose([*signs.items(), ("//", reference.integer_divide)])

    def compute(a):
        shifted = reference.shift_right(a, _exact(kind, distance))
        return of(reference.bits_and(shifted, _exact(kind, mask)), _exact(kind, number))

    text = f"(({a.name} >> {distance}) & {mask}) {sign} {number}"
    w.let(kind, a.shape, text, compute, a)


def fixed_point(w: Writer) -> None:
    """Products of loaded integers that are rounded or not, shifted, limited and cut."""
    kind, shape = w.choose(["int8", "uint8", "int16", "int32"]), w.shape()
    a, factor, distance = (
        w.load(kind, shape),
        w.choose([1, 77, 257, -32768]),
        w.choose(range(1, 20)),
    )
    half = w.choose([1 << distance - 1, 1 << distance - 1, 0])
    cut, (low, high) = w.choose(_LIMITED)

    def compute(a):
        wide = a.data.astype(np.int64) * factor + half
        shifted = wide.astype(np.int32) >> distance
        return _exact(cut, np.minimum(np.maximum(shifted, low), high))

    text = f"(({a.name}.to(tl.int32) * {factor} + {half}) >> {distance})"
    text = f"tl.minimum(tl.maximum({text}, {low}), {high}).to(tl.{cut})"
    w.let(cut, a.shape, text, compute, a)


_LIMITED = (
    ("int8", (-128, 127)),
    ("int8", (-5, 100)),
    ("uint8", (0, 255)),
    ("uint8", (3, 200)),
    ("int16", (-32768, 32767)),
    ("int16", (0, 255)),
    ("int16", (-(1 << 31), (1 << 31) - 1)),  # the lower bits
)


def multiply_high(w: Writer) -> None:
    kind, shape = w.choose(["int32", "uint32", "int64", "uint64"]), w.shape()
    a, b = w.operand(kind, shape), w.operand(kind, shape)
    text = f"tl.umulhi({a.name}, {b.name})"
    w.let(kind, _spread(shape, a, b), text, reference.multiply_high, a, b)


def unary(w: Writer) -> None:
    kind = w.kind()
    a = w.operand(kind, w.shape())
    table = {"-{}": reference.negate, "tl.abs({})": reference.absolute}
    if not KINDS[kind].is_float:
        table["~{}"] = reference.invert
    text, of = w.choose(table.items())
    w.let(kind, a.shape, text.format(a.name), of, a)


def mathematics(w: Writer) -> None:
    kind = w.choose(_WIDE_FLOATS)
    a = w.operand(kind, w.shape())
    name = w.choose(reference.FUNCTIONS)
    w.let(kind, a.shape, f"tl.{name}({a.name})", lambda x: reference.function(name, x), a)


def fused(w: Writer) -> None:
    kind, shape = w.choose(_WIDE_FLOATS), w.shape()
    a, b, c = (w.operand(kind, shape) for _ in range(3))
    text = f"tl.fma({a.name}, {b.name}, {c.name})"
    w.let(kind, _spread(shape, a, b, c), text, reference.fused, a, b, c)


def clamp(w: Writer) -> None:
    a = w.operand("float32", w.shape())
    low, high = w.choose([(-1.5, 2.25), (0.0, 0.0), (-100.0, 1.0)])

    def compute(a):
        clamped = Block(a.kind, np.fmin(np.fmax(a.data, low), high), a.slack)
        # Triton leaves open what becomes of NaN, unless the kernel says.
        return Block(a.kind, clamped.data, np.where(np.isnan(a.data), np.inf, clamped.slack))

    w.let("float32", a.shape, f"tl.clamp({a.name}, {low}, {high})", compute, a)


def comparison(w: Writer) -> None:
    kind, shape = w.kind(), w.shape()
    a, b = w.operand(kind, shape), w.operand(kind, shape)
    sign, relation = w.choose(_RELATIONS.items())
    w.let(
        BOOL,
        _spread(shape, a, b),
        f"{a.name} {sign} {b.name}",
        lambda a, b: reference.compare(relation, a, b),
        a,
        b,
    )


def choice(w: Writer) -> None:
    kind, shape = w.kind(), w.shape()
    c, a, b = w.mask(shape), w.operand(kind, shape), w.operand(kind, shape)
    text = f"tl.where({c.name}, {a.name}, {b.name})"
    w.let(kind, _spread(shape, c, a, b), text, reference.where, c, a, b)


def conversion(w: Writer) -> None:
    a = w.operand(w.kind(), w.shape())
    # Triton converts nothing but floats to 8-bit ones.
    w.cast(a, w.choose([*ARITHMETIC, *(FLOATS if KINDS[a.kind].is_float else []), BOOL]))


_SAME_SIZE = (
    *(("float32", "int32"), ("int32", "float32"), ("float64", "int64"), ("int16", "float16")),
    *(("uint32", "float32"), ("uint8", "int8"), ("int64", "uint64")),
)


def reinterpretation(w: Writer) -> None:
    kind, other = w.choose(_SAME_SIZE)
    a = w.operand(kind, w.shape())
    text = f"{a.name}.to(tl.{other}, bitcast=True)"
    w.let(other, a.shape, text, lambda x: reference.bitcast(KINDS[other], x), a)


def lanes(w: Writer) -> None:
    size = w.choose((*w.sizes, 4))
    low = w.choose([0, 0, 3])
    data = np.arange(low, low + size)
    w.let("int32", (size,), f"tl.arange({low}, {low + size})", lambda: _exact("int32", data))


def scalar_argument(w: Writer) -> None:
    """A number that is passed at run time; 1 and multiples of 16 get code of their own."""
    numbers = {
        "int32": [0, 1, 2, 7, 16, 48, -5],
        "int64": [1 << 40, -(1 << 33)],
        "float32": [0.5, 1.0, -3.0],
    }
    kind, values = w.choose(numbers.items())
    value = w.choose(values)
    text = f"{w.argument(value)} + tl.zeros((), tl.{kind})"
    w.let(kind, (), text, lambda: _exact(kind, value))


def _exact(kind, data):
    return Block.exact(KINDS[kind], data)


def call(w: Writer) -> None:
    """Of a function that returns early and is not inlined."""
    kind, shape = w.kind(), w.shape()
    a, b = w.block(kind, shape), w.block(kind, shape)
    conditions = w.visible(lambda var: var.kind == "int32" and var.shape == ())
    c = w.choose(conditions)

    def compute(a, b, c):
        if c.slack:
            return Block(a.kind, a.data, np.full(shape, np.inf))
        return a if c.data > 0 else b

    text = f"chosen({a.name}, {b.name}, {c.name})"
    w.let(kind, shape, text, compute, a, b, c)


OPERATIONS = {
    operation: weight
    for weight, operations in {
        4: (binary, conversion, comparison, choice),
        2: (division, shift, few_bits, fixed_point, unary, mathematics, truth),
        1: (multiply_high, fused, clamp, reinterpretation, lanes, scalar_argument, call),
    }.items()
    for operation in operations
}
