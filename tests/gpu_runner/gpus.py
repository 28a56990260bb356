"""Two GPUs as boards, for what needs none: builds, spaces, rules, files."""

from __future__ import annotations

from foundation.gpu_limits import GpuLimits
from rvv_runner.board import BoardInfo

# As torch 2.11 describes it.
H200 = BoardInfo(
    name="cuda",
    kind="nvidia-h200",
    cpu="sm_90",
    vlen_bits=1024,
    cores=132,
    frequency_hz=1.98e9,
    l2_bytes=60 << 20,
    backend="cuda",
    gpu=GpuLimits(
        arch="sm_90",
        name="NVIDIA H200",
        multiprocessors=132,
        warp_threads=32,
        shared_bytes=232448,
        registers=65536,
        registers_per_thread=255,
        threads_per_program=1024,
        memory_bytes=150_754_820_096,
    ),
)

# AMD, "Instinct MI300X accelerator", data sheet.
MI300X = BoardInfo(
    name="hip",
    kind="amd-instinct-mi300x",
    cpu="gfx942",
    vlen_bits=2048,
    cores=304,
    frequency_hz=2.1e9,
    l2_bytes=4 << 20,
    backend="hip",
    gpu=GpuLimits(
        arch="gfx942",
        name="AMD Instinct MI300X",
        multiprocessors=304,
        warp_threads=64,
        shared_bytes=65536,
        registers=131072,
        registers_per_thread=512,
        threads_per_program=1024,
        memory_bytes=192 << 30,
    ),
)
