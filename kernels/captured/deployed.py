"""Runs a captured kernel in its deployed configuration, where torch makes its tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from foundation.torch_types import TORCH_TYPES
from kernels.captured.block_rule import BlockRule
from kernels.captured.memory import Memory
from kernels.own.narrow_types import rounded_to
from kernels.own.other_kernels import other_kernels_run
from kernels.spec import Grid
from launchers.arguments import Argument, Described
from triton_rvv.errors import CompileError
from triton_rvv.frontend.descriptors import passed_names
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.tuples import in_order, nested
from triton_rvv.make_ttir import make_ttir
from triton_rvv.reached_arguments import reached_arguments
from triton_rvv.targets.target_names import named_target

__all__ = ["Deployed", "Reached"]

_TRITON_NAMES = {torch_type: name for name, torch_type in TORCH_TYPES.items()}


@dataclass(frozen=True)
class Reached:
    """Names of a kernel's pointers.

    Args:
        loaded, stored: those that it may read, and may write; atomic operations do both.
        has_while: whether it has a loop that ends by a condition, which some data may never meet.
        shared: those by which a program may learn what another wrote.
        rounded_to: the coarsest type, of fp16 and bf16, that it converts to or computes in, if any.
    """

    loaded: frozenset[str]
    stored: frozenset[str]
    has_while: bool = False
    shared: frozenset[str] = frozenset()
    rounded_to: torch.dtype | None = None


@dataclass(frozen=True)
class Deployed:
    """A launch as the program made it, without its tensors.

    Args:
        function: the `@triton.jit` function.
        scalars: numbers by parameter, and their Triton types. Parts of tuples count as parameters
            here and elsewhere (`triton_rvv.frontend.tuples`).
        constants: the value of every constexpr, and None for pointers that were not passed.
        options: of the compiler, such as num_warps, which have an effect on GPUs.
        grid: programs along x, y and z.
        grid_samples: what the program's own function gives for other constants: those that differ,
            and the grid.
        descriptors: by parameter, how a tensor descriptor lies over its tensor.
        blocks: what one load of each descriptor takes.
    """

    function: Any
    scalars: Mapping[str, tuple[str, int | float]]
    constants: Mapping[str, Any]
    options: Mapping[str, Any]
    grid: Grid
    grid_samples: Sequence[tuple[Mapping[str, Any], Grid]] = ()
    descriptors: Mapping[str, Described] = field(default_factory=dict)
    blocks: BlockRule = field(default_factory=BlockRule)

    def run(self, before: Memory, *, checks_bounds: bool = False) -> Memory:
        """The tensors after one run on a copy of `before`.

        Args:
            before: the tensors, on the processor or a GPU.
            checks_bounds: whether each access is checked before it happens; only for tensors that
                are on the processor.

        Raises:
            OutOfBoundsError: for an access outside of the tensors' storages, if they are checked.
        """
        after = before.copied()
        tensors = {name: after.tensor(name) for name in after.views}
        on_gpu = any(tensor.is_cuda for tensor in tensors.values())
        scalars = {name: value for name, (_, value) in self.scalars.items()}
        parts = {**self.constants, **tensors, **scalars, **self._described(tensors)}
        given = dict.fromkeys(part.partition("[")[0] for part in parts)
        values = {name: nested(name, parts) for name in given}
        options = self.options if on_gpu else {"checks_bounds": True} if checks_bounds else {}
        with other_kernels_run():
            self.function[self.grid](**values, **options)
        if on_gpu:
            torch.cuda.synchronize()
        return after

    def _described(self, tensors: Mapping[str, torch.Tensor]) -> dict[str, TensorDescriptor]:
        """The arguments that are descriptors of these tensors."""
        blocks = self.blocks.blocks(self.constants)
        return {
            name: TensorDescriptor(
                tensors[name], list(d.shape), list(d.strides), list(blocks[name]), d.padding
            )
            for name, d in self.descriptors.items()
        }

    def reached(self, memory: Memory) -> Reached | None:
        """Which of its pointers the kernel reads and writes; None if that cannot be found out."""
        blocks = self.blocks.blocks(self.constants)
        pointers = {
            name: Argument(
                name, f"*{_TRITON_NAMES[view.dtype]}", described=self.descriptors.get(name)
            ).signature_type(blocks)
            for name, view in memory.views.items()
        }
        types = {**pointers, **{name: type_ for name, (type_, _) in self.scalars.items()}}
        constants = {n: value for n, value in self.constants.items() if n not in types}
        every = {**dict.fromkeys(constants, "constexpr"), **types}
        signature = {name: every[name] for name in in_order(every, self.function.arg_names)}
        try:
            ttir = make_ttir(self.function, signature, constants, frozenset(), named_target("host"))
        except CompileError:
            return None
        passed = passed_names(signature)
        module = parse_module(ttir)
        found = reached_arguments(module)
        if found is None:
            return None
        loaded, stored, shared = (
            frozenset(passed[number] for number in numbers) & pointers.keys()
            for numbers in (found.loaded, found.stored, found.shared)
        )
        return Reached(loaded, stored, found.has_while, shared, rounded_to(module))
