"""What passes between a board and the process that measures for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rvv_runner.measurement import Status

__all__ = ["Expected", "Opened", "Prepared", "Report", "Request"]


@dataclass(frozen=True)
class Request:
    """Measure an artifact.

    Args:
        artifact: pickled, so that a fault in reading it is the measuring process's to report.
        repeats: how many times to take.
    """

    artifact: bytes
    repeats: int


@dataclass(frozen=True)
class Expected:
    """Make the arguments of a configuration before it is built.

    Args:
        sources: of the arguments, pickled; one for each shape.
        config: pickled.
    """

    sources: bytes
    config: bytes


@dataclass(frozen=True)
class Opened:
    """The process has its GPU.

    Args:
        notes: what a user should know, one sentence each.
    """

    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """Arguments and code are in the GPU's memory; from now on the time limit counts.

    It comes twice where the GPU's memory ran out, and the measurement is made without the arguments
    of other problems.
    """


@dataclass(frozen=True)
class Report:
    """The outcome.

    Args:
        status, reason, times_s, max_abs_error, max_share, conditions: as in `Measurement`;
            "mistake" is one in the user's own file, which ends the command.
        doubt: why the times cannot be trusted, or "".
        wall_s: seconds that the checked and the timed runs took together.
        ends: whether the process ends, since its context is no longer of use.
    """

    status: Status | Literal["mistake"]
    reason: str = ""
    times_s: tuple[float, ...] = ()
    max_abs_error: float | None = None
    max_share: float | None = None
    conditions: Mapping[str, float | str] = field(default_factory=dict)
    doubt: str = ""
    wall_s: float = 0.0
    ends: bool = False
