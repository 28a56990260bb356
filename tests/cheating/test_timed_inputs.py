"""The timed runs have inputs of their own, or the user is told why they have not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.registry import load_kernel, make_problem

FILE = """import torch
import triton
import triton.language as tl

@triton.heuristics({"FIRST": lambda given: HEURISTIC})
@triton.jit
def scaled_kernel(x_ptr, y_ptr, first, n, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, first * tl.load(x_ptr + at, mask=at < n), mask=at < n)

def get_scaled_kernel_autotune_config():
    return [triton.Config({"BLOCK": 64})]

def arguments():
    x = torch.rand(300)
    return {"x_ptr": x, "y_ptr": torch.empty(300), "first": float(x[0]), "n": COUNT}

def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)

def reference(x_ptr, first):
    return {"y_ptr": first * x_ptr.double()}
"""
NOTE = "the timed runs have the same inputs as the check, since {} depends on random numbers"


def made(folder: Path, heuristic: str, count: str):
    path = folder / "scaled.py"
    path.write_text(FILE.replace("HEURISTIC", heuristic).replace("COUNT", count))
    problem = make_problem(load_kernel(str(path)), {})
    checked = problem.arguments(problem.default_config)
    notes = problem.spec.check(problem)
    return checked, problem.timed_arguments(problem.default_config, checked), notes


def test_a_floating_point_scalar_of_the_data_is_of_its_own_set(tmp_path):
    checked, timed, notes = made(tmp_path, "given['first'] == 1", "300")
    assert [each[0].value[0] for each in (checked, timed)] == [checked[2].value, timed[2].value]
    assert checked[2].value != timed[2].value
    assert notes == ()


@pytest.mark.parametrize(
    ("heuristic", "count", "named"),
    [("given['first']", "300", "FIRST"), ("0", "300 - int(100 * x[0])", "n")],
)
def test_what_code_is_made_for_keeps_the_inputs(tmp_path, heuristic, count, named):
    checked, timed, notes = made(tmp_path, heuristic, count)
    assert timed is checked
    assert any(note.startswith(NOTE.format(named)) for note in notes)
