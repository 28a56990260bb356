"""A captured task as a kernel like any other: its KernelSpec, which knows the rest."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch

from foundation.config import Config, ParameterValue
from foundation.errors import UserError
from kernels.captured.changed_memory import changed_memory
from kernels.captured.deployed import Deployed
from kernels.captured.examination import current_examined
from kernels.captured.kept_memory import kept_memory
from kernels.captured.memory import Memory
from kernels.captured.names import split_task_name
from kernels.captured.outputs import CheckedOutputs, Output, checked_outputs
from kernels.captured.probe import Probed
from kernels.captured.recorded import load_task
from kernels.captured.space import captured_space, deployed_config
from kernels.own.tolerance import tolerance
from kernels.spec import Blocks, Constants, Grid, KernelSpec, Problem
from kernels.values import (
    TORCH_TYPES,
    current_data_set,
    input_array,
    output_array,
    want_types_alone,
)
from launchers.arguments import Argument
from rvv_runner.board import BoardInfo
from search_spaces.space import SearchSpace
from triton_rvv.frontend.tuples import in_order

__all__ = ["LaunchedTask", "captured_spec", "load_captured"]

# The deployed configuration runs some ten times, twice over.
_ARGUMENTS_LIMIT_S = 240.0
# Names of a tensor's axes, letters since sizes follow them in the names of studies.
_AXES = "ijklmnop"


class LaunchedTask(Protocol):
    """A captured task, ready to be launched in this process."""

    @property
    def load_name(self) -> str:
        """The name by which `kernels.registry.load_kernel` finds it, in any process."""

    @property
    def digest(self) -> str:
        """Changes with all that was captured of the launch, contents included."""

    @property
    def deployed(self) -> Deployed:
        """The launch."""

    @property
    def listed(self) -> Sequence[Mapping[str, ParameterValue]]:
        """The entries of its autotuner, the compiler's options included; empty without one."""

    def derived(self, constants: Mapping[str, Any]) -> Mapping[str, Any]:
        """The constexprs that `@triton.heuristics` derives from others."""

    def memory(self, data_set: int) -> Memory:
        """Its tensors before the launch, on torch's default device.

        Args:
            data_set: 0 for the captured contents; others have other contents where these were not
                recorded.
        """


def load_captured(name: str) -> KernelSpec:
    """The kernel of a task of a capture's file.

    Args:
        name: a file and a task of it, "FILE#TASK", which `load_task` finds.

    Raises:
        UserError: if there is no such task, or it cannot be tuned.
    """
    capture, key = split_task_name(name)
    task = load_task(capture, key)
    examined = current_examined(capture, task)
    return captured_spec(task, examined.required(), is_wide=examined.is_wide)


def captured_spec(task: LaunchedTask, probed: Probed, *, is_wide: bool = False) -> KernelSpec:
    """The kernel of a task, at the one shape that was captured.

    Args:
        task: what was captured.
        probed: what may vary, and how the grid follows.
        is_wide: whether more may vary than the kernel's autotuner lists.
    """
    own = _CapturedKernel(task, probed, is_wide=is_wide)
    return KernelSpec(
        name=task.deployed.function.__name__.removesuffix("_kernel"),
        kernel=task.deployed.function,
        default_shape=own.shape(),
        default_config=own.default_config(),
        dtypes=(own.dtype(),),
        arguments=own.arguments,
        grid=own.grid,
        traffic_bytes=own.traffic_bytes,
        constants=own.constants,
        blocks=own.blocks if task.deployed.descriptors else None,
        space=own.space,
        file=task.load_name,
        launch_digest=task.digest,
        arguments_limit_s=_ARGUMENTS_LIMIT_S,
    )


class _CapturedKernel:
    """The functions of a `KernelSpec`, taken from a captured task."""

    def __init__(self, task: LaunchedTask, probed: Probed, *, is_wide: bool) -> None:
        self._is_wide = is_wide
        self._task = task
        self._probed = probed
        self._deployed = task.deployed
        with torch.device("meta"):
            self._views = task.memory(0).views
        # The same for all configurations, and it takes several runs.
        self._checked: dict[object, CheckedOutputs] = {}

    def shape(self) -> dict[str, int]:
        """Sizes of the tensors by parameter and axis; those of one kernel have the same names."""
        return {
            f"{_identifier(name)}_{axis}": max(size, 1)
            for name, view in self._views.items()
            for axis, size in zip(_AXES, view.shape, strict=False)
        }

    def dtype(self) -> str:
        """The type of the first tensor of floats, or else of the first tensor."""
        names = {torch_type: name for name, torch_type in TORCH_TYPES.items()}
        types = [view.dtype for view in self._views.values()]
        floats = [dtype for dtype in types if dtype.is_floating_point]
        return names[(floats or types)[0]]

    def default_config(self) -> Config:
        """What the program runs, without options that only GPUs have."""
        task = self._task
        return deployed_config(
            self._probed.freedoms, self._deployed.options, task.listed, for_gpu=False
        )

    def space(self, problem: Problem, board: BoardInfo) -> SearchSpace:
        """The configurations to try.

        Raises:
            UserError: if it was not found out what may vary, which a GPU alone can do without.
        """
        if self._probed.unseen and board.gpu is None:
            raise UserError(self._probed.unseen)
        listed, options = self._task.listed, self._deployed.options
        return captured_space(self._probed, options, listed, board.gpu, is_wide=self._is_wide)

    def constants(self, problem: Problem, config: Config) -> Constants:
        """The deployed values, and those that follow from the configuration."""
        known = {**self._deployed.constants, **config}
        values = {**self._deployed.constants, **self._task.derived(known)}
        return {name: value for name, value in values.items() if name not in config}

    def grid(self, problem: Problem, config: Config) -> Grid:
        """The grid, as far as it was found to follow the configuration."""
        return self._probed.rule.grid({**self._deployed.constants, **config})

    def blocks(self, problem: Problem, config: Config) -> Blocks:
        """What one load of each tensor descriptor takes, as far as it was found to follow."""
        return self._probed.blocks.blocks({**self._deployed.constants, **config})

    def traffic_bytes(self, problem: Problem) -> float:
        """Bytes of all tensors."""
        return float(sum(view.span * view.dtype.itemsize for view in self._views.values()))

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        """The kernel's arguments; what its outputs should be is from the deployed configuration."""
        given = self._deployed.scalars.items()
        scalars = {name: Argument(name, type_, value) for name, (type_, value) in given}
        arrays = self._inputs() if want_types_alone() else self._arrays()
        every = {**scalars, **arrays}
        for name, over in self._deployed.descriptors.items():
            every[name] = dataclasses.replace(every[name], described=over)
        ordered = in_order(every, self._deployed.function.arg_names)
        return tuple(every[name] for name in ordered)

    def _inputs(self) -> dict[str, Argument]:
        """Types and sizes alone."""
        memory = self._memory(0)
        return {name: _input(memory, name) for name in memory.views}

    def _arrays(self) -> dict[str, Argument]:
        checked = self._checked_outputs()
        return {
            name: _output(checked.given, name, checked.outputs[name])
            if name in checked.outputs
            # What the deployed configuration does not write stays as it is.
            else dataclasses.replace(_input(checked.given, name), constant=True)
            for name in checked.given.views
        }

    def _memory(self, data_set: int) -> Memory:
        given, tail = self._task.memory(data_set), self._probed.tail
        memory = given.apart(with_fronts=self._probed.fronts)
        if data_set == 0:  # of the check; the timed runs have what was captured
            memory = changed_memory(memory, self._probed.changes)
        return memory.with_tails(tail) if tail else memory

    def _checked_outputs(self) -> CheckedOutputs:
        key = (current_data_set(), torch.get_default_device())
        if key not in self._checked:
            with kept_memory():
                memory = self._memory(current_data_set())
                self._checked[key] = checked_outputs(self._deployed, memory)
        return self._checked[key]


def _identifier(part: str) -> str:
    """The name of a parameter or of a tuple's part, as the name of a study may hold it."""
    return re.sub(r"\W+", "_", part).strip("_")


def _input(memory: Memory, name: str) -> Argument:
    """Of tensors that share nothing, one that the kernel reads, and what lies around it."""
    array = input_array(name, memory.reach(name, with_front=True))
    return dataclasses.replace(array, lead=memory.views[name].offset)


def _output(given: Memory, name: str, output: Output) -> Argument:
    lead = given.views[name].offset
    output = output.behind(given.reach(name, with_front=True)[:lead])
    near = tolerance(output.expected.dtype)
    made = output_array(name, output.expected, near, start=output.start)
    made = dataclasses.replace(made, lead=lead)
    if output.slack is None:
        return made
    return dataclasses.replace(made, slack=output.slack.contiguous().cpu().numpy())
