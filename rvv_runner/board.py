"""A board: something that runs an artifact and measures its kernel's time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from foundation.errors import CommandError
from foundation.gpu_limits import GpuLimits
from rvv_runner.measurement import Artifact, Measurement
from triton_rvv.targets.machine import Prefetch
from triton_rvv.targets.target import Backend, RVVTarget, Target, with_prefetch

__all__ = ["UNDER", "Board", "BoardError", "BoardInfo", "DistantBoard", "wrapper_in"]

# In a board's kind, before the program that runs the executables in its place, such as an emulator.
UNDER = "-under-"


def wrapper_in(kind: str) -> str:
    """The program that runs executables in place of a board of that kind; "" for none."""
    return re.sub(r"(-cold)?(@\d+cores)?$", "", kind.partition(UNDER)[2])


class BoardError(CommandError):
    """A board that cannot be used; the message is one sentence that says what to change."""


@dataclass(frozen=True)
class BoardInfo:
    """What is known about a board before anything runs on it.

    Args:
        name: as the user gives it, such as "emulated:x60".
        kind: boards of one kind may share a study; their times can be compared.
        cpu: the core's name, as `RVVTarget.named` takes it.
        tune: the core for whose caches and latencies code is made, as `RVVTarget.named` takes it;
            None for the core's own.
        vlen_bits: bits in a vector register; of a GPU, 32 bits for each thread of a warp.
        cores: number of cores; a GPU's multiprocessors.
        cores_per_l2: number of cores that share an L2 cache; None if that is not known.
        used_cores: cores that run a kernel at once.
        frequency_hz: clock that converts cycles to seconds.
        l1d_bytes, l2_bytes: sizes of the data caches, None if not known.
        prefetch: how far ahead code asks for lines, one of PREFETCHES; None for "near".
        deterministic: true if a second run gives a bit-identical time.
        estimated: true if times come from a model and not from a clock.
        backend: the kind of code that it runs.
        gpu: the limits of a GPU; None for a processor.
    """

    name: str
    kind: str
    cpu: str
    vlen_bits: int
    cores: int
    frequency_hz: float
    l1d_bytes: int | None = None
    l2_bytes: int | None = None
    tune: str | None = None
    prefetch: Prefetch | None = None
    deterministic: bool = False
    estimated: bool = False
    backend: Backend | Literal["cuda", "hip"] = "rvv"
    gpu: GpuLimits | None = None
    cores_per_l2: int | None = None
    used_cores: int = 1

    @property
    def target(self) -> Target:
        """What code is generated for; only a processor has such a target."""
        assert self.gpu is None
        if self.backend == "rvv":
            target = RVVTarget.named(self.cpu, self.vlen_bits, self.tune)
            return with_prefetch(target, self.prefetch)
        from triton_rvv.targets.host_target import host_target

        return host_target()

    @property
    def study_device(self) -> str:
        """Its name in studies: the kind, whose boards share a study; for a model, its own name."""
        return self.name if self.estimated else self.kind


class Board(Protocol):
    """The tuning loop's interface to a board. For one thread; each process opens its own."""

    @property
    def info(self) -> BoardInfo:
        """What is known about the board."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about the open board, one sentence each."""
        ...

    def open(self) -> None:
        """Get ready to measure.

        Raises:
            BoardError: if the board cannot be used.
        """
        ...

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        """Check the output once, then time the kernel `repeats` times.

        A fault of the artifact or of the board is a Measurement with that status, not an exception.
        It returns within `timeout_s` plus a few seconds, and leaves no process behind. Of programs
        on this machine, the limit is one of processor time: see `run_bounded`.
        """
        ...

    def close(self) -> None:
        """Release the board; it can be opened again."""
        ...


@runtime_checkable
class DistantBoard(Protocol):
    """A board to which an artifact's files are brought before it runs them."""

    def ship(self, artifact: Artifact) -> None:
        """Bring an artifact's files to the open board.

        Raises:
            BoardError: if it has no room for them, or for what a run of them reports.
        """
        ...
