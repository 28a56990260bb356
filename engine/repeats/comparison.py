"""The leaders of a study, measured again in turns: the winner, and the ties with it."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType

from engine.repeats.preference import preference
from engine.repeats.racing import noise_of
from engine.repeats.rounds import ALL_ROUNDS, CONFIDENCE, Rounds
from engine.repeats.signed_rank import Interval, centre, fewest_values
from engine.study.stored_trial import StoredTrial
from foundation.config import Config

__all__ = [
    "COMPARISON",
    "Comparison",
    "Contender",
    "compare",
    "kept_comparison",
    "leaders",
]

COMPARISON = "comparison"  # name of the study's attribute

# A leader that is slower with this confidence is dropped. It is higher since the test is repeated
# each round.
_CONFIDENCE_TO_DROP = 0.99

# A tie wins by the rule of `preference` only if it is estimated to be at most so much slower than
# the fastest: on a noisy board ties may be far apart.
_NEGLIGIBLE = 0.01

_MOST_LEADERS = 5

# What took so many times as long as the fastest, in each of its runs, cannot be faster: jobs of one
# configuration differ by far less. The default is compared for its interval, unless it takes so
# many times as long.
_TOO_SLOW = 2.0
_DEFAULT_TOO_SLOW = 10.0


@dataclass(frozen=True)
class Contender:
    """A leader and its times in the comparison.

    Args:
        config: the configuration.
        time_s: estimate of its time.
        low_s, high_s: confidence interval of its time.
        slower: how much slower it is than the winner: 0.02 is two percent.
        slower_low, slower_high: confidence interval of that; above 0 the difference is
            significant.
        rounds: how many times it was measured.
    """

    config: Config
    time_s: float
    low_s: float
    high_s: float
    slower: float
    slower_low: float
    slower_high: float
    rounds: int

    @property
    def is_significantly_slower(self) -> bool:
        """Whether it is significantly slower than the winner."""
        return self.slower_low > 0


@dataclass(frozen=True)
class Comparison:
    """The comparison of the leaders.

    Args:
        contenders: the leaders, the winner first, then by time.
        noise: standard deviation of the logarithm of one run on this board, as the rounds show it;
            0.02 is two percent.
        confidence: of the intervals.
        default: the default configuration, if it is among them.
    """

    contenders: tuple[Contender, ...]
    noise: float
    confidence: float = CONFIDENCE
    default: Config | None = None

    @property
    def winner(self) -> Contender:
        """The default, if no leader is significantly faster; else, of those that are and are
        neither significantly slower than the fastest of them nor by more than a percent, the one
        that `preference` puts first.
        """
        return self.contenders[0]

    @property
    def default_stands(self) -> bool:
        """Whether no configuration is significantly faster than the default."""
        return self.winner.config == self.default

    def to_json(self) -> dict[str, object]:
        """JSON values only."""
        contenders = [{**asdict(c), "config": dict(c.config)} for c in self.contenders]
        default = None if self.default is None else dict(self.default)
        return {
            "contenders": contenders,
            "noise": self.noise,
            "confidence": self.confidence,
            "default": default,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Comparison:
        """The inverse of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: for anything else.
        """
        rows = value["contenders"]
        if not isinstance(rows, list):
            raise TypeError("the contenders are no list")
        contenders = tuple(Contender(**{**row, "config": Config(row["config"])}) for row in rows)
        default = value.get("default")
        return cls(
            contenders,
            float(str(value["noise"])),
            float(str(value["confidence"])),
            Config(default) if isinstance(default, Mapping) else None,
        )


# Measures configurations one after another on one board, in the order given: a time in seconds for
# each, or None if that failed.
Round = Callable[[Sequence[Config]], Sequence[float] | None]


def leaders(trials: Sequence[StoredTrial], default: Config | None = None) -> list[Config]:
    """The configurations that may be the fastest of a study, and the default, if it was timed and
    is not far behind.

    A search measures each in a job or two, and times may differ more between jobs than within one:
    no other threshold on the time applies than what no job explains.
    """
    timed = [trial for trial in trials if trial.time_s]
    timed.sort(key=lambda trial: (trial.time_s, preference(trial.config, trial.code_bytes)))
    first = [t.config for t in timed if _is_within(t, timed[0], _TOO_SLOW)][:_MOST_LEADERS]
    rest = (t for t in timed if t.config == default and t.config not in first)
    return [*first, *(t.config for t in rest if _is_within(t, timed[0], _DEFAULT_TOO_SLOW))]


def _is_within(trial: StoredTrial, best: StoredTrial, times: float) -> bool:
    """Whether one run at least took no more than so many times what the best took."""
    assert trial.time_s
    assert best.time_s
    return min((*trial.times_s, trial.time_s)) <= times * best.time_s


def kept_comparison(
    attribute: object, trials: Sequence[StoredTrial], default: Config | None
) -> Comparison | None:
    """The comparison that is stored with a study, without what the search space no longer holds,
    as long as it says what to use of these trials.

    A faster trial is a new leader, and so may be the next in time where one has been removed. A
    trial that is slower than all leaders changes nothing: the same would be compared again. Where
    the winner has been removed, or another configuration is the default, it says nothing.

    Args:
        attribute: the study's attribute `COMPARISON`.
        trials: those with an outcome whose configurations the search space holds.
        default: the space's default.
    """
    if not isinstance(attribute, Mapping):
        return None
    try:
        comparison = Comparison.from_json(attribute)
    except (KeyError, TypeError, ValueError):
        return None  # no program of ours wrote it
    held = {trial.config for trial in trials}
    left = tuple(c for c in comparison.contenders if c.config in held)
    compared = {contender.config for contender in left}
    stands = (
        left[:1] == comparison.contenders[:1]
        and comparison.default == (default if default in compared else None)
        and compared.issuperset(leaders(trials, default))
    )
    return replace(comparison, contenders=left) if left and stands else None


def compare(
    configs: Sequence[Config],
    measure: Round,
    seed: int,
    default: Config | None = None,
    code_bytes: Mapping[Config, int | None] = MappingProxyType({}),
    rounds: Rounds = ALL_ROUNDS,
) -> Comparison | None:
    """Measure configurations in turns until one is significantly faster, or the rounds are over.

    Each round measures every remaining one once, in a new order, so that drift of the board affects
    all of them alike; only times of the same round are compared.

    Args:
        configs: at least one.
        measure: measures one round.
        seed: of the random orders.
        default: the default configuration; it wins unless another is significantly faster.
        code_bytes: sizes of machine code, by which ties are broken; those left out are not known.
        rounds: how many, and in what time.

    Returns:
        The comparison, or None if too few rounds could be measured.
    """
    rng = random.Random(seed)
    times: dict[Config, list[float]] = {config: [] for config in configs}
    left = list(configs)
    start_s, done = time.monotonic(), 0
    while rounds.allow_one_more(done, time.monotonic() - start_s):
        order = rng.sample(left, len(left))
        measured = measure(order)
        if measured is None:
            break
        for config, time_s in zip(order, measured, strict=True):
            times[config].append(math.log(time_s))
        done += 1
        if done >= fewest_values(_CONFIDENCE_TO_DROP):
            left = _not_slower(left, times)
            if len(left) == 1:
                break
    if min(map(len, times.values())) < fewest_values(CONFIDENCE):
        return None
    return _judged(times, default if default in times else None, code_bytes)


def _not_slower(left: Sequence[Config], times: Mapping[Config, Sequence[float]]) -> list[Config]:
    best = _fastest(left, times)
    return [
        config
        for config in left
        if config == best or _gap(times[config], times[best], _CONFIDENCE_TO_DROP).low <= 0
    ]


def _fastest(configs: Sequence[Config], times: Mapping[Config, Sequence[float]]) -> Config:
    """The one of the least time within rounds, of configurations with as many rounds each."""
    means = [
        statistics.fmean(of_round) for of_round in zip(*(times[c] for c in configs), strict=True)
    ]
    return min(configs, key=lambda config: _gap(times[config], means, CONFIDENCE).centre)


def _gap(times: Sequence[float], best: Sequence[float], confidence: float) -> Interval:
    """Of logarithms of times of the same rounds."""
    return centre([a - b for a, b in zip(times, best, strict=False)], confidence)


def _judged(
    times: Mapping[Config, Sequence[float]],
    default: Config | None,
    code_bytes: Mapping[Config, int | None],
) -> Comparison:
    # A dropped one has fewer rounds, and is slower than one that remains.
    most = max(map(len, times.values()))
    whole = [config for config in times if len(times[config]) == most]
    faster = whole
    if default in whole:
        faster = [c for c in whole if _gap(times[default], times[c], CONFIDENCE).low > 0]
    winner = _preferred(faster, times, code_bytes) if faster else default
    assert winner is not None
    contenders = [_contender(config, times[config], times[winner]) for config in times]
    contenders.sort(key=lambda c: (c.config != winner, c.slower))
    noise = noise_of([math.exp(value) for value in series] for series in times.values())
    return Comparison(tuple(contenders), noise, default=default)


def _preferred(
    configs: Sequence[Config],
    times: Mapping[Config, Sequence[float]],
    code_bytes: Mapping[Config, int | None],
) -> Config:
    """The one to prefer of those that are tied with the fastest."""
    fastest = _fastest(configs, times)
    gaps = {config: _gap(times[config], times[fastest], CONFIDENCE) for config in configs}
    tied = [config for config, gap in gaps.items() if gap.low <= 0]
    close = [config for config in tied if math.expm1(gaps[config].centre) <= _NEGLIGIBLE]
    return min(close, key=lambda config: preference(config, code_bytes.get(config)))


def _contender(config: Config, times: Sequence[float], winner: Sequence[float]) -> Contender:
    time = centre(times, CONFIDENCE)
    gap = _gap(times, winner, CONFIDENCE)
    return Contender(
        config=config,
        time_s=math.exp(time.centre),
        low_s=math.exp(time.low),
        high_s=math.exp(time.high),
        slower=math.expm1(gap.centre),
        slower_low=math.expm1(gap.low),
        slower_high=math.expm1(gap.high),
        rounds=len(times),
    )
