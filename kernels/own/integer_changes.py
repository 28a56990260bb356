"""Which changes of integers and truth values tell more than a file's own, in the order tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch

from kernels.own.changed_inputs import Change

__all__ = ["INTEGERS", "FirstRight", "with_integers"]

_ZEROS = Change(zeros=True)
# Of types in which sums overflow soon. Wider ones are places and lengths more often than not, and
# an extreme of those takes memory and time without bound.
_EXTREMES = Change(zeros=True, extremes=True)
_FULL_ROWS = Change(zeros=True, extremes=True, full_rows=True)
_NARROW_INTEGERS = (torch.int16, torch.int8, torch.uint8, torch.bool)
# Beside halves, from what tells most.
_OTHER_INTEGERS = (("negative", "larger"), ("negative",), ("larger",), ())
# Labels that are to be ignored: of torch's losses, and of many kernels. A signed type holds them.
_MARKERS = (-100, -1)
# Of what has to hold each number once, or to ascend.
_IN_ORDER = (Change(backwards=True), Change(uneven=True, empty=True), Change(uneven=True))
# So many of the largest sizes may be those of what an integer is a place in.
_MOST_PLACES = 3
INTEGERS = (torch.int32, torch.int64, *_NARROW_INTEGERS)

# Gives the first of some changes under which the default configuration is right; {} if there is
# none.
FirstRight = Callable[[Iterable[dict[str, Change]]], dict[str, Change]]


def with_integers(
    name: str, values: Mapping[str, Any], found: dict[str, Change], first_right: FirstRight
) -> dict[str, Change]:
    """The changes with one more, of a tensor of integers or truth values."""
    dtype = values[name].dtype
    tried = (_FULL_ROWS, _EXTREMES, _ZEROS) if dtype in _NARROW_INTEGERS else (_ZEROS,)
    alone = first_right({name: change} for change in tried)
    if dtype != torch.bool:
        halves = replace(alone.get(name, Change()), halves=True)
        others = [replace(halves, **dict.fromkeys(fields, True)) for fields in _OTHER_INTEGERS]
        alone = first_right({name: change} for change in others) or alone
        alone = alone or first_right({name: change} for change in _IN_ORDER)
        base = alone.get(name, Change())
        places = _last_places(values[name], values)
        alone = first_right({name: replace(base, place=place)} for place in places) or alone
    if dtype.is_signed:
        base = alone.get(name, Change())
        alone = first_right({name: replace(base, marker=m)} for m in _MARKERS) or alone
    if not alone:
        return found
    # Other sums, such as of longer segments, reach what is minus infinity or NaN.
    none = {"infinite": False, "masked_rows": False, "nan": False}
    finite = {name: replace(change, **none) for name, change in found.items()}
    bases: list[dict[str, Change]] = [found] if finite == found else [found, finite]
    return first_right({**each, **alone} for each in bases) or found


def _last_places(tensor: torch.Tensor, values: Mapping[str, Any]) -> list[int]:
    """The largest of the last places along other tensors that its elements do not reach."""
    others = (value for value in values.values() if isinstance(value, torch.Tensor))
    sizes = {size for other in others if other is not tensor for size in other.shape}
    least, most = int(tensor.to(torch.int64).max()), torch.iinfo(tensor.dtype).max
    places = [size - 1 for size in sorted(sizes, reverse=True) if least < size - 1 <= most]
    return places[:_MOST_PLACES]
