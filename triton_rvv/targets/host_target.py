"""Finds out what this machine's processor is, as a target."""

from __future__ import annotations

import functools

import llvmlite.binding as llvm

from triton_rvv.targets.target import HostTarget

__all__ = ["host_target"]


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


def _vectors(features: frozenset[str]) -> tuple[int, int]:
    """Bits in a vector register and how many there are, for what a processor offers."""
    if "avx512vl" in features:
        return 512, 32
    if "avx2" in features:
        return 256, 16
    # NEON has 32 registers of 128 bits, SSE2 has 16.
    return 128, 32 if "neon" in features else 16
