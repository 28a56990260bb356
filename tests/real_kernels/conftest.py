"""Runs the kernels of real packages, and counts which of them ran right.

`make test-real REAL_KERNELS=folder` names a folder with packages, as pip would install them; a file
of tests whose package is not there is skipped. `TRITON_RVV_TARGET` chooses where kernels run.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Generator, Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
from partial_packages import PartialPackage

FOLDER_VARIABLE = "REAL_KERNELS"

# They take minutes and need packages that few have, so that they are not part of `make test`.
collect_ignore_glob = [] if FOLDER_VARIABLE in os.environ else ["test_*.py"]

# Packages and kernels that were launched by a test that passed, and by one that failed.
_RIGHT: set[tuple[str, ...]] = set()
_WRONG: set[tuple[str, ...]] = set()

_LAUNCHED = pytest.StashKey[Any]()


@pytest.fixture(scope="session")
def _packages() -> None:
    """The folder of packages on Python's path, and the target that runs kernels."""
    sys.path.append(os.environ[FOLDER_VARIABLE])
    import triton_rvv

    triton_rvv.activate(os.environ.get("TRITON_RVV_TARGET") or "host")


@pytest.fixture(scope="module")
def load(request: pytest.FixtureRequest, _packages: None) -> Iterator[Callable[[str], ModuleType]]:
    """Imports a module of the package that the test file's `PACKAGE` describes or names."""
    package = request.module.PACKAGE
    name = package.name if isinstance(package, PartialPackage) else package
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed, nor in {os.environ[FOLDER_VARIABLE]}")
    if isinstance(package, PartialPackage):
        sys.meta_path.insert(0, package)
    yield importlib.import_module
    if isinstance(package, PartialPackage):
        sys.meta_path.remove(package)


@pytest.fixture(autouse=True)
def _noted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Note the kernels that a test launches, under the name of its package."""
    from triton.runtime.jit import JITFunction

    package = request.module.PACKAGE
    name = package.name if isinstance(package, PartialPackage) else package
    launched = request.node.stash.setdefault(_LAUNCHED, set())
    run = JITFunction.run

    def noting(kernel: Any, *arguments: Any, **named: Any) -> Any:
        launched.add((name, f"{kernel.fn.__module__}.{kernel.__name__}"))
        return run(kernel, *arguments, **named)

    monkeypatch.setattr(JITFunction, "run", noting)
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _untuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `triton.autotune` take the first configuration: each of them would have to be right."""
    from triton.runtime.autotuner import Autotuner

    run = Autotuner.run

    def first(tuner: Any, *arguments: Any, **named: Any) -> Any:
        tuner.nargs = dict(zip(tuner.arg_names, arguments, strict=False))
        tuner.configs = tuner.prune_configs(named)[:1]
        return run(tuner, *arguments, **named)

    monkeypatch.setattr(Autotuner, "run", first)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        report.user_properties.append(("kernels", sorted(item.stash.get(_LAUNCHED, ()))))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for name, kernels in report.user_properties if report.when == "call" else ():
        if name == "kernels" and isinstance(kernels, list):
            (_RIGHT if report.passed else _WRONG).update(map(tuple, kernels))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _RIGHT | _WRONG:
        return
    terminalreporter.section("real kernels")
    for package in sorted({package for package, _ in _RIGHT | _WRONG}):
        right = {kernel for name, kernel in _RIGHT if name == package}
        wrong = {kernel for name, kernel in _WRONG - _RIGHT if name == package}
        terminalreporter.write_line(f"{package}: {len(right)} kernels ran right, {len(wrong)} not")
    terminalreporter.write_line(f"all: {len(_RIGHT)} kernels ran right")
