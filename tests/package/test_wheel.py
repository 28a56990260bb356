"""The wheel, in an environment that has the dependencies and not these sources, tunes a kernel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(600)

REPOSITORY = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
FOUND = SETTINGS["tool"]["setuptools"]["packages"]["find"]["include"]
PACKAGES = [pattern.removesuffix("*") for pattern in FOUND]
INSTALL_LIMIT_S = 200
TUNE_LIMIT_S = 240


def run(
    *words: str | Path, folder: Path, limit_s: float = INSTALL_LIMIT_S
) -> subprocess.CompletedProcess[str]:
    """Run in a folder, without the variables that lead to these sources."""
    environment = {name: os.environ[name] for name in os.environ if name != "PYTHONPATH"}
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def pip(*words: str | Path, folder: Path) -> None:
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", *words, folder=folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, since building leaves files behind."""
    sources = tmp_path_factory.mktemp("sources")
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / package, sources / package, ignore=ignored)
    for name in ("pyproject.toml", SETTINGS["project"]["readme"], "LICENSE"):
        shutil.copy(REPOSITORY / name, sources)
    # Without isolation setuptools is the one that is here, and nothing is downloaded.
    pip("wheel", ".", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", folder=sources)
    (built,) = (sources / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, which sees this one's packages behind its own."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder)
    python = folder / "bin" / "python"
    pip("--python", python, "install", "--no-deps", "--no-index", wheel, folder=folder)
    # A plain line: the .pth files over there, which find the sources, are not read.
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder


def test_every_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    files = {
        str(path.relative_to(REPOSITORY))
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "triton_rvv/codegen/drop_debug.ld" in files
    assert files - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_the_console_script_prints_its_version(environment: Path, tmp_path: Path) -> None:
    done = run(environment / "bin" / "rvv-tune", "--version", folder=tmp_path, limit_s=200)
    assert done.stdout == f"{SETTINGS['project']['version']}\n"
    assert done.stderr == ""


def test_nothing_comes_from_the_sources(environment: Path, tmp_path: Path) -> None:
    show = f"import {', '.join(PACKAGES)}; print(*({', '.join(PACKAGES)}), sep='\\n')"
    done = run(environment / "bin" / "python", "-c", show, folder=tmp_path, limit_s=200)
    assert len(done.stdout.splitlines()) == len(PACKAGES)
    assert all(str(environment) in line for line in done.stdout.splitlines())


@pytest.mark.long
def test_it_tunes_to_a_winner(environment: Path, tmp_path: Path) -> None:
    rvv_tune = environment / "bin" / "rvv-tune"
    arguments = ("tune", "vector_add", "--trials", "2", "--jobs", "1", "--json")
    done = run(rvv_tune, *arguments, folder=tmp_path, limit_s=TUNE_LIMIT_S)
    record = json.loads(done.stdout)
    assert record["statuses"] == {"correct": 2}
    assert record["winner"]["time_s"] > 0
    assert (tmp_path / record["winner"]["elf_path"]).is_file()
