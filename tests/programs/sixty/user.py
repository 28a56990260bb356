"""What the programs share: the device, random tensors, and a checksum that a rounding leaves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

__all__ = [
    "DEVICE",
    "PROGRAMS",
    "Program",
    "backward",
    "main",
    "program",
    "rand",
    "randint",
    "randn",
]

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Program:
    """One program of the list.

    Attributes:
        package: whose operator is called, as it is imported.
        operator: the name of the program, and the argument that runs it.
        kernel: the Triton kernel that was drawn; a generated one has the name of its operator.
        types: of the tensors that the kernel reads.
        call: runs the operator and returns its results, and gradients where it has any.
    """

    package: str
    operator: str
    kernel: str
    types: str
    call: Callable[[], Any]


PROGRAMS: list[Program] = []


def program(package: str, kernel: str, types: str) -> Callable[[Callable[[], Any]], Any]:
    """Put a function without arguments on the list."""

    def listed(call: Callable[[], Any]) -> Callable[[], Any]:
        PROGRAMS.append(Program(package, call.__name__, kernel, types, call))
        return call

    return listed


def randn(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Normal values, the same ones on each run and device."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def rand(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Values between 0 and 1, the same ones on each run and device."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def randint(
    high: int, *shape: int, dtype: torch.dtype = torch.int64, seed: int = 0
) -> torch.Tensor:
    """Integers from 0 to below `high`, the same ones on each run and device."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(high, shape, generator=generator).to(DEVICE, dtype)


def backward(call: Callable[..., Any], *inputs: torch.Tensor) -> list[torch.Tensor]:
    """The results of `call` and the gradients of its floating inputs for an upstream of ones."""
    leaves = [one.requires_grad_() if one.is_floating_point() else one for one in inputs]
    results = call(*(one * 1 if one.requires_grad else one for one in leaves))
    results = [one for one in _tensors(results) if one.requires_grad]
    sum(one.float().square().mean() for one in results).backward()
    return [*results, *(leaf.grad for leaf in leaves if leaf.grad is not None)]


def _tensors(results: Any) -> list[torch.Tensor]:
    if isinstance(results, torch.Tensor):
        return [results]
    if isinstance(results, tuple | list):
        return [tensor for one in results for tensor in _tensors(one)]
    return []


def main() -> None:
    """Run the program that the command line names, and print a checksum of each result."""
    (chosen,) = [one for one in PROGRAMS if one.operator == sys.argv[1]]
    for number, tensor in enumerate(_tensors(chosen.call())):
        values = tensor.detach().double().flatten()
        values = values[torch.isfinite(values)]
        print(f"checksum {number} {values.sum():.6e} {values.abs().sum():.6e}")
