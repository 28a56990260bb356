"""What a user's kernel has to give: from its reference, or from its default configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from foundation.errors import UserError
from kernels.own.accesses import accesses_of, interpreter_lacks
from kernels.own.changeable import Launched
from kernels.own.exact_reference import largest, nearer
from kernels.own.interpreted import interpreted
from kernels.own.launch import Launch
from kernels.own.reference_runs import NARROW, RunFailed, Way, runs, ways_of, widened
from kernels.own.slow_reference import answer, exact_answer, on_few_threads
from kernels.own.tolerance import DRAWS, disturbed, is_near, share_of, slack
from kernels.values import TORCH_TYPES, current_data_set

__all__ = [
    "ExpectedOutput",
    "expected_output",
    "expected_outputs",
    "from_kernel",
    "from_reference",
    "tensors_of",
    "unnamed_outputs",
]

_Run = dict[str, torch.Tensor]
_Said = Mapping[str, torch.Tensor | None]
_KNOWN = frozenset(TORCH_TYPES.values())


@dataclass(frozen=True)
class ExpectedOutput:
    """The contents of one output after a run.

    Args:
        tensor: of the output's own type.
        slack: fp32, how far each element may be off besides the relative tolerance; None for a
            type that has to be exact.
        rounded_to: the type that the relative tolerance is of.
    """

    tensor: torch.Tensor
    slack: torch.Tensor | None
    rounded_to: torch.dtype


def expected_outputs(launch: Launch, *, with_unnamed: bool = True) -> dict[str, ExpectedOutput]:
    """The outputs that the file's `reference` names, and those that it does not mention and the
    kernel writes and never reads; without one, those that the kernel changes.

    Args:
        launch: with the default configuration.
        with_unnamed: whether to run the kernel for those that the reference does not mention.

    Raises:
        UserError: if the reference fails; without one, if the kernel cannot be run, changes
            nothing, or uses memory that `arguments` leaves uninitialised.
    """
    values = launch.values()
    with on_few_threads(launch):
        said, expected = from_reference(launch, values)
    if said is None:
        way, found = from_kernel(launch, _starts(launch, values))
        return _expected(found, values, rounded_to=_rounding(launch, values, way, found))
    unnamed = unnamed_outputs(launch, said) if with_unnamed else frozenset()
    if unnamed:
        found, rounded_to = _left_by_kernel(launch, _starts(launch, values), unnamed)
        expected |= _expected(found, values, rounded_to=rounded_to)
    return expected


def from_reference(
    launch: Launched, values: Mapping[str, Any]
) -> tuple[_Said | None, dict[str, ExpectedOutput]]:
    """What the file's `reference` gives, None without one; and what is expected by it.

    Args:
        launch: of a kernel or a callable.
        values: of its arguments.

    Raises:
        UserError: if the reference fails.
    """
    first = answer(launch, values)
    said = first.outputs
    if said is None:
        return None, {}
    outputs = tensors_of(said)
    if not any(values[name].is_floating_point() for name in outputs):
        return said, _expected([outputs], values)
    draws = [tensors_of(answer(launch, disturbed(values, draw)).outputs) for draw in range(DRAWS)]
    exact = exact_answer(launch, values, first.took_s)
    return said, _expected([outputs, *draws], values, exact)


def _starts(launch: Launch, values: dict[str, Any]) -> list[dict[str, Any]]:
    """What the kernel runs on: the values, with uninitialised memory filled in another way, and
    disturbed."""
    draws = [disturbed(values, draw) for draw in range(DRAWS)]
    return [values, launch.values(fill=1 - current_data_set()), *draws]


def _expected(
    found: list[_Run],
    values: Mapping[str, Any],
    exact: Mapping[str, torch.Tensor] | None = None,
    rounded_to: Mapping[str, torch.dtype] | None = None,
) -> dict[str, ExpectedOutput]:
    """Each output from what a reference or the kernel gives.

    Args:
        found: of the values, and of each that was disturbed.
        values: of the arguments.
        exact: what a reference gives in fp64, where that could be had.
        rounded_to: as for `expected_output`.
    """
    outputs, *draws = found
    share, exact, rounded_to = share_of(values), exact or {}, rounded_to or {}
    expected = {
        name: expected_output(
            tensor,
            [draw[name] for draw in draws],
            share,
            values[name].dtype,
            rounded_to.get(name),
        )
        for name, tensor in outputs.items()
    }
    if exact:
        size = largest(values.values())
        expected |= {
            n: _closer(expected[n], exact[n], size) for n in expected.keys() & exact.keys()
        }
    return expected


def tensors_of(outputs: Mapping[str, torch.Tensor | None] | None) -> _Run:
    """What a reference gives, without the outputs that are not to be checked."""
    assert outputs is not None
    return {name: tensor for name, tensor in outputs.items() if tensor is not None}


def unnamed_outputs(launch: Launch, said: Mapping[str, object]) -> frozenset[str]:
    """The outputs that a reference does not mention: the kernel writes and never reads them."""
    return accesses_of(launch).only_stored - said.keys()


def expected_output(
    tensor: torch.Tensor,
    draws: list[torch.Tensor],
    share: float,
    dtype: torch.dtype,
    rounded_to: torch.dtype | None = None,
) -> ExpectedOutput:
    """One output from what a reference gives.

    Args:
        tensor: of the values that are passed, in any type.
        draws: of values that were disturbed; at least one for floating-point numbers.
        share: by which they were disturbed.
        dtype: of the output.
        rounded_to: the type that the kernel rounds it to, if that is not its own or the reference's
            coarser one.
    """
    rounded_to = rounded_to or _coarser(tensor.dtype, dtype)
    allowed = slack(tensor, draws, share, rounded_to) if dtype.is_floating_point else None
    return ExpectedOutput(tensor.to(dtype), allowed, rounded_to)


def _closer(output: ExpectedOutput, exact: torch.Tensor, size: float) -> ExpectedOutput:
    """An output with what its reference gives in fp64, where rounding alone makes them differ.

    Args:
        output: what the reference gives in its own types.
        exact: the same in fp64.
        size: the largest of what the reference gets.
    """
    plain, slack = output.tensor, output.slack
    if slack is None or exact.shape != plain.shape:
        return output
    wide = exact.to(plain.dtype)
    expected, allowed = nearer(plain, wide, slack, output.rounded_to, size)
    return replace(output, tensor=expected, slack=allowed)


def _coarser(given: torch.dtype, dtype: torch.dtype) -> torch.dtype:
    """Of an output's type and the type that a reference gives, the one with larger steps."""
    if not (given.is_floating_point and dtype.is_floating_point and given in _KNOWN):
        return dtype
    return max(dtype, given, key=lambda kind: torch.finfo(kind).eps)


def _left_by_kernel(
    launch: Launch, starts: list[dict[str, Any]], names: frozenset[str]
) -> tuple[list[_Run], dict[str, torch.dtype]]:
    """What the kernel, compiled, leaves in some of its tensors, and what those are rounded to.

    Args:
        launch: with the default configuration.
        starts: as for `from_kernel`.
        names: of the tensors. Those that hold what happened to be there are left out, and all if
            the kernel cannot be run here.
    """
    values = starts[0]
    for way in ways_of(values)[1:]:
        # An integer that is computed from rounded numbers cannot be had from others.
        is_exact = way.widens and len(ways_of(values)) > 2
        if is_exact and not all(values[name].is_floating_point() for name in names):
            continue
        try:
            after = runs(launch, starts, way)
        except RunFailed:
            continue
        begun = [widened(start) if way.widens else start for start in starts[:2]]
        kept = [name for name in sorted(names) if _is_settled(name, begun, after)]
        found = [{name: run[name] for name in kept} for run in (after[0], *after[2:])]
        return found, _rounding(launch, values, way, found) if kept else {}
    return [{} for _ in (starts[0], *starts[2:])], {}


def _is_settled(name: str, begun: list[dict[str, Any]], after: list[_Run]) -> bool:
    """Whether runs that begin with other contents of uninitialised memory leave the same."""
    (start, one), (refilled, other) = (
        (values[name], run[name]) for values, run in zip(begun, after, strict=False)
    )
    untouched = _same(start, one) & _same(refilled, other)
    return bool((untouched | _same(one, other)).all()) and not bool(untouched.all())


def from_kernel(launch: Launch, starts: list[dict[str, Any]]) -> tuple[Way, list[_Run]]:
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


def _rounding(
    launch: Launch, values: dict[str, Any], way: Way, found: list[_Run]
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


def _changed(launch: Launch, begun: list[dict[str, Any]], after: list[_Run]) -> list[str]:
    """The names of what the first run changed."""
    path, values = launch.file.path, begun[0]
    changed = [name for name in after[0] if not bool(_same(values[name], after[0][name]).all())]
    if not changed:
        raise UserError(f"{path}: the kernel changes none of its arguments")
    for name in changed if len(after) > 1 else []:
        runs_of = [(start[name], run[name]) for start, run in zip(begun[:2], after, strict=False)]
        (start, one), (refilled, other) = runs_of
        untouched = _same(start, one) & _same(refilled, other)
        if not bool((untouched | _same(one, other)).all()):
            raise UserError(
                f"{path}: {name} depends on memory that {launch.file.maker().__name__} leaves "
                "uninitialised: use torch.zeros, or what the kernel expects there, in place of "
                "torch.empty"
            )
    return changed


def _same(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """For each element whether the two have the same bits; NaN is equal to itself."""
    rows = [tensor.contiguous().flatten() for tensor in (one, other)]
    flat = [row.view(torch.uint8).view(row.numel(), -1) for row in rows]
    return (flat[0] == flat[1]).all(dim=1)
