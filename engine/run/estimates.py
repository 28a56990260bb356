"""What is said of times that are no core's: how far they can be trusted, and which are tied."""

from __future__ import annotations

from collections.abc import Mapping

from engine.run.counters import counters_of
from engine.study.stored_trial import StoredTrial
from rvv_runner.board import BoardInfo, wrapper_in
from rvv_runner.emulated.error_band import error_band, has_bands
from rvv_runner.emulated.family import DEFAULT_MODEL, WITHOUT_PREFETCHES, models
from rvv_runner.error_band import ErrorBand

__all__ = [
    "estimate_text",
    "measurement_text",
    "note_on_times",
    "tied",
    "trial_band",
    "without_prefetches",
]

# Of a core without an error band, from how much more time on it is told.
_MUCH_LONGER = 0.25


def trial_band(trial: StoredTrial) -> ErrorBand | None:
    """The error band of a trial's time; None for a time from a clock or of an unknown core."""
    board = trial.attributes.get("board")
    if not trial.attributes.get("estimated") or not isinstance(board, str):
        return None
    return error_band(board, counters_of(trial))


def estimate_text(estimated: bool, band: ErrorBand | None) -> str:
    """ "estimated, ±24%"; empty for a time from a clock.

    Without a band, the model was not compared with enough of a real core, and the text says so.
    """
    if not estimated:
        return ""
    return "estimated, no error band" if band is None else f"estimated, ±{band.error:.0%}"


def without_prefetches(trial: StoredTrial) -> str:
    """ "2.1 times as long if software prefetches do nothing", where that differs by more than the
    error band of the trial's time; else "".

    No real core is known to follow them, and the default model does.
    """
    model = next((model for model in models() if model.name == WITHOUT_PREFETCHES), None)
    if model is None or not trial.time_s or model.name not in trial.models_s:
        return ""
    band = trial_band(trial)
    ratio = trial.models_s[model.name] / trial.models_s[DEFAULT_MODEL]
    if ratio <= 1 + (_MUCH_LONGER if band is None else band.error):
        return ""
    return f"{ratio:.1f} times as long if {model.says}"


def measurement_text(estimated: bool, board: str, counters: Mapping[str, float]) -> str:
    """The same for a measurement on `board`."""
    return estimate_text(estimated, error_band(board, counters))


def tied(trial: StoredTrial, fastest: StoredTrial) -> bool:
    """Whether the model cannot tell which of two trials is faster."""
    band = trial_band(fastest)
    if band is None or not trial.time_s or not fastest.time_s:
        return False
    return abs(trial.time_s / fastest.time_s - 1) < band.tied


def note_on_times(info: BoardInfo) -> tuple[str, ...]:
    """A sentence where times are those of what runs the programs, such as an emulator, or of a
    model that nothing has confirmed."""
    if name := wrapper_in(info.kind):
        return (
            f"times are those of {name}, which runs the programs on {info.name}, not of a core",
        )
    if info.estimated and not has_bands(info.name):
        return (
            f"estimates of {info.name} were not compared with enough of a real core: they have no "
            "error band",
        )
    return ()
