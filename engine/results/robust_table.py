"""How far a winner holds under other models of its board: a table, lines and JSON."""

from __future__ import annotations

from collections.abc import Callable

from rich.box import SIMPLE
from rich.table import Table

from engine.results.fields import yes_no
from engine.run.robustness import Robustness, loss_text
from foundation.config import Config

__all__ = ["ROBUST_ORDER", "robust_lines", "robust_record", "robust_sentence", "robust_table"]

# By what the configurations above the table are ordered.
ROBUST_ORDER = {
    "mean": ", by weighted mean loss over all models",
    "worst": ", by worst loss",
    "off": "",
}

_AIMS = {
    "mean": "the lowest weighted mean loss, the worst counted three times",
    "worst": "the lowest worst loss over all models",
    "off": "the lowest time under the default model",
}


def robust_table(found: Robustness, config_text: Callable[[Config], str]) -> Table:
    """One row for each model: what it would choose, and what the winner loses to that."""
    table = Table(title=f"The winner has {_AIMS[found.robust]}", box=SIMPLE)
    table.add_column("model", no_wrap=True)
    table.add_column("fastest under it", no_wrap=True)
    for heading in ("winner\nloses", "fastest under\n'default' loses"):
        table.add_column(heading, justify="right")
    for model in found.under:
        is_winner = model.best is found.winner
        table.add_row(
            model.name,
            "the winner" if is_winner else config_text(model.best.config),
            loss_text(model.loses),
            loss_text(model.default_choice_loses),
        )
    of_default = max(model.default_choice_loses for model in found.under)
    for name, *both in (
        ("mean", found.mean, found.default_choice_mean),
        ("worst", found.worst.loses, of_default),
        ("weighted mean", found.weighted_mean, found.default_choice_weighted_mean),
    ):
        table.add_row(name, "", *map(loss_text, both))
    return table


def robust_sentence(found: Robustness) -> str:
    """Whether the winner is safe."""
    return f"The winner {found.verdict}."


def robust_lines(found: Robustness) -> list[str]:
    """The same as lines of key=value fields."""
    lines = [
        f"model={model.name}\tfastest={model.best.config}\t"
        f"time_s={model.best.models_s[model.name]:.6g}\twinner_loses={model.loses:.4f}\t"
        f"default_choice_loses={model.default_choice_loses:.4f}"
        for model in found.under
    ]
    return [
        *lines,
        f"robust={found.robust}\tsafe={yes_no(found.is_safe)}\tmean_loss={found.mean:.4f}\t"
        f"worst_loss={found.worst.loses:.4f}\tweighted_mean_loss={found.weighted_mean:.4f}\t"
        f"verdict={found.verdict}",
    ]


def robust_record(found: Robustness) -> dict[str, object]:
    """The same as JSON values."""
    return {
        "robust": found.robust,
        "safe": found.is_safe,
        "verdict": found.verdict,
        "mean_loss": found.mean,
        "worst_loss": found.worst.loses,
        "default_choice_mean_loss": found.default_choice_mean,
        "weighted_mean_loss": found.weighted_mean,
        "default_choice_weighted_mean_loss": found.default_choice_weighted_mean,
        "models": [
            {
                "name": model.name,
                "says": model.says,
                "fastest": dict(model.best.config),
                "fastest_time_s": model.best.models_s[model.name],
                "winner_time_s": found.winner.models_s[model.name],
                "winner_loses": model.loses,
                "default_choice_loses": model.default_choice_loses,
            }
            for model in found.under
        ],
        "to_measure": [dict(trial.config) for trial in found.to_measure],
    }
