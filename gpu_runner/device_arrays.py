"""A kernel's arguments in a GPU's memory: poisoned and restored before runs, checked after them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from foundation.torch_types import TORCH_TYPES
from launchers.arguments import Argument

__all__ = ["DamagedMemory", "DeviceArguments", "Errors", "Mismatch"]

# Truth values are stored in bytes.
_TYPES = {**TORCH_TYPES, "i1": torch.uint8}
_BITS: dict[int, torch.dtype] = {
    1: torch.int8,
    2: torch.int16,
    4: torch.int32,
    8: torch.int64,
}

# Around each array lies memory that no kernel may write. Read as floating-point numbers of any
# type it is NaN, so that a result made from it is wrong. A multiple of 512, as torch aligns arrays.
_GUARD_BYTES = 1 << 16
_GUARD_BYTE = 0xFF


@dataclass(frozen=True)
class Errors:
    """How far right outputs are off.

    Args:
        largest: difference from the reference.
        share: of its tolerance that an element is off by, the largest.
    """

    largest: float = 0.0
    share: float = 0.0

    def or_more(self, other: Errors) -> Errors:
        """Of both runs."""
        return Errors(max(self.largest, other.largest), max(self.share, other.share))


class Mismatch(Exception):
    """An output is wrong, or the kernel wrote where it may not; the message is one sentence.

    Attributes:
        max_abs_error: largest difference from the reference; None if none was computed.
    """

    def __init__(self, message: str, max_abs_error: float | None = None) -> None:
        super().__init__(message)
        self.max_abs_error = max_abs_error


class DamagedMemory(Mismatch):
    """The kernel wrote where it may not: these arguments cannot be used again."""


class _Array:
    """One array between two guards.

    Args:
        argument: whose value and expected output it holds.
        device: torch's name of the GPU.
    """

    def __init__(self, argument: Argument, device: str) -> None:
        self.name = argument.name
        self.type = _TYPES[argument.element_type]
        self.is_float = self.type.is_floating_point
        self.is_constant = argument.constant
        self.atol, self.rtol = argument.atol, argument.rtol
        self._described, self._lead = argument.described, argument.lead
        slack = np.zeros(1, np.float32) if argument.slack is None else argument.slack.reshape(-1)
        self.slack = torch.from_numpy(np.ascontiguousarray(slack)).to(device)
        self.has_slack = argument.slack is not None
        self.start = _on_device(argument.value, self.type, device)
        self.expected = _on_device(argument.expected, self.type, device)
        known = self.start if self.expected is None else self.expected
        assert known is not None
        size_bytes = known.numel() * known.element_size()
        rounded = -(-size_bytes // 512) * 512
        self._memory = torch.full(
            (_GUARD_BYTES + rounded + _GUARD_BYTES,), _GUARD_BYTE, dtype=torch.uint8, device=device
        )
        inside = self._memory[_GUARD_BYTES : _GUARD_BYTES + size_bytes]
        self.view = inside.view(self.type)
        self._bits = inside.view(_BITS[known.element_size()])
        self._guards = (
            self._memory[:_GUARD_BYTES],
            self._memory[_GUARD_BYTES + size_bytes :],
        )
        if self.start is not None:
            self.view.copy_(self.start)

    @property
    def is_output(self) -> bool:
        return self.expected is not None

    @property
    def passed(self) -> torch.Tensor:
        """It from the element on whose address a launch gets."""
        return self.view[self._lead :]

    def descriptor(self, block: Sequence[int]) -> TensorDescriptor:
        """It as a descriptor."""
        described = self._described
        assert described is not None
        shape, strides = list(described.shape), list(described.strides)
        return TensorDescriptor(self.passed, shape, strides, list(block), described.padding)

    def restore(self) -> None:
        """Put the contents back that the kernel starts from, if it reads what it writes."""
        if self.is_output and self.start is not None:
            self.view.copy_(self.start)

    def poison(self) -> None:
        """Fill an output with what is wrong everywhere."""
        if self.expected is None or self.start is not None:
            return
        if self.is_float:
            expected = self.expected.to(torch.float64)
            nowhere = torch.full_like(expected, math.nan).masked_fill_(expected.isnan(), 0.0)
            self.view.copy_(nowhere.to(self.type))
        else:
            bits = self.expected.view(self._bits.dtype)
            self._bits.copy_(bits ^ torch.iinfo(bits.dtype).min)

    def damage(self) -> str:
        """What the kernel wrote to and may not, in one sentence, or ""."""
        for guard, where in zip(self._guards, ("before", "after"), strict=True):
            if bool((guard != _GUARD_BYTE).any()):
                return f"it writes {where} the array {self.name}"
        return ""

    def mend(self) -> None:
        """Put an input back, which the kernel may have used as scratch memory."""
        if self.expected is None and self.start is not None:
            self.view.copy_(self.start)

    def exchange(self, other: _Array) -> None:
        """Start from and end as another array of the same argument was to, and it as this one."""
        self.start, other.start = other.start, self.start
        self.expected, other.expected = other.expected, self.expected
        self.slack, other.slack = other.slack, self.slack
        self.has_slack, other.has_slack = other.has_slack, self.has_slack
        self.atol, other.atol = other.atol, self.atol
        self.rtol, other.rtol = other.rtol, self.rtol

    def bits(self) -> torch.Tensor:
        """A copy of its contents."""
        return self._bits.clone()

    def holds(self, bits: torch.Tensor) -> bool:
        """Whether its contents are these."""
        return torch.equal(self._bits, bits)

    def findings(self) -> torch.Tensor:
        """Whether it is damaged, an input was changed or an output is wrong, the largest error and
        the largest share of a tolerance.

        Five numbers in the GPU's memory, so that one wait for it tells of all arrays.
        """
        damaged = torch.stack([(guard != _GUARD_BYTE).any() for guard in self._guards]).any()
        changed = wrong = torch.zeros_like(damaged)
        largest = share = torch.zeros((), dtype=torch.float64, device=damaged.device)
        if self.expected is not None and self.expected.numel():
            error, tolerance, right = self._errors()
            wrong, largest = ~right.all(), error.max()
            share = (error / tolerance).nan_to_num_(nan=0.0).max()  # none is off by 0 of 0
        elif self.expected is None and self.start is not None:
            changed = (self._bits != self.start.view(self._bits.dtype)).any()
        found = (damaged, changed, wrong, largest, share)
        return torch.stack([number.double() for number in found])

    def mismatch(self, largest: float) -> Mismatch:
        """What is wrong with a wrong output, whose largest error is known."""
        assert self.expected is not None
        *_, right = self._errors()
        if bool(right.all()):
            return Mismatch(f"{self.name} was wrong in a run before the last", largest)
        place = int((~right).to(torch.uint8).argmax())
        got, wanted = float(self.view[place]), float(self.expected[place])
        off, count = int((~right).sum()), right.numel()
        share = "" if count == 1 else f"; {off} of {count} {'is' if off == 1 else 'are'} wrong"
        what = f"{self.name}[{place}] is {got:g} and should be {wanted:g}{share}"
        return Mismatch(what, largest)

    def _errors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The error of each element of an output, its tolerance, and whether it is right."""
        expected = self.expected
        assert expected is not None
        got, wanted = self.view.to(torch.float64), expected.to(torch.float64)
        if self.is_float or self.has_slack or self.atol or self.rtol:
            same = (got == wanted) | (got.isnan() & wanted.isnan())
            error = torch.where(same, 0.0, (got - wanted).abs())
        else:
            same = self._bits == expected.view(self._bits.dtype)
            error = torch.where(same, 0.0, 1.0)
        error = error.nan_to_num(nan=math.inf, posinf=math.inf)
        # An infinite error is wrong even where an infinite reference makes the tolerance so.
        tolerance = self.atol + self.slack + self.rtol * wanted.abs()
        return error, tolerance, same | (error.isfinite() & (error <= tolerance))


class DeviceArguments:
    """All arguments of a kernel, in its order.

    Args:
        arguments: with their contents and expected outputs.
        device: torch's name of the GPU.
    """

    def __init__(self, arguments: Sequence[Argument], device: str) -> None:
        self._arrays = {a.name: _Array(a, device) for a in arguments if a.is_pointer}
        self._scalars = {a.name: a.value for a in arguments if not a.is_pointer}

    @property
    def in_place(self) -> bool:
        """Whether a run starts from what outputs hold."""
        return any(a.is_output and a.start is not None for a in self._arrays.values())

    def value(self, name: str) -> Any:
        """What a launch passes for a parameter that is no descriptor."""
        array = self._arrays.get(name)
        return self._scalars[name] if array is None else array.passed

    def descriptor(self, name: str, block: Sequence[int]) -> TensorDescriptor:
        """What a launch passes for a parameter by which the kernel loads or stores such blocks."""
        return self._arrays[name].descriptor(block)

    def poison(self) -> None:
        """Before a run whose outputs are checked: fill them with what is wrong, or restore them."""
        for array in self._arrays.values():
            array.poison()
            array.restore()

    def renew(self) -> None:
        """The same, and inputs hold what they did at first, whatever a run before made of them."""
        self.poison()
        for array in self._arrays.values():
            array.mend()

    def exchange(self, other: DeviceArguments) -> None:
        """From the next `renew` on, hold the contents that another holds, which gets those of this.

        Args:
            other: arguments of the same names, types and sizes.
        """
        for name, array in self._arrays.items():
            array.exchange(other._arrays[name])

    def outputs(self) -> list[torch.Tensor]:
        """Copies of the outputs' contents."""
        return [array.bits() for array in self._arrays.values() if array.is_output]

    def hold(self, outputs: Sequence[torch.Tensor]) -> bool:
        """Whether the outputs' contents are these."""
        arrays = [array for array in self._arrays.values() if array.is_output]
        return all(array.holds(bits) for array, bits in zip(arrays, outputs, strict=True))

    def restore(self) -> None:
        """Before a timed run."""
        for array in self._arrays.values():
            array.restore()

    def findings(self) -> torch.Tensor:
        """What `judge` needs, in the GPU's memory; the larger of two such tells of both runs."""
        return torch.stack([array.findings() for array in self._arrays.values()])

    def check(self) -> Errors:
        """Compare the outputs with the reference.

        Raises:
            Mismatch: if one is wrong.
            DamagedMemory: if the kernel wrote where it may not.
        """
        return self.judge(self.findings()) if self._arrays else Errors()

    def judge(self, findings: torch.Tensor) -> Errors:
        """The errors of the runs that the findings are of; the last is still in memory.

        Raises:
            Mismatch: if an output was wrong.
            DamagedMemory: if the kernel wrote where it may not.
        """
        arrays, found = list(self._arrays.values()), findings.tolist()
        for array, (damaged, changed, *_) in zip(arrays, found, strict=True):
            if damaged:
                raise DamagedMemory(array.damage())
            if changed:
                array.mend()
            if changed and array.is_constant:
                raise Mismatch(f"{array.name} is an input, and the kernel changed it")
        errors = Errors()
        for array, (*_, wrong, largest, share) in zip(arrays, found, strict=True):
            if wrong:
                raise array.mismatch(largest)
            errors = errors.or_more(Errors(largest, share))
        return errors


def _on_device(contents: object, kind: torch.dtype, device: str) -> torch.Tensor | None:
    """The same bits on the GPU as an array of one dimension."""
    if contents is None:
        return None
    array = np.ascontiguousarray(contents).reshape(-1)
    return torch.from_numpy(array.view(np.uint8)).to(device).view(kind)
