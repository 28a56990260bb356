"""Inputs that tell more than a file's own: for the check, with other signs, means and scales, and
with zeros and extremes among integers.

A bias of zeros, weights of ones or positive numbers alone say little of what is computed with them.
So the check runs on changed inputs as far as the kernel is defined there: as far as its default
configuration gives what the reference does, in finite numbers. The timed runs keep the file's own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from foundation.errors import UserError
from foundation.scratch import scratch_folder
from kernels.own.accesses import accesses_of
from kernels.own.changed_inputs import Change, changed
from kernels.own.launch import Launch
from kernels.values import data_set
from launchers.arguments import Argument
from launchers.data_file import write_data_file
from launchers.descriptors import taken_apart
from launchers.objects import launcher_object
from launchers.output import parse_launcher_output
from rvv_runner.process import run_bounded
from rvv_runner.verdict import OUTPUT_LIMIT_BYTES
from triton_rvv.codegen.link import LinkError, link_elf
from triton_rvv.codegen.zig import ZigError
from triton_rvv.errors import CompileError
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.host_target import host_target

__all__ = ["Telling", "telling_changes"]

# Processor time, which other programs do not change. A reference that takes longer is not run again
# for this; nothing more is tried after so long, with so much memory, or when a run took so long.
_PATIENCE_S = 1.0
_TOTAL_S = 10.0
_LIMIT_S = 20.0
_MOST_BYTES = 64 << 20

# From what tells most to what most kernels are defined for.
_CHANGES = (
    Change(row_scale=64.0, heavy=8.0, shift=4.0, signs=True, ties=True),
    Change(row_scale=64.0, heavy=8.0, shift=4.0, signs=True),
    Change(row_scale=4.0, heavy=2.0, shift=1.0, signs=True),
    Change(row_scale=1.5, heavy=1.25, shift=0.25),
)
_ZEROS = Change(zeros=True)
# Of types in which sums overflow soon. Wider ones are places and lengths more often than not, and
# an extreme of those takes memory and time without bound.
_EXTREMES = Change(zeros=True, extremes=True)
_FULL_ROWS = Change(zeros=True, extremes=True, full_rows=True)
_NARROW_INTEGERS = (torch.int16, torch.int8, torch.uint8)
_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_INTEGERS = (torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8)

# The arguments of a launch, with what is expected.
_Arguments = Callable[[Launch], tuple[Argument, ...]]


@dataclass(frozen=True)
class Telling:
    """How the check's inputs differ from a file's.

    Args:
        changes: by the tensor's name.
        refused: one sentence on a change of inputs under which `reference` gives finite numbers and
            the default configuration gives others; "" if there is none.
    """

    changes: dict[str, Change] = field(default_factory=dict)
    refused: str = ""


def telling_changes(
    launch: Callable[[Mapping[str, Change]], Launch],
    arguments: _Arguments,
    constants: Mapping[str, object],
) -> Telling:
    """The changes of a launch's inputs, by name, under which its default configuration is right.

    Empty if the launch has no reference, takes long or much memory, or is for a GPU, or if integers
    or constants follow from the inputs: the code that is timed is made for those.

    Args:
        launch: gives that of the default configuration, with its inputs changed.
        arguments: gives those of a launch, with what is expected.
        constants: of the default configuration, as it is compiled.

    Raises:
        UserError: if the file's functions fail on its own inputs.
    """
    plain = launch({})
    values = plain.values()
    outputs = _outputs_of_quick_reference(plain, values)
    names = _changeable(plain, values, outputs, _FLOATS)
    integers = _changeable(plain, values, frozenset(), _INTEGERS)
    if not outputs or not (names or integers):
        return Telling()
    if not _is_small(values) or not _same_launch(plain, values):
        return Telling()
    end_s = time.process_time() + _TOTAL_S
    # One number that an output holds at the start is part of the kernel, such as a sum's zero.
    constant = accesses_of(plain).constant
    inputs = {name for name in names if name in constant or not _is_one_number(values[name])}
    inputs.update(integers)
    refused: list[tuple[dict[str, Change], str]] = []
    with scratch_folder("telling-") as folder:
        blocks = {n: tuple(map(int, d.block_shape)) for n, d in plain.descriptors().items()}
        run = _HostRun(folder, plain.file.function, constants, blocks, plain.grid(values))

        def right(tried: Iterable[dict[str, Change]]) -> Iterator[dict[str, Change]]:
            for change in tried:
                if run.gave_up or time.process_time() > end_s:
                    return
                if _is_defined(plain, values, changed(values, change)):
                    with contextlib.suppress(UserError):
                        if run.is_right(arguments(launch(change))):
                            yield change
                        elif run.mismatch and inputs.issuperset(change):
                            refused.append((change, run.mismatch))

        found = _most_telling(names, lambda tried: next(right(tried), {})) if names else {}
        for name in integers:
            narrow = values[name].dtype in _NARROW_INTEGERS
            tried = (_FULL_ROWS, _EXTREMES, _ZEROS) if narrow else (_ZEROS,)
            if alone := next(right({name: change} for change in tried), {}):
                found = next(right([{**found, **alone}]), found) if found else alone
    return Telling(found, _on_refused(refused))


def _most_telling(
    names: list[str], first_right: Callable[[Iterable[dict[str, Change]]], dict[str, Change]]
) -> dict[str, Change]:
    """One change of all tensors, or for each the one that tells most, or the weakest."""

    def together(changes: Iterable[Change]) -> dict[str, Change]:
        return first_right(dict.fromkeys(names, change) for change in changes)

    if found := together(each for each in _CHANGES if each.signs):
        return found
    best: dict[str, Change] = {}
    for name in names:
        best.update(first_right({name: change} for change in _CHANGES))
    return (best and first_right([best])) or together(each for each in _CHANGES if not each.signs)


def _on_refused(refused: list[tuple[dict[str, Change], str]]) -> str:
    """What the default configuration gets wrong under the change of the fewest tensors.

    Not with extremes of integers, which few kernels mean to take: flags and labels are bytes, too.
    """
    refused = [each for each in refused if not any(c.extremes for c in each[0].values())]
    if not refused:
        return ""
    changes, mismatch = min(refused, key=lambda each: len(each[0]))
    change = next(iter(changes.values()))
    return (
        f"the check keeps {', '.join(changes)} close to what arguments makes, since the default "
        f"configuration differs from reference on other inputs: {_in_words(change)}, {mismatch}"
    )


def _in_words(change: Change) -> str:
    if change.zeros:
        return "with zeros among its elements"
    ties = "some equal, none zero, " if change.ties else ""
    signs = "of either sign and " if change.signs else ""
    return f"with elements {ties}{signs}up to {change.row_scale * change.heavy:g} times as large"


def _outputs_of_quick_reference(launch: Launch, values: Mapping[str, Any]) -> frozenset[str]:
    """The outputs that the reference names; none if there is no reference, or a slow one."""
    start_s = time.process_time()
    outputs = launch.reference(values) or {}
    return frozenset(outputs if time.process_time() - start_s < _PATIENCE_S else ())


def _changeable(
    launch: Launch,
    values: Mapping[str, Any],
    outputs: frozenset[str],
    kinds: Collection[torch.dtype],
) -> list[str]:
    """Tensors of ordinary numbers that the kernel reads, and whose memory is theirs alone.

    None that it writes for itself, which the reference does not name: flags, locks and sums that
    programs share mean something from the start.
    """
    accesses = accesses_of(launch)
    read = (accesses.constant | outputs) - accesses.only_stored
    tensors = {n: v for n, v in values.items() if isinstance(v, torch.Tensor) and v.numel() > 0}
    places = [tensor.untyped_storage().data_ptr() for tensor in tensors.values()]
    return [
        name
        for name, tensor in tensors.items()
        if tensor.dtype in kinds
        and name in read
        and places.count(tensor.untyped_storage().data_ptr()) == 1
        and bool(tensor.isfinite().all())
    ]


def _is_one_number(tensor: torch.Tensor) -> bool:
    return bool((tensor == tensor.flatten()[0]).all())


def _is_small(values: Mapping[str, Any]) -> bool:
    tensors = [value for value in values.values() if isinstance(value, torch.Tensor)]
    on_processor = all(tensor.device.type == "cpu" for tensor in tensors)
    return on_processor and sum(int(tensor.nbytes) for tensor in tensors) <= _MOST_BYTES


def _same_launch(launch: Launch, values: Mapping[str, Any]) -> bool:
    """Whether other random numbers leave sizes and constants as they are."""
    with data_set(1):
        others = launch.values()
        same = launch.constants(others) == launch.constants(values)
    return same and all(_is_alike(value, others[name]) for name, value in values.items())


def _is_alike(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return bool(one.shape == other.shape)
    return bool(one == other)


def _is_defined(launch: Launch, values: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether the reference gives finite numbers for other values, and the code stays as it is."""
    if launch.constants(others) != launch.constants(values):
        return False
    try:
        said = launch.reference(others) or {}
    except UserError:
        return False
    outputs = ((values[name], tensor) for name, tensor in said.items() if tensor is not None)
    return all(bool(tensor.to(start.dtype).isfinite().all()) for start, tensor in outputs)


class _HostRun:
    """A configuration, compiled for this machine when it is first run.

    Args:
        folder: for its files.
        function: the kernel.
        constants: as it is compiled.
        blocks: of the arguments that are tensor descriptors.
        grid: programs along x, y and z.

    Attributes:
        gave_up: whether a run took too long, or none is possible here.
        mismatch: the first element that the last run got wrong; "" if none, or if it stopped.
    """

    def __init__(
        self,
        folder: Path,
        function: object,
        constants: Mapping[str, object],
        blocks: Mapping[str, tuple[int, ...]],
        grid: tuple[int, int, int],
    ) -> None:
        self._folder = folder
        self._function = function
        self._constants = constants
        self._blocks = blocks
        self._grid = grid
        self._program: Path | None = None
        self.gave_up = False
        self.mismatch = ""

    def is_right(self, arguments: tuple[Argument, ...]) -> bool:
        """Whether it gives what is expected."""
        try:
            self.mismatch = ""
            program = self._program or self._built(arguments)
        except (CompileError, LinkError, ZigError):  # the processor lacks what the board's has
            self.gave_up = True
            return False
        self._program = program
        data_path = self._folder / "arguments.data"
        write_data_file(data_path, taken_apart(arguments))
        options = ("--grid", ",".join(map(str, self._grid)), "--repeats", "0")
        ending = run_bounded(
            [str(program), str(data_path), *options],
            folder=self._folder,
            timeout_s=_LIMIT_S,
            output_limit_bytes=OUTPUT_LIMIT_BYTES,
        )
        self.gave_up = ending.timed_out
        report = parse_launcher_output(ending.stdout)
        self.mismatch = report.mismatch
        return ending.returncode == 0 and report.output_ok is True

    def _built(self, arguments: tuple[Argument, ...]) -> Path:
        target = host_target()
        compiled = compile_kernel(
            self._function,
            {argument.name: argument.signature_type(self._blocks) for argument in arguments},
            self._constants,
            target,
            known={a.name: a.value for a in taken_apart(arguments) if isinstance(a.value, int)},
            disjoint_arguments=True,
            grid=self._grid,
            counted_clock=True,
        )
        made, program = self._folder / "kernel.o", self._folder / "kernel.elf"
        made.write_bytes(compiled.object)
        link_elf([made, launcher_object(target)], program, "host")
        return program
