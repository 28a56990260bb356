"""One Ray for all tests of the engine, since starting it takes seconds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def ray_for_tests() -> Iterator[None]:
    # Imported late: tests that need no Ray should not wait for it.
    from engine.workers.ray_session import ray_session

    with pytest.MonkeyPatch.context() as environment:
        # Where workers find the fakes.
        environment.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        with ray_session(cpus=2):
            yield


@pytest.fixture(params=["journal", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    paths = {"journal": tmp_path / "t.journal", "sqlite": f"sqlite:///{tmp_path / 't.db'}"}
    return str(paths[request.param])
