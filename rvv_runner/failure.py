"""Measurements without a time."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from rvv_runner.measurement import Artifact, ElfArtifact, Measurement, Status
from rvv_runner.verdict import Verdict

__all__ = ["failed", "failed_run", "taken_elf"]


def failed(
    status: Status, info: BoardInfo, reason: str, max_abs_error: float | None = None
) -> Measurement:
    """The measurement of a run that failed or could not start."""
    return Measurement(
        status=status,
        reason=reason,
        board=info.name,
        estimated=info.estimated,
        max_abs_error=max_abs_error,
    )


def taken_elf(artifact: Artifact, info: BoardInfo) -> ElfArtifact | Measurement:
    """The artifact, if the board can run it; otherwise the measurement that says why not."""
    if not isinstance(artifact, ElfArtifact):
        return failed("board", info, f"{info.name} runs ELFs, and this needs {artifact.needs}")
    if artifact.vlen_bits == info.vlen_bits:
        return artifact
    return failed(
        "board",
        info,
        f"the executable was built for vectors of {artifact.vlen_bits} bits, "
        f"and this board's have {info.vlen_bits}",
    )


def failed_run(verdict: Verdict, info: BoardInfo) -> Measurement | None:
    """The measurement of a failed run; None if it was correct."""
    if verdict.status == "correct":
        return None
    error = verdict.launcher.max_abs_error if verdict.status == "wrong" else None
    return failed(verdict.status, info, verdict.reason, error)
