"""What is told of a module's import, in programs that ask first whether the module is there."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

from triton_rvv.imports import before_import, when_imported


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "told_module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "told_module", raising=False)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    return "told_module"


def test_a_module_that_was_looked_for_is_told_once_it_is_imported(name: str) -> None:
    told: list[int] = []
    when_imported(name, lambda module: told.append(module.VALUE))
    for _ in range(2):
        assert importlib.util.find_spec(name) is not None
    assert not told
    importlib.import_module(name)
    assert told == [1]


def test_a_module_is_told_to_all_that_wait_for_it(name: str) -> None:
    told: list[str] = []
    when_imported(name, lambda module: told.append("first"))
    when_imported(name, lambda module: told.append("second"))
    importlib.import_module(name)
    assert sorted(told) == ["first", "second"]


def test_what_comes_before_an_import_comes_once(name: str) -> None:
    told: list[bool] = []
    before_import(name, lambda: told.append(name in sys.modules))
    assert importlib.util.find_spec(name) is not None
    importlib.import_module(name)
    assert told == [False]


def test_a_module_that_appears_later_is_told(tmp_path: Path, name: str) -> None:
    told: list[int] = []
    text = (tmp_path / "told_module.py").read_text()
    (tmp_path / "told_module.py").unlink()
    when_imported(name, lambda module: told.append(module.VALUE))
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)
    (tmp_path / "told_module.py").write_text(text)
    importlib.invalidate_caches()
    importlib.import_module(name)
    assert told == [1]
