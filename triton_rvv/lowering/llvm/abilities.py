"""What code may be written for a target, and what is best there, as far as lowerings ask."""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.targets.machine import X60, Machine
from triton_rvv.targets.target import Target

__all__ = ["NO_ABILITIES", "Abilities", "abilities_of"]


@dataclass(frozen=True)
class Abilities:
    """What a target has instructions for.

    Args:
        converts_bf16: conversions between bf16 and fp32.
        scales_floats: products of registers of floats and powers of two.
        widens_products_of_halves: products of registers of fp16 as fp32.
        rvv_bits: RISC-V's vector instructions, on registers of so many bits; 0 without them.
        foresees_rows: loads of rows that a walk comes to, without being asked for them.
        loads_masked_registers: loads of 256 bits under a mask that is itself in such a register.
        machine: caches and latencies that decide between ways to write the same.
    """

    converts_bf16: bool = False
    scales_floats: bool = False
    widens_products_of_halves: bool = False
    rvv_bits: int = 0
    foresees_rows: bool = False
    loads_masked_registers: bool = False
    machine: Machine = X60

    @property
    def has_one_nan(self) -> bool:
        """Whether arithmetic gives no other NaN than the one without sign and payload."""
        return self.rvv_bits > 0

    @property
    def has_vector_lengths(self) -> bool:
        """Whether loads and stores can be told how many lanes count."""
        return self.rvv_bits > 0


# What every target can do.
NO_ABILITIES = Abilities()


def abilities_of(target: Target) -> Abilities:
    """What a target has."""
    if target.backend == "rvv":
        return Abilities(
            target.converts_bf16,
            target.scales_floats,
            widens_products_of_halves=target.widened_by_product("f16") is not None,
            rvv_bits=target.vector_bits,
            machine=target.machine,
        )
    return Abilities(
        target.converts_bf16,
        target.scales_floats,
        foresees_rows=True,
        loads_masked_registers=target.loads_masked_registers,
        machine=target.machine,
    )
