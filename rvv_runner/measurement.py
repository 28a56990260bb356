"""A board's input and output: an artifact to run, and its measurement."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, get_args

__all__ = [
    "OUTCOMES",
    "Artifact",
    "ElfArtifact",
    "Measurement",
    "Status",
]

# All but "board" are the configuration's. "board" is the board's fault: run again, never scored.
Status = Literal["correct", "constraint", "compile", "runtime", "timeout", "wrong", "board"]

# Statuses that come from building and running the configuration. A rule forbids it before it is
# built, and a board at fault says nothing about it.
OUTCOMES: frozenset[str] = frozenset(get_args(Status)) - {"constraint", "board"}


class Artifact(Protocol):
    """What a board needs to run a configuration: one class for each kind of board; picklable."""

    @property
    def needs(self) -> str:
        """What a board must be to run it: "a processor with vectors of 256 bits"."""
        ...

    @property
    def sha256(self) -> str:
        """Of the binary."""
        ...

    @property
    def provenance(self) -> Mapping[str, object]:
        """Tool versions, key, code size and times of the build; JSON values only."""
        ...

    @property
    def record(self) -> Mapping[str, object]:
        """What is stored with a trial of it, by name; JSON values only."""
        ...

    def texts(self) -> Sequence[Path]:
        """Files of the build that people read, such as its assembly; some are made on demand."""
        ...


@dataclass(frozen=True)
class ElfArtifact:
    """A static ELF that a processor can run, with everything that the run needs.

    Args:
        elf_path: the executable.
        sha256: of the executable; the key of the boards' caches.
        data_path: the arguments and expected outputs, as `launchers.data_file` writes them.
        grid: programs along x, y and z.
        vlen_bits: vector length the ELF was built for.
        provenance: tool versions, key, code size and times of the build; JSON values only.
        kernel: the kernel's name, as the ELF prints it; None if that is not known.
        ordered: whether the kernel is right only if its programs run one after another, in order.
        alone: whether nothing orders its programs, so that each has to be right without the others.
    """

    elf_path: Path
    sha256: str
    data_path: Path
    grid: tuple[int, int, int]
    vlen_bits: int
    provenance: Mapping[str, object] = field(default_factory=dict)
    kernel: str | None = None
    ordered: bool = False
    alone: bool = False

    @property
    def needs(self) -> str:
        """The vector length that it was built for."""
        return f"a processor with vectors of {self.vlen_bits} bits"

    @property
    def record(self) -> Mapping[str, object]:
        """The ELF, and how to run it."""
        return {
            "elf_sha256": self.sha256,
            "elf_path": str(self.elf_path),
            "run_command": self.command,
        }

    def texts(self) -> list[Path]:
        """Assembly and LLVM IR."""
        from rvv_runner.assembly import assembly_file

        paths = (assembly_file(self.elf_path), self.elf_path.with_suffix(".llir"))
        return [path for path in paths if path is not None and path.is_file()]

    @property
    def command(self) -> str:
        """The command to run it by hand, on any machine that has the two files."""
        return shlex.join(
            [_relative(self.elf_path), _relative(self.data_path), *self.launcher_options]
        )

    @property
    def launcher_options(self) -> tuple[str, ...]:
        """What its launcher is told on every board: the grid, and what is asked of its order."""
        flags = ("--ordered",) if self.ordered else ("--alone",) if self.alone else ()
        return "--grid", ",".join(map(str, self.grid)), *flags


@dataclass(frozen=True)
class Measurement:
    """The outcome of one configuration on one board.

    Args:
        status: "correct" only if this measurement itself checked the output.
        times_s: kernel time of each repetition, in seconds; empty unless the status is "correct".
        counters: by event name; a counter that cannot be read is absent, never 0.
        reason: one sentence, unless the status is "correct".
        board: name of the board that ran it.
        estimated: true if the times come from a model and not from a clock.
        max_abs_error: largest difference from the reference, if the outputs were compared.
        max_share: the largest part of its tolerance that an element is off by, where it is known.
        conditions: on the board before and after the timed runs, if it shows them.
        models_s: where times come from a model, the time in seconds under each model of its family,
            by name, the default first; empty if there is no other.
    """

    status: Status
    times_s: tuple[float, ...] = ()
    counters: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    board: str = ""
    estimated: bool = False
    max_abs_error: float | None = None
    max_share: float | None = None
    conditions: Mapping[str, float | str] = field(default_factory=dict)
    models_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def time_s(self) -> float | None:
        """The median kernel time in seconds, or None if nothing was timed."""
        return statistics.median(self.times_s) if self.times_s else None

    def plus(self, more: Measurement) -> Measurement:
        """This and later runs of the same artifact as one measurement, with this one's counters."""
        errors = [m.max_abs_error for m in (self, more) if m.max_abs_error is not None]
        shares = [m.max_share for m in (self, more) if m.max_share is not None]
        return replace(
            self,
            times_s=self.times_s + more.times_s,
            max_abs_error=max(errors, default=None),
            max_share=max(shares, default=None),
            conditions={**self.conditions, **more.conditions},
        )


def _relative(path: Path) -> str:
    """The path as users type it: relative, if it is below the current folder."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
