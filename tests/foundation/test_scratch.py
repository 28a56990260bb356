"""Folders for work in progress: those of dead processes are removed, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from foundation import scratch
from foundation.scratch import held_folder, remove_left_behind, scratch_folder

PREFIX = "tried-"

KILLED = """
import os, sys
from pathlib import Path
from foundation.scratch import scratch_folder
with scratch_folder("tried-", Path(sys.argv[1])) as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_leaves_is_removed_by_the_next_and_nothing_else(
    tmp_path: Path,
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    left = Path(killed.stdout.strip())
    assert (left / "file").exists()
    other = tmp_path / "others"
    other.mkdir()
    held, descriptor = held_folder(PREFIX, tmp_path)
    with scratch_folder(PREFIX, tmp_path):
        assert not left.exists()
        remove_left_behind(PREFIX, tmp_path)
        assert len(list(tmp_path.iterdir())) == 3
    os.close(descriptor)
    remove_left_behind(PREFIX, tmp_path)
    assert not held.exists()
    assert list(tmp_path.iterdir()) == [other]


def test_a_folder_that_was_renamed_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with scratch_folder(PREFIX, tmp_path) as folder:
        (folder / "file").touch()
        folder.rename(kept)
    assert (kept / "file").exists()


def test_what_others_put_in_the_place_of_a_folder_is_passed_over(tmp_path: Path) -> None:
    """To open a FIFO without a writer would wait for ever."""
    os.mkfifo(tmp_path / f"{PREFIX}fifo")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    remove_left_behind(PREFIX, tmp_path)
    assert elsewhere.exists()


@pytest.mark.parametrize("swept_when", ["made", "opened"])
def test_a_folder_that_is_swept_before_it_is_held_is_made_again(
    swept_when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program starts between the making of a folder and its lock."""
    swept: list[Path] = []

    def then_swept(function: Any) -> Any:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            result = function(*arguments, **options)
            if not swept:
                swept.extend(tmp_path.iterdir())
                remove_left_behind(PREFIX, tmp_path)
            return result

        return wrapped

    module, name = (tempfile, "mkdtemp") if swept_when == "made" else (os, "open")
    monkeypatch.setattr(module, name, then_swept(getattr(module, name)))
    folder, held = scratch.held_folder(PREFIX, tmp_path)
    assert len(swept) == 1
    assert not swept[0].exists()
    assert folder.exists()
    os.close(held)
