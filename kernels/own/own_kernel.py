"""What a user's file says of its kernel, as `KernelSpec` asks for it."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

from foundation.config import Config
from foundation.errors import UserError
from foundation.scratch import scratch_folder
from foundation.shapes import shape_text
from gpu_runner.device_arrays import DeviceArguments
from gpu_runner.loaded_kernel import allocate
from kernels.own.accesses import accesses_of, unused_arguments
from kernels.own.argument_of import argument_of
from kernels.own.changed_inputs import Change
from kernels.own.check_notes import check_notes
from kernels.own.configurations import Listed, first_values, listed_configs
from kernels.own.device_run import DeviceRun
from kernels.own.expected import ExpectedOutput, expected_outputs
from kernels.own.host_run import HostRun
from kernels.own.journal import Journal
from kernels.own.kept_changes import kept_telling
from kernels.own.kernel_file import KernelFile
from kernels.own.launch import Launch, descriptors_of
from kernels.own.other_sizes import on_other_sizes
from kernels.own.relied_on import on_relied, relied_on
from kernels.own.restored import restored
from kernels.own.telling import Telling, Tried, telling_changes
from kernels.own.unreferenced import without_reference
from kernels.spec import Blocks, Constants, Grid, Problem
from kernels.values import TORCH_TYPES, current_data_set, want_types_alone
from launchers.arguments import Argument, Described
from rvv_runner.board import BoardInfo
from search_spaces.space import SearchSpace

__all__ = ["OwnKernel"]


class OwnKernel:
    """The functions of a `KernelSpec`, taken from a file."""

    def __init__(self, file: KernelFile) -> None:
        self._file = file
        parameters = inspect.signature(file.maker()).parameters
        self._parameters = {n: p for n, p in parameters.items() if n != "config"}
        # What `arguments` gets as its `config` where no configuration is chosen yet.
        takes_one = "config" in parameters
        self._first = first_values(file) if takes_one else Config({})
        # What is expected is the same for all configurations, and takes long to compute.
        self._expected: dict[object, dict[str, ExpectedOutput]] = {}
        self._constant: dict[object, frozenset[str]] = {}
        self._changes: dict[object, Telling] = {}

    def default_shape(self) -> dict[str, int]:
        """The parameters of `arguments` with their defaults, or 0."""
        shape = {
            name: 0 if parameter.default is parameter.empty else parameter.default
            for name, parameter in self._parameters.items()
            if name != "dtype"
        }
        for name, size in shape.items():
            if not isinstance(size, int):
                raise UserError(f"{self._file.path}: the default of {name} is not a size: {size!r}")
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
        notes = (*listed.notes, *self._note_on_grid(problem, len(listed.configs)))
        return replace(space, default=listed.configs[0], notes=notes)

    def _note_on_grid(self, problem: Problem, configs: int) -> tuple[str, ...]:
        if configs == 1 or not self._launch(problem, self._first).has_fixed_grid:
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

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        """The kernel's arguments; the outputs are from `reference` or the kernel."""
        launch = replace(self._launch(problem, config), changes=self._telling(problem).changes)
        return self._arguments(problem, launch, self._expected_outputs(problem, config))

    def _arguments(
        self, problem: Problem, launch: Launch, expected: Mapping[str, ExpectedOutput]
    ) -> tuple[Argument, ...]:
        given = launch.given()
        described = {name: _described(d) for name, d in descriptors_of(given).items()}
        unchanged = self._unchanged(problem)
        constants = {p.name for p in self._file.function.params if p.is_constexpr}
        return tuple(
            replace(
                argument_of(self._file.path, name, value, expected.get(name)),
                described=described.get(name),
                constant=name in unchanged and name not in expected,
            )
            for name, value in launch.values_of(given).items()
            if name not in constants and value is not None
        )

    def check(self, problem: Problem) -> tuple[str, ...]:
        """Run the file's functions once; what is to be said of how outputs are checked."""
        launch = self._launch(problem, self.default_config(problem))
        telling = self._telling(problem)
        notes = check_notes(replace(launch, changes=telling.changes))
        return (*notes, *telling.notes, *self._note_on_kept())

    def _note_on_kept(self) -> tuple[str, ...]:
        if not self._file.kept_inputs:
            return ()
        names = ", ".join(sorted(self._file.kept_inputs))
        return (
            f"the kernel's file says {self._file.spelt('kept_inputs')}: the winner is right for "
            f"such {names} as it gives, and perhaps for no other",
        )

    def on_inputs(self, problem: Problem, config: Config) -> str:
        """See `KernelSpec.on_inputs`; the configuration runs on this machine."""
        changes = self._telling(problem).changes
        plain = self._launch(problem, self.default_config(problem))

        def given(some: Mapping[str, Change]) -> tuple[Argument, ...]:
            return self._given(problem, replace(plain, changes=some))

        with self._host_run(problem, config) as run:
            names = relied_on(run, given, changes)
        spelt = self._file.spelt("kept_inputs")
        return on_relied(config, names, self._file.maker().__name__, spelt)

    def on_other_sizes(self, problem: Problem, config: Config) -> str:
        """See `KernelSpec.on_other_sizes`; on this machine, too."""
        reference = self._file.optional("reference")
        if reference is None or self._follows or self._telling(problem).untried:
            return ""

        is_listed = config in self._listed(problem).configs

        def run_at(shape: Mapping[str, int], of: Config) -> tuple[bool, str]:
            other = replace(problem, shape=shape)
            if of == config and is_listed and config not in self._listed(other).configs:
                raise UserError(f"the file does not list {config} at {shape_text(shape)}")
            with self._host_run(other, of) as run:
                is_right = run.is_right(self._given(other, self._launch(other, of)))
                return is_right, run.out_of_bounds or run.mismatch

        return on_other_sizes(problem.shape, self.default_config(problem), config, run_at)

    def unused_arguments(self, problem: Problem, config: Config) -> frozenset[str]:
        """See `KernelSpec.unused_arguments`."""
        return unused_arguments(self._launch(problem, config))

    @contextlib.contextmanager
    def _host_run(self, problem: Problem, config: Config) -> Iterator[HostRun]:
        with scratch_folder("host-run-") as folder:
            yield self._on_host(problem, config, folder)

    def _on_host(self, problem: Problem, config: Config, folder: Path) -> HostRun:
        constants, grid = problem.constants(config), self.grid(problem, config)
        blocks = self.blocks(problem, config)
        return HostRun(folder, self._file.function, constants, blocks, grid)

    def _on_gpu(self, problem: Problem, config: Config, _folder: Path) -> DeviceRun:
        constants, blocks = problem.constants(config), self.blocks(problem, config)
        kernel = self._file.function[self.grid(problem, config)]
        options = problem.launch_options(config)
        names = [name for name in self._file.function.arg_names if name not in constants]

        def launcher(memory: DeviceArguments) -> Callable[[], object]:
            passed = {
                name: memory.descriptor(name, blocks[name])
                if name in blocks
                else memory.value(name)
                for name in names
            }
            return functools.partial(kernel, **passed, **constants, **options)

        triton.set_allocator(allocate)
        return DeviceRun(str(torch.get_default_device()), launcher)

    def _given(self, problem: Problem, launch: Launch) -> tuple[Argument, ...]:
        """The arguments, with what `reference` expects."""
        expected = expected_outputs(launch, with_unnamed=False)
        if self._file.optional("reference") is None:  # which takes long, and is needed again
            self._expected[_expected_key(launch)] = expected
        return self._arguments(problem, launch, expected)

    def _telling(self, problem: Problem) -> Telling:
        """How the check's inputs differ from the file's; see `telling_changes`."""
        if want_types_alone() or current_data_set() != 0:
            return Telling()
        if self._follows:
            has_reference = self._file.optional("reference") is not None
            untried = "arguments or reference takes config" if has_reference else ""
            return Telling(untried=untried)
        key = (*problem.shape.items(), problem.dtype, torch.get_default_device())
        if torch.get_default_device().type != "cpu" and not self._file.optional("reference"):
            return Telling()  # Triton's interpreter would take too long
        if key not in self._changes:
            self._changes[key] = kept_telling(
                problem,
                (str(dict(self.default_config(problem))), *map(str, key)),
                lambda journal: self.find_changes(problem, journal),
            )
        return self._changes[key]

    def find_changes(self, problem: Problem, journal: Journal) -> Telling:
        """How the check's inputs are to differ from the file's, found in this process."""
        config = self.default_config(problem)
        plain = self._launch(problem, config)

        def launch(changes: Mapping[str, Change]) -> Launch:
            return replace(plain, changes=changes)

        def given(changes: Mapping[str, Change]) -> tuple[Argument, ...]:
            return self._given(problem, launch(changes))

        def run(folder: Path) -> HostRun | DeviceRun:
            on_gpu = torch.get_default_device().type == "cuda"
            return (self._on_gpu if on_gpu else self._on_host)(problem, config, folder)

        fixed = frozenset(problem.constants(config))
        tried = Tried(launch, given, accesses_of(plain), run, fixed)
        has_reference = self._file.optional("reference") is not None
        return telling_changes(tried, journal) if has_reference else without_reference(plain, tried)

    def blocks(self, problem: Problem, config: Config) -> Blocks:
        """Of the arguments that are tensor descriptors."""
        found = self._launch(problem, config).descriptors()
        return {name: tuple(map(int, d.block_shape)) for name, d in found.items()}

    def _expected_outputs(self, problem: Problem, config: Config) -> dict[str, ExpectedOutput]:
        """Of the launch with this configuration if what is expected may depend on it.

        A build needs none of them, and a reference may have to run on the CPU and take long.
        """
        if want_types_alone():
            return {}
        if self._follows:
            return expected_outputs(self._launch(problem, config))
        launch = self._launch(problem, self.default_config(problem))
        launch = replace(launch, changes=self._telling(problem).changes)
        key = _expected_key(launch)
        if key not in self._expected:
            self._expected[key] = expected_outputs(launch)
        return self._expected[key]

    def _unchanged(self, problem: Problem) -> frozenset[str]:
        """The inputs to which the default configuration stores nothing, and what it gives back."""
        if want_types_alone():
            return frozenset()
        key = (*problem.shape.items(), problem.dtype)
        if key not in self._constant:
            launch = self._launch(problem, self.default_config(problem))
            accesses = accesses_of(launch)
            self._constant[key] = accesses.constant | self._restored(problem, accesses.counted)
        return self._constant[key]

    def _restored(self, problem: Problem, counted: frozenset[str]) -> frozenset[str]:
        """Those of some arrays that the default configuration gives back as it found them."""
        config = self.default_config(problem)
        launch = self._launch(problem, config)
        values = launch.values()
        on_gpu = any(t.is_cuda for t in values.values() if isinstance(t, torch.Tensor))
        if not counted or on_gpu or launch.descriptors():
            return frozenset()
        constants = {p.name for p in self._file.function.params if p.is_constexpr}
        plain = tuple(
            argument_of(self._file.path, name, value)
            for name, value in values.items()
            if value is not None and name not in constants
        )
        with self._host_run(problem, config) as run:
            return restored(run, plain, counted)

    @property
    def _follows(self) -> bool:
        """Whether `arguments` or `reference` takes the configuration."""
        functions = (self._file.maker(), self._file.optional("reference"))
        return any("config" in inspect.signature(f).parameters for f in functions if f)

    def grid(self, problem: Problem, config: Config) -> Grid:
        """The grid that the file's `grid` returns."""
        launch = self._launch(problem, config)
        return launch.grid(launch.values())

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


def _expected_key(launch: Launch) -> object:
    """What the expected outputs of a default configuration follow from."""
    changes = frozenset(launch.changes.items())
    device = torch.get_default_device()
    return (*launch.shape.items(), launch.dtype, changes, current_data_set(), device)


def _described(descriptor: TensorDescriptor) -> Described:
    shape, strides = map(int, descriptor.shape), map(int, descriptor.strides)
    return Described(tuple(shape), tuple(strides), descriptor.padding)
