"""Every script of benchmarks/ prints its help, and starts nothing for it."""

from __future__ import annotations

import os
import runpy
import sys
from unittest import mock

import pytest
from documents import REPOSITORY

SCRIPTS = sorted(
    path.relative_to(REPOSITORY / "benchmarks")
    for path in (REPOSITORY / "benchmarks").rglob("*.py")
    if '__name__ == "__main__"' in path.read_text()
)


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_a_script_prints_its_help(script, monkeypatch, capsys):
    path = REPOSITORY / "benchmarks" / script
    monkeypatch.syspath_prepend(path.parent)
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    with mock.patch.dict(os.environ), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert not ended.value.code
    assert capsys.readouterr().out.startswith(f"usage: {script.name} ")
