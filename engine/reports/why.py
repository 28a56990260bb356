"""Why a winner is faster than the default: causes and source lines, in words and as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.explained.explained import CAUSE_MEANINGS
from engine.explained.spent import Spent, gaps, main_cause
from engine.results.units import count_text

__all__ = ["Bar", "LineCycles", "Part", "Why", "why_of"]

_MOST_CAUSES = 3
_LEAST_SHARE = 0.02  # of the winner's cycles: a smaller gap is no reason


@dataclass(frozen=True)
class Part:
    """The cycles of one cause.

    Args:
        cause: a name in `CAUSE_MEANINGS`.
        cycles: how many.
        width: in percent of the longest bar.
    """

    cause: str
    cycles: float
    width: float


@dataclass(frozen=True)
class Bar:
    """The cycles of one configuration by cause."""

    label: str
    cycles: float
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class LineCycles:
    """The cycles of one source line, in each of the configurations; widths as in `Part`."""

    text: str
    cause: str
    cycles: tuple[float, ...]
    widths: tuple[float, ...]


@dataclass(frozen=True)
class Why:
    """Where cycles went.

    Args:
        sentences: the same in words.
        bars: one for each configuration, the winner's first.
        lines: source lines, the one with most of the winner's cycles first.
        causes: those that a bar has, with their meanings.
    """

    sentences: tuple[str, ...]
    bars: tuple[Bar, ...]
    lines: tuple[LineCycles, ...]
    causes: Mapping[str, str]

    @property
    def labels(self) -> list[str]:
        """Of the configurations."""
        return [bar.label for bar in self.bars]


def why_of(spent: Sequence[Spent]) -> Why:
    """What cycles of the winner, and of the default if it is another configuration, say.

    Args:
        spent: the winner first, at least one.
    """
    winner, *others = spent
    longest = max(one.cycles for one in spent)
    bars = tuple(
        Bar(
            one.label,
            one.cycles,
            tuple(
                Part(cause, one.by_cause[cause], 100 * one.by_cause[cause] / longest)
                for cause in CAUSE_MEANINGS
                if one.by_cause.get(cause)
            ),
        )
        for one in spent
    )
    present = {part.cause for bar in bars for part in bar.parts}
    return Why(
        (
            *(sentence for other in others for sentence in _differences(winner, other)),
            _line(winner),
        ),
        bars,
        _lines(spent),
        {cause: meaning for cause, meaning in CAUSE_MEANINGS.items() if cause in present},
    )


def _differences(winner: Spent, other: Spent) -> list[str]:
    """What the other spends more cycles on, and what it saves."""
    ratio = other.cycles / winner.cycles - 1
    more = "more" if ratio >= 0 else "fewer"
    head = f"The {other.label} takes {abs(ratio):.0%} {more} cycles than the winner"
    counted = {
        cause: cycles
        for cause, cycles in gaps(winner.by_cause, other.by_cause).items()
        if abs(cycles) >= _LEAST_SHARE * winner.cycles
    }
    loses = [_gap(cause, cycles) for cause, cycles in counted.items() if cycles > 0]
    saves = [_gap(cause, cycles) for cause, cycles in counted.items() if cycles < 0]
    sentences = [f"{head}: {'; '.join(loses[:_MOST_CAUSES])}." if loses else f"{head}."]
    if saves:
        sentences.append(f"The {other.label} saves {'; '.join(saves[:_MOST_CAUSES])}.")
    return sentences


def _gap(cause: str, cycles: float) -> str:
    return f"{count_text(abs(cycles))} on {cause} ({CAUSE_MEANINGS[cause]})"


def _line(winner: Spent) -> str:
    text = next(iter(winner.by_line))
    cause = main_cause(winner.by_line[text])
    return (
        f"{winner.of_line(text) / winner.cycles:.0%} of the winner's cycles go to the line {text}, "
        f"most of these on {cause} ({CAUSE_MEANINGS[cause]})."
    )


def _lines(spent: Sequence[Spent]) -> tuple[LineCycles, ...]:
    """The lines that take a share worth naming in any of the configurations."""
    winner = spent[0]
    texts = dict.fromkeys(text for one in spent for text in one.by_line)
    named = [
        text
        for text in texts
        if any(one.of_line(text) >= _LEAST_SHARE * one.cycles for one in spent)
    ]
    most = max((one.of_line(text) for one in spent for text in named), default=1.0)
    return tuple(
        LineCycles(
            text,
            main_cause(next(one for one in spent if text in one.by_line).by_line[text]),
            tuple(one.of_line(text) for one in spent),
            tuple(100 * one.of_line(text) / most for one in spent),
        )
        for text in sorted(named, key=lambda text: -winner.of_line(text))
    )
