"""The summary of a study that is stored, as the end of its run printed it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from engine.repeats.comparison import COMPARISON, kept_comparison
from engine.run.summary import Summary, summarise
from engine.study.check_notes import WRONG_ELSEWHERE, kept_notes, probably_wrong, said_of
from engine.study.last_space import LAST_SPACE, LastSpace, last_space
from engine.study.objectives import Robust
from engine.study.robust import ROBUST, robust_of
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from foundation.config import Config
from rvv_runner.event_costs import event_costs
from search_spaces.space import SearchSpace

__all__ = ["KeptFacts", "kept_facts", "stored_summary", "summary_of", "with_sizes"]


@dataclass(frozen=True)
class KeptFacts:
    """What a study keeps besides its trials that its summary follows from.

    Args:
        comparison, elsewhere: its attributes `COMPARISON` and `WRONG_ELSEWHERE`.
        probably_wrong: as in `Summary`.
        robust: what it minimises, if its trials have times under several models.
        space: the search space of its last run; None of studies of earlier versions.
    """

    comparison: object
    elsewhere: object
    probably_wrong: str
    robust: Robust
    space: LastSpace | None = None


def kept_facts(stored: StoredTrials) -> KeptFacts:
    """Those of a study."""
    return KeptFacts(
        stored.attribute(COMPARISON),
        stored.attribute(WRONG_ELSEWHERE),
        probably_wrong(kept_notes(stored)),
        robust_of(stored.attribute(ROBUST)),
        last_space(stored.attribute(LAST_SPACE)),
    )


def stored_summary(stored: StoredTrials, trials: Sequence[StoredTrial]) -> Summary:
    """Sum up a stored study, by the search space of its last run.

    Args:
        stored: the study.
        trials: those of it that have an outcome.
    """
    return summary_of(kept_facts(stored), trials, event_costs(str(stored.attribute("device"))))


def summary_of(
    kept: KeptFacts,
    trials: Sequence[StoredTrial],
    costs: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    space: SearchSpace | None = None,
) -> Summary:
    """The same of what was read.

    Args:
        kept, trials: of the study.
        costs: of events, as `summarise` takes them.
        space: today's search space; None for that of the study's last run.
    """
    held = [trial for trial in trials if _holds(space or kept.space, trial)]
    default = _default(space or kept.space, held)
    comparison = kept_comparison(kept.comparison, held, default)
    summary = summarise(held, default, comparison, costs, kept.robust)
    return with_sizes(replace(summary, probably_wrong=kept.probably_wrong), kept.elsewhere)


def _holds(space: SearchSpace | LastSpace | None, trial: StoredTrial) -> bool:
    match space:
        case SearchSpace():
            return space.holds(trial.config)
        case LastSpace():
            return trial.number not in space.removed
    return True


def _default(space: SearchSpace | LastSpace | None, trials: Sequence[StoredTrial]) -> Config | None:
    if space is not None:
        return space.default
    # Of the default alone it is stored how long its measurement took.
    return next((trial.config for trial in trials if "wall_s" in trial.attributes), None)


def with_sizes(summary: Summary, elsewhere: object) -> Summary:
    """The summary with what the study keeps of other sizes: its attribute `WRONG_ELSEWHERE`."""
    to_use = summary.to_use
    return replace(summary, wrong_elsewhere=said_of(elsewhere, to_use.config) if to_use else "")
