"""The folders of Ray's sessions: those of dead programs are removed, and no others."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from engine.workers import ray_session

pytestmark = pytest.mark.timeout(30)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_folder_that_is_held_is_left_alone(tmp_path: Path) -> None:
    folder, held = ray_session._new_folder()
    left_behind = Path(tempfile.mkdtemp(prefix=ray_session._FOLDER_PREFIX))
    ray_session._remove_left_behind()
    assert (folder.exists(), left_behind.exists()) == (True, False)
    os.close(held)
    ray_session._remove_left_behind()
    assert not folder.exists()


def test_what_others_put_in_the_place_of_a_folder_is_passed_over(tmp_path: Path) -> None:
    """To open a FIFO without a writer would wait for ever."""
    os.mkfifo(tmp_path / f"{ray_session._FOLDER_PREFIX}fifo")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"{ray_session._FOLDER_PREFIX}link").symlink_to(elsewhere)
    ray_session._remove_left_behind()
    assert elsewhere.exists()


@pytest.mark.parametrize("swept_when", ["made", "opened"])
def test_a_folder_that_is_swept_before_it_is_held_is_made_again(
    swept_when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program starts between the making of a folder and its lock."""
    swept: list[Path] = []

    def sweep() -> None:
        if not swept:
            swept.extend(Path(tempfile.gettempdir()).iterdir())
            ray_session._remove_left_behind()

    def then_swept(function: Any) -> Any:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            result = function(*arguments, **options)
            sweep()
            return result

        return wrapped

    module, name = (tempfile, "mkdtemp") if swept_when == "made" else (os, "open")
    monkeypatch.setattr(module, name, then_swept(getattr(module, name)))
    folder, held = ray_session._new_folder()
    assert len(swept) == 1
    assert not swept[0].exists()
    assert folder.exists()
    os.close(held)
