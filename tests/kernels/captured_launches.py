"""Launches as a capture holds them, and what is found out about them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import captured_kernels as kernels
import torch

from foundation.config import ParameterValue
from kernels.captured.deployed import Deployed
from kernels.captured.freedom import Freedom
from kernels.captured.memory import Memory, View
from kernels.captured.probe import Probed, probed
from kernels.captured.problem import captured_spec
from kernels.spec import KernelSpec

__all__ = [
    "add",
    "freedom",
    "launch",
    "matmul",
    "memory_of",
    "normal",
    "probe",
    "softmax",
    "spec_of",
]


def memory_of(**tensors: torch.Tensor) -> Memory:
    """The tensors with the storages that they share."""
    storages: dict[int, torch.Tensor] = {}
    views: dict[str, View] = {}
    keys: dict[int, int] = {}
    for name, tensor in tensors.items():
        key = keys.setdefault(tensor.untyped_storage().data_ptr(), len(keys))
        storages[key] = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
        views[name] = View(
            key, int(tensor.storage_offset()), tuple(tensor.shape), tensor.stride(), tensor.dtype
        )
    return Memory(storages, views)


def launch(kernel: Any, grid: int, constants: dict[str, int], **scalars: float) -> Deployed:
    typed = {n: ("i32" if isinstance(v, int) else "fp32", v) for n, v in scalars.items()}
    return Deployed(kernel, typed, constants, {}, (grid, 1, 1))


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7)).to(dtype)


def probe(deployed: Deployed, memory: Memory, **listed: list[ParameterValue]) -> Probed:
    return probed(deployed, memory, listed=listed or None, derived=lambda constants: {})


def freedom(found: Probed, name: str) -> Freedom:
    (one,) = [f for f in found.freedoms if f.name == name]
    return one


def add(n: int = 1000, dtype: torch.dtype = torch.float32) -> tuple[Deployed, Memory]:
    deployed = launch(kernels.add_kernel, 4, {"BLOCK": 256}, n=n)
    x, y = normal(n, dtype=dtype), normal(n, dtype=dtype)
    return deployed, memory_of(x=x, y=y, out=torch.zeros(n, dtype=dtype))


def softmax(dtype: torch.dtype = torch.float32) -> tuple[Deployed, Memory]:
    deployed = launch(
        kernels.softmax_kernel, 8, {"BLOCK": 128}, x_step=100, out_step=120, columns=100
    )
    return deployed, memory_of(
        x=normal(8, 100, dtype=dtype), out=torch.full((8, 120), 3.0, dtype=dtype)
    )


def matmul(m: int, n: int, k: int, **blocks: int) -> tuple[Deployed, Memory]:
    """A product with one program for each block of the result."""
    programs = -(-m // blocks["BLOCK_M"]) * -(-n // blocks["BLOCK_N"])
    deployed = launch(kernels.matmul_kernel, programs, blocks, M=m, N=n, K=k)
    return deployed, memory_of(a=normal(m, k), b=normal(k, n), c=torch.zeros(m, n))


def spec_of(deployed: Deployed, memory: Memory, found: Probed) -> KernelSpec:
    """The task as a kernel that can be tuned."""
    task = SimpleNamespace(
        load_name="", digest="", deployed=deployed, listed=(), memory=lambda data_set: memory
    )
    return captured_spec(task, found)
