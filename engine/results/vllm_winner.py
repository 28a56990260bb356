"""A study's winner as vLLM's kernels take it, and SGLang's, which come from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.results.tuned_shape import PRODUCT, TunedShape, UnfitStudyError, tuned_shape
from engine.results.vllm_files import EXPERTS, SCALED_PRODUCT, unusable
from engine.study.trials import StoredTrials

__all__ = ["vllm_winner"]


def vllm_winner(
    study: StoredTrials,
    consumer: str,
    file_of: Callable[[TunedShape], object],
    dtypes: Sequence[str],
) -> TunedShape:
    """The study's winner.

    Args:
        study: the study.
        consumer: "vLLM" or "SGLang".
        file_of: names the consumer's file; None where it reads none for the element type.
        dtypes: the types that it reads, as --dtype takes them; for the sentence.

    Raises:
        UnfitStudyError: if the consumer reads no configurations of the kernel or the element type,
            or its kernel lacks what the winner needs.
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
    if missing := unusable(shape.config):
        raise UnfitStudyError(
            f"{shape.study} has a winner with {missing}, which {consumer}'s kernel lacks: tune it "
            "with --space vllm"
        )
    return shape
