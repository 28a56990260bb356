"""Another package named kernels, as PyPI has one: one sentence says what to do about it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from foundation.foreign_kernels import PACKAGES as NAMES
from foundation.foreign_kernels import check_kernels

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("engine", "foundation", "kernels", "rvv_runner", "search_spaces", "triton_rvv")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with this program's packages, as an environment has it."""
    folder = tmp_path / "site-packages"
    for package in (*PACKAGES, "launchers"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / package, folder / package, ignore=ignored)
    return folder


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder with a package called kernels."""
    folder = tmp_path / "elsewhere"
    (folder / "kernels").mkdir(parents=True)
    (folder / "kernels" / "__init__.py").write_text("raise SystemExit('the foreign package ran')")
    return folder


def run(folder: Path, *words: str, path: tuple[Path, ...]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def commands(folder: Path) -> list[list[str]]:
    script = folder / "rvv-tune"
    script.write_text("from engine.__main__ import start\nstart()\n")
    return [["-m", "engine.tune", "--help"], ["-m", "engine"], [str(script), "tune", "--help"]]


def test_a_foreign_package_earlier_on_the_path(
    installed: Path, foreign: Path, tmp_path: Path
) -> None:
    for words in commands(tmp_path):
        done = run(tmp_path, *words, path=(foreign, installed))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            f"triton-rvv-tuner: the package kernels in {foreign} hides this program's own: if that "
            "is the current folder, run this in another; or run `pip uninstall kernels`\n"
        )


def test_a_foreign_package_in_the_current_folder(installed: Path, foreign: Path) -> None:
    done = run(foreign, "-m", "engine.tune", "--help", path=(installed,))
    assert done.returncode == 2
    assert f"the package kernels in {foreign} hides" in done.stderr


def test_an_import_raises_the_sentence(installed: Path, foreign: Path, tmp_path: Path) -> None:
    done = run(tmp_path, "-c", "import engine", path=(foreign, installed))
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: the package kernels in {foreign} hides this program's")


def test_both_in_one_folder_as_pip_leaves_them(installed: Path, tmp_path: Path) -> None:
    (installed / "kernels-0.17.2.dist-info").mkdir()
    for words in commands(tmp_path):
        done = run(tmp_path, *words, path=(installed,))
        assert done.returncode == 2
        assert done.stderr == (
            "triton-rvv-tuner: the package kernels of PyPI and this program have written into one "
            f"folder, {installed / 'kernels'}: run `pip uninstall kernels`, then install "
            "triton-rvv-tuner again with `pip install --force-reinstall --no-deps`\n"
        )


def test_files_that_went_with_the_foreign_package(installed: Path, tmp_path: Path) -> None:
    (installed / "kernels" / "__init__.py").unlink()
    done = run(tmp_path, "-m", "engine.tune", "--help", path=(installed,))
    assert done.returncode == 2
    assert f"{installed / 'kernels'} lacks files that were installed there" in done.stderr


def test_ours_is_taken_where_it_comes_first(installed: Path, foreign: Path, tmp_path: Path) -> None:
    for words in commands(tmp_path):
        assert run(tmp_path, *words, path=(installed, foreign)).returncode == 0


def test_a_plain_folder_in_front_of_an_editable_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's own finder takes the folder before the install's finder is asked."""
    (tmp_path / "kernels").mkdir()
    found = ModuleSpec("kernels", None, is_package=True)
    found.submodule_search_locations = [str(tmp_path / "kernels")]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    with pytest.raises(ImportError) as raised:
        check_kernels(REPOSITORY)
    assert str(raised.value) == (
        f"the folder {tmp_path / 'kernels'} hides this program's own kernels: run `rvv-tune`, "
        "which does not look there, or run this in another folder"
    )


def test_a_folder_beside_a_script(installed: Path, foreign: Path) -> None:
    (foreign / "mine.py").write_text("import engine\n")
    done = run(foreign, "mine.py", path=(installed,))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: the folder kernels beside {foreign / 'mine.py'} hides this program's own "
        "package of that name: give the folder another name"
    )


def test_a_module_in_a_folder_that_ours_hides(installed: Path, tmp_path: Path) -> None:
    """A folder without __init__.py, which Python takes last, in a script and in a user's file."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "mine.py").touch()
    (tmp_path / "script.py").write_text("import engine\nimport kernels.mine\n")
    done = run(tmp_path, "script.py", path=(installed,))
    sentence = (
        "no module kernels.mine: kernels is a package of triton-rvv-tuner, which hides the folder "
        f"{tmp_path / 'kernels'}: give the folder another name"
    )
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {sentence}"
    (tmp_path / "own.py").write_text("import kernels.mine\n")
    done = run(tmp_path / "kernels", "-m", "engine.space", "../own.py", path=(installed,))
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    (tmp_path / "script.py").write_text("import engine\nimport kernels.others\n")
    done = run(tmp_path, "script.py", path=(installed,))
    assert done.stderr.splitlines()[-1].endswith("No module named 'kernels.others'")


def test_each_package_is_among_the_names() -> None:
    ours = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    patterns = ours["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {pattern.removesuffix("*") for pattern in patterns} == NAMES
