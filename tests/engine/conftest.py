"""The storages of studies."""

from __future__ import annotations

from pathlib import Path

import pytest
from capture_files import CaptureFile


@pytest.fixture(params=["journal", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    paths = {"journal": tmp_path / "t.journal", "sqlite": f"sqlite:///{tmp_path / 't.db'}"}
    return str(paths[request.param])


@pytest.fixture
def capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CaptureFile:
    """A file without launches, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return CaptureFile(tmp_path / "program.capture")
