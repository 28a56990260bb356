"""LLVM values as text: names, constants and their types."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import NamedTuple

__all__ = [
    "FALSE",
    "TRUE",
    "ZEROS",
    "Val",
    "element_bits",
    "float_constant",
    "folded",
    "integer",
    "resized",
    "signed",
    "type_suffix",
    "vector_type",
]


class Val(NamedTuple):  # a tuple, since a build makes thousands, and a frozen dataclass is slow
    """An LLVM value: its type and how the text refers to it."""

    type: str
    ref: str

    @property
    def constant(self) -> int | None:
        """The number, where this is an integer constant."""
        ref = self.ref
        if ref[0] == "%":  # most are names, and this is asked more often than all else
            return None
        return int(ref) if ref.lstrip("-").isdigit() else None

    @property
    def truth(self) -> bool | None:
        """What a truth value is, where it is known before the kernel runs."""
        return {"true": True, "false": False}.get(self.ref)

    @property
    def width(self) -> int:
        """Lanes of a vector; 1 for a scalar."""
        return _lanes(self.type)[0] if self.type[0] == "<" else 1

    @property
    def element(self) -> str:
        """The type of one lane."""
        return _lanes(self.type)[1] if self.type[0] == "<" else self.type

    def __str__(self) -> str:
        return f"{self.type} {self.ref}"


TRUE, FALSE = Val("i1", "true"), Val("i1", "false")
# How constants of 0 are written, as integers and as floats of 16, 32 and 64 bits.
ZEROS = frozenset(["0", "0.0", "0xH0000", "0x0000000000000000"])


@functools.cache
def _lanes(vector: str) -> tuple[int, str]:
    """How many lanes a vector type has, and their type."""
    count, element = vector[1:-1].split(" x ", 1)
    return int(count), element


@functools.cache
def integer(value: int, type_: str = "i64") -> Val:
    """An integer constant."""
    return Val(type_, str(value))


def vector_type(element: str, width: int) -> str:
    """LLVM's name of a vector; one lane is a plain scalar."""
    return element if width == 1 else f"<{width} x {element}>"


def element_bits(element: str) -> int:
    """How many bits a number of an LLVM type has."""
    return {"double": 64, "float": 32, "half": 16, "bfloat": 16}.get(element) or int(element[1:])


def float_constant(type_: str, value: float) -> Val:
    """A floating-point constant, exact to the bit."""
    if type_ == "half":
        return Val(type_, f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}")
    if type_ == "float":
        # LLVM writes a float as the double of the same value.
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return Val(type_, f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}")


_SHORT_NAMES = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}


def type_suffix(value: Val) -> str:
    """How the names of LLVM's intrinsics end that are overloaded on this value's type."""
    short = _SHORT_NAMES.get(value.element, value.element)
    return short if value.width == 1 else f"v{value.width}{short}"


_FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
}

# The truth value that changes nothing; the other one decides.
_NEUTRAL = {"and": "true", "or": "false"}


def resized(name: str, number: int, source: str, target: str) -> int:
    """An integer constant of one width in another, as a number with a sign."""
    bits = int(target[1:])
    if name == "zext":
        number &= (1 << int(source[1:])) - 1
    return signed(number, bits)


def signed(number: int, bits: int) -> int:
    """The low bits of a number, the highest of them as its sign."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def folded(name: str, left: Val, right: Val) -> Val | None:
    """The result of an integer instruction, where it needs none."""
    if left.ref[0] == right.ref[0] == "%":  # most have no constants
        return None
    if name in _NEUTRAL and left.type == "i1":
        for one, other in ((left, right), (right, left)):
            if other.truth is not None:
                return one if other.ref == _NEUTRAL[name] else other
    if name not in _FOLDS:
        return None
    a, b = left.constant, right.constant
    if a is not None and b is not None:
        return integer(signed(_FOLDS[name](a, b), int(left.element[1:])), left.type)
    if name == "mul" and 0 in (a, b):
        return integer(0, left.type)
    if (name in ("add", "sub") and b == 0) or (name == "mul" and b == 1):
        return left
    if (name == "add" and a == 0) or (name == "mul" and a == 1):
        return right
    return None
