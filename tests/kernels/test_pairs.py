"""The choice of cases by the tests themselves: what is short, and that nothing is lost."""

from __future__ import annotations

import itertools

import pytest
from _pytest.mark import ParameterSet
from pairs import in_turn, pairwise

LETTERS, DIGITS, SIGNS = "abcde", (1, 2, 3, 4), (("+", 0), ("-", 9))


def short(cases: list[ParameterSet]) -> list[tuple[object, ...]]:
    return [tuple(case.values) for case in cases if not case.marks]


def test_every_pair_of_values_is_in_a_short_case() -> None:
    cases = pairwise(LETTERS, DIGITS, SIGNS)
    assert len(short(cases)) == len(LETTERS) * len(DIGITS)  # no fewer have all pairs
    for letter, digit in itertools.product(LETTERS, DIGITS):
        assert any(case[:2] == (letter, digit) for case in short(cases))
    for value, sign in itertools.product((*LETTERS, *DIGITS), SIGNS):
        assert any(value in case and case[2:] == sign for case in short(cases))


def test_every_value_is_in_a_short_case_as_often_as_there_are_rounds() -> None:
    for rounds in (1, 2, 3):
        cases = short(in_turn(LETTERS, DIGITS, rounds=rounds))
        assert len(cases) == len(LETTERS) * rounds
        for value in (*LETTERS, *DIGITS):
            assert sum(value in case for case in cases) >= rounds


def test_a_round_may_have_fewer_turns() -> None:
    assert short(in_turn(LETTERS, DIGITS, turns=2)) == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("choice", [pairwise, in_turn])
def test_the_others_are_long(choice) -> None:
    cases = choice(LETTERS, DIGITS, SIGNS)
    whole = [(a, b, *c) for a, b, c in itertools.product(LETTERS, DIGITS, SIGNS)]
    assert [case.values for case in cases] == whole
    assert {mark.name for case in cases for mark in case.marks} == {"long"}


def test_two_parameters_have_no_pairs_to_leave_out() -> None:
    with pytest.raises(ValueError, match="use in_turn"):
        pairwise(LETTERS, DIGITS)
