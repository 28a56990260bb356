"""The arguments and constants of a captured launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foundation.config import ParameterValue
from triton_rvv.frontend.tuples import element_names, named

if TYPE_CHECKING:  # commands that read captures need no tensors; importing torch takes two seconds
    import torch

__all__ = [
    "Constant",
    "Descriptor",
    "Named",
    "Scalar",
    "Tensor",
    "TupleValue",
    "Value",
    "made_of",
    "parts_of",
]


@dataclass(frozen=True)
class Named:
    """A constant that is no plain value.

    Args:
        kind: "dtype" of Triton's, such as fp32, or "function": one made by `@triton.jit`.
        name: the type's name, or module:qualified_name.
    """

    kind: str
    name: str


Constant = ParameterValue | None | Named | tuple["Constant", ...]


@dataclass(frozen=True)
class Scalar:
    """A number that is passed at run time.

    Args:
        type: Triton's name of it, such as i32, i64 or fp32.
        value: of the first launch; launches of one task may differ in floats, never in integers,
            unless the kernel was launched with so many that they were counted together.
    """

    type: str
    value: int | float


@dataclass(frozen=True)
class Tensor:
    """A tensor argument.

    Args:
        dtype: Triton's name of its elements, a key of `TORCH_TYPES`.
        shape, strides: in elements.
        alignment: of its first element's address in bytes: a power of two up to 16.
        storage: a place in `Task.storages`; tensors that share memory have the same one.
        offset: of its first element from that of the first of the storage's tensors, in bytes.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    alignment: int
    storage: int
    offset: int = 0


@dataclass(frozen=True)
class Descriptor:
    """A `TensorDescriptor` made on the host.

    Args:
        base: the tensor under it.
        shape, strides, block_shape: in elements.
        padding: "zero" or "nan".
    """

    base: Tensor
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]
    padding: str = "zero"


@dataclass(frozen=True)
class TupleValue:
    """A tuple argument.

    Args:
        values: its elements.
        fields: the names of its fields; none for a plain tuple.
    """

    values: tuple[Value | Constant, ...]
    fields: tuple[str, ...] = ()


# None is a pointer that was not passed.
Value = Scalar | Tensor | Descriptor | TupleValue | Named | None


def parts_of(name: str, value: Value | Constant) -> Iterator[tuple[str, Value | Constant]]:
    """The names and values of an argument's parts: of a tuple, those of its elements."""
    if not isinstance(value, TupleValue) or not value.values:
        yield name, value
        return
    names = element_names(name, len(value.values), value.fields)
    for part_name, part in zip(names, value.values, strict=True):
        yield from parts_of(part_name, part)


def made_of(value: Value | Constant, memory: Sequence[torch.Tensor]) -> Any:
    """A new tensor, number, descriptor or tuple; constants, and what is `Named`, stay so.

    Args:
        value: what was recorded.
        memory: the bytes of each storage, from the first of its tensors.
    """
    if isinstance(value, Scalar):
        return value.value
    if isinstance(value, Tensor):
        from foundation.torch_types import TORCH_TYPES

        dtype = TORCH_TYPES[value.dtype]
        space = memory[value.storage][value.offset :]
        size_bytes = len(space) // dtype.itemsize * dtype.itemsize
        return space[:size_bytes].view(dtype).as_strided(value.shape, value.strides)
    if isinstance(value, Descriptor):
        from triton.tools.tensor_descriptor import TensorDescriptor

        base = made_of(value.base, memory)
        return TensorDescriptor(
            base, list(value.shape), list(value.strides), list(value.block_shape), value.padding
        )
    if isinstance(value, TupleValue):
        return named((made_of(part, memory) for part in value.values), value.fields)
    return value
