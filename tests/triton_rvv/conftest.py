"""One runner of kernels for all tests of the compiler, so that nothing is built twice."""

from __future__ import annotations

import pytest
from qemu_kernels import KernelRunner


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> KernelRunner:
    return KernelRunner(tmp_path_factory.mktemp("kernels"))
