"""What the user should know of how a kernel's outputs are checked."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Any

import torch

from foundation.errors import UserError
from foundation.strides import memory_of
from kernels.own.accesses import accesses_of, unused_arguments
from kernels.own.expected import ExpectedOutput, tensors_of
from kernels.own.held_already import hold_already
from kernels.own.kernel_file import KernelFile
from kernels.own.kernel_outputs import from_kernel
from kernels.own.launch import Launch
from kernels.own.left_out import left_out
from kernels.own.repeatable import refuse_unrepeatable
from kernels.own.slow_reference import answer
from kernels.own.tolerance import accepted_constant, accepts_half, is_finite
from kernels.values import data_set

__all__ = ["check_notes", "on_kept", "on_unchecked"]

# A reference that takes longer is not called again to find out whether it gives the same.
_PATIENCE_S = 2.0


def check_notes(
    launch: Launch, expected: Callable[[], Mapping[str, ExpectedOutput]]
) -> tuple[str, ...]:
    """One sentence each for what is not compared with the file's `reference`, and for outputs of
    which the check cannot tell that they are computed at all.

    The file's functions run once, so what is wrong with them is found.

    Args:
        launch: with the default configuration.
        expected: gives the outputs that the check expects.

    Raises:
        UserError: like `expected_outputs`.
    """
    values = launch.values()
    first = answer(launch, values)
    said = first.outputs
    refuse_unrepeatable(launch, values, said if first.took_s < _PATIENCE_S else None)
    if said is None:
        way, _ = from_kernel(launch, [values])
        return (
            *_on_second_inputs(launch, values),
            *_on_shared_memory(launch, values),
            *_on_unused(launch, values),
            f"without a function reference, outputs are compared with {way.what}",
            *_on_rounding(values, expected()),
            *_on_held(values, expected()),
        )
    outputs, compared = tensors_of(said), expected()
    if not compared:
        raise UserError(
            f"{launch.file.path}: reference gives None for {', '.join(said)} and nothing else, so "
            "nothing would be checked: give what one output should be"
        )
    return (
        *_on_second_inputs(launch, values),
        *_on_shared_memory(launch, values),
        *_on_unused(launch, values),
        *_on_unnamed(compared.keys() - said.keys()),
        *on_unchecked(left_out(launch, said, values).changed - compared.keys(), "kernel"),
        *_on_held(values, compared),
        *_on_tolerance(values, outputs, compared),
    )


def on_kept(file: KernelFile) -> tuple[str, ...]:
    """What the user should know of a winner for inputs that the file keeps."""
    if not file.kept_inputs:
        return ()
    names = ", ".join(sorted(file.kept_inputs))
    return (
        f"the kernel's file says {file.spelt('kept_inputs')}: the winner is right for "
        f"such {names} as it gives, and perhaps for no other",
    )


def _on_second_inputs(launch: Launch, values: dict[str, Any]) -> Iterator[str]:
    """What keeps the timed runs from having inputs of their own; see `Problem.timed_arguments`."""
    with data_set(1):
        others = launch.values()
        constants, grid = launch.constants(others), launch.grid(others)
    known = launch.constants(values)
    differ = [n for n in known if known[n] != constants.get(n)]
    for name, value in values.items():
        if (isinstance(value, int) and value != others[name]) or (
            isinstance(value, torch.Tensor) and value.shape != others[name].shape
        ):
            differ.append(name)
    if not differ and grid != launch.grid(values):
        differ.append("the number of programs")
    if differ:
        yield (
            f"the timed runs have the same inputs as the check, since {', '.join(differ)} "
            f"{'depend' if len(differ) > 1 else 'depends'} on random numbers: a kernel that is "
            "right for these inputs alone is not found"
        )


def _on_unused(launch: Launch, values: dict[str, Any]) -> Iterator[str]:
    """Numbers that make no difference: integers never have another value here, and other floats
    may be too near to tell."""
    unused = unused_arguments(launch)
    integers = [name for name in values if name in unused and isinstance(values[name], int)]
    if names := [name for name in integers if not _decides_the_grid(name, launch, values)]:
        yield (
            f"the default configuration makes no use of {', '.join(names)}: outputs are checked "
            "with one value of it, and with another stride, for example, they may be wrong"
        )
    reference = launch.file.optional("reference")
    taken = inspect.signature(reference).parameters if reference else {}
    floats = [name for name in launch.changes if isinstance(values[name], float)]
    if names := [name for name in floats if name in unused and name in taken]:
        yield (
            f"the default configuration makes no use of {', '.join(names)}, which reference takes: "
            "the check's inputs do not tell the difference, and others may"
        )


def _decides_the_grid(name: str, launch: Launch, values: Mapping[str, Any]) -> bool:
    """Whether it is a size with which the number of programs grows: outputs follow from that."""
    if name not in launch.shape:
        return False
    larger = replace(launch, shape={**launch.shape, name: 2 * launch.shape[name]})
    with contextlib.suppress(UserError):  # the file may refuse such a size
        return larger.grid(larger.values()) != launch.grid(values)
    return False


def _on_shared_memory(launch: Launch, values: dict[str, Any]) -> Iterator[str]:
    """Tensors that lie over each other, of which the kernel writes one."""
    tensors = {n: v for n, v in values.items() if isinstance(v, torch.Tensor) and v.numel() > 0}
    pairs = list(itertools.combinations(tensors, 2))
    over = {n for pair in pairs if _overlap(*map(tensors.__getitem__, pair)) for n in pair}
    if over and not over <= accesses_of(launch).constant:
        yield (
            f"{', '.join(sorted(over))} share memory: each has an array of its own here, so a "
            "kernel that reads what it has overwritten there is not found"
        )


def _overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    (start, end), (begin, stop) = (
        (t.data_ptr(), t.data_ptr() + memory_of(t).numel() * t.element_size()) for t in (one, other)
    )
    return one.device == other.device and start < stop and begin < end


def _on_unnamed(names: Set[str]) -> Iterator[str]:
    if names:
        they, them = ("they are", "them") if len(names) > 1 else ("it is", "it")
        yield (
            f"reference does not name {', '.join(sorted(names))}, which the kernel writes: {they} "
            f"compared with what the default configuration writes; give None for {them} in "
            f"reference to leave {them} unchecked"
        )


def on_unchecked(names: Set[str], who: str) -> Iterator[str]:
    """What may be an output, or memory of which each configuration takes what it needs.

    Args:
        names: of tensors that are changed and not compared.
        who: "kernel" or "callable".
    """
    if names:
        listed, it_is = ", ".join(sorted(names)), "they are" if len(names) > 1 else "it is"
        yield (
            f"reference does not name {listed}, which the {who} changes: {it_is} not checked; "
            "give in reference what outputs should be, and None for scratch memory"
        )


def _on_held(values: Mapping[str, Any], expected: Mapping[str, ExpectedOutput]) -> Iterator[str]:
    """Outputs that are right before the kernel runs."""
    if hold_already(values, expected):
        they = "they hold" if len(expected) > 1 else "it holds"
        yield (
            f"this check would accept a kernel that writes nothing to {', '.join(expected)}, since "
            f"{they} what is expected before the kernel runs; other inputs, or torch.empty for "
            "what it only writes, let it tell more"
        )


def _on_rounding(
    values: Mapping[str, Any], expected: Mapping[str, ExpectedOutput]
) -> Iterator[str]:
    """Outputs of the default configuration that are off by what a coarser type loses."""
    by_type: dict[torch.dtype, list[str]] = {}
    for name, output in expected.items():
        if output.rounded_to is not values[name].dtype:
            by_type.setdefault(output.rounded_to, []).append(name)
    for dtype, names in by_type.items():
        yield (
            f"the default configuration rounds to {_short(dtype)} on the way to "
            f"{', '.join(names)}, so other configurations may be as far off; write a function "
            "reference to check them more closely"
        )


def _on_tolerance(
    values: Mapping[str, Any],
    outputs: Mapping[str, torch.Tensor],
    expected: Mapping[str, ExpectedOutput],
) -> Iterator[str]:
    """Where a constant or half of what is right would pass: other inputs say more."""
    for name, tensor in outputs.items():
        output, dtype = expected[name], values[name].dtype
        if not dtype.is_floating_point:
            continue
        if output.rounded_to is not dtype:
            yield (
                f"reference gives {name} as {_short(output.rounded_to)} and the kernel as "
                f"{_short(dtype)}: they are compared as {_short(output.rounded_to)}"
            )
        if not bool(is_finite(tensor.to(dtype)).any()):
            everywhere = float(tensor.flatten()[0])
            yield (
                f"this check would accept a constant: reference expects {everywhere} and no finite "
                f"number in {name}; other inputs let it tell more"
            )
        else:
            yield from _on_accepted(name, output)


def _on_accepted(name: str, output: ExpectedOutput) -> Iterator[str]:
    """What would pass in the place of an output with finite numbers."""
    assert output.slack is not None
    constant = accepted_constant(output.tensor, output.slack, output.rounded_to)
    if constant is not None:
        yield (
            f"this check would accept a constant: {constant:.6g} is right for every element of "
            f"{name} within its tolerance; inputs of either sign, or fewer terms in a sum, let "
            "it tell more"
        )
    elif accepts_half(output.tensor, output.slack, output.rounded_to):
        yield (
            f"this check would accept half of every element of {name}, which is within its "
            "tolerance; inputs that cancel less let it tell more"
        )


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
