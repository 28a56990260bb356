"""The storages of studies."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["journal", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    paths = {"journal": tmp_path / "t.journal", "sqlite": f"sqlite:///{tmp_path / 't.db'}"}
    return str(paths[request.param])
