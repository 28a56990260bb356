"""A problem's arguments made on a device: the reference runs where the kernel does."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch

from foundation.config import Config
from foundation.gpu_limits import GpuLimits
from foundation.shapes import shape_text
from kernels.registry import load_kernel, make_problem
from kernels.spec import Outputs, Problem
from kernels.values import types_alone
from launchers.arguments import Argument

__all__ = ["ProblemArguments", "arrays_do_not_fit", "does_not_fit", "made_on", "without_contents"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class ProblemArguments:
    """Makes the arguments of a problem in any process; picklable, and equal for one problem.

    Args:
        kernel: as `kernels.registry.load_kernel` takes it.
        shape: sizes by name.
        dtype: element type.
        outputs: the user's choices for the outputs.
    """

    kernel: str
    shape: tuple[tuple[str, int], ...]
    dtype: str
    outputs: Outputs

    @classmethod
    def of(cls, problem: Problem) -> ProblemArguments:
        """What makes the arguments of this problem."""
        shape = tuple(problem.shape.items())
        return cls(problem.spec.load_name, shape, problem.dtype, problem.outputs)

    def make(self, config: Config, device: str) -> tuple[Argument, ...]:
        """The arguments in a configuration, with a reference computed on `device`.

        Args:
            config: may record which of its values are read.
            device: torch's name of it.

        Raises:
            UserError: for a mistake in a user's own file.
        """
        return made_on(_maker(self, device), lambda: self.problem.arguments(config))

    def make_timed(
        self, config: Config, device: str, checked: tuple[Argument, ...], number: int = 1
    ) -> tuple[Argument, ...]:
        """Those of the timed runs, with contents from other seeds.

        Args:
            config, device: as in `make`.
            checked: what `make` returned.
            number: of the data set.

        Raises:
            UserError: like `make`.
        """
        device = _maker(self, device)
        return made_on(device, lambda: self.problem.timed_arguments(config, checked, number))

    @property
    def problem(self) -> Problem:
        """The problem; loading it again costs nothing.

        Raises:
            UserError: if it names an unknown kernel, dimension or element type.
        """
        return _problem(self)


@functools.lru_cache(maxsize=16)
def _maker(source: ProblemArguments, device: str) -> str:
    """Where arguments are made: on the CPU if the user's file draws sizes, which are others on a
    GPU than those by which builders count programs."""
    problem = source.problem
    if device == "cpu" or problem.spec.file is None:
        return device
    config = problem.default_config
    there = made_on(device, lambda: problem.arguments(config))
    return device if _sizes(there) == _sizes(without_contents(problem, config)) else "cpu"


def _sizes(arguments: Iterable[Argument]) -> list[tuple[str, object]]:
    """Of arrays their sizes, and of integers their values."""
    found: list[tuple[str, object]] = []
    for each in arguments:
        held = each.expected if each.value is None else each.value
        if isinstance(held, np.ndarray):
            found.append((each.name, held.shape))
        elif isinstance(held, int):
            found.append((each.name, held))
    return found


@functools.lru_cache(maxsize=16)
def _problem(source: ProblemArguments) -> Problem:
    spec = load_kernel(source.kernel)
    return make_problem(spec, dict(source.shape), source.dtype, source.outputs)


def without_contents(problem: Problem, config: Config) -> tuple[Argument, ...]:
    """The arguments' types, sizes and scalars; arrays hold nothing and take no memory."""
    with types_alone():
        return made_on("meta", lambda: problem.arguments(config))


def does_not_fit(problem: Problem, config: Config, gpu: GpuLimits) -> str:
    """Why a GPU's memory cannot hold what a configuration runs on, in one sentence, or "".

    Each array lies there once for the kernel, and once for each of its contents before a run and of
    what it should hold after it.
    """
    return arrays_do_not_fit(problem, without_contents(problem, config), gpu)


def arrays_do_not_fit(problem: Problem, arguments: Iterable[Argument], gpu: GpuLimits) -> str:
    """The same for arguments that are at hand; they may be without contents."""
    needed = sum(_device_bytes(argument) for argument in arguments if argument.is_pointer)
    if not gpu.memory_bytes or needed <= gpu.memory_bytes:
        return ""
    return (
        f"the arguments of {shape_text(problem.shape)} and what they are checked against take "
        f"{needed / 2**30:.1f} GiB, and {gpu.name} has {gpu.memory_bytes / 2**30:.1f} GiB of memory"
    )


def _device_bytes(argument: Argument) -> int:
    contents = [np.asarray(a) for a in (argument.value, argument.expected) if a is not None]
    return sum(array.nbytes for array in contents) + max(array.nbytes for array in contents)


def made_on(device: str, make: Callable[[], _T]) -> _T:
    """What `make` returns with torch's functions on `device`, or on the CPU if they cannot.

    A reference that keeps tensors on the CPU, or branches on their values, fails on other devices.
    """
    if device != "cpu":
        with contextlib.suppress(Exception), _default_device(device):
            return make()
    return make()


@contextlib.contextmanager
def _default_device(device: str) -> Iterator[None]:
    """Within the block, torch makes tensors on `device`."""
    with torch.device(device):
        yield
