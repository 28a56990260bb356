"""What stands for tensors among the arguments of a launch."""

from __future__ import annotations

from typing import Any

import torch
from triton._utils import type_canonicalisation_dict
from triton.runtime.jit import TensorWrapper

from triton_rvv.frontend.tuples import element_names

__all__ = ["TYPES", "tensors_in"]

# Triton's names of the types that a capture holds.
TYPES = {
    torch.bool: "i1",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.int16: "i16",
    torch.uint16: "u16",
    torch.int32: "i32",
    torch.uint32: "u32",
    torch.int64: "i64",
    torch.uint64: "u64",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.float8_e4m3fn: "fp8e4nv",
    torch.float8_e5m2: "fp8e5",
}


def tensors_in(name: str, value: Any) -> dict[str, torch.Tensor]:
    """The tensors in an argument, by the argument's name and places in it.

    Raises:
        TypeError: for one that torch cannot have.
    """
    if hasattr(value, "block_shape"):
        return {name: value.base}
    if isinstance(value, list | tuple):
        found: dict[str, torch.Tensor] = {}
        names = element_names(name, len(value), getattr(value, "_fields", ()))
        for part_name, part in zip(names, value, strict=True):
            found.update(tensors_in(part_name, part))
        return found
    if isinstance(value, torch.Tensor):
        return {name: value}
    if isinstance(value, TensorWrapper):
        return {name: _reinterpreted(value)}
    if hasattr(value, "data_ptr") and hasattr(value, "stride"):
        return {name: _under(value)}
    if hasattr(value, "__array_interface__"):
        return {name: torch.from_numpy(value)}
    return {}


def _reinterpreted(value: TensorWrapper) -> torch.Tensor:
    """What `triton.reinterpret` made, as a tensor with elements of that type.

    Raises:
        TypeError: if torch has no such type, or one of another size than the tensor's.
    """
    own = type_canonicalisation_dict.get(value.dtype.name)
    found = [torch_type for torch_type, name in TYPES.items() if name == own]
    if not found or found[0].itemsize != value.base.dtype.itemsize:
        raise TypeError(f"{value.base.dtype} read as {value.dtype}")
    read: torch.Tensor = value.base.view(found[0])
    return read


def _under(value: Any) -> torch.Tensor:
    """The tensor of a package's own class that stands for one.

    Raises:
        TypeError: if it lies over no tensor, or has negative strides.
    """
    base = getattr(value, "_base", None)
    if not isinstance(base, torch.Tensor) or min(value.stride(), default=0) < 0:
        raise TypeError(f"a value of the type {type(value).__name__}")
    typed = base.view(value.dtype) if base.dtype != value.dtype else base
    offset = (value.data_ptr() - base.data_ptr()) // value.dtype.itemsize
    return typed.as_strided(
        tuple(value.shape), tuple(value.stride()), typed.storage_offset() + offset
    )
