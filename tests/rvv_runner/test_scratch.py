"""Folders of single runs: a killed process's is removed by the next, a living one's is not."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from rvv_runner.scratch import remove_left_behind, scratch_folder

KILLED = """
import os
from rvv_runner.scratch import scratch_folder
with scratch_folder("tried") as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_leaves_is_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED],
        env={"TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    left = Path(killed.stdout.strip())
    assert (left / "file").exists()
    other = tmp_path / "tried-others"
    other.mkdir()
    with scratch_folder("tried") as mine:
        remove_left_behind("tried")
        assert mine.is_dir()
    assert list(tmp_path.iterdir()) == [other]
