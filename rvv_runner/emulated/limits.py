"""How fast an emulated core could move bytes and multiply at best, by its cost table."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rvv_runner.emulated.costs import CostTable
from rvv_runner.emulated.instruction_costs import LMULS

__all__ = ["Limits", "limits_of"]

_FLOAT_BITS = 32  # sums of floats have 32 bits
_INTEGER_BITS = 16  # products of 8-bit integers have 16


@dataclass(frozen=True)
class Limits:
    """Bounds of a board for kernels whose sums have as many bits as below, or more.

    Args:
        bytes_per_s: from DRAM.
        float_operations_per_s: of multiply-adds of 32 bits, two operations each.
        integer_operations_per_s: of multiply-adds of 16 bits, two operations each.
        l2_bytes: what may lie in the L2s already.
    """

    bytes_per_s: float
    float_operations_per_s: float
    integer_operations_per_s: float
    l2_bytes: int

    def least_time_s(
        self, traffic_bytes: float, operations: float | None, *, is_float: bool, is_warm: bool
    ) -> float:
        """The shortest time that the limits allow.

        Args:
            traffic_bytes: inputs and outputs, each counted once.
            operations: on elements; None if they are not known.
            is_float: whether they are on floating-point numbers.
            is_warm: whether caches keep what an earlier run left.
        """
        peak = self.float_operations_per_s if is_float else self.integer_operations_per_s
        from_dram = max(traffic_bytes - (self.l2_bytes if is_warm else 0), 0)
        return max((operations or 0) / peak, from_dram / self.bytes_per_s)


def limits_of(table: CostTable, frequency_hz: float, l2_bytes: int) -> Limits:
    """The limits of all cores of a table.

    Args:
        table: the costs, for the number of cores that run a kernel.
        frequency_hz: of the cores.
        l2_bytes: of one L2.
    """
    line_bytes = table.parameters["line_bytes"]
    one_core = _rate(line_bytes, table.cycles("dram_read"))
    bus = _rate(line_bytes, table.cycles("bus_read")) if table.cores > 1 else one_core
    return Limits(
        bytes_per_s=min(one_core * table.cores, bus) * frequency_hz,
        float_operations_per_s=_operations(table, "v_fma", _FLOAT_BITS) * frequency_hz,
        integer_operations_per_s=_operations(table, "v_multiply", _INTEGER_BITS) * frequency_hz,
        l2_bytes=l2_bytes * math.ceil(table.cores / table.cores_per_l2),
    )


def _rate(amount: float, cycles: float) -> float:
    return amount / cycles if cycles else math.inf  # a table may have memory that costs nothing


def _operations(table: CostTable, name: str, bits: int) -> float:
    """Operations per cycle of all cores, for a class of multiply-adds."""
    registers = {lmul: int(lmul[1:]) for lmul in LMULS if not lmul.startswith("mf")}
    occupancy = dict(zip(LMULS, table.classes[name].occupancy[bits], strict=True))
    cycles = min(occupancy[lmul] / count for lmul, count in registers.items())
    return 2 * table.vlen_bits / bits / cycles * table.cores
