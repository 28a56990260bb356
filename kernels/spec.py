"""What the tuner has to know of a kernel, and a kernel at one shape: the problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from launchers.arguments import Argument
from search_spaces.config import Config, ParameterValue

__all__ = ["Grid", "KernelSpec", "Problem"]

Grid = tuple[int, int, int]


@dataclass(frozen=True)
class KernelSpec:
    """A Triton kernel with everything needed to run and check it.

    Args:
        name: registered name; the kernel function is called `{name}_kernel`.
        kernel: the `@triton.jit` function.
        default_shape: names and default sizes of the problem's dimensions.
        default_config: what a user would run without tuning; every speed-up is against it. A
            function of the problem where a block has to follow the shape.
        dtypes: element types it takes, the default first, by Triton's short name ("fp32").
        arguments: every argument that is not a constexpr, in the kernel's order, with reproducible
            contents and the expected outputs from a torch or NumPy reference.
        grid: programs along x, y and z.
        flops: floating-point operations of one run of the grid.
        traffic_bytes: bytes of its inputs and outputs, each counted once.
        constants: constexpr arguments that are not tuned.
    """

    name: str
    kernel: Any
    default_shape: Mapping[str, int]
    default_config: Config | Callable[[Problem], Config]
    dtypes: tuple[str, ...]
    arguments: Callable[[Problem, Config], tuple[Argument, ...]]
    grid: Callable[[Problem, Config], Grid]
    flops: Callable[[Problem], float]
    traffic_bytes: Callable[[Problem], float]
    constants: Mapping[str, ParameterValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Problem:
    """A kernel at one shape and element type: what a study is about.

    Args:
        spec: the kernel.
        shape: a positive size for each name of `spec.default_shape`.
        dtype: one of `spec.dtypes`.
    """

    spec: KernelSpec
    shape: Mapping[str, int]
    dtype: str

    @property
    def default_config(self) -> Config:
        """What a user would run at this shape without tuning."""
        default = self.spec.default_config
        return default(self) if callable(default) else default

    @property
    def name(self) -> str:
        """For people and for study names: "matmul-M256-N512-K256-fp32"."""
        sizes = "-".join(f"{name}{size}" for name, size in self.shape.items())
        return f"{self.spec.name}-{sizes}-{self.dtype}"
