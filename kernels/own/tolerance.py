"""How far each output of a user's kernel may be from what is expected.

Rounding errors of a sum are relative to what is summed and not to the sum. How large that is for
each element is measured: the inputs are changed by a small share, at random, and the outputs change
by as much as errors of that share would change them (Monte Carlo arithmetic: D. S. Parker,
UCLA CSD-970002, 1997).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from foundation.strides import memory_of, view_of
from kernels.values import TORCH_TYPES, Tolerance

__all__ = [
    "BYTES",
    "DRAWS",
    "accepted_constant",
    "accepts_half",
    "byte_slack",
    "disturbed",
    "in_parts",
    "is_finite",
    "is_near",
    "relative_tolerance",
    "share_of",
    "slack",
    "turned",
    "within",
]

# Of each element type, the largest relative error that passes; other types are exact. Wide, since
# the number of rounding errors in an output is unknown.
_RELATIVE = {"fp64": 1e-9, "fp32": 1e-4, "fp16": 1e-2, "bf16": 2e-2, "fp8e4nv": 0.1, "fp8e5": 0.2}
_LEAST_SHARE = 2.0**-10
# What floats are rounded to, and may be off by one.
BYTES = (torch.int8, torch.uint8)
# A quotient at the middle between two bytes stays there by four pairs once in 250 times for inputs
# in bf16, which change by one step or not at all, and hardly ever for finer ones.
_PAIRS = 4
# Of bytes up to 127, by an input in bf16 that fp32 cannot replace: a step is one in 128.
_FURTHEST_TURN = 2
# With four draws, one estimate in 5,000 is a tenth of the true size or less.
DRAWS = 4
# Rounding beside constants of the kernel itself, as in exp(x) - 1, is as large as an ordinary
# output's, however small the element: this many units in the last place of an output that nine in
# ten do not exceed, of those in the same row, and in the same column.
_LAST_PLACES = 8
_ORDINARY = 0.9
_FEWEST_IN_LINE = 16  # of fewer, the largest may be any
_MOST_IN_LINE = 256
_MOST_SORTED = 1 << 20
# Elements: their numbers in fp64 stay in a processor's cache, and torch gives so few to no other
# thread, even four times as many. On whole arrays, most of the time went into new memory.
_PART = 1 << 13


def relative_tolerance(dtype: torch.dtype) -> float:
    """The share of an element of this type that it may be off; 0 for integers."""
    names = {torch_type: name for name, torch_type in TORCH_TYPES.items()}
    return _RELATIVE.get(names[dtype], 0.0)


def in_parts(*arrays: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
    """The same parts of arrays of one dimension and length, in turn; on a GPU, all at once."""
    length = len(arrays[0])
    elements = _PART if arrays[0].device.type == "cpu" else max(1, length)
    for start in range(0, length, elements):
        yield tuple(array[start : start + elements] for array in arrays)


def share_of(values: Mapping[str, Any]) -> float:
    """The share by which inputs are disturbed: coarse enough for the roundest of their types."""
    tensors = (value for value in values.values() if isinstance(value, torch.Tensor))
    steps = [torch.finfo(t.dtype).eps for t in tensors if t.is_floating_point()]
    return max([_LEAST_SHARE, *steps])


def turned(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The values with small changes that are each other's opposite in turn, so that what is rounded
    between two numbers becomes either."""
    for draw in range(_PAIRS):
        for direction in (-1, 1):
            yield disturbed(values, draw, direction)


def disturbed(values: Mapping[str, Any], draw: int, direction: int = 0) -> dict[str, Any]:
    """The values with each number in a floating-point tensor larger or smaller by `share_of` them.

    Args:
        values: tensors and numbers by name.
        draw: seed of the signs.
        direction: where it is not 0, numbers change by any part of the share, and those of
            direction -1 by the opposite: a quotient of two stays where both change alike.
    """
    generators: dict[torch.device, torch.Generator] = {}
    share = share_of(values)

    def change(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        memory = memory_of(value)
        device = memory.device
        if device not in generators:
            generators[device] = torch.Generator(device).manual_seed(draw)
        made = torch.empty_like(memory)
        for number, to in in_parts(memory.flatten(), made.view(-1)):
            factors = torch.empty(number.shape, dtype=torch.float64, device=device)
            if direction:
                factors.uniform_(-1, 1, generator=generators[device]).mul_(direction * share).add_(
                    1
                )
            else:
                factors.random_(0, 2, generator=generators[device]).mul_(2 * share).add_(1 - share)
            to.copy_(factors.mul_(number.double()))
        return view_of(made, value)

    return {name: change(value) for name, value in values.items()}


def slack(
    expected: torch.Tensor, draws: Sequence[torch.Tensor], share: float, dtype: torch.dtype
) -> torch.Tensor:
    """What each element may be off besides its own relative tolerance; fp32, of the same shape.

    Args:
        expected: the output, before it is rounded to its type.
        draws: the same with disturbed inputs.
        share: by which they were disturbed.
        dtype: of the output.
    """
    relative, limits = relative_tolerance(dtype), torch.finfo(dtype)
    ordinary = _ordinary_size(expected.double())
    beside_constants = min(_LAST_PLACES * limits.eps, relative) * ordinary
    subnormal = _LAST_PLACES * limits.eps * limits.tiny  # whose last place is absolute
    # What fp32 cannot hold would allow anything.
    most = torch.finfo(torch.float32).max
    off = relative * _summed(expected, draws, share)
    return off.add_(beside_constants).add_(subnormal).clamp_(max=most).float()


def byte_slack(expected: torch.Tensor, changed: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """One for each byte that small changes of the inputs turn into a neighbour, as where a float is
    rounded: another order of sums may do so, too. None where there is none, or where others turn
    further, as numbers of elements and counts do: these have to be exact.

    Args:
        expected: bytes.
        changed: the same by `turned` inputs.
    """
    turns = [(other.short() - expected.short()).abs_() for other in changed]
    most = functools.reduce(torch.maximum, turns, torch.zeros_like(expected, dtype=torch.int16))
    is_rounded = bool(most.any()) and int(most.max()) <= _FURTHEST_TURN
    return most.clamp_(max=1).float() if is_rounded else None


def _summed(expected: torch.Tensor, draws: Sequence[torch.Tensor], share: float) -> torch.Tensor:
    """The size of what is summed in each element, as its changes tell; fp64."""
    tiny = torch.finfo(torch.float64).tiny
    squares = torch.empty(expected.shape, dtype=torch.float64, device=expected.device)
    largest = torch.empty_like(squares)
    arrays = [array.reshape(-1) for array in (expected, *draws)]
    for to, most, size, *others in in_parts(squares.view(-1), largest.view(-1), *arrays):
        wide = size.double()
        changes = [(other.double() - wide).abs_().nan_to_num_(0.0, 0.0) for other in others]
        # Not by a sum or maximum along an axis, which torch would divide among threads.
        most.copy_(functools.reduce(torch.maximum, changes)).clamp_(min=tiny)
        to.zero_()
        for change in changes:
            to.add_(change.div_(most).square_())
    return squares.div_(len(draws)).sqrt_().div_(share).mul_(largest)


def is_near(
    found: torch.Tensor,
    expected: torch.Tensor,
    draws: Sequence[torch.Tensor],
    share: float,
    dtype: torch.dtype,
) -> bool:
    """Whether every finite element of an output is within its tolerance; see `slack`."""
    off = (found.double() - expected.double()).abs()
    allowed = relative_tolerance(dtype) * expected.double().abs()
    allowed += slack(expected, draws, share, dtype)
    return bool((~off.isfinite() | (off <= allowed)).all())


def within(
    found: torch.Tensor, expected: torch.Tensor, off: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """For each element whether it is what is expected, or so near as the check of a board allows:
    what is infinite has nothing near it.

    Args:
        found, expected: of an output with floats.
        off: the slack of each element.
        dtype: the type that the relative tolerance is of.
    """
    got, right = found.double(), expected.double()
    error, allowed = (got - right).abs(), relative_tolerance(dtype) * right.abs() + off.double()
    is_same = (got == right) | (got.isnan() & right.isnan())
    return is_same | (error.isfinite() & (error <= allowed))


def _ordinary_size(expected: torch.Tensor) -> torch.Tensor:
    """For each element what nine in ten do not exceed, of those that differ from it in one index
    alone: the least of that over the indices. Of all, where there are few such elements."""
    sizes = torch.nan_to_num(expected.abs(), 0.0, 0.0, 0.0)
    axes = [axis for axis, count in enumerate(sizes.shape) if count >= _FEWEST_IN_LINE]
    if not axes:
        every = max(1, -(-sizes.numel() // _MOST_SORTED))
        some = sizes.flatten()[::every]
        return some.quantile(_ORDINARY) if some.numel() else sizes
    return functools.reduce(torch.minimum, [_quantile_along(sizes, axis) for axis in axes])


def _quantile_along(sizes: torch.Tensor, axis: int) -> torch.Tensor:
    """What nine in ten elements along an axis do not exceed, by a sample of each such line."""
    count = sizes.shape[axis]
    if count > _MOST_IN_LINE:
        generator = torch.Generator(sizes.device).manual_seed(0)
        places = torch.randint(0, count, (_MOST_IN_LINE,), generator=generator, device=sizes.device)
        sizes = sizes.index_select(axis, places)
    place = min(sizes.shape[axis], int(_ORDINARY * sizes.shape[axis]) + 1)
    return sizes.kthvalue(place, dim=axis, keepdim=True).values


def is_finite(tensor: torch.Tensor) -> torch.Tensor:
    """Which elements are neither infinite nor NaN; of fp8, too, which torch's own does not tell."""
    return (tensor.float() if tensor.dtype.itemsize == 1 else tensor).isfinite()


def accepted_constant(
    expected: torch.Tensor, allowed: torch.Tensor, dtype: torch.dtype
) -> float | None:
    """A number that would pass as every element of an output; None if there is none, or if all
    elements are one number.

    Args:
        expected: the output.
        allowed: its `slack`.
        dtype: of the output.
    """
    size = expected.double()
    if not bool(size.isfinite().all()) or not bool((size != size.flatten()[:1]).any()):
        return None
    off = allowed.double() + relative_tolerance(dtype) * size.abs()
    lowest, highest = float((size - off).max()), float((size + off).min())
    return (lowest + highest) / 2 if lowest <= highest else None


def accepts_half(expected: torch.Tensor, allowed: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether half of each element of an output would pass, and not all elements are zero.

    Args:
        expected, allowed, dtype: as for `accepted_constant`.
    """
    size = expected.double().abs()
    finite = size[size.isfinite()]
    off = allowed.double()[size.isfinite()] + relative_tolerance(dtype) * finite
    return bool((finite > 0).any()) and bool((finite / 2 <= off).all())


def tolerance(dtype: torch.dtype) -> Tolerance:
    """The relative part of an output's tolerance."""
    return Tolerance(rtol=relative_tolerance(dtype))
