"""One argument of a kernel: its type, its contents and, for an output, what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["STORAGE_TYPES", "Argument", "Described"]

# Triton's names of element types, and the NumPy type that holds the same bits.
STORAGE_TYPES: dict[str, type[np.generic]] = {
    "i1": np.uint8,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "fp16": np.float16,
    "bf16": np.uint16,
    "fp32": np.float32,
    "fp64": np.float64,
    "fp8e4nv": np.uint8,
    "fp8e5": np.uint8,
}


@dataclass(frozen=True)
class Described:
    """How a tensor descriptor that is made before the launch lies over its array.

    Args:
        shape: in elements; what lies outside of it reads as the padding.
        strides: in elements, of which the last is 1.
        padding: "zero" or "nan".
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    padding: str = "zero"


@dataclass(frozen=True)
class Argument:
    """A kernel's argument, in the order of the kernel's own parameters.

    Args:
        name: the parameter's name.
        type: Triton's name: "*fp32" for a pointer, "i32" or "fp32" for a scalar.
        value: a scalar, or the array a pointer points to (bf16 and 8-bit floats as their bits);
            None for a buffer that the kernel only writes, which is poisoned before every run.
        expected: what the array must hold after one run of the grid; None for an input.
        atol, rtol: right where |output - expected| <= atol + slack + rtol * |expected|.
        slack: fp32, as many as elements: how far each may be off besides; None for 0.
        lead: how many elements of an array lie in front of the one whose address the kernel gets.
        constant: of an array without `expected`: whether the kernel may not change it.
        described: of an array that the kernel gets as a tensor descriptor; None for a pointer.
    """

    name: str
    type: str
    value: npt.NDArray[np.generic] | int | float | None = None
    expected: npt.NDArray[np.generic] | None = None
    atol: float = 0.0
    rtol: float = 0.0
    slack: npt.NDArray[np.float32] | None = None
    described: Described | None = None
    constant: bool = False
    lead: int = 0

    @property
    def lead_bytes(self) -> int:
        """The same in bytes."""
        return self.lead * np.dtype(STORAGE_TYPES[self.element_type]).itemsize if self.lead else 0

    @property
    def is_pointer(self) -> bool:
        """Whether the kernel gets an address."""
        return self.type.startswith("*")

    @property
    def element_type(self) -> str:
        """Triton's name of the scalar, or of what the pointer points to.

        Triton calls the truth values that it is called with "u1".
        """
        name = self.type.removeprefix("*")
        return "i1" if name == "u1" else name

    def signature_type(self, blocks: Mapping[str, tuple[int, ...]]) -> str:
        """Triton's name of the type, of a descriptor with its block: "tensordesc<fp16[64,128]>".

        Args:
            blocks: what one load of each descriptor takes, by its name.
        """
        if self.described is None:
            return self.type
        block = ",".join(map(str, blocks[self.name]))
        return f"tensordesc<{self.element_type}[{block}]>"
