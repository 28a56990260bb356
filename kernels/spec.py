"""What the tuner needs to know about a kernel; a kernel at one shape is a problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from foundation.config import Config, ParameterValue
from foundation.errors import UserError
from launchers.arguments import Argument
from launchers.data_file import without_arrays
from rvv_runner.board import BoardInfo
from search_spaces.cores import on_cores
from search_spaces.registry import registered_space
from search_spaces.space import SearchSpace

__all__ = [
    "OWN_OUTPUTS",
    "PROBABLY_WRONG",
    "UNTRIED_SIZES",
    "Blocks",
    "CallableSource",
    "Constants",
    "Grid",
    "KernelSpec",
    "Outputs",
    "Problem",
    "SaidOnGpu",
    "with_promises",
]

# What a sentence of `KernelSpec.check` begins with that belongs into the verdict.
PROBABLY_WRONG = "probably wrong for"
# How `KernelSpec.on_other_sizes` begins where it could try none.
UNTRIED_SIZES = "tried at no other size"

Grid = tuple[int, int, int]
# None is the value of an optional pointer that is not passed.
Constants = Mapping[str, ParameterValue | None]
Blocks = Mapping[str, tuple[int, ...]]


class SaidOnGpu(NamedTuple):
    """What runs on a GPU tell of a study.

    Args:
        elsewhere: as `KernelSpec.on_other_sizes` says it.
        notes: what `KernelSpec.check` and `KernelSpec.on_inputs` say, and of other orders.
    """

    elsewhere: str = ""
    notes: tuple[str, ...] = ()


class CallableSource(Protocol):
    """What makes a callable for a configuration, where that is no Triton kernel."""

    @property
    def path(self) -> Path:
        """The user's file."""
        ...

    @property
    def update_on_change(self) -> tuple[str, ...] | None:
        """Names of the sizes whose change asks for another configuration; None for all."""
        ...

    def argument_names(self, problem: Problem, config: Config) -> tuple[str, ...]:
        """Names of what is passed, in its order."""
        ...

    def build(
        self, problem: Problem, config: Config, values: Mapping[str, Any]
    ) -> Callable[..., object]:
        """The callable for a configuration: called with the arguments in their order."""
        ...

    def compiled_key(self, problem: Problem, config: Config) -> object:
        """What decides whether a compiled callable serves again."""
        ...


@dataclass(frozen=True)
class Outputs:
    """A user's choices for the outputs, in place of the kernel's own.

    Args:
        dtype: element type, by Triton's short name; None for the kernel's own choice.
        atol, rtol: an output is correct if |output - expected| <= atol + rtol * |expected|; None
            for the kernel's own tolerance.
    """

    dtype: str | None = None
    atol: float | None = None
    rtol: float | None = None

    def __str__(self) -> str:
        named = {"dtype": self.dtype, "atol": self.atol, "rtol": self.rtol}
        return ",".join(f"{name}={value}" for name, value in named.items() if value is not None)

    def tolerated(self, argument: Argument) -> Argument:
        """The argument, with these tolerances if it is a floating-point output."""
        if argument.expected is None or not _is_float(argument.element_type):
            return argument
        if self.atol is None and self.rtol is None:
            return argument
        atol = argument.atol if self.atol is None else self.atol
        rtol = argument.rtol if self.rtol is None else self.rtol
        return replace(argument, atol=atol, rtol=rtol, slack=None)


OWN_OUTPUTS = Outputs()


def with_promises(digest: str, *, ordered: bool, kept_inputs: Iterable[str]) -> str:
    """A digest of sources, changed by what else decides how a kernel is checked.

    Args:
        digest: of the sources.
        ordered, kept_inputs: as in `KernelSpec`.
    """
    kept = "".join(f"-kept-{name}" for name in sorted(kept_inputs))
    return f"{digest}{'-ordered' if ordered else ''}{kept}"


def _scalars(arguments: Iterable[Argument]) -> list[object]:
    return [argument.value for argument in arguments if not argument.is_pointer]


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("fp", "bf"))


@dataclass(frozen=True)
class KernelSpec:
    """A Triton kernel with everything needed to run and check it.

    Args:
        name: registered name; the kernel function is called `{name}_kernel`.
        kernel: the `@triton.jit` function.
        default_shape: names and default sizes of the problem's dimensions; 0 if the user must give
            the size.
        default_config: what a user would run without tuning; every speed-up is over it. A function
            of the problem if a block depends on the shape.
        dtypes: supported element types, the default first, by Triton's short name ("fp32").
        arguments: every argument that is not a constexpr, in the kernel's order, with reproducible
            contents and the expected outputs from a torch or NumPy reference.
        grid: programs along x, y and z.
        traffic_bytes: bytes of its inputs and outputs, each counted once.
        flops: arithmetic operations on elements in one run of the grid, None if unknown.
        constants: constexpr arguments that are not tuned, and None for others that are not passed;
            a function if they depend on the problem or the configuration.
        blocks: for each argument that is a tensor descriptor, what one load of it takes.
        space: the search space, for a kernel without a file in `search_spaces`.
        file: path of the user's own file with the kernel, followed by ":KERNEL" if that was given.
        launch_functions: what determines a run's inputs and its correct outputs, if that is not
            `arguments`, `grid` and `constants`.
        output_dtypes: for each element type, the types that the outputs may have.
        callable_file: of what is tuned, if that is no Triton kernel.
        check: runs the functions of a user's file once, so that their mistakes end a command at its
            start; returns sentences for the user, with `PROBABLY_WRONG` one for the verdict.
        launch_digest: changes with what is launched, where no function tells: a captured launch.
        ordered: whether it is right only if its programs run one after another, in order, as they
            do on a core: it is checked so, and what is found holds for the board alone.
        kept_inputs: arguments that the check does not change, since the kernel may rely on what
            they are: what is found holds for such alone.
        on_inputs: which arguments a configuration that the check found wrong relies on, in one
            sentence; "" if it is wrong whatever they are.
        astray: the access outside of its array that a configuration makes, with its line and its
            program, found on this machine; "" if none is.
        on_other_sizes: at which other sizes a configuration is wrong, in one sentence; "" if none
            were found; if none could be tried, `UNTRIED_SIZES` and why.
        on_gpu: what is to be said of a study where torch's default device is a GPU, by what is to
            be used of it and some wrong configurations.
        unused_arguments: names of the arguments that the code of a configuration does not use.
        arguments_limit_s: seconds that making the arguments may take besides a build's own limit.
    """

    name: str
    kernel: Any
    default_shape: Mapping[str, int]
    default_config: Config | Callable[[Problem], Config]
    dtypes: tuple[str, ...]
    arguments: Callable[[Problem, Config], tuple[Argument, ...]]
    grid: Callable[[Problem, Config], Grid]
    traffic_bytes: Callable[[Problem], float]
    flops: Callable[[Problem], float] | None = None
    constants: Constants | Callable[[Problem, Config], Constants] = field(default_factory=dict)
    blocks: Callable[[Problem, Config], Blocks] | None = None
    space: Callable[[Problem, BoardInfo], SearchSpace] | None = None
    file: str | None = None
    launch_functions: tuple[Callable[..., Any], ...] = ()
    output_dtypes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    callable_file: CallableSource | None = None
    launch_digest: str = ""
    arguments_limit_s: float = 0.0
    check: Callable[[Problem], tuple[str, ...]] | None = None
    ordered: bool = False
    kept_inputs: frozenset[str] = frozenset()
    on_inputs: Callable[[Problem, Config], str] | None = None
    astray: Callable[[Problem, Config], str] | None = None
    on_other_sizes: Callable[[Problem, Config], str] | None = None
    on_gpu: Callable[[Problem, Config | None, Sequence[Config]], SaidOnGpu] | None = None
    unused_arguments: Callable[[Problem, Config], frozenset[str]] | None = None

    @property
    def load_name(self) -> str:
        """The name by which `kernels.registry.load_kernel` finds it, in any process."""
        return self.file or self.name

    @property
    def is_its_reference(self) -> bool:
        """Whether a user's file has no reference, so that runs of the kernel tell what is right."""
        return self.check is not None and self.arguments_limit_s > 0

    @property
    def source_digest(self) -> str:
        """Changes with the code of the kernel, its inputs, its correct outputs and how it is
        checked; times with another digest cannot be compared."""
        # Triton is slow to import; a process that has a kernel has already imported it.
        from kernels.source_digest import source_digest

        if self.launch_digest:
            digest = f"{source_digest([self.kernel])}-{self.launch_digest}"
        else:
            own = (self.arguments, self.grid, *filter(callable, (self.constants, self.blocks)))
            digest = source_digest([self.kernel, *(self.launch_functions or own)])
        return with_promises(digest, ordered=self.ordered, kept_inputs=self.kept_inputs)


@dataclass(frozen=True)
class Problem:
    """A kernel at one shape and element type: the subject of a study.

    Args:
        spec: the kernel.
        shape: a positive size for each name of `spec.default_shape`.
        dtype: one of `spec.dtypes`.
        outputs: the user's choices for the outputs.
        space_name: of the search space, if the user chose one of several; "" for the kernel's.
    """

    spec: KernelSpec
    shape: Mapping[str, int]
    dtype: str
    outputs: Outputs = OWN_OUTPUTS
    space_name: str = ""

    @property
    def default_config(self) -> Config:
        """What a user would run at this shape without tuning."""
        default = self.spec.default_config
        return default(self) if callable(default) else default

    def space(self, board: BoardInfo) -> SearchSpace:
        """The search space on a board: the kernel's own, or the registered one; on several cores
        without configurations that leave some of them idle.

        Raises:
            UserError: if the kernel has neither, or none of that name.
        """
        own = self.spec.space
        if own and self.space_name:
            raise UserError(f"{self.spec.name} has one search space: leave out {self.space_name}")
        if own:
            found = own(self, board)
        else:
            found = registered_space(self.spec.name, self, board, self.space_name)
        return on_cores(found, board, lambda config: math.prod(self.spec.grid(self, config)))

    def constants(self, config: Config) -> dict[str, ParameterValue | None]:
        """The value of every argument in a configuration that is constant when it is compiled."""
        fixed = self.spec.constants
        values = {**(fixed(self, config) if callable(fixed) else fixed), **config}
        options = self.launch_options(config)
        return {name: value for name, value in values.items() if name not in options}

    def blocks(self, config: Config, arguments: Iterable[Argument]) -> Blocks:
        """What one load of each argument that is a tensor descriptor takes in a configuration."""
        has_some = any(argument.described is not None for argument in arguments)
        return self.spec.blocks(self, config) if has_some and self.spec.blocks else {}

    def launch_options(self, config: Config) -> dict[str, ParameterValue]:
        """What a configuration asks of the compiler, such as num_warps: no argument's value."""
        names = self.spec.kernel.arg_names
        return {name: value for name, value in config.items() if name not in names}

    def arguments(self, config: Config) -> tuple[Argument, ...]:
        """Every argument in a configuration, as in `KernelSpec.arguments`."""
        return tuple(map(self.outputs.tolerated, self.spec.arguments(self, config)))

    def timed_arguments(
        self, config: Config, checked: tuple[Argument, ...] = (), number: int = 1
    ) -> tuple[Argument, ...]:
        """The arguments for the timed runs: with contents from other seeds, so that what is right
        for some inputs only is found.

        They are those of the check again if sizes, integers, constants or the grid depend on the
        seed, since one executable and one grid serve both.

        Args:
            config: the configuration.
            checked: the arguments of the check, if they are at hand.
            number: of the data set.
        """
        # It needs torch, which is slow to import; whoever has arguments has imported it.
        from kernels.values import data_set

        checked = checked or self.arguments(config)
        with data_set(number):
            timed = self.arguments(config)
        if list(map(without_arrays, timed)) != list(map(without_arrays, checked)):
            return checked
        same_numbers = _scalars(timed) == _scalars(checked)
        # Whatever is compiled may follow a number: of a callable, all of it.
        if self.spec.callable_file is not None:
            return timed if same_numbers else checked
        # A grid that alone follows the seed does so in every configuration, whose values then do
        # not count for what is made here.
        asked = self.default_config if same_numbers else config
        launched = self.constants(asked), self.spec.grid(self, asked)
        with data_set(number):
            same = launched == (self.constants(asked), self.spec.grid(self, asked))
        return timed if same else checked

    @property
    def name(self) -> str:
        """Its name in messages and study names: "matmul-M256-N512-K256-fp32"."""
        sizes = "-".join(f"{name}{size}" for name, size in self.shape.items())
        return f"{self.spec.name}-{sizes}-{self.dtype}"
