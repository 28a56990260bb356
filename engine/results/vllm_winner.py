"""The fastest trial of a study that vLLM's kernels can run, and SGLang's, which come from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from engine.repeats.preference import preference
from engine.results.tuned_shape import PRODUCT, TunedShape, UnfitStudyError, tuned_shape
from engine.results.vllm_files import EXPERTS, SCALED_PRODUCT, unusable
from engine.study.trials import StoredTrials

__all__ = ["losses", "vllm_winner"]


def vllm_winner(
    study: StoredTrials,
    consumer: str,
    file_of: Callable[[TunedShape], object],
    dtypes: Sequence[str],
) -> TunedShape:
    """The study's winner; if the consumer's kernel lacks what it needs, the fastest it can run.

    Args:
        study: the study.
        consumer: "vLLM" or "SGLang".
        file_of: names the consumer's file; None where it reads none for the element type.
        dtypes: the types that it reads, as --dtype takes them; for the sentence.

    Raises:
        UnfitStudyError: if the consumer reads no configurations of the kernel or the element type,
            or its kernel can run no correct trial.
    """
    shape = tuned_shape(study)
    shape.on_gpu(consumer)
    shape.of_kernel(consumer, (EXPERTS, SCALED_PRODUCT), (*PRODUCT, "GROUP_SIZE_M"))
    if file_of(shape) is None:
        raise UnfitStudyError(
            f"{shape.study} is in {shape.dtype}, and {consumer} reads configurations of "
            f"{shape.kernel} in {' and '.join(dtypes)} only: tune it with --dtype "
            + " or ".join(dtypes)
        )
    return _usable(shape, study, consumer)


def losses(shapes: Iterable[TunedShape], consumer: str) -> list[str]:
    """What each shape loses whose winner the consumer's kernel cannot run, in a sentence."""
    return [_loss(shape, consumer) for shape in shapes if shape.winner is not shape.summary.winner]


def _usable(shape: TunedShape, study: StoredTrials, consumer: str) -> TunedShape:
    missing = unusable(shape.config)
    if not missing:
        return shape
    every = study.trials_of(study.study_name)
    usable = [t for t in every if t.status == "correct" and t.time_s and not unusable(t.config)]
    if not usable:
        raise UnfitStudyError(
            f"{shape.study} has no trial that {consumer}'s kernel can run, and its winner needs "
            f"{missing}: tune it with --space vllm"
        )
    fastest = min(usable, key=lambda t: (t.time_s, preference(t.config, t.code_bytes)))
    return replace(shape, winner=fastest)


def _loss(shape: TunedShape, consumer: str) -> str:
    best = shape.summary.winner
    assert best is not None
    assert best.time_s
    assert shape.winner.time_s
    return (
        f"{shape.study}: the winner needs {unusable(best.config)}, which {consumer}'s kernel "
        f"lacks; the fastest trial without is written, {shape.winner.time_s / best.time_s - 1:.1%} "
        "slower. To search for a faster one, tune with --space vllm"
    )
