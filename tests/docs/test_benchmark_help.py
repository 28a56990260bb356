"""Every script of benchmarks/ prints its help, starts nothing for it, and knows its kernels."""

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


@pytest.mark.parametrize("name", ["bench_code_speed", "bench_hand", "pass_effects"])
def test_a_kernel_that_there_is_not_ends_a_script_in_a_sentence(name, monkeypatch, capsys):
    path = REPOSITORY / "benchmarks" / "compiler" / f"{name}.py"
    monkeypatch.syspath_prepend(path.parent)
    monkeypatch.setattr(sys, "argv", [str(path), "no_such"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 2
    assert "error: there is no kernel no_such: " in capsys.readouterr().err
