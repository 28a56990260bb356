"""One runner of kernels for all tests of the compiler, so that nothing is built twice; the host as
Triton's driver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import triton
from qemu_kernels import KernelRunner

import triton_rvv


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> KernelRunner:
    return KernelRunner(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="module")
def on_host() -> Iterator[None]:
    """The host is Triton's driver during a module's tests; its number of threads comes back."""
    driver, threads = triton.runtime.driver, triton_rvv.num_threads()
    before = driver._active
    triton_rvv.activate("host")
    yield
    driver._active = before
    triton_rvv.set_num_threads(threads)
