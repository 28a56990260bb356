"""The winner of a study of one shape, as files of winners take it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from engine.repeats.preference import preference
from engine.run.measured_on import measured_on
from engine.run.stored_summary import stored_summary
from engine.run.summary import Summary
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from foundation.config import Config
from foundation.errors import UserError
from foundation.gpu_limits import GpuLimits
from foundation.shapes import Shape, as_shape
from kernels.registry import load_kernel

__all__ = [
    "PRODUCT",
    "TunedShape",
    "UnfitStudyError",
    "by_rows",
    "grouped",
    "one_per_shape",
    "one_version",
    "tuned_shape",
]

# The parameters that every product on a GPU has.
PRODUCT = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "num_warps", "num_stages")

_Key = TypeVar("_Key", bound=Hashable)


class UnfitStudyError(UserError):
    """A study that a format cannot hold; the message says what it lacks."""


@dataclass(frozen=True)
class TunedShape:
    """The winner of a study of one shape.

    Args:
        study: its name.
        kernel, dtype, device, shape: what was tuned, and where.
        winner: its trial.
        summary: of the study.
        gpu: the GPU; None for a processor.
        triton: the version of Triton that compiled it.
    """

    study: str
    kernel: str
    dtype: str
    device: str
    shape: Shape
    winner: StoredTrial
    summary: Summary
    gpu: GpuLimits | None
    triton: str

    @property
    def config(self) -> Config:
        """The winner's configuration."""
        return self.winner.config

    def on_gpu(self, consumer: str, kernels: Sequence[str] = ()) -> GpuLimits:
        """The GPU.

        Args:
            consumer: whose files are for GPUs only.
            kernels: the only ones that it reads configurations of; empty for those of any.

        Raises:
            UnfitStudyError: for a processor.
        """
        if self.gpu is None:
            named = " and ".join(kernels)
            raise UnfitStudyError(
                f"{self.study} was measured on {self.device}, and {consumer} reads configurations "
                f"{f'of {named} on GPUs' if named else 'of GPUs'} only: give a study that was "
                "tuned with --device cuda or hip"
            )
        return self.gpu

    def of_kernel(
        self, consumer: str, kernels: Sequence[str], parameters: Sequence[str] = ()
    ) -> None:
        """Do nothing for one of these kernels, with these parameters.

        Raises:
            UnfitStudyError: for another kernel, and for another of the same name.
        """
        if self.kernel not in kernels:
            raise UnfitStudyError(
                f"{self.study} is about {self.kernel}, and {consumer} has a place for "
                f"{' and '.join(kernels)} only: give studies of {'these' if kernels[1:] else 'it'}"
            )
        sizes = load_kernel(self.kernel).default_shape
        lacking = [name for name in sizes if name not in self.shape]
        lacking += [name for name in parameters if name not in self.config]
        if lacking:
            raise UnfitStudyError(
                f"{self.study} has no {' and no '.join(lacking)}, which {consumer} needs: give a "
                f"study of the kernel {self.kernel} that the tuner has, tuned on a GPU"
            )


def tuned_shape(stored: StoredTrials) -> TunedShape:
    """The winner of a study.

    Raises:
        UnfitStudyError: if the study has no winner or several shapes, or does not say what it was
            measured on.
    """
    name, shape = stored.study_name, as_shape(stored.attribute("shape"))
    if shape is None:
        raise UnfitStudyError(f"{name} is not about one shape: give studies of one shape each")
    summary = stored_summary(stored, [trial for trial in stored.changes() if trial.has_outcome])
    if summary.winner is None:
        raise UnfitStudyError(f"{name} has no correct configuration: tune it first")
    measured = measured_on(stored)
    if measured is None:
        raise UnfitStudyError(
            f"{name} does not say which GPU and which Triton it was measured with, since an "
            "earlier version stored it: run its engine.tune once more, which adds that"
        )
    return TunedShape(
        study=name,
        kernel=str(stored.attribute("kernel")),
        dtype=str(stored.attribute("dtype")),
        device=str(stored.attribute("device")),
        shape=shape,
        winner=summary.winner,
        summary=summary,
        gpu=measured.gpu,
        triton=measured.triton,
    )


def grouped(
    shapes: Iterable[TunedShape], key: Callable[[TunedShape], _Key]
) -> dict[_Key, list[TunedShape]]:
    """The shapes of each key, both in the order in which they come."""
    found: dict[_Key, list[TunedShape]] = {}
    for shape in shapes:
        found.setdefault(key(shape), []).append(shape)
    return found


def one_per_shape(shapes: Iterable[TunedShape]) -> list[TunedShape]:
    """The fastest of those that are about the same; in the order of kernel, type and sizes."""
    same = grouped(shapes, lambda s: (s.kernel, s.dtype, s.device, tuple(sorted(s.shape.items()))))
    return [min(same[key], key=_rank) for key in sorted(same)]


def by_rows(shapes: Iterable[TunedShape]) -> dict[int, Config]:
    """The fastest winner by M, for shapes of one file, which differ in nothing else."""
    same = grouped(shapes, lambda shape: shape.shape["M"])
    return {m: min(same[m], key=_rank).config for m in sorted(same)}


def one_version(file: str, shapes: Sequence[TunedShape]) -> str:
    """The version of Triton that all of one file's shapes were compiled by.

    Raises:
        UnfitStudyError: if there are several, since a file names one.
    """
    versions = {shape.triton: shape.study for shape in shapes}
    if len(versions) > 1:
        (one, study), (other, another) = list(versions.items())[:2]
        raise UnfitStudyError(
            f"{study} was compiled by Triton {one} and {another} by {other}, and {file} names one "
            "version: give studies of one"
        )
    return next(iter(versions))


def _rank(shape: TunedShape) -> tuple[float, object]:
    assert shape.winner.time_s is not None
    return shape.winner.time_s, preference(shape.config, shape.winner.code_bytes)
