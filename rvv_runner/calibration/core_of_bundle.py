"""From a bundle to a core's board file, and to how well the file says what was measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rvv_runner.board import BoardError
from rvv_runner.board_file import BoardFile
from rvv_runner.calibration.bundle import Bundle
from rvv_runner.calibration.class_fit import (
    Links,
    ScalarCost,
    fit_classes,
    fit_links,
    fit_scalars,
    scalar_entries,
)
from rvv_runner.calibration.memory_fit import Constant, MemoryFit, fit_memory
from rvv_runner.calibration.memory_kernels import ADDS_BEHIND
from rvv_runner.cores.core import base_costs, cost_sections, cost_table_of
from rvv_runner.cores.emulated_file import UNKNOWN_CPU, CoreFacts, emulated_file
from rvv_runner.cores.fit_table import ClassThroughput
from rvv_runner.devices import emulated_board_file
from rvv_runner.emulated.costs import CostTable

__all__ = ["MeasuredCore", "core_of_bundle"]

_IN_ORDER, _OUT_OF_ORDER = "x60", "x100"
_OVERLAPS = 0.75  # of division and adds one after the other: below, they go on side by side
_TOLD = ("date", "version", "board", "kernel", "cycles")  # of the provenance
_INTEGERS = ("tlb_ways", "store_misses", "streams")


@dataclass(frozen=True)
class MeasuredCore:
    """A core as a bundle describes it.

    Args:
        text: of its board file.
        like: the core that stands in for what was not measured.
        classes: throughput and latency of vector instructions, by class.
        scalars: latency and throughput of scalar instructions, by class.
        links: latencies between scalars and vectors.
        memory: what was found of the memory.
        table: the cost table that the board file makes.
        out_of_order: whether work overlapped what it did not depend on; None if not told.
    """

    text: str
    like: str
    classes: Mapping[str, ClassThroughput]
    scalars: Mapping[str, ScalarCost]
    links: Links
    memory: MemoryFit
    table: CostTable
    out_of_order: bool | None


def core_of_bundle(bundle: Bundle, like: str | None) -> MeasuredCore:
    """The core that a bundle describes.

    Args:
        bundle: of a calibration.
        like: an emulated core that stands in for what was not measured; None for the one whose
            order of issue is the measured one.

    Raises:
        BoardError: if there is no core `like`, or no table can be made.
    """
    readings = bundle.readings
    out_of_order = _is_out_of_order(bundle)
    if like is None:
        like = _OUT_OF_ORDER if out_of_order else _IN_ORDER
    model = emulated_board_file(like)
    assert model.emulation is not None
    if out_of_order and not model.emulation.costs.get("out_of_order"):
        raise BoardError(
            f"{bundle.device} issues out of order, and {like} in order: name a core that does, "
            f"such as --like {_OUT_OF_ORDER}"
        )
    source = f"measured on {_one_line(bundle.device)}"
    base = base_costs(model)
    memory = fit_memory(readings, bundle.vlen_bits)
    facts = _facts(bundle, memory, model)
    classes = fit_classes(readings)
    if not classes:
        raise BoardError(f"of {bundle.device} nothing was measured: all micro-kernels failed")
    scalars = fit_scalars(readings)
    entries = scalar_entries(scalars, base["scalar"], source)
    add = entries.get("alu", base["scalar"]["alu"])["latency"]
    links = fit_links(readings, base["pipeline"]["scalar_to_vector"], add)
    costs = cost_sections(
        _with_links(classes, links),
        _measured(memory, entries, links, source),
        facts,
        model,
        source,
        {} if memory.l1d_ways is None else {"l1d": memory.l1d_ways},
    )
    # QEMU runs code for the model's core, and perhaps not for another.
    cpu = model.cpu if model.cpu == bundle.cpu else UNKNOWN_CPU
    if out_of_order is False:
        costs.pop("out_of_order", None)
    return MeasuredCore(
        emulated_file(_title(bundle, like), facts, costs, cpu),
        like,
        classes,
        scalars,
        links,
        memory,
        cost_table_of(costs, facts.vlen_bits),
        out_of_order,
    )


def _is_out_of_order(bundle: Bundle) -> bool | None:
    """Whether adds overlap a division that an add before them waits for."""
    cycles = bundle.readings.cycles("adds behind a division")
    divide, add = (bundle.readings.cycles(f"latency {name}") for name in ("divide", "alu"))
    if cycles is None or divide is None or add is None:
        return None
    return cycles < _OVERLAPS * (divide + ADDS_BEHIND * add)


def _facts(bundle: Bundle, memory: MemoryFit, model: BoardFile) -> CoreFacts:
    """Sizes as measured; where they could not be told, as the board's file or the model has them.

    Raises:
        BoardError: if nothing has them.
    """
    l1d_bytes = memory.l1d_bytes or bundle.l1d_bytes or model.l1d_bytes
    l2_bytes = memory.l2_bytes or bundle.l2_bytes or model.l2_bytes
    if l1d_bytes is None or l2_bytes is None:
        raise BoardError(f"{model.name} does not say the sizes of its caches: name another --like")
    return CoreFacts(bundle.vlen_bits, bundle.cores, bundle.frequency_hz, l1d_bytes, l2_bytes)


def _with_links(classes: Mapping[str, ClassThroughput], links: Links) -> dict[str, ClassThroughput]:
    """The classes with the latencies of those that only chains through scalars show."""
    found = dict(classes)
    for name, latency in (
        ("v_scalar_move", links.scalar_move),
        ("v_to_scalar", links.to_scalar),
        ("v_mask_count", links.mask_count),
    ):
        if latency is not None and name in found:
            longest = {key: max(latency, cycles) for key, cycles in found[name].cycles.items()}
            found[name] = replace(found[name], latency=longest)
    return found


def _measured(
    memory: MemoryFit, scalars: Mapping[str, Any], links: Links, source: str
) -> dict[str, dict[str, Any]]:
    """What was measured of other parts than classes of vectors, as entries."""
    entries: dict[str, dict[str, Any]] = {"scalar": dict(scalars)}
    for part, constants in memory.constants.items():
        entries[part] = {
            name: (_rounded(name, constant), f"{source}: {constant.how}")
            for name, constant in constants.items()
        }
    if links.load is not None:
        value = round(max(links.load, 0.01), 2)
        entries["vector_memory"] = {"load_latency": (value, f"{source}: a chain through a load")}
    return entries


def _rounded(name: str, constant: Constant) -> float | int:
    return round(constant.value) if name in _INTEGERS else round(constant.value, 2)


def _title(bundle: Bundle, like: str) -> str:
    """What stands at the head of the file."""
    shown = {name: bundle.provenance[name] for name in _TOLD if name in bundle.provenance}
    about = ", ".join(f"{name} {value}" for name, value in shown.items())
    return (
        f"Written from a calibration of {_one_line(bundle.device)}.\n"
        f"{_one_line(about)}\n"
        f"What was not measured is assumed to be as on {like}, and says so."
    )


def _one_line(text: str) -> str:
    """Text of a file that anyone may have written, for a comment."""
    return re.sub(r"[^\x20-\x7e]", "?", text)
