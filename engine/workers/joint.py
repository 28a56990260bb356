"""One configuration at several shapes: built and measured at each, scored over all of them."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import geometric_mean

from engine.workers.artifacts import BuildFailure, digest
from engine.workers.builders import Builder
from foundation.config import Config
from rvv_runner.board import Board, BoardInfo, DistantBoard
from rvv_runner.measurement import Artifact, Measurement

__all__ = [
    "JointArtifact",
    "JointBoard",
    "JointBuilder",
    "JointMeasurement",
    "joined",
    "joint_board",
    "run_command",
]

_LEAST_LIMIT_S = 1.0  # the rest of a limit may be 0, which boards do not accept


@dataclass(frozen=True)
class JointArtifact:
    """The artifacts of one configuration for several shapes.

    Args:
        parts: the artifact for each shape, by the shape as users write it ("M=64,N=128").
    """

    parts: Mapping[str, Artifact]

    @property
    def needs(self) -> str:
        """What the first needs: all are built for one board."""
        return self._first.needs

    @property
    def sha256(self) -> str:
        """A digest of all of them."""
        return digest([part.sha256 for part in self.parts.values()])

    @property
    def provenance(self) -> Mapping[str, object]:
        """The first's."""
        return self._first.provenance

    @property
    def record(self) -> Mapping[str, object]:
        """How to run all of them by hand, one after another, if they can be."""
        command = run_command(self)
        return {"run_command": command} if command else {}

    def texts(self) -> list[Path]:
        """The files of all of them."""
        return [path for part in self.parts.values() for path in part.texts()]

    @property
    def _first(self) -> Artifact:
        return next(iter(self.parts.values()))


def run_command(artifact: Artifact, options: Sequence[str] = ()) -> str:
    """The command that runs an artifact by hand, or its parts one after another; "" without one.

    Args:
        artifact: what was built.
        options: of its launcher, such as a number of cores.
    """
    if isinstance(artifact, JointArtifact):
        commands = [run_command(part, options) for part in artifact.parts.values()]
        return " && ".join(commands) if all(commands) else ""
    command = str(artifact.record.get("run_command", ""))
    return " ".join([command, *map(shlex.quote, options)]) if command else ""


@dataclass(frozen=True)
class JointMeasurement(Measurement):
    """The outcome of one configuration at several shapes; `joined` makes it.

    Args:
        parts: the outcome at each shape that was measured, by the shape as users write it.
    """

    parts: Mapping[str, Measurement] = field(default_factory=dict)

    @property
    def time_s(self) -> float | None:
        """The geometric mean of the shapes' median times, or None after a failure."""
        times_s = [part.time_s for part in self.parts.values() if part.time_s is not None]
        return geometric_mean(times_s) if self.status == "correct" else None

    def plus(self, more: Measurement) -> Measurement:
        """Both measurements as one, shape by shape."""
        assert isinstance(more, JointMeasurement)
        return joined({shape: part.plus(more.parts[shape]) for shape, part in self.parts.items()})


def joined(parts: Mapping[str, Measurement]) -> JointMeasurement:
    """The outcomes of one configuration at several shapes as one.

    Its status and reason are those of the first failure. Otherwise each of its times is the
    geometric mean of one run per shape, and so is each counter that was read at every shape, and
    the time under each model.
    The conditions on the board stay with the parts.

    Args:
        parts: at least one, by shape; all but the last are correct.
    """
    shape, last = list(parts.items())[-1]
    if last.status != "correct":
        reason = f"at {shape}: {last.reason}"
        return JointMeasurement(last.status, reason=reason, board=last.board, parts=parts)
    every = list(parts.values())
    errors = [part.max_abs_error for part in every if part.max_abs_error is not None]
    shares = [part.max_share for part in every if part.max_share is not None]
    # Runs that were held up are left out at one shape and not at another.
    runs = zip(*(part.times_s for part in every), strict=False)
    return JointMeasurement(
        status="correct",
        times_s=tuple(map(geometric_mean, runs)),
        counters={
            name: _geometric_mean(part.counters[name] for part in every)
            for name in every[0].counters
            if all(name in part.counters for part in every)
        },
        board=last.board,
        estimated=last.estimated,
        max_abs_error=max(errors, default=None),
        max_share=max(shares, default=None),
        models_s={
            name: geometric_mean(part.models_s[name] for part in every)
            for name in every[0].models_s
            if all(name in part.models_s for part in every)
        },
        parts=parts,
    )


def _geometric_mean(counts: Iterable[float]) -> float:
    """The geometric mean of counts; 0 if one of them is 0, which `statistics` refuses."""
    known = list(counts)
    return geometric_mean(known) if all(known) else 0.0


class JointBuilder:
    """Builds each configuration for every shape.

    Args:
        make_builders: makes the builder for each shape, by the shape as users write it.
    """

    def __init__(self, make_builders: Mapping[str, Callable[[], Builder]]) -> None:
        self._builders = {shape: make() for shape, make in make_builders.items()}

    def build(self, config: Config) -> Artifact | BuildFailure:
        """The artifacts of `config`, or why the first shape without one has none.

        Raises:
            UserError: like the builders.
        """
        parts: dict[str, Artifact] = {}
        for shape, builder in self._builders.items():
            built = builder.build(config)
            if isinstance(built, BuildFailure):
                return replace(built, reason=f"at {shape}: {built.reason}")
            parts[shape] = built
        return JointArtifact(parts)


class JointBoard:
    """A board that measures what was built for several shapes as one artifact."""

    def __init__(self, board: Board) -> None:
        self._board = board

    @property
    def info(self) -> BoardInfo:
        """What is known about the board."""
        return self._board.info

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about the board."""
        return self._board.notes

    def open(self) -> None:
        """Get ready to measure.

        Raises:
            BoardError: if the board cannot be used.
        """
        self._board.open()

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        """Measure at one shape after another until the first failure.

        Args:
            artifact: a `JointArtifact`.
            repeats: timed runs at each shape.
            timeout_s: limit for all shapes together.
        """
        assert isinstance(artifact, JointArtifact)
        end_s = time.monotonic() + timeout_s
        parts: dict[str, Measurement] = {}
        for shape, part in artifact.parts.items():
            left_s = max(end_s - time.monotonic(), _LEAST_LIMIT_S)
            parts[shape] = self._board.measure(part, repeats, left_s)
            if parts[shape].status == "timeout":
                reason = f"all shapes together did not finish within {timeout_s:g} s"
                parts[shape] = replace(parts[shape], reason=reason)
            if parts[shape].status != "correct":
                break
        return joined(parts)

    def ship(self, artifact: Artifact) -> None:
        """Bring the files for every shape to a board that is elsewhere."""
        assert isinstance(artifact, JointArtifact)
        if isinstance(self._board, DistantBoard):
            for part in artifact.parts.values():
                self._board.ship(part)

    def close(self) -> None:
        """Release the board."""
        self._board.close()


def joint_board(load: Callable[[str], Board], name: str) -> JointBoard:
    """The board called `name`, for what was built for several shapes; picklable where `load` is."""
    return JointBoard(load(name))
