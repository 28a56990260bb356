"""Outputs that are wrong in every element point at the reference."""

from __future__ import annotations

import pytest

from engine.run.wrong_everywhere import note_on_reference, note_on_reference_of_one
from engine.study.stored_trial import StoredTrial
from foundation.config import Config
from rvv_runner.measurement import Status

EVERYWHERE = "c[0] is 1 and should be 2; 64 of 64 are wrong"
SOMEWHERE = "c[0] is 1 and should be 2; 60 of 64 are wrong"


def trials(*outcomes: tuple[Status, str]) -> list[StoredTrial]:
    return [
        StoredTrial(number, Config({"BLOCK": number}), status, attributes={"reason": reason})
        for number, (status, reason) in enumerate(outcomes)
    ]


@pytest.mark.parametrize(
    ("outcomes", "is_noted"),
    [
        ([("wrong", EVERYWHERE), ("wrong", EVERYWHERE), ("compile", "no")], True),
        ([("wrong", EVERYWHERE), ("wrong", SOMEWHERE)], False),
        ([("wrong", EVERYWHERE), ("wrong", EVERYWHERE), ("correct", "")], False),
        ([("wrong", EVERYWHERE)], False),
        ([("compile", "no"), ("compile", "no")], False),
    ],
)
def test_the_reference_is_doubted(outcomes: list[tuple[Status, str]], is_noted: bool) -> None:
    assert bool(note_on_reference(trials(*outcomes), is_own=True)) == is_noted
    assert note_on_reference(trials(*outcomes), is_own=False) == ()


def test_one_configuration_alone_is_a_hint() -> None:
    assert "perhaps the expected output" in note_on_reference_of_one(EVERYWHERE, is_own=True)[0]
    assert note_on_reference_of_one(SOMEWHERE, is_own=True) == ()
    assert note_on_reference_of_one(EVERYWHERE, is_own=False) == ()
