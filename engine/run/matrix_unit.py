"""What is said of a winner on a core whose matrix unit it leaves idle."""

from __future__ import annotations

from pathlib import Path

from engine.run.summary import Summary
from rvv_runner.assembly import assembly_file
from triton_rvv.targets.matrix_unit import has_idle_unit

__all__ = ["note_on_matrix_unit"]


def note_on_matrix_unit(summary: Summary) -> tuple[str, ...]:
    """A note if the winner's code, as far as it is still there, multiplies integers without the
    unit."""
    elf_path = None if summary.winner is None else summary.winner.attributes.get("elf_path")
    path = assembly_file(Path(elf_path)) if isinstance(elf_path, str) else None
    if path is None or not has_idle_unit(path.read_text()):
        return ()
    return (
        "the winner leaves the core's matrix unit unused, which multiplies 8-bit integers alone: "
        "its times are those of the vector unit",
    )
