"""What classes of instructions cost, from the entries of a cost table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

__all__ = [
    "LMULS",
    "REFERENCE_VLEN_BITS",
    "SEW_BITS",
    "TICKS_PER_CYCLE",
    "InstructionCost",
    "memory_cost",
    "scalar_cost",
    "ticks",
    "vector_cost",
]

LMULS = ("mf8", "mf4", "mf2", "m1", "m2", "m4", "m8")
SEW_BITS = (8, 16, 32, 64)
UNITS = ("ieu", "ls", "fp", "vieu", "vfp")

# A table's lists are for this vector length, if it does not say otherwise; "elements" scaling
# starts from this element width.
REFERENCE_VLEN_BITS = 256
_REFERENCE_SEW_BITS = 32
TICKS_PER_CYCLE = 100
_REGISTERS = (0.125, 0.25, 0.5, 1, 2, 4, 8)  # of a group, by LMUL

_VECTOR_KEYS = {
    "unit",
    "latency",
    "occupancy",
    *(f"{column}_e{sew}" for column in ("latency", "occupancy") for sew in SEW_BITS),
    "plus_per_register",
    "masked",
    "masked_adds",
    "chained",
    "scales_with",
    "source",
}

Cycles = tuple[float, ...]


@dataclass(frozen=True)
class InstructionCost:
    """The cost of one class of instructions, in cycles.

    Args:
        unit: the execution unit, one of UNITS.
        masked: factors on the occupancy under a mask, one for each of LMULS.
        masked_adds: cycles that a mask adds to that.
        chained: whether it works through a group register by register.
        latency, occupancy: by element width in bits, one value for each of LMULS.
    """

    unit: str
    masked: Cycles
    masked_adds: float
    chained: bool
    latency: Mapping[int, Cycles]
    occupancy: Mapping[int, Cycles]


def ticks(cycles: float) -> int:
    """Cycles as the plug-in takes them: in hundredths."""
    return round(cycles * TICKS_PER_CYCLE)


def _check_source(name: str, entry: Mapping[str, Any]) -> None:
    if not str(entry.get("source", "")).strip():
        raise ValueError(f"{name} has no source: name one, or write fitted, derived or assumed")
    if entry["unit"] not in UNITS:
        raise ValueError(f"{name} has the unit {entry['unit']}: choose one of {', '.join(UNITS)}")


def scalar_cost(name: str, entry: Mapping[str, Any]) -> InstructionCost:
    """A class of scalar instructions."""
    if set(entry) != {"unit", "latency", "occupancy", "source"}:
        raise ValueError(f"{name} needs exactly unit, latency, occupancy and source")
    _check_source(name, entry)
    latency = (float(entry["latency"]),) * len(LMULS)
    occupancy = (float(entry["occupancy"]),) * len(LMULS)
    return InstructionCost(
        entry["unit"],
        (1.0,) * len(LMULS),
        0.0,
        False,
        dict.fromkeys(SEW_BITS, latency),
        dict.fromkeys(SEW_BITS, occupancy),
    )


def vector_cost(name: str, entry: Mapping[str, Any], relative_vlen: float) -> InstructionCost:
    """A class of vector instructions, at `relative_vlen` times the length of the lists."""
    if unknown := set(entry) - _VECTOR_KEYS:
        raise ValueError(f"{name} has unknown entries: {', '.join(sorted(unknown))}")
    _check_source(name, entry)
    scaling = entry.get("scales_with", "lmul")
    if scaling not in ("lmul", "elements"):
        raise ValueError(f'{name} scales with {scaling}: write "elements", or nothing for LMUL')
    for key in (
        "occupancy",
        "latency",
        *(key for key in entry if key.startswith(("latency_e", "occupancy_e"))),
    ):
        values = entry.get(key, entry["occupancy"])
        if len(values) != len(LMULS) or min(values) <= 0:
            raise ValueError(f"{name} needs a positive {key} for each of {' '.join(LMULS)}")
    columns: dict[str, dict[int, Cycles]] = {"latency": {}, "occupancy": {}}
    for key, column in columns.items():
        for sew_bits in SEW_BITS:
            values = entry.get(f"{key}_e{sew_bits}", entry[key])
            occupancy = entry.get(f"occupancy_e{sew_bits}", entry["occupancy"])
            factor = relative_vlen if scaling == "elements" else 1.0
            if scaling == "elements" and f"occupancy_e{sew_bits}" not in entry:
                factor *= _REFERENCE_SEW_BITS / sew_bits
            column[sew_bits] = _scaled(values, occupancy, key, factor)
    if extra := entry.get("plus_per_register"):
        columns["occupancy"] = {
            sew_bits: tuple(
                cycles + extra * max(registers, 0.5)
                for cycles, registers in zip(values, _REGISTERS, strict=True)
            )
            for sew_bits, values in columns["occupancy"].items()
        }
    return InstructionCost(
        entry["unit"],
        _masked(name, entry.get("masked", 1)),
        float(entry.get("masked_adds", 0)),
        bool(entry.get("chained", True)),
        columns["latency"],
        columns["occupancy"],
    )


def _masked(name: str, factor: float | list[float]) -> Cycles:
    """The factor by LMUL; a single one holds for whole registers, as fractions are no slower."""
    if not isinstance(factor, list):
        return tuple(float(factor) if registers >= 1 else 1.0 for registers in _REGISTERS)
    if len(factor) != len(LMULS) or min(factor) < 1:
        raise ValueError(
            f"{name} needs masked as a factor of 1 or more for each of {' '.join(LMULS)}"
        )
    return tuple(map(float, factor))


def memory_cost(
    name: str, entry: Mapping[str, Any], load_latency: float, relative_vlen: float
) -> InstructionCost:
    """A class of vector accesses: one that takes longer than unit-stride ones is late by as much.

    Register by register, that is the time of the first one, otherwise that of the whole group.
    """
    cost = vector_cost(
        name, {"unit": "ls", **entry, "latency": [load_latency] * len(LMULS)}, relative_vlen
    )
    if cost.chained and not {"scales_with", "plus_per_register"} & set(entry):
        return cost
    first = LMULS.index("m1") if cost.chained else len(LMULS)
    late = {
        sew_bits: tuple(load_latency + values[min(index, first)] for index in range(len(LMULS)))
        for sew_bits, values in cost.occupancy.items()
    }
    return replace(cost, latency=late)


def _scaled(values: Cycles, occupancy: Cycles, key: str, factor: float) -> Cycles:
    """Scale an occupancy; a latency grows by as many cycles as the occupancy."""
    if key == "occupancy":
        return tuple(value * factor for value in values)
    return tuple(
        max(value + taken * (factor - 1), 1.0)
        for value, taken in zip(values, occupancy, strict=True)
    )
