"""Failures out of bounds get the line and the program, once for each reason."""

from __future__ import annotations

from dataclasses import replace

from engine.run.astray import Astray
from foundation.config import Config
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from rvv_runner.measurement import Measurement

OUTSIDE = "it touched x[9], and x has 9 elements: out of bounds"
FOUND = "k.py:3: a load at byte 36 of x, which has 36 bytes, in program (2, 0, 0)"


def test_each_reason_is_looked_for_once_and_three_at_most():
    asked = []

    def astray(problem, config):
        asked.append(config["BLOCK"])
        if config["BLOCK"] == 2:
            raise UserError("the file is gone")
        return FOUND

    problem = make_problem(load_kernel("vector_add"), {})
    problem = replace(problem, spec=replace(problem.spec, astray=astray))
    places = Astray([problem])

    def told(block, reason):
        failed = Measurement("runtime", reason=reason)
        return places.told(Config({"BLOCK": block}), failed).reason

    assert told(1, OUTSIDE) == f"{OUTSIDE}: {FOUND}"
    assert told(4, OUTSIDE) == OUTSIDE
    assert told(4, "it ended with SIGSEGV") == "it ended with SIGSEGV"
    assert told(2, OUTSIDE.replace("9", "8")) == OUTSIDE.replace("9", "8")
    assert told(3, OUTSIDE.replace("9", "7")).endswith(FOUND)
    assert told(4, OUTSIDE.replace("9", "6")) == OUTSIDE.replace("9", "6")
    assert asked == [1, 2, 3]


def test_kernels_that_cannot_be_run_so_keep_their_reason():
    failed = Measurement("runtime", reason=OUTSIDE)
    problem = make_problem(load_kernel("vector_add"), {})
    assert Astray([problem]).told(Config({"BLOCK": 1}), failed) == failed
