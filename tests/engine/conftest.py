"""The storages of studies, and workers as threads."""

from __future__ import annotations

from collections.abc import Iterator
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


@pytest.fixture
def workers_here() -> Iterator[None]:
    """Builders and boards are threads of this process, and there is no Ray."""
    # Imported late, as it imports Ray.
    from workers_here import working_here

    with working_here():
        yield
