"""What a user's kernel has to give: from its reference, or from its default configuration."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch

from foundation.errors import UserError
from kernels.own.accesses import accesses_of
from kernels.own.changeable import Launched
from kernels.own.exact_reference import largest, nearer
from kernels.own.kernel_outputs import Run, from_kernel, rounding, starts_of
from kernels.own.launch import Launch
from kernels.own.left_out import LeftOut, left_out
from kernels.own.reference_runs import NARROW, widened
from kernels.own.slow_reference import answer, exact_answer, on_few_threads
from kernels.own.tolerance import BYTES, DRAWS, byte_slack, disturbed, share_of, slack, turned
from kernels.values import TORCH_TYPES

__all__ = [
    "ExpectedOutput",
    "expected_output",
    "expected_outputs",
    "from_reference",
    "tensors_of",
]

_Said = Mapping[str, torch.Tensor | None]
_Found = TypeVar("_Found")
_KNOWN = frozenset(TORCH_TYPES.values())


@dataclass(frozen=True)
class ExpectedOutput:
    """The contents of one output after a run.

    Args:
        tensor: of the output's own type.
        slack: fp32, how far each element may be off besides the relative tolerance; None where
            all have to be exact.
        rounded_to: the type that the relative tolerance is of.
    """

    tensor: torch.Tensor
    slack: torch.Tensor | None
    rounded_to: torch.dtype


def expected_outputs(launch: Launch, *, with_unnamed: bool = True) -> dict[str, ExpectedOutput]:
    """The outputs that the file's `reference` names, and of those that it does not mention what
    `left_out` finds; without one, those that the kernel changes.

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
        starts = starts_of(launch, values)
        may_round = _may_round(values, values.keys() - accesses_of(launch).constant)
        way, found = _turned_by(
            lambda others: from_kernel(launch, [*starts, *others]), values, may_round
        )
        found, others = found[: 1 + DRAWS], found[1 + DRAWS :]
        near = _rounded(found[0], others, values) if may_round else {}
        return _expected(found, values, rounded_to=rounding(launch, values, way, found)) | near
    unnamed = left_out(launch, said, values) if with_unnamed else LeftOut()
    if unnamed.found:
        expected |= _expected(unnamed.found, values, rounded_to=unnamed.rounded_to)
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
    near = _of_bytes(launch, values, outputs)
    if not any(values[name].is_floating_point() for name in outputs):
        return said, _expected([outputs], values) | near
    draws = [tensors_of(answer(launch, disturbed(values, draw)).outputs) for draw in range(DRAWS)]
    exact = exact_answer(launch, values, first.took_s)
    return said, _expected([outputs, *draws], values, exact) | near


def _of_bytes(
    launch: Launched, values: Mapping[str, Any], outputs: Run
) -> dict[str, ExpectedOutput]:
    """Outputs of bytes that the reference rounds from floats."""
    if not _may_round(values, outputs):
        return {}

    def run(others: Iterable[Mapping[str, Any]]) -> list[Run]:
        return [tensors_of(answer(launch, other).outputs) for other in others]

    return _rounded(outputs, _turned_by(run, values), values)


def _turned_by(
    run: Callable[[Iterable[dict[str, Any]]], _Found],
    values: Mapping[str, Any],
    may_round: bool = True,
) -> _Found:
    """What `run` gives for `turned` values, of fp32 where it takes those in place of narrower ones:
    a step of bf16 is another input, which moves a byte by far more than rounding does.

    Raises:
        UserError: as `run` does.
    """
    tensors = (value for value in values.values() if isinstance(value, torch.Tensor))
    if may_round and any(tensor.dtype in NARROW for tensor in tensors):
        with contextlib.suppress(UserError):  # such as a product of fp32 and bf16
            return run(turned(widened(values)))
    return run(turned(values) if may_round else ())


def _may_round(values: Mapping[str, Any], outputs: Iterable[str]) -> bool:
    """Whether there are bytes among the outputs, and floats that may become them."""
    tensors = [value for value in values.values() if isinstance(value, torch.Tensor)]
    of_outputs = (values[name] for name in outputs)
    return any(tensor.is_floating_point() for tensor in tensors) and any(
        isinstance(value, torch.Tensor) and value.dtype in BYTES for value in of_outputs
    )


def _rounded(
    outputs: Run, turned_ones: Sequence[Run], values: Mapping[str, Any]
) -> dict[str, ExpectedOutput]:
    """The outputs of bytes that are rounded from floats, by what `turned` inputs give."""
    expected = {}
    for name, kind in ((n, values[n].dtype) for n in outputs if values[n].dtype in BYTES):
        allowed = byte_slack(outputs[name].to(kind), [run[name].to(kind) for run in turned_ones])
        if allowed is not None:
            expected[name] = ExpectedOutput(outputs[name].to(kind), allowed, kind)
    return expected


def _expected(
    found: list[Run],
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


def tensors_of(outputs: Mapping[str, torch.Tensor | None] | None) -> Run:
    """What a reference gives, without the outputs that are not to be checked."""
    assert outputs is not None
    return {name: tensor for name, tensor in outputs.items() if tensor is not None}


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
