"""Chooses few cases of a cross product; the others are `long`, so that the whole product stays."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet

__all__ = ["in_turn", "pairwise"]

Case = tuple[int, ...]


def pairwise(*parameters: Sequence[Any]) -> list[ParameterSet]:
    """The whole product, in which cases with every pair of values of two parameters are short.

    Args:
        parameters: three or more, with their values. A tuple gives several arguments of the test.
    """
    sizes = [range(len(values)) for values in parameters]
    if len(sizes) < 3:
        raise ValueError("pairs of two parameters are their whole product: use in_turn")
    cases = list(itertools.product(*sizes))
    missing = set().union(*map(_pairs, cases))
    short = set()
    while missing:
        best = max(cases, key=lambda case: len(missing.intersection(_pairs(case))))
        missing.difference_update(_pairs(best))
        short.add(best)
    return _marked(parameters, short)


def in_turn(
    *parameters: Sequence[Any], rounds: int = 1, turns: int | None = None
) -> list[ParameterSet]:
    """The whole product, in which cases with every value of each parameter are short.

    Each parameter takes its values in turn, until each has had all of them `rounds` times; in
    another round, values meet others.

    Args:
        parameters: as for `pairwise`.
        rounds: how often the longest parameter takes each of its values.
        turns: how many turns a round has, if fewer than the longest parameter has values.
    """
    sizes = [len(values) for values in parameters]
    short = {
        tuple((turn + number * place) % size for place, size in enumerate(sizes))
        for number in range(rounds)
        for turn in range(turns or max(sizes))
    }
    return _marked(parameters, short)


def _pairs(case: Case) -> set[tuple[tuple[int, int], ...]]:
    return set(itertools.combinations(enumerate(case), 2))


def _marked(parameters: Sequence[Sequence[Any]], short: Collection[Case]) -> list[ParameterSet]:
    marked = []
    for case in itertools.product(*(range(len(values)) for values in parameters)):
        chosen = [values[index] for values, index in zip(parameters, case, strict=True)]
        flat = itertools.chain(*(x if isinstance(x, tuple) else (x,) for x in chosen))
        marked.append(pytest.param(*flat, marks=() if case in short else pytest.mark.long))
    return marked
