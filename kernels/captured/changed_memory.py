"""Inputs of a captured task that tell more than the captured ones, for the check.

A bias of zeros or weights of ones say little of what is computed with them: a configuration that
leaves them out gives the right outputs. So the check runs on changed inputs, as far as the deployed
configuration is defined there: it stays within its tensors, and its outputs stay finite. The timed
runs, which are checked as well, have the captured inputs.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import torch

from foundation.errors import UserError
from foundation.strides import memory_of
from kernels.captured.deployed import Deployed
from kernels.captured.memory import Memory
from kernels.captured.outputs import CheckedOutputs, checked_outputs
from kernels.own.changed_inputs import Change, changed
from triton_rvv.errors import OutOfBoundsError

__all__ = ["changed_memory", "telling_changes"]

# From what tells most to what most kernels are defined for.
_CHANGES = (
    Change(row_scale=64.0, heavy=8.0, shift=4.0, signs=True),
    Change(row_scale=4.0, heavy=2.0, shift=1.0, signs=True),
    Change(row_scale=1.5, heavy=1.25, shift=0.25),
)
_KINDS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
# Quantised numbers, whose sums and signs take more bits than small ones show.
_NARROW_KINDS = (torch.int8, torch.uint8, torch.int16)
_NARROW_CHANGES = (
    Change(zeros=True, extremes=True, full_rows=True),
    Change(zeros=True, extremes=True),
)
# Places and lengths, which stay within what the program has. In other steps, a segment may be
# longer than a block that covers each.
_WIDE_KINDS = (torch.int32, torch.int64)
_WIDE_CHANGES = (Change(backwards=True),)
# Fewer elements may be lengths, positions or scales.
_FEWEST_ELEMENTS = 16
# Nothing more is tried after so much processor time, and nothing at all with so much memory.
_TOTAL_S = 10.0
_MOST_BYTES = 64 << 20


def changed_memory(memory: Memory, changes: Mapping[str, Change]) -> Memory:
    """The tensors with some of them changed; the same numbers on the processor and on a GPU.

    Args:
        memory: of tensors that share nothing: `Memory.apart`.
        changes: by parameter.
    """
    if not changes:
        return memory
    after = memory.copied()
    plain = {name: memory.tensor(name).cpu() for name in memory.views}
    for name, tensor in changed(plain, changes).items():
        if name in changes:
            after.span(name).copy_(memory_of(tensor).reshape(-1))
    return after


def telling_changes(
    deployed: Deployed, given: Memory, plain: CheckedOutputs, shared: frozenset[str]
) -> tuple[dict[str, Change], CheckedOutputs]:
    """The changes under which the deployed configuration can be checked, and what it gives there.

    No changes where the kernel takes much memory, where what it reads cannot be found out, and
    where a loop of it ends by a condition: with other inputs it may never end.

    Args:
        deployed: the launch.
        given: its tensors, on the processor; they share no memory.
        plain: what it gives on them.
        shared: parameters that share memory in the program, which stay as they are.
    """
    names = [name for name in _changeable(deployed, given, plain) if name not in shared]
    end_s = time.process_time() + _TOTAL_S
    found: dict[str, Change] = {}
    best = plain
    floats = [name for name in names if given.views[name].dtype in _KINDS]
    narrow = [name for name in names if given.views[name].dtype in _NARROW_KINDS]
    wide = [name for name in names if given.views[name].dtype in _WIDE_KINDS]
    tries = (
        _tries(floats, found),
        _integer_tries(narrow, _NARROW_CHANGES, found),
        _integer_tries(wide, _WIDE_CHANGES, found),
    )
    for tried in itertools.chain(*tries):
        if time.process_time() > end_s:
            break
        outputs = _defined(deployed, changed_memory(given, tried), plain)
        if outputs is not None:
            found.update(tried)
            best = outputs
    return found, best


def _tries(names: list[str], found: dict[str, Change]) -> Iterator[dict[str, Change]]:
    """Changes to try: of all tensors, and then of one more, until `found` has each of them; and of
    those that it has, with zeros."""
    for change in _CHANGES:
        if names and change.signs and not found:
            yield dict.fromkeys(names, change)
    for name in names:
        for change in _CHANGES:
            if name not in found:
                yield {**found, name: change}
    zeros = {name: replace(change, zero_rows=True) for name, change in found.items()}
    if zeros:
        yield zeros
    for name in zeros if len(zeros) > 1 and found != zeros else ():
        yield {**found, name: zeros[name]}


def _integer_tries(
    names: list[str], changes: Iterable[Change], found: dict[str, Change]
) -> Iterator[dict[str, Change]]:
    """Changes to try of tensors of integers, one after another, until `found` has them."""
    for name in names:
        for change in changes:
            if name not in found:
                yield {**found, name: change}


def _changeable(deployed: Deployed, given: Memory, plain: CheckedOutputs) -> list[str]:
    """Tensors of ordinary numbers that the kernel reads, and writes nothing to.

    Floats that are whole numbers stay as they are unless all are the same: they may be positions,
    counts or masks. Integers do if they have two values at most, as flags have, and wide ones if
    they ascend, as offsets do.
    """
    reached = deployed.reached(given)
    size_bytes = sum(storage.nbytes for storage in given.storages.values())
    if reached is None or reached.has_while or size_bytes > _MOST_BYTES:
        return []
    return [
        name
        for name, view in given.views.items()
        if view.dtype in (*_KINDS, *_NARROW_KINDS, *_WIDE_KINDS)
        and name in reached.loaded - reached.stored
        and name not in plain.outputs
        and view.span >= _FEWEST_ELEMENTS
        and _is_ordinary(given.span(name))
    ]


def _is_ordinary(span: torch.Tensor) -> bool:
    if not span.is_floating_point():
        has_two = not bool(((span != span.min()) & (span != span.max())).any())  # as flags have
        ascends = bool((span[1:] >= span[:-1]).all())
        return not has_two and not (ascends and span.dtype in _WIDE_KINDS)
    if not bool(span.isfinite().all()):
        return False
    return bool((span == span[0]).all()) or not bool((span == span.round()).all())


def _defined(deployed: Deployed, given: Memory, plain: CheckedOutputs) -> CheckedOutputs | None:
    """What the launch gives on these inputs; None where it is not defined, or is less exact."""
    try:
        after = deployed.run(given, checks_bounds=True)
        if not all(_is_finite(after.span(name)) for name in plain.outputs):
            return None
        found = checked_outputs(deployed, given)
    except (OutOfBoundsError, UserError):
        return None
    is_alike = found.outputs.keys() == plain.outputs.keys() and found.in_fp32 == plain.in_fp32
    return found if is_alike and found.agree(after) else None


def _is_finite(span: torch.Tensor) -> bool:
    return not span.is_floating_point() or bool(span.float().isfinite().all())
