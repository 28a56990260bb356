"""A file's `reference` with numbers of fp64 in place of fp32, and how far the one of fp32 is off.

A reference loses digits, too: torch's GELU is off by 0.7% at -4.7, where it subtracts two numbers
of which each is nearly 1.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from foundation.errors import UserError
from kernels.own.time_limit import time_limit
from kernels.own.tolerance import in_parts, relative_tolerance

__all__ = ["exact_outputs", "largest", "nearer"]

_Outputs = Mapping[str, torch.Tensor | None]

# What a file's author does not wait for: so many times what a call in fp32 takes, which is one of
# five or more, or a few seconds.
_PATIENCE = 2.5
_LEAST_LIMIT_S = 2.0
# Units in the last place of fp32 by which rounding may change an element: of the largest input or
# output, the lesser, or of what a formula adds, as in log(1 + x). More is another meaning, such as
# bits that are taken for an integer, or a large constant that is added to round.
_LAST_PLACES = 32
_CONSTANT = 1.0


class _Fp64(TorchFunctionMode):
    """Within it, torch's functions take and give fp64 where they would fp32, and say that it is
    fp32; casts to narrower types and to integers stay what they are."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if getattr(func, "__self__", None) is torch.Tensor.dtype:
            found = func(*args)
            return torch.float32 if found is torch.float64 else found
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        return _wide(func(*_wide(args), **_wide(dict(kwargs or {}))))


def _uncompiled() -> contextlib.AbstractContextManager[object]:
    """Within it, what `torch.compile` made runs as it is written: for fp64 it would compile anew,
    which takes minutes, and no limit ends that."""
    if "torch._dynamo" not in sys.modules:  # it takes a second to import
        return contextlib.nullcontext()
    stance: contextlib.AbstractContextManager[object] = torch.compiler.set_stance("force_eager")
    return stance


def _wide(value: Any) -> Any:
    """The same with fp32 as fp64; an object without any is the same object."""
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunction():
            return value.double() if value.dtype is torch.float32 else value
    if value is torch.float32:
        return torch.float64
    if type(value) in (tuple, list):
        return type(value)(map(_wide, value))
    if type(value) is dict:
        return {name: _wide(each) for name, each in value.items()}
    return value


def exact_outputs(
    reference: Callable[[Mapping[str, Any]], _Outputs | None],
    values: Mapping[str, Any],
    took_s: float,
) -> dict[str, torch.Tensor]:
    """What a reference gives in fp64, by name; nothing if it fails so, or takes long.

    Args:
        reference: as of a `Launch`.
        values: what it gets, in their own types.
        took_s: by the clock, what it takes in fp32.
    """
    try:
        limit_s = max(_LEAST_LIMIT_S, _PATIENCE * took_s)
        with _uncompiled(), _Fp64(), time_limit(limit_s):
            said = reference(values) or {}
    except (UserError, TimeoutError):
        return {}
    return {name: tensor for name, tensor in said.items() if tensor is not None}


def nearer(
    plain: torch.Tensor,
    exact: torch.Tensor,
    slack: torch.Tensor,
    dtype: torch.dtype,
    size_of_inputs: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """An output with the elements of fp64 where they differ from those of fp32 by rounding, and a
    slack with which passes what is near either.

    Args:
        plain, exact: what the reference gives in fp32 and in fp64, both rounded to the output's
            type.
        slack: of the plain one.
        dtype: whose relative tolerance counts.
        size_of_inputs: the largest number that the reference gets.
    """
    relative = relative_tolerance(dtype)
    # The lesser of both: a mask holds numbers that no other is added to.
    size_of = min(size_of_inputs, largest([plain]))
    rounding = _LAST_PLACES * torch.finfo(torch.float32).eps * max(size_of, _CONSTANT)
    # Beside the largest, fp64 has no digit of what is smaller: nor has the reference.
    lost = torch.finfo(torch.float64).eps * size_of
    expected = torch.empty_like(plain, memory_format=torch.contiguous_format)
    allowed = torch.empty_like(slack, memory_format=torch.contiguous_format)
    most = torch.finfo(torch.float32).max
    arrays = (plain, exact, slack, expected, allowed)
    for one, other, off, to, more in in_parts(*(array.reshape(-1) for array in arrays)):
        size, finer = one.double(), other.double()
        difference = (finer - size).abs_()
        is_rounding = difference <= size.abs().mul_(relative).add_(off).add_(rounding)
        is_rounding &= size.isfinite() & finer.isfinite()
        to.copy_(torch.where(is_rounding, finer, size))
        # Twice, so that fp32 does not round it down.
        wider = difference.mul_(1 + 2 * relative).add_(off).add_(lost * (finer.abs_() <= lost))
        wider = wider.clamp_(max=most).float()
        more.copy_(torch.where(is_rounding, wider, off))
    return expected, allowed


def largest(values: Iterable[Any]) -> float:
    """The largest finite size of an element, of tensors of floating-point numbers; 0 of others."""
    tensors = (v for v in values if isinstance(v, torch.Tensor) and v.is_floating_point())
    sizes = (t.double().abs().nan_to_num_(0.0, 0.0, 0.0).max() for t in tensors if t.numel())
    return max(map(float, sizes), default=0.0)
