"""What to use of a study, and how sure that is: one sentence, the same wherever results go."""

from __future__ import annotations

from engine.repeats.comparison import Comparison, Contender
from engine.results.units import counted, speedup_text
from engine.run.estimates import trial_band, without_prefetches
from engine.run.robustness import UnderModel
from engine.run.summary import Summary
from engine.study.stored_trial import StoredTrial
from foundation.config import Config

__all__ = ["advice"]

_USE_DEFAULT = "use the default"
_ELSEWHERE = "Do not use it at other sizes"


def advice(summary: Summary) -> str:
    """What to use, which is `summary.to_use`, with the gain and what it rests on."""
    said = _at_its_sizes(summary)
    if summary.wrong_elsewhere:
        said = f"{_ELSEWHERE}: {summary.wrong_elsewhere}. At the tuned sizes: {said}"
    if summary.probably_wrong:
        said = f"The kernel is {summary.probably_wrong}. Once it is right: {said}"
    slower = "" if summary.to_use is None else without_prefetches(summary.to_use)
    return f"{said} It takes {slower}." if slower else said


def _at_its_sizes(summary: Summary) -> str:
    winner, default = summary.winner, summary.default
    if winner is None and not summary.statuses:
        return "No configuration was tried: run the same command again."
    if winner is None:
        return "No configuration was correct: see what failed."
    if default is None:
        return "Use the winner; its gain is not known, since the default was not measured."
    if default is winner:
        return f"{_on_default(summary)}: {_USE_DEFAULT}."
    gain = speedup_text(summary.speedup(winner))
    if summary.comparison is not None:
        return _compared(summary.comparison, default.config, gain)
    if not summary.estimated:
        return f"Use the winner: {gain} the default. How sure that is was not measured."
    return _estimated(summary, winner, default, gain)


def _estimated(summary: Summary, winner: StoredTrial, default: StoredTrial, gain: str) -> str:
    band = trial_band(winner)
    tied = 0.0 if band is None else band.tied
    if not summary.tied(default) and summary.is_slower_than_default:
        return (
            "Use the winner: it loses least over all models of the core. Under the default model "
            f"alone it runs at {gain} the default's speed."
        )
    limit = _limit(summary, tied)
    if summary.tied(default):
        return (
            f"The winner ({gain}) and the default are tied, since the model cannot tell times "
            f"apart that differ by less than {tied:.0%}: {_USE_DEFAULT}{limit}."
        )
    if band is None:
        return (
            f"Use the winner: {gain} the default, by a model that no real core has checked{limit}."
        )
    return (
        f"Use the winner: {gain} the default, where the model tells times apart that differ by "
        f"{tied:.0%} or more{limit}."
    )


def _limit(summary: Summary, tied: float) -> str:
    """Under which other models of the core one would use the other of the two, if any.

    Args:
        summary: of a study with estimates.
        tied: relative difference below which times are tied.
    """
    models = () if summary.robustness is None else summary.robustness.under
    uses_winner = summary.to_use is summary.winner
    known = [model for model in models if model.gain is not None]
    turned = [model for model in known if (_gain(model) > 1 + tied) != uses_winner]
    turned.sort(key=_gain, reverse=not uses_winner)
    if not turned:
        return ""
    others = counted(len(turned) - 1, "other model")
    more = f", and the choice changes under {others}, too" if turned[1:] else ""
    gain = speedup_text(_gain(turned[0]))
    return (
        f"; if {turned[0].says}, the winner runs at an estimated {gain} the default's speed{more}"
    )


def _gain(model: UnderModel) -> float:
    assert model.gain is not None
    return model.gain


def _on_default(summary: Summary) -> str:
    if summary.unconfirmed is None:
        return "Nothing that was tried is faster than the default"
    return (
        "No configuration is significantly faster than the default, measured again in turns, "
        f"though some ran at up to {speedup_text(summary.unconfirmed)} its speed in their trials"
    )


def _contender(comparison: Comparison, config: Config) -> Contender | None:
    return next((c for c in comparison.contenders if c.config == config), None)


def _compared(comparison: Comparison, default: Config, gain: str) -> str:
    contender = _contender(comparison, default)
    if contender is None:
        return f"Use the winner: {gain} the default, which was too slow to be compared again."
    low, high = 1 + contender.slower_low, 1 + contender.slower_high
    interval = f"{low:.2f}x to {high:.2f}x at {comparison.confidence:.0%} confidence"
    if contender.is_significantly_slower:
        return f"Use the winner: {1 + contender.slower:.2f}x the default, {interval}."
    return f"The winner and the default are tied ({interval}): {_USE_DEFAULT}."
