"""Boards: the emulated one, this machine, and boards over SSH."""

from rvv_runner.board import Board, BoardError, BoardInfo
from rvv_runner.measurement import Artifact, ElfArtifact, Measurement, Status

__all__ = [
    "Artifact",
    "Board",
    "BoardError",
    "BoardInfo",
    "ElfArtifact",
    "Measurement",
    "Status",
]
