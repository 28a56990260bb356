"""RISC-V cores and profiles by name: what code for each may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from triton_rvv.targets.machine import MACHINES, X60, Machine
from triton_rvv.targets.matrix_unit import MATRIX_EXTENSION

__all__ = [
    "CORES",
    "DEFAULT_EXTENSIONS",
    "Core",
]

# What every core with vectors that is sold has, beyond rv64gcv: RVA22's bit manipulation, cache
# hints, and arithmetic with 16-bit floats. "-" takes away what LLVM's own model of a core adds:
# QEMU 7.2 ends a program over Zicond, which some cores bring along.
DEFAULT_EXTENSIONS = ("+zba", "+zbb", "+zbs", "+zfh", "+zvfh", "+zicbop", "-zicond")

# The extensions that a user program on any RVA23 core may count on (RISC-V International, "RVA23
# Profiles" 1.0, mandatory for RVA23U64), as far as generated code has a use for them. Of 16-bit
# floats these are conversions only.
_RVA23 = ("+zba", "+zbb", "+zbs", "+zfhmin", "+zvfhmin", "+zicbop", "+zicond", "+zfa", "+zvbb")
_BF16 = ("+zfbfmin", "+zvfbfmin", "+zvfbfwma")


@dataclass(frozen=True)
class Core:
    """What code for a core, or for every core of a profile, may use.

    Args:
        cpu: LLVM's name of the core, or of none in particular.
        vlen_bits: bits in a vector register; for a profile, of most cores that follow it.
        extensions: LLVM's names beyond rv64gcv, each after a "+" or a "-".
        machine: its caches and latencies, as far as code made for it takes them into account.
    """

    cpu: str
    vlen_bits: int
    extensions: tuple[str, ...] = DEFAULT_EXTENSIONS
    machine: Machine = X60


CORES: Mapping[str, Core] = {
    # SpacemiT K1: datasheet, and LLVM 22's model of the core.
    "x60": Core("spacemit-x60", 256),
    # The same with its matrix unit, which four of the K1's eight cores have.
    "x60-ime": Core("spacemit-x60", 256, (*DEFAULT_EXTENSIONS, MATRIX_EXTENSION)),
    # T-Head C908, as in the Kendryte K230: Linux, k230.dtsi.
    "c908": Core("generic-rv64", 128, machine=MACHINES["c908"]),
    # SpacemiT K3: Linux, k3.dtsi, for the X100; LLVM 23's model of the core for the A100.
    "x100": Core("generic-rv64", 256, (*_RVA23, "+zfh", "+zvfh", *_BF16), MACHINES["x100"]),
    "a100": Core("generic-rv64", 1024, (*_RVA23, "+zfh", "+zvfh", *_BF16), MACHINES["a100"]),
    # SiFive: LLVM 22's model of the core, which has no Zbs and no Zicbop.
    "x280": Core("sifive-x280", 512, ("+zba", "+zbb", "+zfh", "+zvfh")),
    "rva23": Core("generic-rv64", 256, _RVA23),
}
