"""Processors with vectors of a fixed length as targets, and which one this machine has."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Literal

import llvmlite.binding as llvm

from triton_rvv.targets.machine import X60, Machine
from triton_rvv.targets.target import digest

__all__ = ["HostTarget", "host_target", "plain_host_target"]

# By the type of the operands and the bits of a register: steps along K that are taken at once, and
# the features that the instruction comes with, of which one is enough.
_STEPS_TOGETHER = {
    ("bf16", 512): (2, frozenset(["+avx512bf16"])),
    ("i8", 512): (4, frozenset(["+avx512vnni"])),
    ("i8", 256): (4, frozenset(["+avxvnni"])),
}


@dataclass(frozen=True)
class HostTarget:
    """A processor with vector registers of a fixed length, as this machine's.

    `host_target` describes the machine it runs on.

    Args:
        triple: LLVM's name of the platform.
        cpu: LLVM's name of the core.
        features: LLVM's feature string.
        vector_bits: bits in one vector register.
        vector_registers: how many there are.
    """

    triple: str
    cpu: str
    features: str
    vector_bits: int
    vector_registers: int

    @property
    def backend(self) -> Literal["host"]:
        return "host"

    @property
    def run_registers(self) -> int:
        return 2

    @property
    def long_run_registers(self) -> int:
        return self.run_registers

    @property
    def tile_rows(self) -> int:
        """As many accumulators of one run as leave half of the registers to the operands."""
        return self.vector_registers // (2 * self.run_registers)

    @property
    def machine(self) -> Machine:
        """The X60's, which no other measured better here, but without prefetches.

        Processors of hosts foresee what is read in sequence: with prefetches, products of 8-bit
        integers take up to 5% longer, and no kernel was faster.
        """
        return X60.with_prefetch("off")

    @property
    def matrix_unit(self) -> None:
        return None

    @property
    def converts_bf16(self) -> bool:
        """Never: LLVM's own rounding to bf16 differs between processors in what it calls NaN."""
        return False

    @property
    def has_float_extremes(self) -> bool:
        return False

    @property
    def scales_floats(self) -> bool:
        return self.vector_bits == 512 and "+avx512f" in self.features.split(",")

    @property
    def loads_masked_registers(self) -> bool:
        """AVX2 does; AVX-512 has registers of their own for masks."""
        features = self.features.split(",")
        return "+avx2" in features and "+avx512vl" not in features

    @property
    def transposes_registers(self) -> bool:
        return True

    @property
    def masks_are_slow(self) -> bool:
        """A softmax over 1000 of 1024 columns takes a quarter less time without them."""
        return True

    def steps_together(self, element: str) -> int:
        """AVX512-BF16 has an instruction for bf16, and VNNI one for 8-bit integers."""
        together, features = _STEPS_TOGETHER.get((element, self.vector_bits), (1, frozenset()))
        return together if features & frozenset(self.features.split(",")) else 1

    @property
    def sums_bytes_in_16_bits(self) -> bool:
        return False

    def widened_by_product(self, element: str) -> str | None:
        return None

    def lanes(self, element_bits: int) -> int:
        return self.vector_bits // element_bits

    def __str__(self) -> str:
        return f"host-{self.cpu}-{digest(self.features)}-vector{self.vector_bits}"


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
