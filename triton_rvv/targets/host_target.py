"""Finds out what this machine's processor is, as a target."""

from __future__ import annotations

import functools
from dataclasses import replace

import llvmlite.binding as llvm

from triton_rvv.targets.target import HostTarget

__all__ = ["host_target", "plain_host_target"]


@functools.cache
def host_target() -> HostTarget:
    """The processor of this machine, with every instruction that it and the system offer."""
    features = llvm.get_host_cpu_features()
    vector_bits, registers = _vectors(frozenset(name for name, has in features.items() if has))
    return HostTarget(
        triple=llvm.get_process_triple(),
        cpu=llvm.get_host_cpu_name(),
        features=features.flatten(),
        vector_bits=vector_bits,
        vector_registers=registers,
    )


@functools.cache
def plain_host_target() -> HostTarget:
    """The same with few short vectors, for code that is made soon rather than fast."""
    host = host_target()
    return replace(host, vector_bits=min(host.vector_bits, 256), vector_registers=8)


def _vectors(features: frozenset[str]) -> tuple[int, int]:
    """Bits in a vector register and how many there are, for what a processor offers."""
    if "avx512vl" in features:
        return 512, 32
    if "avx2" in features:
        return 256, 16
    # NEON has 32 registers of 128 bits, SSE2 has 16.
    return 128, 32 if "neon" in features else 16
