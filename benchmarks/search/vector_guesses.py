"""Soft rules for vector boards: configurations that violate one are tried later."""

from __future__ import annotations

from collections.abc import Callable

from foundation.config import Config
from search_spaces.space import Rule

__all__ = ["fits_in_l1", "fits_in_registers", "short_code"]

Count = Callable[[Config], int]

# RVV has 32 vector registers; a few hold operands.
_REGISTERS = 32
_OPERAND_REGISTERS = 4

# Bytes of a RISC-V vector instruction, and the usual size of the first-level instruction cache of
# small cores (32 KiB on the SpacemiT X60, by Linux's k1.dtsi).
_INSTRUCTION_BYTES = 4
_L1I_BYTES = 32 * 1024


def fits_in_l1(elements: Count, size_bytes: int, l1d_bytes: int) -> Rule:
    """The blocks that are read repeatedly fit in the L1 data cache together.

    Args:
        elements: their total number of elements.
        size_bytes: size of an element.
        l1d_bytes: size of the cache.
    """
    return Rule(
        "fits-in-l1",
        f"the blocks in use take more than the {l1d_bytes // 1024} KiB of the L1 cache",
        lambda config: elements(config) * size_bytes <= l1d_bytes,
        soft=True,
    )


def fits_in_registers(elements: Count, lanes: int) -> Rule:
    """Accumulators stay in vector registers, by an estimate.

    Args:
        elements: number of sums kept at once.
        lanes: elements of a vector register.
    """
    most = (_REGISTERS - _OPERAND_REGISTERS) * lanes
    return Rule(
        "fits-in-registers",
        f"more than {most} sums do not stay in the {_REGISTERS} vector registers (estimated)",
        lambda config: elements(config) <= most,
        soft=True,
    )


def short_code(instructions: Count) -> Rule:
    """The unrolled part of the kernel fits in the first-level instruction cache, by an estimate.

    Args:
        instructions: estimated number of its vector instructions.
    """
    most = _L1I_BYTES // _INSTRUCTION_BYTES
    return Rule(
        "short-code",
        f"more than {most} instructions in a row leave the instruction cache (estimated)",
        lambda config: instructions(config) <= most,
        soft=True,
    )
