"""The valid configurations of a space, all of them if possible, and what each rule removed.

Each rule is evaluated once for each combination of the parameters that it reads, and the answers
are kept in a table. Which parameters it reads is found by letting it read. Configurations are then
built up one parameter at a time, as a whole array, and dropped as soon as a table forbids them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from foundation.config import Config, ParameterValue
from search_spaces.space import Parameter, Rule, SearchSpace

__all__ = ["Census", "broken", "take_census"]

Ranks = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Maximum number of rows of the array; if there would be more, _DRAWN_ROWS are drawn at random.
_MOST_ROWS = 2_000_000
_DRAWN_ROWS = 100_000

# Maximum size of a rule's table. A rule that reads more combinations is evaluated row by row.
_LARGEST_TABLE = 200_000


@dataclass(frozen=True)
class Census:
    """The valid configurations of a space, and counts.

    Args:
        ranks: shape (configurations, parameters), the valid configurations in the space's order;
            for each parameter, the position of its value among its values.
        combinations: number of combinations of values, valid or not.
        valid: number of valid ones; an estimate unless `is_complete`.
        removed: number of combinations that each rule removed, by its name; a combination counts
            for only one of the rules that forbid it. Estimates unless `is_complete`.
        is_complete: whether `ranks` holds every valid configuration, or a random sample of them.
    """

    ranks: Ranks
    combinations: int
    valid: int
    removed: Mapping[str, int]
    is_complete: bool


def take_census(space: SearchSpace) -> Census:
    """Find the valid configurations of a space; deterministic."""
    if space.members is not None:
        return _of_members(space)
    judges = [_Judge(rule, space) for rule in space.constraints]
    judges.sort(key=lambda judge: judge.is_slow)
    counts = [len(parameter.values) for parameter in space.parameters]
    rng = np.random.default_rng(0)
    rows, each = np.zeros((1, 0), dtype=np.int64), 1.0
    removed: Counter[str] = Counter()
    for column, count in enumerate(counts):
        rows = _with_next_column(rows, count)
        behind = math.prod(counts[column + 1 :])
        for judge in judges:
            if judge.last_column == column:
                # One more parameter may multiply the rows, and a slow judge evaluates each of them.
                rows, each = _thinned(rows, each, 1, rng) if judge.is_slow else (rows, each)
                kept = judge.allowed(rows)
                removed[judge.name] += round(int((~kept).sum()) * behind * each)
                rows = rows[kept]
        rows, each = _thinned(rows, each, counts[column + 1] if behind > 1 else 1, rng)
    found = {name: number for name, number in removed.items() if number}
    return Census(rows, math.prod(counts), round(len(rows) * each), found, is_complete=each == 1)


def _with_next_column(rows: Ranks, count: int) -> Ranks:
    """Each row, extended by each rank of one more parameter."""
    ranks = np.tile(np.arange(count), len(rows))
    return np.column_stack([np.repeat(rows, count, axis=0), ranks])


def _thinned(
    rows: Ranks, each: float, growth: int, rng: np.random.Generator
) -> tuple[Ranks, float]:
    """A random sample of the rows if there are too many, or were before.

    Args:
        rows: in order, and so is the sample.
        each: how many combinations one row stands for.
        growth: factor by which the rows will grow next.
        rng: random generator.

    Returns:
        The rows, and how many combinations one of them stands for.
    """
    limit = _MOST_ROWS // growth if each == 1 else _DRAWN_ROWS
    if len(rows) <= limit:
        return rows, each
    chosen = np.sort(rng.choice(len(rows), size=_DRAWN_ROWS, replace=False))
    return rows[chosen], each * len(rows) / _DRAWN_ROWS


def _of_members(space: SearchSpace) -> Census:
    members = space.members or frozenset()
    names = [parameter.name for parameter in space.parameters]
    places = [{value: rank for rank, value in enumerate(p.values)} for p in space.parameters]
    listed = sorted(
        [place[member[name]] for name, place in zip(names, places, strict=True)]
        for member in members
    )
    rows = np.array(listed, dtype=np.int64).reshape(len(listed), len(names))
    removed: Counter[str] = Counter()
    for rule in space.constraints:
        kept = _Judge(rule, space).allowed(rows)
        removed[rule.name] += int((~kept).sum())
        rows = rows[kept]
    found = {name: number for name, number in removed.items() if number}
    return Census(rows, len(listed), len(rows), found, is_complete=True)


def broken(rules: Sequence[Rule], space: SearchSpace, ranks: Ranks) -> npt.NDArray[np.int64]:
    """For each row of ranks, how many of the rules it violates."""
    counts = np.zeros(len(ranks), dtype=np.int64)
    for rule in rules:
        counts += ~_Judge(rule, space).allowed(ranks)
    return counts


class _Judge:
    """A rule as a table over the parameters that it reads.

    Attributes:
        name: the rule's name.
        last_column: the last parameter that must be known to judge.
        is_slow: whether it has no table and evaluates the rule row by row.
    """

    def __init__(self, rule: Rule, space: SearchSpace) -> None:
        parameters = space.parameters
        self.name = rule.name
        self._rule = rule
        self._space = space
        self._table: Flags | None = None
        self._spared: Config | None = None
        self._columns = _columns_read(rule, parameters)
        self.is_slow = self._columns is None
        if self._columns is None:
            self.last_column = len(parameters) - 1
            return
        read = [parameters[column] for column in self._columns]
        answers = [bool(rule.allows(partial)) for partial in _partials(read, parameters)]
        self._table = np.array(answers).reshape([len(parameter.values) for parameter in read])
        self.last_column = max(self._columns, default=0)
        if rule.spares is not None and not rule.allows(rule.spares):
            self._spared = rule.spares
            self.last_column = len(parameters) - 1  # all parameters identify the spared one

    def allowed(self, rows: Ranks) -> Flags:
        """For each row of ranks of the first parameters, whether the rule allows it."""
        if self._table is None or self._columns is None:
            verdicts = (self._rule.forbids(self._space.config_of(row)) for row in rows.tolist())
            return ~np.fromiter(verdicts, dtype=bool, count=len(rows))
        allowed: Flags = self._table[tuple(rows[:, column] for column in self._columns)]
        if self._spared is not None:
            allowed = allowed | self._is_spared(rows, self._spared)
        return np.broadcast_to(allowed, len(rows))

    def _is_spared(self, rows: Ranks, spared: Config) -> Flags:
        wanted = [
            parameter.values.index(spared[parameter.name])
            if spared[parameter.name] in parameter.values
            else -1
            for parameter in self._space.parameters
        ]
        result: Flags = (rows == wanted).all(axis=1)
        return result


def _columns_read(rule: Rule, parameters: Sequence[Parameter]) -> list[int] | None:
    """The columns of the parameters that a rule reads; None if there are too many."""
    columns: list[int] = []
    while math.prod(len(parameters[column].values) for column in columns) <= _LARGEST_TABLE:
        try:
            for partial in _partials([parameters[column] for column in columns], parameters):
                rule.allows(partial)
        except _NotKnownYetError as unknown:
            columns = sorted([*columns, unknown.column])
        else:
            return columns
    return None


def _partials(read: Sequence[Parameter], parameters: Sequence[Parameter]) -> Iterator[_Partial]:
    """Every combination of some parameters; the others are not known yet."""
    columns = {parameter.name: column for column, parameter in enumerate(parameters)}
    names = [parameter.name for parameter in read]
    for values in itertools.product(*(parameter.values for parameter in read)):
        yield _Partial(dict(zip(names, values, strict=True)), columns)


class _NotKnownYetError(BaseException):
    """A rule read a parameter without a value yet; a BaseException, so that no rule catches it."""

    def __init__(self, column: int) -> None:
        super().__init__(column)
        self.column = column


class _Partial(Config):
    """A configuration that reports the first unknown parameter that is read."""

    __slots__ = ("_columns",)

    def __init__(self, values: Mapping[str, ParameterValue], columns: Mapping[str, int]) -> None:
        super().__init__(values)
        self._columns = columns

    def __getitem__(self, name: str) -> ParameterValue:
        if name in self._columns and name not in self._values:
            self._tell(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(self) == dict(other)

    def __hash__(self) -> int:
        return hash(Config(dict(self)))

    def __str__(self) -> str:
        return str(Config(dict(self)))

    def _tell(self, name: str) -> NoReturn:
        raise _NotKnownYetError(self._columns[name])
