"""The garbage collector rests while much is read, and only then."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from engine.study.storage import read_studies
from foundation.garbage import collecting_later


def test_it_is_as_before_after_the_block_however_that_ends() -> None:
    with collecting_later():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), collecting_later():
        raise KeyError
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with collecting_later():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_reading_a_storage_leaves_it_on(tmp_path: Path) -> None:
    (tmp_path / "t.journal").touch()
    assert read_studies(str(tmp_path / "t.journal")) == []
    assert gc.isenabled()
