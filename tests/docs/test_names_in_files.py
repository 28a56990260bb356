"""Files are where they are said to be, and so is what is in them: "`name` in `folder/file.py`"."""

from __future__ import annotations

import re

import pytest
from documents import REPOSITORY

_NAMES = re.compile(r"((?:`[\w.]+`(?:, | and )?)+)(?: of `\w+`)? in `([\w/]+\.(?:py|c|h|toml))`")


def _missing(text: str) -> list[str]:
    """Names that are not in the file that a text gives; of files that are named in full."""
    found = []
    for names, path in _NAMES.findall(text):
        file = REPOSITORY / path
        if file.is_file():
            words = set(re.findall(r"\w+", file.read_text(encoding="utf-8")))
            parts = [part for name in re.findall(r"`([\w.]+)`", names) for part in name.split(".")]
            found += [f"{part} in {path}" for part in parts if part not in words]
    return found


@pytest.mark.parametrize("page", ["contributing/architecture.md", "reference/source_map.md"])
def test_names_are_in_their_files(page):
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    assert len(_NAMES.findall(text)) > 10
    assert _missing(text) == []


def test_a_name_that_is_not_there_is_found():
    text = "`_resize` and `no_such` in `triton_rvv/lowering/math/casts.py`"
    assert _missing(text) == ["no_such in triton_rvv/lowering/math/casts.py"]


_PATH = re.compile(r"`(\w+/[\w/]+\.(?:py|c|h|md))`")


def _not_there(text: str, files: list[str]) -> list[str]:
    """Paths that end none of the files', though they name a folder."""
    return [path for path in _PATH.findall(text) if not any(f"/{path}" in each for each in files)]


def test_files_that_comments_of_the_compiler_name_are_there():
    parts = ("benchmarks", "docs", "engine", "launchers", "rvv_runner", "tests", "triton_rvv")
    files = [str(path) for part in parts for path in (REPOSITORY / part).rglob("*.*")]
    sources = sorted((REPOSITORY / "triton_rvv").rglob("*.py"))
    found = {path.name: _not_there(path.read_text(encoding="utf-8"), files) for path in sources}
    assert {name: paths for name, paths in found.items() if paths} == {}
    assert _not_there("`lowering/commutative.py`", files) == ["lowering/commutative.py"]
