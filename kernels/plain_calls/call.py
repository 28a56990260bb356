"""A kernel's plain call: its sizes, arrays and numbers, and what the kernel's arguments are then.

Functions of sizes are called with integers, or with expressions in place of them
(`foundation.c_expressions`), so they may only add, subtract, multiply and divide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from foundation.config import Config
from kernels.spec import Problem

__all__ = ["Array", "Covered", "Number", "PlainCall", "Room", "Sizes", "config_at", "extent"]

# Sizes by name: integers, or expressions in place of them.
Sizes = Mapping[str, Any]


@dataclass(frozen=True)
class Array:
    """An array in row-major order, whose elements in a row are neighbours.

    Args:
        name: in the call.
        argument: the kernel's parameter for its address.
        meaning: for the documentation.
        shape: its sizes.
        stride: the kernel's parameter for the elements between the starts of two rows of a matrix;
            "" for rows that follow one another.
        access: "in" is read, "out" is written, "inout" is both.
        dtype: element type, by Triton's short name; "" for that of the call.
        dtype_of: by the call's element type, where it is another one for some.
        apart: elements between the starts of two rows, where the sizes decide it; None for rows
            that follow one another, or are `stride` apart.
        also: the kernel's other parameters for its address.
    """

    name: str
    argument: str
    meaning: str
    shape: Callable[[Sizes], Sequence[Any]]
    stride: str = ""
    access: Literal["in", "out", "inout"] = "in"
    dtype: str = ""
    dtype_of: Mapping[str, str] = field(default_factory=dict)
    apart: Callable[[Sizes], Any] | None = None
    also: tuple[str, ...] = ()

    def element_type(self, dtype: str) -> str:
        """Its element type in a call with element type `dtype`."""
        return self.dtype_of.get(dtype, self.dtype or dtype)


@dataclass(frozen=True)
class Number:
    """A number that the caller gives: `argument` is the kernel's parameter of type `dtype`."""

    name: str
    argument: str
    dtype: Literal["fp32", "i32"]
    meaning: str


@dataclass(frozen=True)
class Covered:
    """A size that one block has to cover, by the names of the size and of the block's parameter.

    Args:
        size: in the names of the kernel's shape.
        block: the kernel's parameter.
        most: the largest such size that a library holds code for, a power of two.
    """

    size: str
    block: str
    most: int


@dataclass(frozen=True)
class Room:
    """Memory of zeros that a kernel needs while it runs, and that no caller gives.

    Args:
        argument: the kernel's parameter for its address.
        dtype: its element type.
        elements: how many, from the problem and the configuration.
    """

    argument: str
    dtype: str
    elements: Callable[[Problem, Config], Any]


@dataclass(frozen=True)
class PlainCall:
    """A kernel's plain call.

    Args:
        meaning: a formula or a sentence.
        sizes: their meanings by name, in the names of the kernel's shape.
        arrays, numbers: in the order of the call.
        integers: the kernel's other integer arguments, from the sizes.
        covered: the size that one block of the kernel has to cover; None if there is none.
        multiple_of: sizes that have to be a multiple of a number.
        integer_types: Triton's names of their types, where these are not "i32".
        unused: element types of the kernel's other addresses, which no configuration of a
            processor reads or writes: they are NULL.
        rooms: what else the kernel writes to.
        compiled_in: the values of integer arguments that follow from no size and that no caller
            gives, by the kernel's parameters.
    """

    meaning: str
    sizes: Mapping[str, str]
    arrays: tuple[Array, ...]
    integers: Callable[[Sizes], Mapping[str, Any]]
    numbers: tuple[Number, ...] = ()
    covered: Covered | None = None
    multiple_of: Mapping[str, int] = field(default_factory=dict)
    integer_types: Mapping[str, str] = field(default_factory=dict)
    unused: Mapping[str, str] = field(default_factory=dict)
    rooms: tuple[Room, ...] = ()
    compiled_in: Mapping[str, int] = field(default_factory=dict)

    @property
    def strided(self) -> tuple[Array, ...]:
        """The arrays whose rows may be apart."""
        return tuple(array for array in self.arrays if array.stride)


def extent(shape: Sequence[int], stride: int) -> int:
    """Elements from the first to behind the last of an array whose rows are `stride` apart."""
    rows = 1
    for size in shape[:-1]:
        rows *= size
    return (rows - 1) * stride + shape[-1] if rows and shape[-1] else 0


def config_at(problem: Problem, tuned: Config, call: PlainCall) -> Config:
    """A winner's configuration as it is right at another shape.

    A block that has to cover a size is as large as the default's there. If it is larger than the
    winner's, the other blocks are the default's too, since together they might not fit anywhere.

    Args:
        problem: the kernel at the shape where it will run.
        tuned: the winner's configuration.
        call: the kernel's plain call.
    """
    if call.covered is None:
        return tuned
    default, block = problem.default_config, call.covered.block
    grows = int(default[block]) > int(tuned[block])
    return Config({**(default if grows else tuned), block: default[block]})
