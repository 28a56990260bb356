"""What a user's file launches, as `KernelSpec` asks for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from foundation.config import Config
from foundation.errors import UserError
from kernels.own.accesses import unused_arguments
from kernels.own.block_grids import may_follow_a_block
from kernels.own.configurations import Listed, first_values, listed_configs
from kernels.own.kernel_file import KernelFile
from kernels.own.launch import Launch
from kernels.own.repeatable import repeatable_grid
from kernels.spec import Blocks, Constants, Grid, Problem
from kernels.values import TORCH_TYPES
from rvv_runner.board import BoardInfo
from search_spaces.space import SearchSpace

__all__ = ["OwnLaunches"]


class OwnLaunches:
    """What a file launches at each shape, element type and configuration.

    Args:
        file: the kernel and its functions.
    """

    def __init__(self, file: KernelFile) -> None:
        self._file = file
        parameters = inspect.signature(file.maker()).parameters
        self._parameters = {n: p for n, p in parameters.items() if n != "config"}
        # What `arguments` gets as its `config` where no configuration is chosen yet.
        takes_one = "config" in parameters
        self._first = first_values(file) if takes_one else Config({})
        self._has_same_grid = False  # as far as is known: whether each call gives the same one

    def default_shape(self) -> dict[str, int]:
        """The parameters of `arguments` with their defaults, or 0."""
        shape = {
            name: 0 if parameter.default is parameter.empty else parameter.default
            for name, parameter in self._parameters.items()
            if name != "dtype"
        }
        for name, size in shape.items():
            if not isinstance(size, int):
                raise UserError(
                    f"{self._file.path}: the default of {name} is not a size: {size!r}: parameters "
                    "are sizes, whole numbers; write other values inside of the function"
                )
        return shape

    def dtypes(self) -> tuple[str, ...]:
        """Every type if `arguments` takes a dtype, its default first; else its tensors' type."""
        names = {torch_type: name for name, torch_type in TORCH_TYPES.items()}
        if "dtype" in self._parameters:
            default = names.get(self._parameters["dtype"].default, "fp32")
            return (default, *(name for name in TORCH_TYPES if name != default))
        shape = self.default_shape()
        if not all(shape.values()):
            return ("fp32",)
        values = Launch(self._file, shape, "fp32", self._first).values().values()
        return tuple(names[v.dtype] for v in values if isinstance(v, torch.Tensor))[:1] or ("fp32",)

    def default_config(self, problem: Problem) -> Config:
        """The first of the file's configurations."""
        return self._listed(problem).configs[0]

    def space(self, problem: Problem, board: BoardInfo) -> SearchSpace:
        """The space that consists of the file's configurations."""
        listed = self._listed(problem, for_gpu=board.gpu is not None)
        space = SearchSpace.from_configs(listed.configs)
        notes = (*listed.notes, *self._note_on_grid(problem, listed.configs))
        return replace(space, default=listed.configs[0], notes=notes)

    def _note_on_grid(self, problem: Problem, configs: Sequence[Config]) -> tuple[str, ...]:
        launch = self._launch(problem, self._first)
        if len(configs) == 1 or not launch.has_fixed_grid:
            return ()
        values = launch.values()
        if not may_follow_a_block(launch.grid(values), values, configs[0]):
            return ()
        return (
            "every configuration runs as many programs as the file launches: if that depends on "
            "the configuration, launch with a function of it, as in [lambda meta: ...]",
        )

    def _listed(self, problem: Problem, *, for_gpu: bool = False) -> Listed:
        launch = self._launch(problem, self._first)
        known = {**problem.shape, **launch.values()}
        return listed_configs(self._file, known, for_gpu=for_gpu)

    def _launch(self, problem: Problem, config: Config) -> Launch:
        return Launch(self._file, problem.shape, problem.dtype, config)

    def blocks(self, problem: Problem, config: Config) -> Blocks:
        """Of the arguments that are tensor descriptors."""
        found = self._launch(problem, config).descriptors()
        return {name: tuple(map(int, d.block_shape)) for name, d in found.items()}

    def grid(self, problem: Problem, config: Config) -> Grid:
        """The grid that the file's `grid` returns.

        Raises:
            UserError: if it returns another one each time.
        """
        launch = self._launch(problem, config)
        values = launch.values()
        if self._has_same_grid:
            return launch.grid(values)
        found = repeatable_grid(launch, values)
        self._has_same_grid = True
        return found

    def constants(self, problem: Problem, config: Config) -> Constants:
        """Values of the constexpr parameters that are not in the configuration."""
        launch = self._launch(problem, config)
        return launch.constants(launch.values())

    def traffic_bytes(self, problem: Problem) -> float:
        """Bytes of all tensors."""
        values = self._launch(problem, self._first).values().values()
        return sum(v.nbytes for v in values if isinstance(v, torch.Tensor))

    def flops(self) -> Callable[[Problem], float] | None:
        """The file's own `flops`, a function of the sizes, or None."""
        function = self._file.optional("flops")
        if function is None:
            return None
        parameters = inspect.signature(function).parameters
        return lambda problem: float(
            function(**{name: size for name, size in problem.shape.items() if name in parameters})
        )

    def unused_arguments(self, problem: Problem, config: Config) -> frozenset[str]:
        """See `KernelSpec.unused_arguments`."""
        return unused_arguments(self._launch(problem, config))
