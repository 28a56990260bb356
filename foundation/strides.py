"""Tensors that are no rows one after another: the memory that they span, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["copied", "has_gaps", "has_shared_elements", "memory_of", "view_of"]


def memory_of(tensor: torch.Tensor) -> torch.Tensor:
    """From the tensor's first element to its last, in one dimension; as it is if contiguous.

    It shares the tensor's memory, and has what lies between the elements of a slice.
    """
    if tensor.is_contiguous():
        return tensor
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.as_strided((last + 1,), (1,))


def view_of(memory: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The elements of `memory` that are where those of `like` are in `memory_of(like)`."""
    return memory if like.is_contiguous() else memory.as_strided(like.shape, like.stride())


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """The same elements with the same strides, in memory of their own."""
    return view_of(memory_of(tensor).clone(), tensor)


def has_gaps(tensor: torch.Tensor) -> bool:
    """Whether other memory lies between its elements, each of which has a place of its own."""
    return memory_of(tensor).numel() > tensor.numel() and not has_shared_elements(tensor)


def has_shared_elements(tensor: torch.Tensor) -> bool:
    """Whether two elements may lie in one place, as after `expand`."""
    reach = 0
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and step <= reach:
            return True
        reach += (size - 1) * step
    return False
