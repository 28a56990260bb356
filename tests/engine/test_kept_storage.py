"""Where a capture's studies are, from whichever folder it is tuned."""

from __future__ import annotations

from pathlib import Path

import pytest
from capture_files import CaptureFile
from small_captures import add_to

from engine.programs.captured import _keep_tuned
from engine.programs.kept_storage import kept_storage
from engine.study.location import DEFAULT_STORAGE
from kernels.captured.task_file import read_capture


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / DEFAULT_STORAGE
    path.parent.mkdir()
    path.touch()
    return path


def test_studies_stay_where_the_first_run_kept_them(
    capture: CaptureFile, journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_to(capture)
    for _ in range(2):
        assert kept_storage(capture.path, DEFAULT_STORAGE) == DEFAULT_STORAGE
    assert capture.path.read_text().count("tuned") == 1
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    assert kept_storage(capture.path, DEFAULT_STORAGE) == f"../{DEFAULT_STORAGE}"
    again = CaptureFile(other / "again.capture")
    _keep_tuned(again.path, read_capture(capture.path))
    assert kept_storage(again.path, DEFAULT_STORAGE) == f"../{DEFAULT_STORAGE}"
    journal.unlink()  # as where only the capture was copied
    assert kept_storage(capture.path, DEFAULT_STORAGE) == DEFAULT_STORAGE


def test_a_storage_that_is_named_is_used_and_kept(
    capture: CaptureFile, journal: Path, tmp_path: Path
) -> None:
    add_to(capture)
    kept_storage(capture.path, DEFAULT_STORAGE)
    mine = tmp_path / "mine.journal"
    mine.touch()
    assert kept_storage(capture.path, "mine.journal") == "mine.journal"
    assert kept_storage(capture.path, DEFAULT_STORAGE) == "mine.journal"
    address = "postgresql://me:secret@host/db"
    assert kept_storage(capture.path, address) == address
    assert "secret" not in capture.path.read_text()
