"""What the pages for developers say is in a file is there: "`name` in `folder/file.py`"."""

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
