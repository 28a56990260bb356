"""Some random kernels against NumPy, the same ones each time; `make fuzz` tries others."""

from __future__ import annotations

import pytest
from fuzz import EMULATED, kernels
from fuzz_worker import Worker

pytestmark = pytest.mark.timeout(250)


@pytest.mark.parametrize(("targets", "examples"), [(["host"], 20), (EMULATED, 12)])
def test_random_kernels(targets, examples):
    worker = Worker()
    try:
        test, _ = kernels(targets, worker, number=2, left_s=250, examples=examples)
        test()
    finally:
        worker.close()
