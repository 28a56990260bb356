"""What a study's report says first: what to use, how sure that is, why, and what to try next."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.results.advice import advice
from engine.results.counter_text import counter_text
from engine.results.units import count_text
from engine.run.counters import ALWAYS_SHOWN, CounterChange
from engine.run.summary import Summary
from engine.run.wrong_everywhere import note_on_reference
from engine.study.stored_trial import StoredTrial
from foundation.config import Config, ParameterValue
from foundation.programs import python_command
from foundation.shapes import Shape, shape_text
from kernels.registry import kernel_names
from search_spaces.rules import next_power_of_two

__all__ = ["Verdict", "verdict"]

_CAUSES = 3
_PAIRS = 3
_FEWEST_VALUES = 3


@dataclass(frozen=True)
class Verdict:
    """The first screen of a report.

    Args:
        use: what to use, with the gain and how sure it is.
        config: what to use; None if no configuration was correct.
        heading: of what follows about the winner and the default.
        why: the counters that changed most from the default to the winner.
        next_steps: what to try next.
    """

    use: str
    config: Config | None
    heading: str
    why: tuple[str, ...]
    next_steps: tuple[str, ...]


def verdict(
    summary: Summary,
    trials: Sequence[StoredTrial],
    importances: Mapping[str, float],
    kernel: str,
    shape: Shape | None,
) -> Verdict:
    """Judge a study.

    Args:
        summary: of the study.
        trials: of the study.
        importances: share of each parameter.
        kernel: its name.
        shape: the shape, if there is one.
    """
    winner = summary.winner
    if winner is None:
        steps = note_on_reference(trials, is_own=kernel not in kernel_names())
        return Verdict(advice(summary), None, "", (), steps)
    tried = [trial.config for trial in trials if trial.has_outcome]
    steps = (
        *_edges(winner.config, tried, shape or {}),
        *_untried(list(importances)[:2], tried),
        *_next_shape(kernel, shape),
    )
    to_use = summary.to_use or winner
    causes = tuple(map(_cause, _causes(summary.changes)))
    return Verdict(advice(summary), to_use.config, _heading(summary, to_use), causes, steps)


def _heading(summary: Summary, to_use: StoredTrial) -> str:
    winner = summary.winner
    assert winner is not None
    if to_use is winner and to_use is not summary.default and not summary.is_slower_than_default:
        return "Why the winner is faster than the default"
    if winner is summary.default:
        return "Where the cycles of the default go"
    return "How the winner differs from the default"


def _causes(changes: Sequence[CounterChange]) -> list[CounterChange]:
    """What weighs most, the savings before the costs."""
    others = [change for change in changes if change.name not in ALWAYS_SHOWN]
    return sorted(others[:_CAUSES], key=lambda change: change.cycles > 0)


def _cause(change: CounterChange) -> str:
    more = "more" if change.cycles > 0 else "fewer"
    weights = [count_text(abs(cycles)) for cycles in (change.cycles, change.most_cycles)]
    return (
        f"{count_text(change.winner)} {counter_text(change.name)} in place of "
        f"{count_text(change.default)}: "
        f"roughly {' to '.join(dict.fromkeys(weights))} {more} cycles"
    )


def _edges(winner: Config, tried: Sequence[Config], shape: Shape) -> list[str]:
    """The sizes whose best value is the least or the largest that was tried, and not the last that
    makes sense: one, or a block that holds a whole dimension."""
    whole = {next_power_of_two(size) for size in shape.values()}
    found = []
    for name, value in winner.items():
        values = [v for v in _values(name, tried) if type(v) is int]
        if type(value) is not int or len(values) < _FEWEST_VALUES:
            continue
        if value == max(values) and value not in whole:
            which, beyond = "largest", "larger"
        elif value == min(values) and value > 1:
            which, beyond = "least", "smaller"
        else:
            continue
        found.append(
            f"{name}={value} is the {which} value tried: allow {beyond} ones in the search space "
            "if the kernel takes them"
        )
    return found


def _untried(names: Sequence[str], tried: Sequence[Config]) -> list[str]:
    """The pairs of the two parameters that matter most that no trial has."""
    if len(names) < 2:
        return []
    pairs = {tuple(config[name] for name in names) for config in tried if set(names) <= set(config)}
    every = itertools.product(*(_values(name, tried) for name in names))
    left = [pair for pair in every if pair not in pairs]
    if not left:
        return []
    shown = "; ".join(
        ",".join(f"{name}={value}" for name, value in zip(names, pair, strict=True))
        for pair in left[:_PAIRS]
    )
    more = f" and {len(left) - _PAIRS} more" if len(left) > _PAIRS else ""
    return [f"not tried, or pruned: {shown}{more}; more --trials may reach them"]


def _values(name: str, tried: Sequence[Config]) -> list[ParameterValue]:
    return list(dict.fromkeys(config[name] for config in tried if name in config))


def _next_shape(kernel: str, shape: Shape | None) -> list[str]:
    """A run at another shape, which this study's trials serve as a warm start."""
    if not shape or kernel not in kernel_names():
        return []
    first = next(iter(shape))
    doubled = shape_text({**shape, first: 2 * shape[first]})
    command = f"{python_command('engine.tune')} {kernel} --shape {doubled}"
    return [f"the next shape, warm-started from this study: {command}"]
