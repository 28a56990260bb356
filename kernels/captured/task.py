"""A task: one kernel as a program launched it, at one signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foundation.config import Config, ParameterValue
from kernels.captured.drawn import Drawn, drawn_tensor
from kernels.captured.task_values import Constant, Descriptor, Tensor, Value, made_of, parts_of

if TYPE_CHECKING:  # commands that read captures need no tensors; importing torch takes two seconds
    import torch

__all__ = [
    "GridSample",
    "Kernel",
    "Recorded",
    "Storage",
    "Task",
]

Grid = tuple[int, int, int]


@dataclass(frozen=True)
class Recorded:
    """The contents of a storage before the first launch, byte for byte.

    Args:
        data: as many bytes as the storage has.
    """

    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Storage:
    """The memory from the first to the last element of tensors that share it.

    Args:
        dtype: Triton's name of the elements as the first of its tensors has them.
        elements: how many of that type it holds.
        contents: before the first launch, or None where they could not be read.
        front: how many of the elements lie in front of the first of its tensors.
    """

    dtype: str
    elements: int
    contents: Recorded | Drawn | None
    front: int = 0

    @property
    def front_bytes(self) -> int:
        """The same in bytes."""
        return self.front * self._element_bytes

    @property
    def size_bytes(self) -> int:
        """What it takes."""
        return self.elements * self._element_bytes

    @property
    def _element_bytes(self) -> int:
        from foundation.torch_types import TORCH_TYPES

        return TORCH_TYPES[self.dtype].itemsize

    def tensor(self) -> torch.Tensor:
        """The contents, or like ones, in one dimension, on the CPU; zeros if there are none."""
        import torch

        from foundation.torch_types import TORCH_TYPES

        dtype = TORCH_TYPES[self.dtype]
        if self.contents is None:
            return torch.zeros(self.elements, dtype=dtype)
        if isinstance(self.contents, Recorded):
            if not self.elements:
                return torch.empty(0, dtype=dtype)
            raw = torch.frombuffer(bytearray(self.contents.data), dtype=torch.uint8)
            return raw.view(dtype)
        return drawn_tensor(self.contents, self.elements, dtype)


@dataclass(frozen=True)
class GridSample:
    """What a callable grid gave for other constants than those of the launch.

    Args:
        changed: the constants that differ from the task's.
        grid: programs along x, y and z.
    """

    changed: Mapping[str, Constant]
    grid: Grid


@dataclass(frozen=True)
class Kernel:
    """Which kernel it is.

    Args:
        module, qualname: where it was defined. A kernel made in a function, or by torch.compile,
            has a name that leads nowhere: then its source is all there is.
        file: the path of its source file, on the machine of the capture.
        line: the line there of its `def`.
        digest: of its code, of the functions that it calls and of the constants that they read
            (`triton_rvv.launches.source.kernel_digest`).
        source: the text of the function, from its `def` on.
        module_source: the text of the whole file; "" where the file is of an installed package.
        is_generated: whether torch.compile wrote it.
        captured: assignments of what it takes from the function that made it, a line each.
        global_values: the same of what it reads of its module.
        package: of its module, which relative imports begin with; "" for none.
        definition: of `triton_rvv.launches.definition`, which makes it again, and gives it what a
            program puts into its module; "" of torch.compile.
        has_file: whether its file has it by its name.
    """

    module: str
    qualname: str
    file: str
    line: int
    digest: str
    source: str = field(repr=False)
    module_source: str = field(repr=False, default="")
    is_generated: bool = False
    captured: str = ""
    global_values: str = ""
    package: str = ""
    definition: str = field(repr=False, default="")
    has_file: bool = True

    @property
    def name(self) -> str:
        """The function's name."""
        return self.qualname.rpartition(".")[2]


@dataclass(frozen=True)
class Task:
    """One kernel at one signature: what a program launched, how often, and how long it took.

    Args:
        key: of the signature: the kernel's digest, its constants and options, and each argument's
            type, sizes, strides, alignment and storage. It is the same in every run of a program.
        call_key: the same without what an autotuner or heuristics chose, and without the grid.
        family, call_family: like these keys, the same for launches that differ in sizes alone.
        sizes: the integers and the tensors' sizes among the arguments, in their order.
        kernel: the function.
        arguments: the value of each parameter that is passed at run time, in the kernel's order.
        constants: the value of each other parameter: `tl.constexpr` ones, and pointers that are
            None.
        options: of the compiler as they were in force, such as num_warps and num_stages.
        storages: the memory of the tensors.
        grid: programs along x, y and z.
        is_grid_callable: whether the program gave a function for the grid. If so, a program that
            is run with another configuration calls it; if not, somebody has to know the rule.
        grid_samples: what that function gives for other constants.
        configurations: those of `@triton.autotune`, in its order; None without a decorator.
            Options such as num_warps stand among the values.
        autotune_key: the parameters by which the decorator chooses; empty without one.
        heuristics: the constants that `@triton.heuristics` computes.
        wrappers: the classes around the kernel, the outermost first, such as "Autotuner".
        launches: how often it was launched, the decorators' own benchmarks not counted.
        time_s: of all launches, extrapolated from those that were timed; None where none was.
        timed_launches: how many were timed.
        device: "host" or the GPU's name.
        target: Triton's target, such as cuda:90 or host:znver4.
        launched_at: the line that launched it first, as "file:line"; "" where that is not known.
        grid_values: the constants for which torch.compile knows a grid of numbers, as it does of a
            program's own kernel; None where the grid is a formula, or the program's.
    """

    key: str
    call_key: str
    family: str
    call_family: str
    sizes: tuple[int, ...]
    kernel: Kernel
    arguments: Mapping[str, Value]
    constants: Mapping[str, Constant]
    options: Mapping[str, ParameterValue]
    storages: tuple[Storage, ...]
    grid: Grid
    is_grid_callable: bool
    grid_samples: tuple[GridSample, ...]
    configurations: tuple[Config, ...] | None
    autotune_key: tuple[str, ...]
    heuristics: tuple[str, ...]
    wrappers: tuple[str, ...]
    launches: int
    time_s: float | None
    timed_launches: int
    device: str
    target: str
    launched_at: str = ""
    grid_values: tuple[Mapping[str, Constant], ...] | None = None

    @property
    def parts(self) -> dict[str, Value | Constant]:
        """The arguments, of each tuple its parts: `xs[0]`, `xs[1]` and so on."""
        return dict(
            part for name, value in self.arguments.items() for part in parts_of(name, value)
        )

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors among the parts, those under descriptors among them."""
        found: dict[str, Tensor] = {}
        for name, value in self.parts.items():
            if isinstance(value, Tensor):
                found[name] = value
            elif isinstance(value, Descriptor):
                found[name] = value.base
        return found

    @property
    def deployed(self) -> Config:
        """The configuration that the program launched.

        These are the parameters that the autotuner's configurations name; where they name no
        constant, and without an autotuner, the integers among the constants that are no flags.
        """
        known = {**self.options, **self.constants}
        plain = {n: v for n, v in known.items() if isinstance(v, int | float | bool | str)}
        entries = self.configurations or ()
        named = {name: plain[name] for entry in entries for name in entry if name in plain}
        if not named.keys().isdisjoint(self.constants):
            return Config(named)
        sizes = {n: v for n, v in plain.items() if n in self.constants and type(v) is int and v > 1}
        return Config(sizes | named)

    @property
    def listed(self) -> Sequence[Mapping[str, ParameterValue]]:
        """What the kernel's autotuner may choose; a list of one is no choice, so it is as none."""
        configurations = self.configurations or ()
        return configurations if len(configurations) > 1 else ()

    @property
    def size_bytes(self) -> int:
        """What its tensors take."""
        return sum(storage.size_bytes for storage in self.storages)

    def values(self) -> dict[str, Any]:
        """New tensors, numbers and constants by parameter, as a launch takes them.

        Tensors that shared memory share it again. Values that are `Named` stay so.
        """
        import torch

        memory = [s.tensor().view(torch.uint8)[s.front_bytes :] for s in self.storages]
        made = {name: made_of(value, memory) for name, value in self.arguments.items()}
        return {**self.constants, **made}
