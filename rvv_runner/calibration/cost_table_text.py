"""The cost table that a calibration found, as text: what was measured, and how well it fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rvv_runner.calibration.core_of_bundle import MeasuredCore
from rvv_runner.cores.fit_table import ClassThroughput
from rvv_runner.emulated.costs import CostTable
from rvv_runner.emulated.instruction_costs import LMULS

__all__ = ["cost_table_text"]

_REFERENCE_SEW = 32
_M1 = LMULS.index("m1")
_SHOWN = ("mf2", "m1", "m2", "m4", "m8")
_NAME, _NUMBER = 26, 9
_SIZES = (("l1d_bytes", "L1D"), ("l2_bytes", "L2"))


def cost_table_text(core: MeasuredCore) -> str:
    """Three tables: vectors, scalars, memory. A figure that could not be told is left empty.

    A residual is the largest relative difference between a reading and what the table makes of it.
    """
    lines = ["cycles of vector instructions, elements of 32 bits (of 8 where there are no others)"]
    lines.append(_row("class", (*_SHOWN, "latency", "masked", "residual")))
    lines += [_class_row(core, name) for name in core.classes]
    lines += ["", "cycles of scalar instructions"]
    lines.append(_row("class", ("latency", "each")))
    lines += list(_scalar_rows(core))
    lines += ["", "memory, pipeline and branches, in cycles or pieces"]
    lines += list(_memory_rows(core))
    return "\n".join(lines)


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:<{_NAME}}{''.join(f'{cell:>{_NUMBER}}' for cell in cells)}".rstrip()


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _class_row(core: MeasuredCore, name: str) -> str:
    measured = core.classes[name]
    sew = _REFERENCE_SEW if any(key[0] == _REFERENCE_SEW for key in measured.cycles) else 8
    latency = measured.latency.get((sew, "m1"))
    masked = measured.masked.get((sew, "m1"))
    cells = [_figure(measured.cycles.get((sew, lmul))) for lmul in _SHOWN]
    residual = _residual(name, measured, core.table)
    return _row(name, [*cells, _figure(latency), _figure(masked), _percent(residual)])


def _residual(name: str, measured: ClassThroughput, table: CostTable) -> float:
    """The largest relative error over all element widths and LMUL."""
    cost = table.classes[name]
    errors = []
    for (sew, lmul), cycles in measured.cycles.items():
        errors.append(cost.occupancy[sew][LMULS.index(lmul)] / cycles - 1)
    for (sew, lmul), cycles in measured.masked.items():
        index = LMULS.index(lmul)
        masked = cost.occupancy[sew][index] * cost.masked[index] + cost.masked_adds
        errors.append(masked / cycles - 1)
    for (sew, lmul), cycles in measured.latency.items():
        index = LMULS.index(lmul)
        # A chain of whole groups runs a register behind, or as fast as the unit can.
        first = min(index, _M1) if cost.chained else index
        shown = max(cost.latency[sew][index], cost.latency[sew][first], cost.occupancy[sew][index])
        errors.append(shown / cycles - 1)
    return max(abs(error) for error in errors)


def _scalar_rows(core: MeasuredCore) -> Iterator[str]:
    for name, cost in core.scalars.items():
        yield _row(name, (_figure(cost.latency), _figure(cost.each)))
    for name, value in (
        ("scalar into a vector", core.links.scalar_move),
        ("vector into an integer", core.links.to_scalar),
        ("count of a mask", core.links.mask_count),
        ("vector load", core.links.load),
    ):
        yield _row(name, (_figure(value),))


def _memory_rows(core: MeasuredCore) -> Iterator[str]:
    fit = core.memory
    for key, name in _SIZES:
        size_bytes = getattr(fit, key)
        yield _row(f"{name} in KiB", (_figure(None if size_bytes is None else size_bytes / 1024),))
    yield _row("ways of L1D", (_figure(fit.l1d_ways),))
    for part, names in _CONSTANTS.items():
        for name in names:
            constant = fit.constants.get(part, {}).get(name)
            if constant is None:
                yield _row(name, ("",))
            else:
                cells = (_figure(constant.value), _percent(constant.residual))
                yield f"{_row(name, cells):<{_NAME + 2 * _NUMBER}}  {constant.how}"
    order = {True: "out of order", False: "in order", None: ""}[core.out_of_order]
    yield _row("issue", (order.rjust(_NUMBER + 5),)).rstrip()


_CONSTANTS: Mapping[str, Sequence[str]] = {
    "memory": (
        "tlb_ways",
        "tlb_miss",
        "l2_random",
        "l2_streamed",
        "l2_streamed_scalar",
        "l2_written",
        "dram_random",
        "dram_read",
        "dram_write",
        "streams",
        "store_misses",
        "dirty_eviction",
    ),
    "pipeline": ("store_drain",),
    "branches": ("mispredict",),
}
