"""The outcome of one configuration, as stored with its trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from engine.run.estimates import measurement_text
from engine.workers.artifacts import BuildFailure
from engine.workers.devices import machine_of
from engine.workers.joint import JointArtifact, JointMeasurement, run_command
from engine.workers.spans import Span
from rvv_runner.measurement import Artifact, Measurement
from rvv_runner.usage import split_usage

__all__ = ["Outcome", "failed_build", "measured_outcome"]


@dataclass(frozen=True)
class Outcome:
    """A measurement, and what was measured.

    Args:
        measurement: a failed build has one too.
        artifact: None if the build failed.
        wall_s: of the default configuration, the seconds that its measurement took, which set the
            time limit of all others; None for any other.
        spans: when and where it was built and measured.
    """

    measurement: Measurement
    artifact: Artifact | None = None
    wall_s: float | None = None
    spans: tuple[Span, ...] = ()

    def texts(self) -> list[Path]:
        """Assembly and IR, which optuna-dashboard shows with the trials that led the study."""
        return [] if self.artifact is None else list(self.artifact.texts())

    def note(self) -> str:
        """Markdown for optuna-dashboard: what happened, how to run it again, and the counters."""
        measurement = self.measurement
        parts = [f"**{measurement.status}** {measurement.reason}".strip()]
        if measurement.time_s is not None:
            text = measurement_text(measurement.estimated, measurement.board, measurement.counters)
            estimated = f" ({text})" if text else ""
            parts.append(f"{measurement.time_s:.6g} s{estimated} on {measurement.board}")
        parts += [f"{time_s:.6g} s at {shape}" for shape, time_s in self._times_s().items()]
        if command := self._record().get("run_command"):
            parts.append(f"```sh\n{command}\n```")
        if measurement.counters:
            rows = [f"| {name} | {_count(value)} |" for name, value in measurement.counters.items()]
            parts.append("\n".join(["| event | count |", "|---|---|", *rows]))
        return "\n\n".join(parts)

    def attributes(self) -> dict[str, object]:
        """What is stored with a trial besides its time; JSON values only."""
        measurement, artifact = self.measurement, self.artifact
        attributes: dict[str, object] = {
            "reason": measurement.reason,
            "board": measurement.board,
            "estimated": measurement.estimated,
            "times_s": list(measurement.times_s),
            "models_s": dict(measurement.models_s),
            "counters": dict(measurement.counters),
            "max_abs_error": measurement.max_abs_error,
            "max_share": measurement.max_share,
            "conditions": dict(measurement.conditions),
            "wall_s": self.wall_s,
            "spans": [list(span) for span in self.spans],
        }
        attributes.update(self._record())
        if isinstance(artifact, JointArtifact):
            attributes["shapes"] = self._at_each_shape(artifact)
        elif artifact is not None:
            attributes["build_stages_s"] = artifact.provenance.get("stages_s")
            attributes["code_bytes"] = artifact.provenance.get("code_bytes")
        return {
            name: value for name, value in attributes.items() if value not in ("", None, {}, [])
        }

    def _at_each_shape(self, artifact: JointArtifact) -> dict[str, object]:
        """What is stored for each shape that was measured."""
        parts = self.measurement.parts if isinstance(self.measurement, JointMeasurement) else {}
        return {
            shape: {
                "status": part.status,
                "time_s": part.time_s,
                **Outcome(part, artifact.parts[shape]).attributes(),
            }
            for shape, part in parts.items()
        }

    def _record(self) -> Mapping[str, object]:
        """What the artifact says of itself; the command to run it takes as many cores as here."""
        if self.artifact is None:
            return {}
        record = dict(self.artifact.record)
        _, usage = split_usage(machine_of(self.measurement.board)[0])
        if "run_command" in record:
            record["run_command"] = run_command(self.artifact, usage.launcher_options)
        return record

    def _times_s(self) -> dict[str, float]:
        """The time at each shape, if there are several."""
        parts = self.measurement.parts if isinstance(self.measurement, JointMeasurement) else {}
        return {shape: part.time_s for shape, part in parts.items() if part.time_s is not None}


def _count(value: float) -> str:
    """A counter with all digits before the point, and six in all where there are fewer."""
    is_whole = float(value).is_integer() or abs(value) >= 1e5
    return f"{value:,.0f}" if is_whole else f"{value:,.6g}"


def failed_build(failure: BuildFailure, spans: Sequence[Span] = ()) -> Outcome:
    """The outcome of a configuration that could not be built."""
    return Outcome(failure.measurement, spans=tuple(spans))


def measured_outcome(future: Future[Outcome]) -> Outcome | None:
    """The outcome of a configuration that a board has measured; None if there is none."""
    if future.cancelled() or future.exception() is not None:
        return None
    outcome = future.result()
    # The end of the run may be what made a build fail.
    return None if outcome.artifact is None or outcome.measurement.status == "board" else outcome
