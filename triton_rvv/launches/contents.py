"""Where a launch's tensors lie, and what they hold."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

__all__ = ["Placed", "Range", "contents_record", "memory_ranges"]

# Of larger tensors of floats, and of small integers, only the distribution is kept.
_SMALL_BYTES = 1 << 16
# A distribution is taken from so many elements, evenly spaced.
_SAMPLE = 1 << 18
_LARGEST_BYTES = 1 << 30
# Kernels read beyond a view of all rows but the last, where its storage goes on, and in front of
# one of all rows but the first. That counts as the tensor's, up to so many bytes, or to this share
# of them.
_TAIL_BYTES = 1 << 16
_TAIL_SHARE = 8


@dataclass(frozen=True)
class Range:
    """Memory that overlapping tensors cover.

    Args:
        first: the tensor that begins first.
        size_bytes: from its first byte to the last of any, or to the end of the storage of torch's
            that holds them, if that is near.
        front: elements of the first tensor's type that lie in front of it in that storage, if its
            beginning is near.
    """

    first: torch.Tensor
    size_bytes: int
    front: int = 0

    @property
    def elements(self) -> int:
        """How many elements of the first tensor's type it holds, those in front among them."""
        return self.front + -(-self.size_bytes // self.first.dtype.itemsize)


@dataclass(frozen=True)
class Placed:
    """Where a tensor lies.

    Args:
        storage: the number of its range.
        offset: in bytes from the first tensor of the range.
    """

    storage: int
    offset: int


def memory_ranges(tensors: Mapping[str, torch.Tensor]) -> tuple[list[Range], dict[str, Placed]]:
    """The memory that tensors cover, and where each lies; those that overlap share a range."""
    spans = sorted(
        ((tensor.data_ptr(), -_size_bytes(tensor), name) for name, tensor in tensors.items())
    )
    ranges: list[tuple[str, int, int]] = []  # its first tensor, start and end
    placed: dict[str, Placed] = {}
    for start, negative_size, name in spans:
        end = start - negative_size
        if ranges and start < ranges[-1][2]:
            first, low, high = ranges[-1]
            ranges[-1] = (first, low, max(high, end))
        else:
            ranges.append((name, start, end))
        placed[name] = Placed(len(ranges) - 1, start - ranges[-1][1])
    following = [start for _, start, _ in ranges[1:]]
    for number, (first, low, high) in enumerate(ranges):
        end = _storage_end(tensors[first], high - low, high)
        ranges[number] = (first, low, min([end, *following[number : number + 1]]))
    # Addresses differ from run to run; the order of the parameters does not.
    order = list(dict.fromkeys(placed[name].storage for name in tensors))
    renumbered = {n: Placed(order.index(p.storage), p.offset) for n, p in placed.items()}
    ends = [0, *(high for _, _, high in ranges)]
    found = []
    for number in order:
        first, low, high = ranges[number]
        front = _front(tensors[first], low, high, ends[number])
        found.append(Range(tensors[first], high - low, front))
    return found, renumbered


def _storage_end(tensor: torch.Tensor, size_bytes: int, high: int) -> int:
    """Where the memory behind a range of tensors ends: with its storage, or with the range."""
    storage = tensor.untyped_storage()
    end: int = storage.data_ptr() + storage.nbytes()
    return end if high < end <= high + _near(size_bytes) else high


def _front(tensor: torch.Tensor, low: int, high: int, taken: int) -> int:
    """How many elements of its storage lie in front of a range of tensors, if they are near.

    Args:
        tensor: the first of the range.
        low, high: its first address, and the one behind it.
        taken: the address up to which memory belongs to others.
    """
    begin = max(tensor.untyped_storage().data_ptr(), taken)
    is_near = low - begin <= _near(high - low)
    return (low - begin) // tensor.dtype.itemsize if is_near else 0


def _near(size_bytes: int) -> int:
    return max(_TAIL_BYTES, size_bytes // _TAIL_SHARE)


def _size_bytes(tensor: torch.Tensor) -> int:
    if tensor.numel() == 0:
        return 0
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return (1 + sum((size - 1) * step for size, step in steps)) * tensor.dtype.itemsize


def contents_record(memory: Range, seed: int, *, keep_data: bool) -> dict[str, Any] | None:
    """What a range holds, or the distribution of its elements; None if it cannot be read.

    Args:
        memory: the range.
        seed: for those who draw such elements.
        keep_data: whether large floats are kept as they are.
    """
    if memory.first.is_cuda and torch.cuda.is_current_stream_capturing():
        return None
    flat = _flat(memory)
    own_bytes = flat.nbytes - memory.front * flat.dtype.itemsize
    if keep_data or own_bytes <= _SMALL_BYTES or _counts(flat.dtype):
        if flat.nbytes > _LARGEST_BYTES and not keep_data:
            return None
        data = flat.cpu().view(torch.uint8).numpy().tobytes()
        return {"data": base64.b64encode(zlib.compress(data, 1)).decode()}
    return _distribution(flat, seed)


def _flat(memory: Range) -> torch.Tensor:
    """All elements of a range in one dimension, without gradients."""
    first = memory.first.detach()
    storage = first.untyped_storage()
    offset = first.storage_offset() - memory.front
    elements = min(memory.elements, storage.nbytes() // first.dtype.itemsize - offset)
    return torch.empty(0, dtype=first.dtype, device=first.device).set_(
        storage, offset, (elements,), (1,)
    )


def _counts(dtype: torch.dtype) -> bool:
    """Whether elements may be places in other tensors, which cannot be drawn."""
    return dtype is torch.bool or not (dtype.is_floating_point or dtype.itemsize == 1)


def _distribution(flat: torch.Tensor, seed: int) -> dict[str, Any]:
    sample = _as_floats(flat[:: max(1, flat.numel() // _SAMPLE)])
    finite = sample[np.isfinite(sample)].astype(np.float64)
    if finite.size < 2:
        finite = np.zeros(2)
    return {
        "seed": seed,
        "mean": float(finite.mean()),
        "deviation": float(finite.std(ddof=1)),
        "low": float(finite.min()),
        "high": float(finite.max()),
        "zeros": float((finite == 0).mean()),
    }


def _as_floats(sample: torch.Tensor) -> npt.NDArray[Any]:
    """The numbers of a tensor of floats or bytes.

    NumPy makes them: torch's operators may be the program's own kernels, one of which is launched.
    """
    sample = sample.cpu()
    if sample.dtype is torch.bfloat16:  # the upper half of fp32
        halves: npt.NDArray[Any] = sample.view(torch.int16).numpy().astype(np.uint32)
        return (halves << 16).view(np.float32)
    if sample.dtype.is_floating_point and sample.dtype.itemsize == 1:  # unknown to NumPy
        sample = sample.to(torch.float32)
    return sample.numpy()
