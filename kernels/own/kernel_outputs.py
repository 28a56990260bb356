"""What a user's kernel leaves in its tensors, by runs of its default configuration here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from foundation.errors import UserError
from kernels.own.accesses import accesses_of, interpreter_lacks
from kernels.own.interpreted import interpreted
from kernels.own.launch import Launch
from kernels.own.reference_runs import NARROW, RunFailed, Way, runs, ways_of, widened
from kernels.own.tolerance import DRAWS, disturbed, is_near, share_of
from kernels.values import current_data_set

__all__ = ["Run", "from_kernel", "rounding", "same", "starts_of"]

Run = dict[str, torch.Tensor]


def starts_of(launch: Launch, values: dict[str, Any]) -> list[dict[str, Any]]:
    """What the kernel runs on: the values, with uninitialised memory filled in another way, and
    disturbed."""
    draws = [disturbed(values, draw) for draw in range(DRAWS)]
    return [values, launch.values(fill=1 - current_data_set()), *draws]


def from_kernel(launch: Launch, starts: list[dict[str, Any]]) -> tuple[Way, list[Run]]:
    """The tensors that the kernel changes, after runs on each of several values.

    Args:
        launch: with the default configuration.
        starts: the values; the second are those that fill uninitialised memory in another way, and
            their run is not among the results.

    Returns:
        The first way in which the kernel runs, and what each run leaves.
    """
    failures = []
    for way in ways_of(starts[0]):
        if way.interprets and interpreter_lacks(launch, widened(starts[0])):
            continue
        try:
            if way.interprets:
                first, after = interpreted(launch, starts, way, replace(way, interprets=False))
            else:
                first, *_ = after = runs(launch, starts, way)
        except RunFailed as failure:
            failures.append(str(failure))
            continue
        begun = [widened(values) if way.widens else values for values in starts]
        changed = _changed(launch, begun, after)
        # An integer that is computed from rounded numbers cannot be had from others.
        is_exact = way.widens and len(ways_of(starts[0])) > 2
        if not is_exact or all(first[name].is_floating_point() for name in changed):
            kept = (first, *after[2:])
            return way, [{name: run[name] for name in changed} for run in kept]
        failures.append("it has integer outputs of narrow inputs")
    if accesses_of(launch).makes_pointers:
        raise UserError(
            f"{launch.file.path}: {launch.file.function.__name__} takes numbers for addresses, "
            "which lead nowhere in the process that measures it: pass the tensors themselves"
        )
    raise UserError(
        f"{launch.file.path}: without a function reference, outputs are compared with those of the "
        f"default configuration, which cannot be run ({'; '.join(dict.fromkeys(failures))}): write "
        "a function reference, or give --shape smaller sizes"
    )


def rounding(
    launch: Launch, values: dict[str, Any], way: Way, found: list[Run]
) -> dict[str, torch.dtype]:
    """The outputs that the deployed kernel rounds to a coarser type: that of its inputs, or one to
    which it converts.

    A kernel may compute in bf16 and write fp32; then no configuration is closer to what the same
    kernel computes in fp32. Where a run that rounds gave the outputs, it may be any of them.

    Args:
        launch: with the default configuration.
        values: of its arguments.
        way: how the outputs were computed.
        found: the outputs, and those of disturbed values.
    """
    if not way.widens:
        return {}
    outputs, *others = found
    tensors = (value for value in values.values() if isinstance(value, torch.Tensor))
    kinds = [tensor.dtype for tensor in tensors if tensor.is_floating_point()]
    kinds.append(accesses_of(launch).rounded_to or torch.float64)
    coarsest = max(kinds, key=lambda kind: torch.finfo(kind).eps)
    finer = {
        name: values[name].dtype
        for name in outputs
        if values[name].is_floating_point() and values[name].dtype != coarsest
    }
    if coarsest not in NARROW or not finer:
        return {}
    if way == ways_of(values)[-1]:
        return dict.fromkeys(finer, coarsest)
    try:
        (deployed,) = runs(launch, [values], ways_of(values)[-1])
    except RunFailed:
        return {}
    share = share_of(values)
    return {
        name: coarsest
        for name, dtype in finer.items()
        if not is_near(deployed[name], outputs[name], [o[name] for o in others], share, dtype)
    }


def _changed(launch: Launch, begun: list[dict[str, Any]], after: list[Run]) -> list[str]:
    """The names of what the first run changed."""
    path, values = launch.file.path, begun[0]
    changed = [name for name in after[0] if not bool(same(values[name], after[0][name]).all())]
    if not changed:
        raise UserError(f"{path}: the kernel changes none of its arguments")
    for name in changed if len(after) > 1 else []:
        runs_of = [(start[name], run[name]) for start, run in zip(begun[:2], after, strict=False)]
        (start, one), (refilled, other) = runs_of
        untouched = same(start, one) & same(refilled, other)
        if not bool((untouched | same(one, other)).all()):
            raise UserError(
                f"{path}: {name} depends on memory that {launch.file.maker().__name__} leaves "
                "uninitialised: use torch.zeros, or what the kernel expects there, in place of "
                "torch.empty"
            )
    return changed


def same(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """For each element whether the two have the same bits; NaN is equal to itself."""
    rows = [tensor.contiguous().flatten() for tensor in (one, other)]
    flat = [row.view(torch.uint8).view(row.numel(), -1) for row in rows]
    return (flat[0] == flat[1]).all(dim=1)
