"""A few kills of the campaign whose tally is in docs/notes/reliability_campaigns.md."""

from __future__ import annotations

import random

import pytest
from kill_campaign import STORAGES, Tally, campaign, storage_campaign

pytestmark = pytest.mark.long


def bad(tally: Tally) -> tuple[int, ...]:
    return (tally.lost, tally.twice, tally.wrong, tally.processes, tally.files, tally.tracebacks)


@pytest.mark.parametrize("kind", STORAGES)
def test_processes_that_ask_and_tell(kind: str) -> None:
    tally = storage_campaign(kind, 20, random.Random(3))
    assert tally.kills == 20
    assert tally.measured > 0
    assert bad(tally) == (0,) * 6


@pytest.mark.parametrize("kind", STORAGES)
def test_tuners(kind: str) -> None:
    tally = campaign(kind, 5, 150, random.Random(3))
    assert tally.kills > 0
    assert bad(tally) == (0,) * 6, "\n".join(tally.notes)
