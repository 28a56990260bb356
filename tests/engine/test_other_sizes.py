"""A kernel that is right at its tuned sizes alone is not called good, wherever results go."""

from __future__ import annotations

from dataclasses import replace

import pytest

import engine
from engine.results.advice import advice
from engine.run.later_runs import elsewhere
from engine.run.request import SearchOptions, TuningRequest, WorkOptions
from engine.run.stored_summary import stored_summary
from engine.run.tuning import tune
from engine.study.storage import read_studies
from engine.winners.lookup import NotTunedError
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from kernels.spec import UNTRIED_SIZES, Problem

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def twice_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=MASK), mask=MASK)


def get_twice_kernel_autotune_config():
    return [triton.Config({"BLOCK": block}) for block in (64, 16, 32, 128)]


def arguments(N=256):
    return {"x_ptr": torch.randn(N), "y_ptr": torch.empty(N), "N": N}


def grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def reference(x_ptr):
    return {"y_ptr": 2 * x_ptr}
"""
WRONG = "=64 is right at N=256 and wrong at N=171: it touched x_ptr["


@pytest.mark.parametrize("mask", ["at < N", "at >= 0"])
def test_a_kernel_without_its_mask_is_not_called_good(mask, tmp_path, monkeypatch, workers_here):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "twice.py"
    file.write_text(KERNEL.replace("MASK", mask))
    search, work = SearchOptions(trials=1), WorkOptions(jobs=1)
    result = tune(TuningRequest(str(file), devices=("host",), search=search, work=work), [])
    said = advice(result.summary)
    (stored,) = read_studies(result.storage)
    kept = advice(stored_summary(stored, list(stored.changes())))
    found = str(engine.lookup(str(file), device="host", storage=result.storage))
    is_wrong = mask != "at < N"
    for text in (said, kept, found):
        assert ("Do not use it at other sizes: BLOCK" + WRONG in text) == is_wrong
    if not is_wrong:
        assert engine.lookup(str(file), device="host", storage=result.storage, N=250).config
        return
    with pytest.raises(NotTunedError, match="serves N=250, since it is wrong at other sizes than"):
        engine.lookup(str(file), device="host", storage=result.storage, N=250)


def test_a_misspelt_name_ends_a_study_at_once(tmp_path, monkeypatch, workers_here):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "twice.py"
    file.write_text(KERNEL.replace("MASK", "at < N").replace("2 * tl.load", "tl.expz(2) * tl.load"))
    search, work = SearchOptions(trials=4), WorkOptions(jobs=1)
    request = TuningRequest(str(file), devices=("host",), search=search, work=work)
    line = file.read_text()[: file.read_text().index("tl.expz")].count("\n") + 1
    said = f"twice.py:{line}: .* has no attribute 'expz'.*; the first 2 configurations fail there"
    for _ in range(2):  # and when it is resumed
        with pytest.raises(UserError, match=said):
            tune(request, [])
    (stored,) = read_studies(request.study.storage)
    assert [trial.status for trial in stored.changes()].count("compile") == 2


def test_other_sizes_are_tried_beside_each_shape_of_a_study(tmp_path):
    file = tmp_path / "twice.py"
    file.write_text(KERNEL.replace("MASK", "at < N"))
    made = make_problem(load_kernel(str(file)), {})

    def beside(said: dict[int, str]) -> list[Problem]:
        """A study's problems by their size, and what trying other sizes beside each tells."""
        spec = replace(made.spec, on_other_sizes=lambda problem, _: said[problem.shape["N"]])
        return [replace(made, spec=spec, shape={"N": size}) for size in said]

    untried, wrong = f"{UNTRIED_SIZES}, since it takes long", "wrong at N=9"
    config = made.default_config
    assert elsewhere(beside({8: "", 16: wrong, 32: ""}), config) == wrong
    assert elsewhere(beside({8: untried, 16: wrong}), config) == wrong
    assert elsewhere(beside({8: untried, 16: ""}), config) == ""
    assert elsewhere(beside({8: untried, 16: untried}), config) == untried


def test_a_winner_that_could_be_tried_nowhere_else_has_a_note(tmp_path, monkeypatch, workers_here):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "twice.py"
    refusing = "def reference(x_ptr):\n    assert len(x_ptr) == 256"
    file.write_text(KERNEL.replace("MASK", "at < N").replace("def reference(x_ptr):", refusing))
    search, work = SearchOptions(trials=1), WorkOptions(jobs=1)
    result = tune(TuningRequest(str(file), devices=("host",), search=search, work=work), [])
    assert any(note.startswith(UNTRIED_SIZES) for note in result.notes)
    assert not result.summary.wrong_elsewhere
    assert engine.lookup(str(file), device="host", storage=result.storage, N=250).config
