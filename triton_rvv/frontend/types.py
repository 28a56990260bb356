"""The types of TTIR: scalars, pointers and tensors of them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from triton_rvv.errors import CompileError

__all__ = ["PointerType", "ScalarType", "TensorType", "Type", "element_type", "parse_type"]

# MLIR's scalar names: bits, and LLVM's name. Floats that LLVM does not compute with on every
# target are kept as their bits.
_SCALARS = {
    "i1": (1, "i1"),
    "i8": (8, "i8"),
    "i16": (16, "i16"),
    "i32": (32, "i32"),
    "i64": (64, "i64"),
    "index": (64, "i64"),
    "f16": (16, "half"),
    "bf16": (16, "i16"),
    "f32": (32, "float"),
    "f64": (64, "double"),
    "f8E4M3FN": (8, "i8"),
    "f8E5M2": (8, "i8"),
    "f8E4M3FNUZ": (8, "i8"),
    "f8E5M2FNUZ": (8, "i8"),
}


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number, by MLIR's name."""

    name: str

    @property
    def bits(self) -> int:
        """Width in bits."""
        return _SCALARS[self.name][0]

    @property
    def llvm(self) -> str:
        """LLVM's name of the type in a register."""
        return _SCALARS[self.name][1]

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type of any width."""
        return self.name[0] in "fb"

    @property
    def is_kept_as_bits(self) -> bool:
        """Whether it is a float that LLVM sees as an integer."""
        return self.is_float and self.llvm.startswith("i")

    @property
    def size_bytes(self) -> int:
        """Size in memory; a truth value takes a byte."""
        return max(self.bits // 8, 1)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class PointerType:
    """The address of a scalar (or of a tensor, for descriptors)."""

    pointee: Type

    @property
    def bits(self) -> int:
        """Width in bits."""
        return 64

    @property
    def llvm(self) -> str:
        """LLVM's name of the type."""
        return "ptr"

    @property
    def is_float(self) -> bool:
        """Never."""
        return False

    @property
    def size_bytes(self) -> int:
        """Size in memory."""
        return 8

    def __str__(self) -> str:
        return f"!tt.ptr<{self.pointee}>"


@dataclass(frozen=True, slots=True)
class TensorType:
    """A dense block of scalars or pointers; every size is a power of two."""

    shape: tuple[int, ...]
    element: ScalarType | PointerType

    @property
    def elements(self) -> int:
        """How many there are."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.element}>"


Type = ScalarType | PointerType | TensorType

_TENSOR = re.compile(r"tensor<((?:\d+x)*)(.+)>$")


@functools.lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """Read a type as MLIR prints it.

    Raises:
        CompileError: for a type that the back end does not know.
    """
    if match := _TENSOR.match(text):
        element = parse_type(match[2])
        if isinstance(element, TensorType):
            raise CompileError(f"a tensor of tensors is not supported: {text}")
        return TensorType(tuple(map(int, match[1].split("x")[:-1])), element)
    if text.startswith("!tt.ptr<"):
        return PointerType(parse_type(text[len("!tt.ptr<") : -1].split(",", maxsplit=1)[0]))
    if text in _SCALARS:
        return ScalarType(text)
    raise CompileError(f"the type {text} is not supported: use another element type")


def element_type(type_: Type) -> Type:
    """The type itself, or that of a block's elements."""
    return type_.element if isinstance(type_, TensorType) else type_
