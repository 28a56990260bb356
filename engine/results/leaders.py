"""The comparison of the leaders: the winner, and which leaders are significantly slower."""

from __future__ import annotations

from collections.abc import Callable

from rich.box import SIMPLE
from rich.table import Table

from engine.repeats.comparison import Comparison, Contender
from engine.results.units import time_text
from foundation.config import Config

__all__ = ["IN_TURNS", "comparison_sentences", "leader_lines", "leaders_table"]

IN_TURNS = "times and speed-ups of what was measured again in turns are those of the rounds"
_WITHIN = (
    "a board's speed changes between rounds, so leaders are compared within each round; the times "
    "are over all rounds and rank them differently"
)


def leaders_table(comparison: Comparison, config_text: Callable[[Config], str]) -> Table:
    """Each leader's time and how much slower it is than the winner, with confidence intervals."""
    table = Table(title="The leaders measured again in turns", box=SIMPLE)
    table.add_column("configuration", no_wrap=True)
    interval = f"{comparison.confidence:.0%} interval"
    for heading in ("time", interval, "slower within rounds", interval):
        table.add_column(heading, justify="right")
    table.add_column("")
    for contender in comparison.contenders:
        is_winner = contender is comparison.winner
        table.add_row(
            config_text(contender.config),
            time_text(contender.time_s),
            f"{time_text(contender.low_s)} to {time_text(contender.high_s)}",
            "" if is_winner else f"{contender.slower:.1%}",
            "" if is_winner else f"{contender.slower_low:.1%} to {contender.slower_high:.1%}",
            "winner" if is_winner else _verdict(contender),
        )
    return table


def comparison_sentences(comparison: Comparison) -> list[str]:
    """What explains the order, and the relative noise of one run on this board."""
    noise = f"noise of one run on this board: {comparison.noise:.1%}"
    return [*([_WITHIN] if _disagree(comparison) else []), noise]


def _disagree(comparison: Comparison) -> bool:
    """Whether the times of all rounds tell another of two to be faster than the rounds do."""
    winner_s = comparison.winner.time_s
    return any((c.time_s - winner_s) * c.slower < 0 for c in comparison.contenders)


def leader_lines(comparison: Comparison) -> list[str]:
    """One line per leader, key=value fields separated by tabs; then whether the default stands, and
    the noise.
    """
    lines = [
        "\t".join(
            (
                f"leader={place}",
                f"time_s={c.time_s:.9f}",
                f"low_s={c.low_s:.9f}",
                f"high_s={c.high_s:.9f}",
                f"slower={c.slower:.4f}",
                f"slower_low={c.slower_low:.4f}",
                f"slower_high={c.slower_high:.4f}",
                f"significant={'yes' if c.is_significantly_slower else 'no'}",
                f"config={c.config}",
            )
        )
        for place, c in enumerate(comparison.contenders, start=1)
    ]
    stands = "yes" if comparison.default_stands else "no"
    return [*lines, f"default_stands={stands}", f"noise={comparison.noise:.4f}"]


def _verdict(contender: Contender) -> str:
    return "slower" if contender.is_significantly_slower else "not significantly slower"
