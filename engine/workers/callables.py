"""Callables of Python as what is tuned: nothing is built before the process that measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.workers.artifacts import BuildFailure, digest
from foundation.config import Config
from kernels.on_device import ProblemArguments
from rvv_runner.measurement import Artifact

__all__ = ["CallableArtifact", "CallableBuilder"]


@dataclass(frozen=True)
class CallableArtifact:
    """A configuration of a file with a `build`.

    Args:
        source: names the file and the problem.
        config: the configuration.
        provenance: JSON values only.
    """

    source: ProblemArguments
    config: Config
    provenance: Mapping[str, object] = field(default_factory=dict)

    @property
    def needs(self) -> str:
        """What can run it."""
        return "a Python process: --device python, or python:cuda for one with a GPU"

    @property
    def sha256(self) -> str:
        """Of what it is made from."""
        return digest(self.source, self.config)

    @property
    def record(self) -> Mapping[str, object]:
        """There is no file to name."""
        return {}

    def texts(self) -> Sequence[Path]:
        """There are none."""
        return ()


@dataclass(frozen=True)
class CallableBuilder:
    """Hands configurations on to the process that measures, where they are compiled and kept.

    Args:
        source: names the file and the problem.
    """

    source: ProblemArguments

    def build(self, config: Config) -> Artifact | BuildFailure:
        """What names the configuration there."""
        return CallableArtifact(self.source, config)
