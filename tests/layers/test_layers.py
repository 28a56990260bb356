"""Imports point down: the contracts in pyproject.toml hold, and notice an import that does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts on the packages in a folder."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_imports_point_down() -> None:
    done = lint(REPOSITORY)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages and their contracts, in a folder that may be changed."""
    folder = tmp_path_factory.mktemp("packages")
    ignored = shutil.ignore_patterns("__pycache__", "recorded")
    for package in SETTINGS["root_packages"]:
        shutil.copytree(REPOSITORY / package, folder / package, ignore=ignored)
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    return folder


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("foundation/errors.py", "import kernels.registry"),
        pytest.param(
            "rvv_runner/check.py", "from engine.workers import artifacts", marks=pytest.mark.long
        ),
        pytest.param(
            "search_spaces/matmul.py", "from kernels.spec import KernelSpec", marks=pytest.mark.long
        ),
        pytest.param(
            "engine/study/trials.py",
            "from engine.run.loop import TuningLoop",
            marks=pytest.mark.long,
        ),
        ("engine/search/model/candidates.py", "from engine.search.samplers import grid"),
        pytest.param(
            "triton_rvv/frontend/ttir.py",
            "from triton_rvv.lowering import lower_module",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "triton_rvv/lowering/addresses/masks.py",
            "import triton_rvv.lowering.loops.wrapping",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "rvv_runner/board.py",
            "from rvv_runner.devices import load_board",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "kernels/values.py", "from kernels.spec import Problem", marks=pytest.mark.long
        ),
    ],
)
def test_an_import_up_is_noticed(copy: Path, file: str, line: str) -> None:
    before = (copy / file).read_text()
    (copy / file).write_text(f"{before}\n{line}\n")
    done = lint(copy)
    (copy / file).write_text(before)
    assert done.returncode == 1, done.stdout
    assert f"- {file.removesuffix('.py').replace('/', '.')} -> " in done.stdout
