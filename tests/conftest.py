"""What all tests share: GPUs that are missing, tests that cannot be ended, how much is left."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from end_of_tests import EndOfTests
from left_to_do import LeftToDo


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a GPU where there is none."""
    if item.get_closest_marker("gpu") is None:
        return
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU that torch can use: run `make gpu` on a machine with one")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without looking for cycles among them: what is made here stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(EndOfTests(config))
    if not hasattr(config, "workerinput"):  # in the process that hears of all tests
        config.pluginmanager.register(LeftToDo(config))
