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


@pytest.fixture(autouse=True)
def own_process(monkeypatch):
    """A script handles signals and chooses processors for its whole process, which goes on here."""
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("os.sched_setaffinity", lambda *_: None)


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_a_script_prints_its_help(script, monkeypatch, capsys):
    path = REPOSITORY / "benchmarks" / script
    monkeypatch.syspath_prepend(path.parent)
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    with mock.patch.dict(os.environ), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert not ended.value.code
    assert capsys.readouterr().out.startswith(f"usage: {script.name} ")


@pytest.mark.parametrize(
    ("script", "words", "sentence"),
    [
        ("compiler/bench_code_speed.py", "no_such", "there is no kernel no_such: "),
        ("compiler/bench_hand.py", "no_such", "there is no kernel no_such: "),
        ("compiler/pass_effects.py", "no_such", "there is no kernel no_such: "),
        ("compiler/pass_effects.py", "no_such.py", "no_such.py"),
        ("compiler/bench_build.py", "no_such", "there is no kernel named no_such: "),
        ("boards/bench_family.py", "no_such", "there is no kernel named no_such: "),
        ("boards/bench_family.py", "--device host", "host has no family of models: "),
        (
            "boards/bench_calibration.py",
            "no_such",
            "there is no emulated core named emulated:no_such: ",
        ),
        ("boards/bench_calibration.py", "x60:one", "the seed of x60 must be a whole number"),
        ("search/bench_robust.py", "--trials 0", "--trials: must be a positive integer"),
    ],
)
def test_a_name_that_there_is_not_ends_a_script_in_a_sentence(
    script, words, sentence, monkeypatch, capsys
):
    path = REPOSITORY / "benchmarks" / script
    monkeypatch.syspath_prepend(path.parent)
    monkeypatch.setattr(sys, "argv", [str(path), *words.split()])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
