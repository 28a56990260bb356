"""The fastest trial of a study that a consumer's kernel can run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from engine.repeats.preference import preference
from engine.results.consumers import Consumer
from engine.results.tuned_shape import PRODUCT, TunedShape, UnfitStudyError, tuned_shape
from engine.study.trials import StoredTrials

__all__ = ["consumer_file", "consumer_winner", "losses"]


def consumer_winner(study: StoredTrials, consumer: Consumer) -> TunedShape:
    """The study's winner; if the consumer's kernel lacks what it needs, the fastest it can run.

    Raises:
        UnfitStudyError: if the consumer reads no configurations of the kernel or the element type,
            or its kernel can run no correct trial.
    """
    shape = tuned_shape(study)
    shape.on_gpu(consumer.name, consumer.kernels)
    shape.of_kernel(consumer.name, consumer.kernels, (*PRODUCT, "GROUP_SIZE_M"))
    if consumer_file(shape, consumer) is None:
        unread = consumer.unread(shape.kernel, shape.dtype)
        raise UnfitStudyError(f"{shape.study} does not fit: {unread}")
    return _usable(shape, study, consumer)


def consumer_file(shape: TunedShape, consumer: Consumer) -> Path | None:
    """The consumer's file for a shape, below its folder; None where it reads none for the type."""
    gpu = shape.on_gpu(consumer.name)
    return consumer.file(shape.kernel, gpu.name, shape.dtype, shape.shape, shape.triton)


def losses(shapes: Iterable[TunedShape], consumer: Consumer) -> list[str]:
    """What each shape loses whose winner the consumer's kernel cannot run, in a sentence."""
    return [_loss(shape, consumer) for shape in shapes if shape.winner is not shape.summary.winner]


def _usable(shape: TunedShape, study: StoredTrials, consumer: Consumer) -> TunedShape:
    missing = consumer.lacks(shape.config)
    if not missing:
        return shape
    every = study.trials_of(study.study_name)
    usable = [t for t in every if t.status == "correct" and t.time_s]
    usable = [trial for trial in usable if not consumer.lacks(trial.config)]
    if not usable:
        raise UnfitStudyError(
            f"{shape.study} has no trial that {consumer.name}'s kernel can run, and its winner "
            f"needs {missing}: tune it with --for {consumer.option}"
        )
    fastest = min(usable, key=lambda t: (t.time_s, preference(t.config, t.code_bytes)))
    return replace(shape, winner=fastest)


def _loss(shape: TunedShape, consumer: Consumer) -> str:
    best = shape.summary.winner
    assert best is not None
    assert best.time_s
    assert shape.winner.time_s
    return (
        f"{shape.study}: the winner needs {consumer.lacks(best.config)}, which {consumer.name}'s "
        "kernel lacks; the fastest trial without is written, "
        f"{shape.winner.time_s / best.time_s - 1:.1%} slower. To search for a faster one, tune "
        f"with --for {consumer.option}"
    )
