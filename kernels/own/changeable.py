"""Which inputs of a user's kernel the check may change."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, Protocol

import torch

from foundation.strides import has_gaps
from kernels.own.accesses import Accesses
from kernels.own.tolerance import is_finite
from kernels.values import data_set

__all__ = ["Launched", "changeable", "gapped", "is_one_number", "numbers", "same_launch"]


class Launched(Protocol):
    """A launch of a kernel, or a call of a callable, as of `kernels.own.launch.Launch`."""

    @property
    def kept_inputs(self) -> frozenset[str]:
        """Names of the inputs that stay as the file makes them."""
        ...

    def values(self) -> dict[str, Any]:
        """What is passed, by name."""
        ...

    def constants(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is compiled in."""
        ...

    def reference(self, values: Mapping[str, Any]) -> Mapping[str, torch.Tensor | None] | None:
        """What outputs should be."""
        ...


def gapped(
    kept: frozenset[str], accesses: Accesses, values: Mapping[str, Any], outputs: frozenset[str]
) -> list[str]:
    """The outputs between whose elements other memory lies; arguments as below."""
    written = (outputs | accesses.only_stored) - kept
    tensors = ((name, values[name]) for name in sorted(written))
    return [name for name, one in tensors if isinstance(one, torch.Tensor) and has_gaps(one)]


def changeable(
    kept: frozenset[str],
    accesses: Accesses,
    values: Mapping[str, Any],
    outputs: frozenset[str],
    kinds: Collection[torch.dtype],
) -> list[str]:
    """Tensors of ordinary numbers that the kernel reads, whose memory is theirs alone, and which
    the file does not keep.

    None that it writes for itself, which the reference does not name: flags, locks and sums that
    programs share mean something from the start. None that says how far it shifts: beyond an
    integer's width, boards differ from one another and from torch.

    Args:
        kept: what the file keeps.
        accesses: of the kernel.
        values: of its arguments.
        outputs: that the reference names.
        kinds: types of tensors.
    """
    read = (accesses.constant | outputs) - accesses.only_stored - accesses.shifted_by
    tensors = {n: v for n, v in values.items() if isinstance(v, torch.Tensor) and v.numel() > 0}
    places = [tensor.untyped_storage().data_ptr() for tensor in tensors.values()]
    return [
        name
        for name, tensor in tensors.items()
        if tensor.dtype in kinds
        and name in read - kept
        and places.count(tensor.untyped_storage().data_ptr()) == 1
        and bool(is_finite(tensor).any())
    ]


def numbers(values: Mapping[str, Any]) -> list[str]:
    """The floating-point numbers that are passed."""
    floats = ((name, value) for name, value in values.items() if isinstance(value, float))
    return [name for name, value in floats if math.isfinite(value)]


def is_one_number(tensor: torch.Tensor) -> bool:
    """Whether all of its finite elements are the same."""
    finite = tensor[is_finite(tensor)]
    return bool((finite == finite[:1]).all())


def same_launch(launch: Launched, values: Mapping[str, Any]) -> bool:
    """Whether other random numbers leave sizes and constants as they are."""
    with data_set(1):
        others = launch.values()
        same = launch.constants(others) == launch.constants(values)
    return same and all(_is_alike(value, others[name]) for name, value in values.items())


def _is_alike(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return bool(one.shape == other.shape)
    return bool(one == other)
