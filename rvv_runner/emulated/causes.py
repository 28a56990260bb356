"""Where the cycles of a measured region went: by cause, and by the address of an instruction."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rvv_runner.board import BoardInfo
from rvv_runner.emulated.plugin import build_plugin
from rvv_runner.emulated.run import Emulator, launcher_arguments, run_in_qemu
from rvv_runner.emulated.verdict import measurement_of
from rvv_runner.measurement import ElfArtifact, Measurement

__all__ = ["CAUSES", "Causes", "explain_run"]

# What the core waited for, for each cause of causes.h.
CAUSES: Mapping[str, str] = {
    "issue": "its turn: two instructions a cycle at most, in order",
    "scalar": "a scalar result or unit",
    "vector": "a vector unit or its result",
    "vset": "a vector length from or into a register",
    "branches": "a new start after a mispredicted branch",
    "l1": "the load/store unit or L1D, without misses",
    "l2": "lines from L2, or room to write there",
    "dram": "lines from DRAM, or its bus",
    "tlb": "page walks",
}


@dataclass(frozen=True)
class Causes:
    """The cycles of one measured region.

    Args:
        cycles: the estimate; the causes of all places add up to it.
        places: by the address of an instruction: its cycles by cause.
    """

    cycles: float
    places: Mapping[int, Mapping[str, float]]


def explain_run(
    emulator: Emulator, info: BoardInfo, artifact: ElfArtifact, timeout_s: float
) -> tuple[Measurement, Causes | None]:
    """Run an artifact once with the plug-in that explains; the estimate is the same without it.

    Returns:
        The measurement, and where its cycles went if it is correct.

    Raises:
        BoardError: if the plug-in cannot be compiled.
        OSError: if QEMU cannot be started.
    """
    explaining = dataclasses.replace(emulator, plugin=build_plugin("explaining"))
    run = run_in_qemu(
        explaining, artifact.elf_path, launcher_arguments(emulator, artifact), timeout_s
    )
    measurement = measurement_of(run, info, timeout_s, artifact.kernel)
    if measurement.status != "correct" or run.report is None:
        return measurement, None
    return measurement, _causes(run.report)


def _causes(report: str) -> Causes:
    (region,) = json.loads(report)["regions"]
    places: dict[int, dict[str, float]] = {}
    for address, *cycles in region["places"]:
        place = places.setdefault(address, dict.fromkeys(region["causes"], 0.0))
        for cause, count in zip(region["causes"], cycles, strict=True):
            place[cause] += count
    return Causes(region["cycles"], dict(_used(places)))


def _used(places: Mapping[int, Mapping[str, float]]) -> Iterator[tuple[int, dict[str, float]]]:
    for address, cycles in places.items():
        used = {cause: count for cause, count in cycles.items() if count > 0}
        if used:
            yield address, used
