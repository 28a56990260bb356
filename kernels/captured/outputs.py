"""What a captured kernel has to give: what its deployed configuration gave, and how closely.

The deployed configuration runs on the captured arguments: as they are, with more precise ones, with
outputs that hold something else before, and with inputs that are disturbed a little.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from foundation.errors import UserError
from kernels.captured.deployed import Deployed, Reached
from kernels.captured.drawn import ContentsError
from kernels.captured.memory import Memory, joined
from kernels.own.tolerance import (
    BYTES,
    DRAWS,
    byte_slack,
    disturbed,
    in_parts,
    relative_tolerance,
    share_of,
    slack,
    turned,
    within,
)

__all__ = ["CheckedOutputs", "Output", "checked_outputs", "near", "same"]

_NARROW = (torch.float16, torch.bfloat16)
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Output:
    """An array that the kernel writes: the memory from its first element to its last.

    Args:
        start: its contents before every run: where the kernel's result depends on them, or it
            writes nothing, as captured; poison elsewhere. None if all of it is poison.
        expected: its contents after a run, of the same type.
        slack: fp32, how far each element may be off besides the relative tolerance; None for
            integers that have to be exact.
    """

    start: torch.Tensor | None
    expected: torch.Tensor
    slack: torch.Tensor | None

    def behind(self, front: torch.Tensor) -> Output:
        """The same array with what lies in front of it, which has to stay as it is."""
        if not len(front):
            return self
        start = _poison(self.expected) if self.start is None else self.start
        exact = torch.zeros(len(front), device=front.device)
        slack = None if self.slack is None else torch.cat([exact, self.slack])
        return Output(joined(front, start), joined(front, self.expected), slack)


@dataclass(frozen=True)
class CheckedOutputs:
    """The outputs of a captured kernel.

    Args:
        outputs: by parameter.
        varying: parameters whose contents differ in their last bits from run to run.
        in_fp32: whether they were computed in fp32 where the program has 16-bit floats.
        given: the tensors before a run; they share no memory.
    """

    outputs: Mapping[str, Output]
    varying: tuple[str, ...]
    in_fp32: bool
    given: Memory

    def poisoned(self) -> Memory:
        """The tensors before a run that is to be checked."""
        made = self.given.copied()
        for name, output in self.outputs.items():
            span = made.span(name)
            span.copy_(_poison(output.expected) if output.start is None else output.start)
        return made

    def agree(self, after: Memory) -> bool:
        """Whether every output is right after a run."""
        return all(_within(after.span(name), output) for name, output in self.outputs.items())


def checked_outputs(deployed: Deployed, given: Memory) -> CheckedOutputs:
    """The outputs of the deployed configuration on the captured arguments.

    Args:
        deployed: the launch.
        given: its tensors, which share no memory: `Memory.apart`.

    Raises:
        UserError: if the kernel writes nothing.
        ContentsError: if its outputs differ from run to run by more than rounding.
    """
    name = deployed.function.__name__
    first, second = deployed.run(given), deployed.run(given)
    reached = deployed.reached(given) or _seen(given, first)
    written = [n for n in given.views if n in reached.stored]
    if not written:
        raise UserError(f"{name} writes none of its arguments: there is nothing to check it by")
    precise = _in_fp32(deployed, given)
    read = frozenset(given.views[n].storage for n in given.views if n in reached.loaded)
    runs = _Runs(deployed, given, first, read, reached.rounded_to)
    expected = _expected(runs, written, precise)
    if precise is not None and not all(_within(first.span(n), o) for n, o in expected.items()):
        precise, expected = None, _expected(runs, written, None)
    for output in written:
        if not _within(second.span(output), expected[output]):
            raise ContentsError(
                f"{name} writes other values to {output} in each run, so nothing tells whether "
                "a configuration is right"
            )
    starts = {n: _start(deployed, given, first, n, n in reached.loaded) for n in written}
    return CheckedOutputs(
        {n: replace(expected[n], start=start) for n, start in starts.items()},
        tuple(n for n in written if not same(first.span(n), second.span(n)).all()),
        precise is not None,
        given,
    )


def _seen(given: Memory, after: Memory) -> Reached:
    """What a run shows: that it writes what it changes, and may read anything."""
    changed = [n for n in given.views if not same(after.span(n), given.span(n)).all()]
    return Reached(frozenset(given.views), frozenset(changed))


def _in_fp32(deployed: Deployed, given: Memory) -> tuple[Memory, Memory] | None:
    """The arguments with fp32 for 16-bit floats, and the tensors after a run on them.

    None if there are no such floats, or the kernel cannot be compiled so.
    """
    storages = [s for key, s in given.storages.items() if key not in given.mixed]
    if not any(storage.dtype in _NARROW for storage in storages):
        return None
    wide = given.with_storages(lambda s: s.float() if s.dtype in _NARROW else s.clone())
    with contextlib.suppress(Exception):  # whatever the compiler has against other types
        return wide, deployed.run(wide)
    return None


@dataclass(frozen=True)
class _Runs:
    """What outputs are told by.

    Args:
        deployed: the kernel.
        given, first: its tensors before and after a run.
        read: the storages that it may read.
        rounded_to: the coarsest 16-bit type that it converts to, if any.
    """

    deployed: Deployed
    given: Memory
    first: Memory
    read: frozenset[int]
    rounded_to: torch.dtype | None


def _expected(
    runs: _Runs, written: Sequence[str], precise: tuple[Memory, Memory] | None
) -> dict[str, Output]:
    """What each output should be, and by how much it may be off.

    Args:
        runs: of the kernel.
        written: its outputs.
        precise: the tensors before and after a run in fp32, to be used in place of those; or None.
    """
    deployed, given, first, read = runs.deployed, runs.given, runs.first, runs.read
    before, best = (given, first) if precise is None else precise
    share = share_of({str(key): storage for key, storage in given.storages.items()})
    floats = any(first.span(name).is_floating_point() for name in written)
    draws = range(DRAWS if floats else 0)
    numbers = _floats_read(before, read)
    disturbed_runs = [deployed.run(_with(before, disturbed(numbers, draw))) for draw in draws]
    may_round = bool(numbers) and any(first.span(name).dtype in BYTES for name in written)
    turned_ones = turned(numbers) if may_round else ()
    turned_runs = [deployed.run(_with(before, each)) for each in turned_ones]
    # Where a run in fp32 gives others, what the kernel converts may be 16-bit outputs alone.
    narrow = _coarsest(given)
    is_known = precise is not None or narrow == torch.float32
    coarse = max(narrow, runs.rounded_to or narrow, key=_step) if is_known else torch.float32

    def expect(name: str) -> Output:
        plain, dtype = first.span(name), first.span(name).dtype
        if dtype in BYTES and may_round:
            return Output(None, plain, byte_slack(plain, [run.span(name) for run in turned_runs]))
        if not dtype.is_floating_point:
            return Output(None, plain, None)
        rounded = best.span(name).to(dtype)
        wrote = ~same(rounded, given.span(name))
        changed = [run.span(name) for run in disturbed_runs]
        contents = _chosen(wrote, rounded, plain)
        output = Output(None, contents, slack(best.span(name), changed, share, dtype))
        if _step(coarse) <= _step(dtype) or (precise is not None and _within(plain, output)):
            return output
        # The kernel rounds on its way to what it writes, as a sum of products in fp16 does, or one
        # of fp32 that it converts: no configuration comes closer to what it computes in fp32.
        off = slack(best.span(name), changed, share, coarse)
        return Output(None, contents, off.add_(relative_tolerance(coarse) * rounded.float().abs()))

    return {name: expect(name) for name in written}


def _coarsest(given: Memory) -> torch.dtype:
    """The 16-bit type of the tensors, or the coarser one where both are there; fp32 without."""
    narrow = {storage.dtype for storage in given.storages.values() if storage.dtype in _NARROW}
    return max(narrow, key=_step, default=torch.float32)


def _step(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps


def _within(found: torch.Tensor, output: Output) -> bool:
    """Whether an output's contents are within its tolerance."""
    arrays = (found, output.expected) + (() if output.slack is None else (output.slack,))
    for got, wanted, *off in in_parts(*arrays):
        is_right = bool(same(got, wanted).all())
        if not is_right and not (off and bool(within(got, wanted, off[0], found.dtype).all())):
            return False
    return True


def near(found: torch.Tensor, output: Output) -> torch.Tensor:
    """For each element of an output's contents whether it is within its tolerance."""
    right = same(found, output.expected)
    if output.slack is None:
        return right
    for part, got, wanted, off in in_parts(right, found, output.expected, output.slack):
        if not bool(part.all()):
            part.logical_or_(within(got, wanted, off, found.dtype))
    return right


def _floats_read(memory: Memory, read: frozenset[int]) -> dict[str, torch.Tensor]:
    """The storages of floats that the kernel may read, by their keys as text."""
    keys = read - memory.mixed
    storages = {str(key): s for key, s in memory.storages.items() if key in keys}
    return {key: storage for key, storage in storages.items() if storage.is_floating_point()}


def _with(memory: Memory, changed: Mapping[str, torch.Tensor]) -> Memory:
    """The tensors with other storages, by their keys as text."""
    return Memory(
        {key: changed.get(str(key), storage) for key, storage in memory.storages.items()},
        memory.views,
    )


def _start(
    deployed: Deployed, given: Memory, first: Memory, name: str, is_loaded: bool
) -> torch.Tensor | None:
    """The contents of an output before each run, as `Output.start` has them.

    Args:
        deployed: the kernel.
        given, first: its tensors before and after a run; they share no memory.
        name: of the output.
        is_loaded: whether the kernel may read it.
    """
    before, after = given.span(name), first.span(name)
    if is_loaded and not before.is_floating_point():
        return before.clone()  # counters and locks must start as they did
    other = _other_contents(before)
    refilled = given.copied()
    refilled.span(name).copy_(other)
    rerun = deployed.run(refilled)
    others = [n for n in given.views if n != name]
    if is_loaded and not all(bool(same(rerun.span(n), first.span(n)).all()) for n in others):
        return before.clone()  # what is overwritten there is an input of other outputs
    again = rerun.span(name)
    overwritten = same(again, after) & ~same(again, other)
    if bool(overwritten.all()):
        return None
    return _chosen(overwritten, _poison(after), before)


def _other_contents(before: torch.Tensor) -> torch.Tensor:
    """Contents that differ from `before` in every element."""
    if not before.is_floating_point():
        return _flipped(before)
    wide = before.float()
    nan, zero = torch.full_like(wide, torch.nan), torch.zeros_like(wide)
    return torch.where(wide.isnan(), zero, nan).to(before.dtype)


def _poison(after: torch.Tensor) -> torch.Tensor:
    """Contents that are wrong in every element."""
    if not after.is_floating_point():
        return _flipped(after)
    return torch.full(after.shape, torch.nan).to(device=after.device, dtype=after.dtype)


def _flipped(integers: torch.Tensor) -> torch.Tensor:
    """The complement, of truth values or of bits; torch has none for most unsigned types. Of bytes
    the highest bit alone: the complement of 0 is a neighbour, which may be right."""
    if integers.dtype is torch.bool:
        return ~integers
    if integers.dtype in BYTES:
        return (integers.view(torch.int8) ^ -128).view(integers.dtype)
    return (~integers.view(_BITS[integers.element_size()])).view(integers.dtype)


def _chosen(where: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """`one` where it holds and `other` elsewhere; torch's own does not take 8-bit floats."""
    bits = _BITS[one.element_size()]
    return torch.where(where, one.view(bits), other.view(bits)).view(one.dtype)


def same(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """For each element whether the two have the same bits; NaN is equal to itself."""
    bits = _BITS[one.element_size()]
    return one.view(bits) == other.view(bits)
