"""What all tests share: one Ray, GPUs that are missing, tests that hang, how much is left, and what
their processes do about garbage and threads."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from end_of_tests import EndOfTests
from left_to_do import LeftToDo

# With the sitecustomize of processes that tests start.
STARTED = str(Path(__file__).parent / "started")
# Allocations from one look for young garbage to the next, as there. Python's own 700 take a sixth
# of the time of tests that compile.
GARBAGE_AFTER = 100_000


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a GPU where there is none."""
    if item.get_closest_marker("gpu") is None:
        return
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU that torch can use: run `make gpu` on a machine with one")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without looking for cycles, then or later: what is made here stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(GARBAGE_AFTER)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that share a Ray first: with `--dist worksteal`, one process then has them all.

    Each process with a Ray pays for its start, for builders and boards that import torch, and until
    its end for what Ray does when idle, a twenty-fifth of a core.
    """
    items.sort(key=lambda item: "ray_for_tests" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def ray_for_tests() -> Iterator[None]:
    """One Ray for all tests of a process, since starting it takes seconds."""
    # Imported late: tests that need no Ray should not wait for it.
    from engine.workers.ray_session import ray_session

    with pytest.MonkeyPatch.context() as environment:
        # Where workers find the fakes.
        environment.setenv("PYTHONPATH", str(Path(__file__).parent / "engine"), prepend=os.pathsep)
        with ray_session(cpus=2):
            yield


def pytest_configure(config: pytest.Config) -> None:
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if STARTED not in paths:  # as in a process of pytest-xdist
        os.environ["PYTHONPATH"] = os.pathsep.join([STARTED, *filter(None, paths)])
    # Else torch's threads that wait for work use the processors that other tests need, an eighth of
    # the time of tests that check kernels. Torch is imported later.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    config.pluginmanager.register(EndOfTests(config))
    if not hasattr(config, "workerinput"):  # in the process that hears of all tests
        config.pluginmanager.register(LeftToDo(config))


def pytest_unconfigure() -> None:
    gc.freeze()  # or this process would look through everything several times at its end
