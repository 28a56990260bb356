"""One runner of kernels for all tests of the compiler, so that nothing is built twice; the host as
Triton's driver; the IR verified after every pass; code in one order of its instructions."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Collection, Iterator
from typing import Any

import pytest
import triton
from qemu_kernels import KernelRunner

import triton_rvv
from triton_rvv.codegen import llvm
from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.lowering import BY_ESTIMATE
from triton_rvv.lowering.control import function
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.passes import PARSED, Fired, Watch, run_passes


@pytest.fixture(scope="session", autouse=True)
def verified_passes() -> Iterator[None]:
    """Whatever is compiled in these tests, its IR is whole after every pass that changes it."""

    def run_verified(kernel: Kernel, watch: Watch | None, skipped: Collection[str]) -> list[Fired]:
        def look(fired: Fired, module: Operation) -> None:
            if fired.count or fired.name == PARSED:
                verify(module)
            if watch is not None:
                watch(fired, module)

        return run_passes(kernel, look, skipped)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(function, "run_passes", run_verified)
        yield


_FASTER_ORDER = llvm._faster_order


@functools.lru_cache(maxsize=32)  # tests that ask for the same lie close together
def _one_order(optimised: str, machine: Any) -> llvm.MachineCode:
    order = ("topdown", "bidirectional")[zlib.crc32(optimised.encode()) % 2]
    return llvm._translated(optimised.replace(f'"{BY_ESTIMATE}"', f'"{order}"'), machine)


@pytest.fixture(autouse=True)
def one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that may have either order gets one, each in about half of the kernels.

    Which one is faster matters to no result, and to make both takes half as long again. Other
    folders' tests, which may run in the same process, get the faster one.
    """
    monkeypatch.setattr(llvm, "_faster_order", _one_order)


@pytest.fixture
def faster_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The faster order, as outside of these tests."""
    monkeypatch.setattr(llvm, "_faster_order", _FASTER_ORDER)


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
