"""The GPUs of this machine, as torch describes them."""

from __future__ import annotations

from typing import Any

from foundation.gpu_limits import GpuLimits, gpu_kind
from foundation.programs import python_command
from gpu_runner.names import GpuName
from gpu_runner.target import GpuBackend, GpuTarget
from rvv_runner.board import BoardError, BoardInfo

__all__ = ["gpu_count", "gpu_info", "target_of"]

_BUILDS = {"cuda": "CUDA", "hip": "ROCm"}
_REGISTER_BITS = 32

# Limits that torch does not tell: NVIDIA, "CUDA C++ programming guide", "Compute capabilities";
# AMD, "Instinct MI300 instruction set architecture", section 3.6.4.
_REGISTERS_PER_THREAD = {"cuda": 255, "hip": 512}
_THREADS_PER_PROGRAM = 1024


def gpu_count(backend: GpuBackend) -> int:
    """How many GPUs of a kind this machine shows.

    Raises:
        BoardError: if torch cannot use any.
    """
    return int(_torch(backend).cuda.device_count())


def gpu_info(name: GpuName) -> BoardInfo:
    """What is known about a GPU, without running anything on it.

    Args:
        name: of one GPU; times that are taken in different ways are not compared.

    Raises:
        BoardError: if there is no such GPU, or torch cannot use it.
    """
    backend, number = name.backend, name.place
    count = gpu_count(backend)
    if number >= count:
        shown = "one GPU" if count == 1 else f"{count} GPUs"
        raise BoardError(
            f"there is no device named {name}: this machine shows {shown}, numbered from 0"
        )
    facts = _torch(backend).cuda.get_device_properties(number)
    limits = _limits(facts, backend)
    kind = gpu_kind(limits.name)
    return BoardInfo(
        name=str(name),
        kind=kind if name.timing == "cold" else f"{kind}-{name.timing}",
        cpu=limits.arch,
        vlen_bits=_REGISTER_BITS * limits.warp_threads,
        cores=limits.multiprocessors,
        frequency_hz=float(getattr(facts, "clock_rate", 0)) * 1e3,
        l2_bytes=int(facts.L2_cache_size),
        backend=backend,
        gpu=limits,
    )


def target_of(info: BoardInfo) -> GpuTarget:
    """What code for a GPU is made for."""
    assert info.gpu is not None
    backend: GpuBackend = "hip" if info.gpu.is_amd else "cuda"
    return GpuTarget(backend, info.gpu.arch, info.gpu.warp_threads)


def _limits(facts: Any, backend: GpuBackend) -> GpuLimits:
    """The limits, from torch's properties of the device."""
    if backend == "hip":
        arch = str(facts.gcnArchName).partition(":")[0]
        shared_bytes = int(facts.shared_memory_per_block)
    else:
        arch = f"sm_{facts.major}{facts.minor}"
        shared_bytes = int(facts.shared_memory_per_block_optin)
    return GpuLimits(
        arch=arch,
        name=str(facts.name),
        multiprocessors=int(facts.multi_processor_count),
        warp_threads=int(facts.warp_size),
        shared_bytes=shared_bytes,
        registers=int(facts.regs_per_multiprocessor),
        registers_per_thread=_REGISTERS_PER_THREAD[backend],
        threads_per_program=_THREADS_PER_PROGRAM,
        memory_bytes=int(facts.total_memory),
    )


def _torch(backend: GpuBackend) -> Any:
    """torch, if it can use GPUs of this kind.

    Raises:
        BoardError: if it cannot; the sentence says what to install.
    """
    import torch

    build = _BUILDS[backend]
    version = torch.version.hip if backend == "hip" else torch.version.cuda
    if version is None:
        index = "cu130" if backend == "cuda" else "rocm7.0"
        wanted, _, _ = torch.__version__.partition("+")  # the newest may lack what is extended
        raise BoardError(
            f"the device {backend} needs torch built for {build}, and this is torch "
            f"{torch.__version__}: install it with `{python_command('pip')} install "
            f"torch=={wanted} --force-reinstall --index-url https://download.pytorch.org/whl/{index}`"
        )
    if not torch.cuda.is_available():
        raise BoardError(
            f"torch finds no {build} GPU on this machine: install its driver, or name another "
            "device with --device"
        )
    return torch
