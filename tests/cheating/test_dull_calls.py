"""Inputs of a callable's check have other signs, means and lengths than the file's, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_with_dull_calls import CHEATS, HONEST

from engine.workers.callable_board import _Kept
from engine.workers.callables import CallableArtifact
from foundation.config import Config
from kernels.on_device import ProblemArguments
from kernels.registry import load_kernel, make_problem

FILE = Path(__file__).with_name("written_with_dull_calls.py")


@pytest.fixture(scope="module")
def kept():
    return _Kept("cpu")


@pytest.mark.parametrize("name", [*HONEST, *CHEATS])
def test_what_is_left_out_of_a_callable_is_found(name, kept):
    source = ProblemArguments.of(make_problem(load_kernel(str(FILE)), {}))
    report = kept.report(CallableArtifact(source, Config({"name": name})), 1)
    assert report.status == ("correct" if name in HONEST else "wrong"), report
