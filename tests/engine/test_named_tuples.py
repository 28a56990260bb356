"""Kernels that take named tuples are captured, examined and tried like others."""

from __future__ import annotations

import importlib.util
import sys
from typing import NamedTuple

import pytest
import torch
from kernel_runs import HOST, run_kernel

import engine
import triton_rvv
from kernels.captured.examination import examine_here
from kernels.captured.examined import read_examined
from kernels.captured.names import task_name
from kernels.captured.recorded import load_task
from kernels.captured.task_file import read_capture
from kernels.registry import load_kernel, make_problem
from triton_rvv.launches.grid_text import followed

PROGRAM = """
from typing import NamedTuple
import torch, triton, triton.language as tl

class Matrix(NamedTuple):
    data: torch.Tensor
    shape: tuple

class Ends(NamedTuple):
    scale: float
    bias: float | None

@triton.jit
def scaled_kernel(m: Matrix, out, MODE: tl.constexpr, ends: Ends, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < m.shape[0]
    value = tl.load(m.data + at, mask=mask) * ends.scale
    if ends.bias is not None:
        value += 1
    tl.store(out + at, value + MODE.offset, mask=mask)

class Mode(NamedTuple):
    offset: int
    rest: int
"""


class _Sized(NamedTuple):
    data: torch.Tensor
    shape: tuple[int, ...]


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "program_with_named_tuples.py"
    path.write_text(PROGRAM)
    triton_rvv.activate("host")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


def test_named_tuples_are_captured_examined_and_tried(program, tmp_path):
    x, out = torch.randn(1000), torch.empty(1000)
    given = program.Matrix(x, (1000,)), out, program.Mode(2, 3), program.Ends(0.5, None)
    capture = tmp_path / "here"
    with engine.capture(capture):
        program.scaled_kernel[(16,)](*given, BLOCK=64)
    (task,) = read_capture(capture).tasks
    assert [*task.parts] == [
        *("m[0].data", "m[1].shape[0]", "out"),
        *("ends[0].scale", "ends[1].bias"),
    ]
    assert task.values()["m"].shape == (1000,)
    assert load_task(capture, task.key).deployed.constants["MODE"].offset == 2
    examine_here(capture, task.key, widens=False)
    found = read_examined(capture)[task.key].required()
    (block,) = [freedom for freedom in found.freedoms if freedom.name == "BLOCK"]
    assert block.values == (8, 16, 32, 64, 128, 256, 512)
    formula, _, _ = found.rule.texts()
    assert formula.startswith("cdiv(m[1].shape[0] | m[0].data.shape[0] | ")
    problem = make_problem(load_kernel(task_name(capture, task.key)), {})
    run_kernel(problem, {"BLOCK": 256}, tmp_path, HOST)


def test_formulas_of_a_grid_reach_into_named_tuples():
    values = {"m": _Sized(torch.empty(10, 7), (10,)), "B": 4}
    smaller = {**values, "B": 2}
    assert followed("cdiv(m[1].shape[0], B)", values, smaller, 3) == 5
    assert followed("cdiv(m[0].data.shape[1], B)", values, smaller, 2) == 4
    with pytest.raises(ValueError, match="does not say"):
        followed("cdiv(m.data, B)", values, smaller, 3)
