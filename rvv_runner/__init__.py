"""Boards: the emulated one, this machine, and boards over SSH."""

from foundation.interrupts import expect_interrupts

expect_interrupts("rvv_runner")

# Imported only now, since an interrupt may come while they load.
from rvv_runner.board import Board, BoardError, BoardInfo  # noqa: E402
from rvv_runner.measurement import Artifact, ElfArtifact, Measurement, Status  # noqa: E402

__all__ = [
    "Artifact",
    "Board",
    "BoardError",
    "BoardInfo",
    "ElfArtifact",
    "Measurement",
    "Status",
]
