"""Kernels as packages have them: under decorators of their own, made at run time, with options."""

from __future__ import annotations

import pytest
from kernel_runs import HOST, run_kernel

from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from kernels.values import data_set
from rvv_runner.devices import load_board

HEAD = """import torch
import triton
import triton.language as tl
"""
# A tuner with a `run` of its own, and a cache around it that starts compiled kernels itself.
DECORATED = (
    HEAD
    + """
class Tuner(triton.runtime.Autotuner):
    def run(self, *args, **named):
        raise AssertionError("it would be measured")

class Entry(triton.runtime.KernelInterface):
    def __init__(self, fn):
        self.fn, self.arg_names, self.known = fn, fn.arg_names, {}
        while not isinstance(fn, triton.runtime.JITFunction):
            fn = fn.fn
        self.jit_function = fn

    def run(self, *args, grid, **named):
        raise AssertionError("it would be launched")

def entry(fn):
    return Entry(fn)

def tuner(configs):
    return lambda fn: Tuner(fn, fn.arg_names, configs, ["n"], None, None)

@entry
@tuner([triton.Config({"BLOCK": block}, num_warps=4) for block in (32, 64)])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def twice(x_ptr, out_ptr, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (at < n) | EVEN
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=mask), mask=mask)

@tuner([triton.Config({"BLOCK": block}) for block in (32, 64)])
@triton.jit
def plus(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)

def call(N=96):
    x = torch.zeros(N)
    grid = lambda meta: (triton.cdiv(N, meta["BLOCK"]),)
    plus[grid](x, N, maxnreg=64, waves_per_eu=2)
    twice[grid](x, torch.empty(N), N, enable_fp_fusion=False, maxnreg=64, launch_pdl=False)

def reference(x_ptr):
    return {"out_ptr": 2 * x_ptr}
"""
)
# No name of the file leads to the kernel: it is made in a function, for each constant anew.
MADE = (
    HEAD
    + """
class Buffer:
    def __init__(self, base):
        self.shape, self.base, self.dtype = (1,), base, base.dtype

    def data_ptr(self):
        return self.base.data_ptr()

def made(factor):
    FACTOR = tl.constexpr(factor)

    @triton.jit
    def scaled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + at, FACTOR * tl.load(x_ptr + at, mask=at < n), mask=at < n)

    return scaled

def scale(x, factor):
    from torch.utils._triton import has_triton
    assert has_triton()
    out = torch.empty_like(x)
    made(factor)[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](Buffer(x), out, x.numel())
    return out

def get_scaled_kernel_autotune_config():
    return [triton.Config({"BLOCK": block}) for block in (32, 64)]

def call(N=96):
    scale(torch.randn(N), 3.0)

def reference(x_ptr):
    return {"out_ptr": 3 * x_ptr}
"""
)
# Packages define their kernels where torch knows of Triton, and where one of its drivers is active.
CONDITIONAL = (
    "from torch.utils._triton import has_triton\n"
    "from triton.backends import backends\n"
    "drivers = [one.driver for one in backends.values() if one.driver and one.driver.is_active()]\n"
    "if has_triton() and len(drivers) == 1:\n    "
    + HEAD.replace("\n", "\n    ")
    + """
    @triton.jit
    def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

    def get_copy_kernel_autotune_config():
        return [triton.Config({"BLOCK": block}) for block in (32, 64)]

    def call(N=96):
        copy[lambda meta: (triton.cdiv(N, meta["BLOCK"]),)](torch.randn(N), torch.empty(N), N)

    def reference(x_ptr):
        return {"out_ptr": x_ptr}
"""
)


@pytest.fixture
def problem_of(tmp_path):
    def make(text: str, kernel: str = "", **shape: int) -> Problem:
        path = tmp_path / "file.py"
        path.write_text(text)
        return make_problem(load_kernel(f"{path}{kernel}"), shape)

    return make


@pytest.mark.parametrize(
    ("text", "kernel", "name"),
    [
        (DECORATED, ":twice", "twice"),
        (MADE, "", "scaled"),
        pytest.param(MADE, ":scaled", "scaled", marks=pytest.mark.long),
        (CONDITIONAL, "", "copy"),
    ],
)
def test_the_kernel_is_found_with_its_list(problem_of, tmp_path, text, kernel, name):
    problem = problem_of(text, kernel)
    assert problem.spec.name == name
    space = problem.space(load_board("emulated").info)
    assert [config["BLOCK"] for config in space.valid_configs()] == [32, 64]
    assert problem.spec.grid(problem, {"BLOCK": 64}) == (2, 1, 1)
    run_kernel(problem, {"BLOCK": 64}, tmp_path, HOST)


def test_a_kernel_before_it_runs_with_its_first_configuration(problem_of):
    with data_set(1):  # that of the timed runs, which is as the file makes it
        x, *_ = problem_of(DECORATED, ":twice").arguments({"BLOCK": 32})
    assert (x.value == 1).all()


def test_digests_are_those_of_the_code(problem_of):
    for text, before, after in [(DECORATED, "2 * tl", "3 * tl"), (MADE, "3.0", "4.0")]:
        kernel = ":twice" if text is DECORATED else ""
        digest = problem_of(text, kernel).spec.source_digest
        assert problem_of(text, kernel).spec.source_digest == digest
        assert problem_of(text.replace(before, after), kernel).spec.source_digest != digest


def test_an_option_that_no_compiler_knows(problem_of):
    with pytest.raises(UserError, match="twice has no parameter launch_soon"):
        problem_of(DECORATED.replace("launch_pdl", "launch_soon"), ":twice")


def test_a_name_that_the_call_does_not_launch(problem_of):
    with pytest.raises(UserError, match="has no kernel missing"):
        problem_of(MADE, ":missing")
