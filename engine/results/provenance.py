"""What a study's numbers rest on: what was tuned, where, by which search, with which versions."""

from __future__ import annotations

from engine.results.minimised import minimised
from engine.run.made_by import runs_of
from engine.run.measured_on import measured_on
from engine.study.history import warm_started_from
from engine.study.identity import OPTUNA_VERSION, SAMPLER, SEED, SPACE_NAME, VERSION
from engine.study.robust import ROBUST
from engine.study.robust_changes import BEFORE
from engine.study.trials import StoredTrials
from foundation.version import project_version

__all__ = ["provenance_of"]

# Attributes of a study, under their own names.
_KEPT = ("kernel", "shape", "dtype", "device", SPACE_NAME, SAMPLER, SEED, ROBUST, BEFORE)


def provenance_of(study: StoredTrials) -> dict[str, object]:
    """JSON values by name. What an earlier version did not store is left out.

    `made_with` holds the digests that tell compilers, board models and kernel sources apart, and
    `runs` what made the trials, as `keep_run` stores it.
    """
    tools = measured_on(study)
    found = {
        "study": study.study_name,
        **{name: study.attribute(name) for name in _KEPT},
        "objectives": list(minimised(study).names),
        "warm_started_from": warm_started_from(study),
        "made_with": study.attribute("made_with"),
        "begun_with": study.attribute(VERSION),
        "optuna": study.attribute(OPTUNA_VERSION),
        "triton": tools.triton if tools else None,
        "runs": list(map(dict, runs_of(study))) or None,
        "exported_with": project_version(),
    }
    return {name: value for name, value in found.items() if value is not None}
