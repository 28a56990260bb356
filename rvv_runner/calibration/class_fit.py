"""From readings to the costs of classes of instructions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rvv_runner.calibration.access_kernels import access_kernels, whole_register_kernels
from rvv_runner.calibration.memory_kernels import LINE_BYTES
from rvv_runner.calibration.micro_kernel import MicroKernel
from rvv_runner.calibration.readings import Readings
from rvv_runner.calibration.scalar_kernels import scalar_kernels
from rvv_runner.calibration.vector_kernels import move_kernels, vector_kernels
from rvv_runner.cores.fit_table import ClassThroughput
from rvv_runner.emulated.instruction_costs import SEW_BITS

__all__ = ["Links", "ScalarCost", "fit_classes", "fit_links", "fit_scalars", "scalar_entries"]

Key = tuple[int, str]  # element width in bits, LMUL

_PIPES = {"ieu": 2}  # of the model; other units have one
_MANY_FIELDS = 6  # of the segments that stand for more than four


@dataclasses.dataclass(frozen=True)
class ScalarCost:
    """The cost of a class of scalar instructions, in cycles.

    Args:
        latency: until one that waits for its result begins; None if not told.
        each: between two that wait for nothing; None if not told.
    """

    latency: float | None
    each: float | None


@dataclasses.dataclass(frozen=True)
class Links:
    """Latencies between scalars, vectors and memory, in cycles; None if not told.

    Args:
        scalar_move: until a scalar is in a vector, or a vector's first element in a float.
        to_scalar: until a vector's first element is in an integer.
        mask_count: until a count is in an integer.
        load: until the first register of a unit-stride load can be used.
    """

    scalar_move: float | None
    to_scalar: float | None
    mask_count: float | None
    load: float | None


def fit_classes(readings: Readings) -> dict[str, ClassThroughput]:
    """Throughput and latency of the classes of vector instructions that were measured."""
    plain: dict[str, dict[Key, float]] = {}
    masked: dict[str, dict[Key, float]] = {}
    latency: dict[str, dict[Key, float]] = {}
    for name, sew, lmul, has_mask, kernel in (*vector_kernels(latency=False), *access_kernels()):
        _add(masked if has_mask else plain, name, (sew, lmul), kernel, readings)
    for name, sew, lmul, _, kernel in vector_kernels(latency=True):
        _add(latency, name, (sew, lmul), kernel, readings)
    for found, kernels in ((plain, move_kernels(False)), (latency, move_kernels(True))):
        _add_for_all_widths(found, kernels, readings)
    _add_for_all_widths(plain, whole_register_kernels(), readings)
    for cells in (plain, masked):
        for fields in [cells.get(f"v_{kind}_segment_many", {}) for kind in ("load", "store")]:
            fields |= {key: cycles / _MANY_FIELDS for key, cycles in fields.items()}
    return {
        name: ClassThroughput(cells, masked.get(name, {}), latency.get(name, {}))
        for name, cells in plain.items()
    }


def _add(
    found: dict[str, dict[Key, float]],
    name: str,
    key: Key,
    kernel: MicroKernel,
    readings: Readings,
) -> None:
    cycles = readings.cycles(kernel.name)
    if cycles is not None:
        found.setdefault(name, {})[key] = cycles


def _add_for_all_widths(
    found: dict[str, dict[Key, float]],
    kernels: Iterable[tuple[str, int, str, MicroKernel]],
    readings: Readings,
) -> None:
    """Whole registers have no element width."""
    for name, _, lmul, kernel in kernels:
        for sew in SEW_BITS:
            _add(found, name, (sew, lmul), kernel, readings)


def fit_scalars(readings: Readings) -> dict[str, ScalarCost]:
    """What was measured of scalar instructions, by class."""
    each, latency = dict(_throughputs(readings)), dict(_latencies(readings))
    return {
        name: ScalarCost(latency.get(name), each.get(name))
        for name in dict.fromkeys((*each, *latency))
    }


def scalar_entries(
    costs: Mapping[str, ScalarCost], base: Mapping[str, Any], source: str
) -> dict[str, Any]:
    """Entries of [scalar], on top of another core's.

    Args:
        costs: what was measured.
        base: [scalar] of another core, which has all classes.
        source: of the measurements.
    """
    entries = {}
    for name, cost in costs.items():
        entry = dict(base[name])
        assumed = ["unit"]
        if cost.latency is None:
            assumed.insert(0, "latency")
        else:
            entry["latency"] = round(cost.latency, 2)
        if cost.each is None:
            assumed.insert(0, "occupancy")
        else:
            entry["occupancy"] = round(cost.each * _PIPES.get(entry["unit"], 1), 2)
        entries[name] = {**entry, "source": f"{source}; {' and '.join(assumed)} assumed"}
    return entries


def _throughputs(readings: Readings) -> Iterator[tuple[str, float]]:
    for name, chain, kernel in scalar_kernels():
        cycles = None if chain else readings.cycles(kernel.name)
        if cycles is not None and name != "csr":
            yield name, cycles


def _latencies(readings: Readings) -> Iterator[tuple[str, float]]:
    found = {
        name: cycles
        for name, chain, kernel in scalar_kernels()
        if chain and (cycles := readings.cycles(kernel.name)) is not None
    }
    # Conversions and moves go there and back; a comparison goes back by a move.
    for name in ("fp_convert", "fp_move"):
        if name in found:
            found[name] /= 2
    if "fp_compare" in found:
        compare = found.pop("fp_compare") - found.get("fp_move", 0.0)
        found |= {"fp_compare": compare} if "fp_move" in found else {}
    yield from found.items()
    load = readings.curve("chase", "count", stride=LINE_BYTES)
    if load:
        yield "load", min(load.values())
    # Nothing goes on beside these.
    for name in ("csr", "atomic"):
        cycles = readings.cycles(f"throughput {name}")
        if cycles is not None:
            yield name, cycles


def fit_links(readings: Readings, scalar_to_vector: float, add: float) -> Links:
    """The latencies of chains that cross; each chain shows only a sum.

    Args:
        readings: of the chains.
        scalar_to_vector: what the model adds where a vector instruction reads a scalar; assumed.
        add: latency of an addition.
    """
    there, back = "vector to integer and back", "vector to float and back"
    move = to_scalar = count = load = None
    if (chain := readings.cycles(back)) is not None:
        move = (chain - scalar_to_vector) / 2
    if move is not None and (chain := readings.cycles(there)) is not None:
        to_scalar = chain - scalar_to_vector - move
    if move is not None and (chain := readings.cycles("count of a mask and back")) is not None:
        count = chain - scalar_to_vector - move
    chain = readings.cycles("vector load, to integer and back")
    if to_scalar is not None and chain is not None:
        load = chain - to_scalar - add - scalar_to_vector
    return Links(move, to_scalar, count, load)
