"""Tensor descriptors that are made before a launch, as the compiled function takes them.

The pass that takes descriptors apart makes its address, shape, strides and flags of one; the front
end has added shape and strides once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from triton.tools.tensor_descriptor import TensorDescriptor

__all__ = ["FLAGS", "descriptor_parts", "is_descriptor", "part_names", "passed_names"]

_BLOCK = re.compile(r"^tensordesc<[^\[]*\[([^\]]*)\]")
_HAS_ROUNDING = hasattr(TensorDescriptor, "round_f32_to_tf32")  # since Triton 3.7

# How many flags follow a descriptor's strides.
FLAGS = 2 if _HAS_ROUNDING else 1


def is_descriptor(type_: object) -> bool:
    """Whether this is Triton's name of a descriptor's type: "tensordesc<fp16[64,128]>"."""
    return isinstance(type_, str) and type_.startswith("tensordesc")


def descriptor_parts(
    shape: Sequence[int], strides: Sequence[int], padding: str, *, rounds: bool = False
) -> Iterator[int | bool]:
    """What follows a descriptor's address: its shape, its strides and its flags.

    Args:
        shape, strides: in elements.
        padding: "zero" or "nan".
        rounds: whether loads round fp32 to tf32.
    """
    around = (*shape, *strides)
    yield from around
    yield padding == "nan"
    if _HAS_ROUNDING:
        yield rounds
    yield from around


def part_names(name: str, type_: str) -> list[str]:
    """A name for each value that stands for a parameter: only descriptors have several.

    Args:
        name: the parameter's, which is that of its address too.
        type_: Triton's name of its type.
    """
    block = _BLOCK.match(type_)
    if block is None:
        return [name]
    rank = len(block[1].split(","))
    parts = descriptor_parts((0,) * rank, (0,) * rank, "zero")
    return [name, *(f"{name}.{number}" for number, _ in enumerate(parts))]


def passed_names(signature: Mapping[str, str]) -> list[str]:
    """A name for each value that a compiled kernel is passed, which constants are not.

    Args:
        signature: Triton's names of the parameters' types, by parameter in their order.
    """
    types = ((name, type_) for name, type_ in signature.items() if type_ != "constexpr")
    return [part for name, type_ in types for part in part_names(name, type_)]
