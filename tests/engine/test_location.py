"""Where studies are stored, as it is shown."""

from __future__ import annotations

import pytest

from engine.study.location import shown_storage


@pytest.mark.parametrize(
    ("storage", "shown"),
    [
        ("studies/tuner.journal", "studies/tuner.journal"),
        ("a@b.journal", "a@b.journal"),
        ("sqlite:///studies/tuner.db", "sqlite:///studies/tuner.db"),
        ("postgresql://me@db/tuner", "postgresql://me@db/tuner"),
        ("postgresql+psycopg2://me:secret@db:5432/x", "postgresql+psycopg2://me:***@db:5432/x"),
        ("mysql://me:se@cret@db:port/x", "mysql://***"),
    ],
)
def test_a_password_is_not_shown(storage: str, shown: str) -> None:
    assert shown_storage(storage) == shown
