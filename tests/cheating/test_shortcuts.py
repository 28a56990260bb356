"""Shortcuts that are right once, or for a file's own inputs, are found on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.config import Config
from kernels.own.host_run import HostRun
from kernels.registry import load_kernel, make_problem

FILE = Path(__file__).parent / "written_as_shortcuts.py"
FOUND = [
    ("counter", "count_ptr[0] is 8 and should be 0"),
    ("skipped", "y_ptr["),
    ("unit", "y_ptr["),
]


@pytest.mark.parametrize(("name", "reason"), FOUND)
def test_a_shortcut_is_found(name, reason, tmp_path):
    problem = make_problem(load_kernel(f"{FILE}:{name}_kernel"), {})
    for fast, mismatch in enumerate(("", reason)):
        config = Config({"FAST": fast, "BLOCK": 64})
        folder = tmp_path / str(fast)
        folder.mkdir()
        run = HostRun(
            folder,
            problem.spec.kernel,
            problem.constants(config),
            {},
            problem.spec.grid(problem, config),
        )
        assert run.is_right(problem.arguments(config)) is not bool(fast)
        assert run.mismatch.startswith(mismatch)


def test_a_number_that_the_default_leaves_out_is_named():
    problem = make_problem(load_kernel(f"{FILE}:factor_kernel"), {})
    (note,) = problem.spec.check(problem)
    assert note.startswith(
        "the check keeps factor close to what arguments makes, since the default "
    )
    assert "with another number, y_ptr[" in note


def test_the_input_that_a_shortcut_relies_on_is_named_without_a_reference():
    problem = make_problem(load_kernel(f"{FILE}:unit_kernel"), {})
    note = problem.spec.on_inputs(problem, Config({"FAST": 1, "BLOCK": 64}))
    assert note.startswith("FAST=1,BLOCK=64 is right with x_ptr as unit_arguments makes it, and w")
