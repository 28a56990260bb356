"""Machine code in a GPU, ready to launch, by Triton's own launcher."""

from __future__ import annotations

import functools
import hashlib
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import triton
from triton.compiler import CompiledKernel

from gpu_runner.artifact import GpuArtifact
from gpu_runner.device_arrays import DeviceArguments
from triton_rvv.frontend.tuples import nested, path_of

__all__ = ["LoadedKernel", "allocate"]


_MOST_LOADED = 8

# In Triton's name of a descriptor's type, "tensordesc<fp16[64,128]>".
_BLOCK = re.compile(r"^tensordesc<.*\[([\d,]+)\]")


@dataclass(frozen=True)
class _Code:
    """All of an artifact that does not depend on the shape it is launched for.

    Artifacts of one configuration at several shapes share it.
    """

    name: str
    suffix: str
    binary: bytes
    metadata: str
    signature: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, object], ...]


class LoadedKernel:
    """A compiled kernel on the current GPU; what was loaded last is not loaded again.

    Args:
        artifact: what was built.

    Raises:
        triton.runtime.errors.OutOfResources: if the GPU has less than it needs.
    """

    def __init__(self, artifact: GpuArtifact) -> None:
        self._artifact = artifact
        self._kernel = _loaded(
            _Code(
                artifact.name,
                artifact.target.binary_suffix,
                artifact.binary,
                artifact.metadata,
                artifact.signature,
                artifact.constants,
            )
        )
        # Some kernels get memory of their own with each launch.
        triton.set_allocator(allocate)

    @property
    def needs(self) -> dict[str, float]:
        """What a program takes of the GPU, for each thread or in all."""
        return {
            "registers_per_thread": float(self._kernel.n_regs),
            "spilled_registers_per_thread": float(self._kernel.n_spills),
            "shared_bytes": float(self._kernel.metadata.shared),
        }

    def launcher(self, arguments: DeviceArguments) -> Callable[[], None]:
        """A function that puts one run of the grid into the current stream."""
        parts = {
            name: self._value(arguments, name, kind) for name, kind in self._artifact.signature
        }
        values = [nested(name, parts) for name in _parameters(self._artifact.signature)]
        run = self._kernel[self._artifact.grid]
        device = torch.cuda.current_device()
        # torch's own function makes an object each time, which takes as long as a small kernel.
        current_stream = triton.runtime.driver.active.get_current_stream

        def launch() -> None:
            run(*values, stream=current_stream(device))

        return launch

    def _value(self, arguments: DeviceArguments, name: str, kind: str) -> Any:
        """What a launch passes for a parameter of a type."""
        if kind == "constexpr":
            return dict(self._artifact.constants)[name]
        block = _BLOCK.search(kind)
        if block is None:
            return arguments.value(name)
        return arguments.descriptor(name, [int(size) for size in block[1].split(",")])


@functools.lru_cache(maxsize=_MOST_LOADED)
def _loaded(code: _Code) -> CompiledKernel:
    names, types = _parameters(code.signature), dict(code.signature)
    source = SimpleNamespace(
        signature={name: nested(name, types) for name in names},
        constants={path_of(name, names): value for name, value in code.constants},
    )
    with tempfile.TemporaryDirectory(prefix="gpu-kernel-") as folder:
        binary = Path(folder, f"{code.name}{code.suffix}")
        binary.write_bytes(code.binary)
        metadata = binary.with_suffix(".json")
        metadata.write_text(code.metadata)
        group = {path.name: str(path) for path in (binary, metadata)}
        kernel = CompiledKernel(source, group, hashlib.sha256(code.binary).hexdigest())
    kernel._init_handles()
    return kernel


def _parameters(signature: Sequence[tuple[str, str]]) -> list[str]:
    """The parameters of whose parts a signature tells, in the kernel's order."""
    return list(dict.fromkeys(name.partition("[")[0] for name, _ in signature))


def allocate(size_bytes: int, alignment: int, stream: int | None) -> Any:
    """Memory of the GPU for a launch, as Triton asks for it."""
    return torch.empty(size_bytes, dtype=torch.int8, device="cuda")
