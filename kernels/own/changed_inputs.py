"""Changes of a launch's inputs: other signs, means and scales, zeros, minus infinity, NaN, and
extremes and markers of integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from foundation.strides import memory_of, view_of

__all__ = ["Change", "changed"]

# One row of so many has another scale, and another one another mean.
_ROWS = 8
# Of two, up to 2**7, by which numbers from -1 to 1 become bytes.
_POWERS = 7
# A row's mean, in units of its tensor's size. A variance as the difference of two means loses ten
# bits to it; with more, a sum of 10,000 in fp32 would leave what the tolerance of 1e-4 allows.
_FAR = 32.0
# Elements that the processor draws for a GPU, too.
_SOON_DRAWN = 1 << 22
# A heavy element is so many times as large as any other of its row, at least.
_HEAVIER = 1.25
# Types that torch stores and converts, and hardly computes with.
_BARE = (torch.uint16, torch.uint32, torch.uint64)
# A number of any type, true as a truth value, and none that kernels write where they should not.
_IN_GAPS = 85
# Gives random numbers between 0 and 1 in a tensor of a shape.
_Drawn = Callable[..., torch.Tensor]


@dataclass(frozen=True)
class Change:
    """How a tensor is changed, of floating-point numbers, integers or truth values, or a number.

    Args:
        row_scale: by how much one row of eight is larger. A number becomes so many times as large,
            and a number that is zero as large as what is left to one.
        heavy: by how much one element of each row is larger.
        shift: what is added to one row of eight, in units of the tensor's size.
        signs: whether half of the elements, at random, change their sign; one more row of eight
            then has its mean as far below zero as the other's is above, and no large positive one.
        ties: whether the heavy element of every second row stands there twice, and zeros become
            other numbers.
        zero_rows: whether one row of eight is all zeros, one by the square of `row_scale`
            smaller, and every second one has a zero, half of these at its start.
        far: whether one row of eight lies further above zero than any other, and is no wider than
            it was: what it sums cancels, and its heavy element stays as it was.
        halfway: whether, of one row of eight, every fourth element lies halfway between two
            integers, and another fourth does times powers of two.
        infinite: whether, of one row of eight, the last element but one is minus infinity.
        masked_rows: whether, of sixteen rows, one is minus infinity alone.
        nan: whether one row of sixteen, or one of fewer, has a NaN.
        zeros: whether one element of eight becomes zero, of integers.
        extremes: whether one element of eight becomes the largest of its type, and one the
            smallest, of integers.
        full_rows: whether one row of eight is all of the largest, and one all of the smallest, of
            integers.
        halves: whether one element of four becomes half of what it is, of integers.
        negative: whether one element of eight changes its sign, of integers.
        larger: whether one element of eight becomes one more than twice what it is, of integers. A
            whole number does, or else becomes half of what it is.
        backwards: whether the elements are in reverse order, of integers.
        uneven: whether every second element moves halfway to the one before, but for the last, of
            integers: offsets still ascend.
        empty: whether every eighth one moves all the way.
        place: what one element of eight becomes, of integers, such as a table's last row, or 0.
        gaps: whether what lies between the elements becomes other numbers, and nothing else does.
        marker: what one element of eight becomes, of integers, such as a label that is to be
            ignored; 0 for none.
        along: the dimension along which rows lie; None for the last, or for how memory lies.
    """

    row_scale: float = 1.0
    heavy: float = 1.0
    shift: float = 0.0
    signs: bool = False
    ties: bool = False
    zero_rows: bool = False
    far: bool = False
    halfway: bool = False
    infinite: bool = False
    masked_rows: bool = False
    nan: bool = False
    zeros: bool = False
    extremes: bool = False
    full_rows: bool = False
    halves: bool = False
    negative: bool = False
    larger: bool = False
    backwards: bool = False
    uneven: bool = False
    empty: bool = False
    place: int = 0
    gaps: bool = False
    marker: int = 0
    along: int | None = None


def changed(values: Mapping[str, Any], changes: Mapping[str, Change]) -> dict[str, Any]:
    """The values with some tensors changed; the same for the same values."""
    return {
        name: _changed(value, changes[name], seed) if name in changes else value
        for seed, (name, value) in enumerate(values.items())
    }


def _piece(elements: int) -> int:
    """The length of what a vector has in the place of rows: an eighth, if they come out even."""
    return elements // _ROWS if elements % _ROWS == 0 and elements >= _ROWS**2 else elements


def _columns(tensor: torch.Tensor, memory: torch.Tensor) -> int:
    """The length of a row of the tensor's memory."""
    columns = tensor.shape[-1] if tensor.dim() > 1 else _piece(memory.numel())
    return columns if memory.numel() % columns == 0 else memory.numel()


def _changed_integers(tensor: torch.Tensor, memory: torch.Tensor, change: Change) -> torch.Tensor:
    elements, (least, most) = memory.flatten().clone(), _limits(memory.dtype)
    if memory.dtype in _BARE:
        elements, most = elements.to(torch.int64), most if most < 1 << 63 else -1
    if change.backwards:
        elements = elements.flip(0)
    if change.uneven:
        elements[1:-1:2] -= (elements[1:-1:2] - elements[:-2:2]) // 2
    if change.empty:
        elements[3:-1:_ROWS] = elements[2:-2:_ROWS]
    if change.zeros:
        elements[::_ROWS] = 0
    if change.halves:  # of few, one whose row is not all zeros
        elements[min(2, len(elements) - 1) :: _ROWS // 2] //= 2
    if change.extremes:
        elements[1::_ROWS], elements[2::_ROWS] = most, least
    if change.negative:
        elements[5::_ROWS] *= -1
    if change.larger:
        elements[7::_ROWS] = 2 * elements[7::_ROWS] + 1
    if change.place:
        elements[min(4, len(elements) - 1) :: _ROWS] = change.place
    if change.marker:
        elements[min(3, len(elements) - 1) :: _ROWS] = change.marker
    if change.full_rows:
        rows = elements.reshape(-1, _columns(tensor, memory))
        rows[1::_ROWS], rows[2::_ROWS] = most, least
    return elements.to(memory.dtype).reshape(memory.shape)


def _limits(dtype: torch.dtype) -> tuple[int, int]:
    """The least and the largest of a type of integers or truth values."""
    if dtype == torch.bool:
        return 0, 1
    limits = torch.iinfo(dtype)
    return limits.min, limits.max


def _changed_number(value: float, change: Change) -> float:
    if isinstance(value, int):
        return 2 * value + 1 if change.larger else value // 2
    return value * change.row_scale if value else 1 - change.row_scale


def _changed(value: Any, change: Change, seed: int) -> Any:
    if not isinstance(value, torch.Tensor):
        return _changed_number(value, change)
    memory = memory_of(value)
    if change.gaps:
        filled = view_of(torch.full_like(memory, _IN_GAPS), value)
        return filled.copy_(value)
    if value.is_floating_point():
        if change.along is not None:
            rows = value.movedim(change.along, -1).contiguous()
            found = _changed_floats(rows, rows, change, seed).movedim(-1, change.along)
            return view_of(memory.clone(), value).copy_(found)
        return view_of(_changed_floats(value, memory, change, seed), value)
    return view_of(_changed_integers(value, memory, change), value)


def _changed_floats(
    tensor: torch.Tensor, memory: torch.Tensor, change: Change, seed: int
) -> torch.Tensor:
    given = memory.to(torch.float64).reshape(-1, _columns(tensor, memory))
    is_finite = given.isfinite()
    rows = torch.where(is_finite, given, 0.0)
    # The same numbers for every board, where it is soon done.
    device = "cpu" if memory.numel() <= _SOON_DRAWN else memory.device
    generator = torch.Generator(device).manual_seed(seed)

    def drawn(*shape: int) -> torch.Tensor:
        numbers = torch.rand(*shape, generator=generator, device=device, dtype=torch.float64)
        return numbers.to(memory.device)

    size = float(rows.square().mean().sqrt()) or 1.0
    rows = _with_other_elements(rows, size, change, drawn)
    far = rows[2::_ROWS] + _FAR * size
    _change_rows(rows, size, change, drawn)
    _add_heavy(rows, change, drawn)
    if change.far:
        rows[2::_ROWS] = far
    _put_special(rows, change)
    rows[~is_finite] = given[~is_finite]  # a mask's
    return rows.reshape(memory.shape).to(memory.dtype)


def _put_special(rows: torch.Tensor, change: Change) -> None:
    """Zeros, halves, minus infinity and NaN in the place of other numbers."""
    if change.zero_rows and len(rows) > 1:  # of fewer than five rows, the last
        rows[min(4, len(rows) - 1) :: _ROWS] = 0
    if change.halfway and not (change.zero_rows and len(rows) == 2):
        some = rows[_first_halfway(len(rows)) :: _ROWS]
        some[:, 1::4] = some[:, 1::4].floor() + 0.5
        # What a scale of 2**power, or of three quarters of it, makes 0.5 and 4.5: both round down.
        for power in range(1, _POWERS + 1):
            some[:, 4 * power - 1 :: 8 * _POWERS] = 0.5 / 2**power
            some[:, 4 * (power + _POWERS) - 1 :: 8 * _POWERS] = 1.5 / 2**power
    # Of fewer than eight rows, the last. What walks along a row, by blocks or with an extreme in
    # each lane, has seen numbers before.
    if change.infinite:
        rows[min(7, len(rows) - 1) :: _ROWS, -2:-1] = -torch.inf
    if change.masked_rows:
        rows[_ROWS :: 2 * _ROWS] = -torch.inf
    if change.nan:
        first = _ROWS + 1 if len(rows) > _ROWS + 1 else 0
        rows[first :: 2 * _ROWS, rows.shape[1] // 2] = torch.nan


def _first_halfway(count: int) -> int:
    """The first row of so many with elements halfway between integers: none that is small."""
    return 6 if count > 6 else min(1, count - 1)


def _first_small(count: int) -> int:
    """The first of so many rows in which an epsilon counts: of few, the first."""
    return 0 if 1 < count < 6 else 5


def _with_other_elements(
    rows: torch.Tensor, size: float, change: Change, drawn: _Drawn
) -> torch.Tensor:
    """With a spread in place of a constant, numbers in place of zeros, and other signs.

    Args:
        rows, change: the elements, and how they change.
        size: the root of the elements' mean square.
        drawn: see `_Drawn`.
    """
    if float(rows.std(correction=0)) < 1e-3 * size:  # a constant says least
        rows = rows + size * change.heavy * (drawn(*rows.shape) - 0.5) / 2
    if change.ties:
        rows = torch.where(rows == 0, size * (drawn(*rows.shape) - 0.5), rows)
    return torch.where(drawn(*rows.shape) < 0.5, -rows, rows) if change.signs else rows


def _change_rows(rows: torch.Tensor, size: float, change: Change, drawn: _Drawn) -> None:
    """Give rows another scale, another mean or a zero; arguments as above."""
    every = torch.arange(len(rows), device=rows.device)
    which = every % _ROWS
    rows[which == 1] *= change.row_scale
    rows[which == 2] += change.shift * size
    if change.signs:  # a row whose largest element is below what a mask may put beside it
        rows[which == 3] -= change.shift * size
    if change.zero_rows:  # no zero in a row whose elements are all on one side of it
        some = every[which % 2 == 0]
        places = _places(len(some), rows, drawn)
        places[some % 4 == 0] = 0  # where a kernel looks that skips what begins with a zero
        rows[some, places] = 0
        rows[_first_small(len(rows)) :: _ROWS] /= change.row_scale**2


def _add_heavy(rows: torch.Tensor, change: Change, drawn: _Drawn) -> None:
    """Make one element of each row the largest, in some rows twice."""
    count, length = rows.shape
    every = torch.arange(count, device=rows.device)
    place = _places(count, rows, drawn)
    place[every % 2 == 0] = length - 1  # at the rim, which blocks that do not divide it cut
    chosen, largest = rows[every, place], rows.abs().amax(1)
    sizes = torch.maximum(change.heavy * chosen.abs(), min(change.heavy, _HEAVIER) * largest)
    heavy = torch.where(chosen < 0, -sizes, sizes)
    if change.signs:  # the largest of a scale is not left to luck
        is_above = (every // _ROWS % 2 == 0) & (every % _ROWS != 3)
        heavy = torch.where(is_above, heavy.abs(), -heavy.abs())
    rows[every, place] = heavy
    if change.ties:
        # Where it stands alone and at the rim, what leaves out the rim is wrong.
        twice = every % 2 == (1 if count > 1 else 0)
        again = _places(count, rows, drawn)
        rows[every[twice], again[twice]] = heavy[twice]


def _places(count: int, rows: torch.Tensor, drawn: _Drawn) -> torch.Tensor:
    """So many random columns."""
    length = rows.shape[1]
    return (drawn(count) * length).long().clamp(max=length - 1)
