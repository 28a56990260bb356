"""Element types of Triton and blocks of their values, each with how far it may be off.

Nothing here knows the compiler: the rounding is written from the formats' definitions (IEEE 754,
and "FP8 Formats for Deep Learning", Micikevicius et al. 2022).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

__all__ = ["FLOATS", "INTEGERS", "KINDS", "Block", "Kind", "finish", "round_to", "spacing", "wrong"]

UNKNOWN = np.inf


@dataclass(frozen=True)
class Kind:
    """An element type.

    Args:
        name: as in `triton.language`.
        family: "bool", "signed", "unsigned" or "float".
        bits: of an element.
        precision: of a float, bits of its mantissa with the hidden one.
        least_exponent: of a float, such that the least normal number is 2 ** (least_exponent - 1).
        largest: of a float, the largest finite number.
        saturates: of a float, whether a number beyond `largest` becomes `largest`.
    """

    name: str
    family: str
    bits: int
    precision: int = 0
    least_exponent: int = 0
    largest: float = 0.0
    saturates: bool = False

    @property
    def is_float(self) -> bool:
        return self.family == "float"

    @property
    def numpy(self):
        """The NumPy type that blocks of this kind are held in; a double holds any float."""
        if self.family == "bool":
            return np.bool_
        if self.is_float:
            return np.float64
        return np.dtype(f"{'u' if self.family == 'unsigned' else ''}int{self.bits}").type

    @property
    def torch(self):
        return {
            "int1": torch.bool,
            "float8e4nv": torch.float8_e4m3fn,
            "float8e5": torch.float8_e5m2,
        }.get(self.name) or getattr(torch, self.name)


_FLOATS = (
    Kind("float16", "float", 16, 11, -13, 65504.0),
    Kind("bfloat16", "float", 16, 8, -125, float.fromhex("0x1.fep127")),
    Kind("float32", "float", 32, 24, -125, float(np.finfo(np.float32).max)),
    Kind("float64", "float", 64, 53, -1021, float(np.finfo(np.float64).max)),
    Kind("float8e4nv", "float", 8, 4, -5, 448.0, saturates=True),
    Kind("float8e5", "float", 8, 3, -13, 57344.0, saturates=True),
)
_INTEGERS = tuple(
    Kind(f"{prefix}int{bits}", family, bits)
    for prefix, family in (("", "signed"), ("u", "unsigned"))
    for bits in (8, 16, 32, 64)
)
KINDS = {kind.name: kind for kind in (Kind("int1", "bool", 1), *_INTEGERS, *_FLOATS)}
INTEGERS = [kind.name for kind in _INTEGERS]
FLOATS = [kind.name for kind in _FLOATS]


@dataclass(frozen=True)
class Block:
    """Values of a kind.

    Args:
        kind: the element type.
        data: the values in the type `kind.numpy`.
        slack: how far each may be off, in the same shape: 0 where it is exact, infinite where
            nothing is known, such as the result of a comparison of two numbers that may be off.
    """

    kind: Kind
    data: np.ndarray
    slack: np.ndarray

    @classmethod
    def exact(cls, kind: Kind, data) -> Block:
        data = np.asarray(data).astype(kind.numpy)
        return cls(kind, data, np.zeros(data.shape))

    @property
    def shape(self):
        return self.data.shape

    def map(self, function) -> Block:
        """The block that `function` of an array makes by moving elements."""
        return Block(self.kind, function(self.data), function(self.slack))

    def to_torch(self) -> torch.Tensor:
        """A tensor of Triton's type; each element is representable in it."""
        if self.kind.is_float:
            return torch.from_numpy(np.array(self.data)).to(self.kind.torch)
        return torch.from_numpy(np.array(self.data))


def spacing(kind: Kind, values):
    """From one number of the kind to the next, at the size of each value."""
    _, exponents = np.frexp(np.where(np.isfinite(values), values, 1.0))
    return np.ldexp(1.0, np.maximum(exponents, kind.least_exponent) - kind.precision)


def round_to(kind: Kind, values):
    """Doubles rounded to the nearest number of the kind, to the even one of two as near."""
    if kind.name == "float64":
        return values
    step = spacing(kind, values)
    rounded = np.where(np.isfinite(values), np.rint(values / step) * step, values)
    beyond = np.abs(rounded) > kind.largest
    limit = kind.largest if kind.saturates else np.inf
    return np.where(beyond, np.copysign(limit, rounded), rounded)


def finish(kind: Kind, values, slack) -> Block:
    """The rounded result of an operation whose operands were off so much that it is by `slack`."""
    rounded = round_to(kind, values)
    slack = np.broadcast_to(np.where(np.isnan(slack), UNKNOWN, slack), rounded.shape)
    slack = np.where(slack > 0, slack + spacing(kind, rounded), 0.0)
    doubtful = ~np.isfinite(rounded) | (np.abs(rounded) + slack > kind.largest)
    return Block(kind, rounded, np.where((slack > 0) & doubtful, UNKNOWN, slack))


def wrong(expected: Block, tensor: torch.Tensor):
    """Where a tensor is not what was expected, as an array of truth values."""
    if not expected.kind.is_float:
        return (tensor.numpy() != expected.data) & (expected.slack == 0)
    actual = tensor.to(torch.float64).numpy()
    same = (actual == expected.data) | (np.isnan(actual) & np.isnan(expected.data))
    with np.errstate(invalid="ignore"):
        near = np.abs(actual - expected.data) <= expected.slack * 1.001
    return ~(same | near | (expected.slack == UNKNOWN))
