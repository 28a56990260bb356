"""Kernels without a reference: what the interpreter refuses is compiled, bf16 is widened."""

from __future__ import annotations

import re

import pytest
import torch
from kernel_runs import HOST, run_kernel

from foundation.config import Config
from foundation.errors import UserError
from kernels.own import reference_runs
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem

HEAD = """import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
"""
# Casting modes, a number that is converted, a second output.
RMS_NORM = (
    HEAD
    + """
NONE: tl.constexpr = tl.constexpr(-1)
LIKE_LLAMA: tl.constexpr = tl.constexpr(0)
LIKE_GEMMA: tl.constexpr = tl.constexpr(1)

@triton.jit
def rms_norm_kernel(y_ptr, y_stride, x_ptr, x_stride, w_ptr, rstd_ptr, columns, eps, offset,
                    CASTS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    x = tl.load(x_ptr + row * x_stride + at, mask=mask, other=0)
    kind = x.dtype
    w = tl.load(w_ptr + at, mask=mask, other=0)
    if CASTS == LIKE_LLAMA:
        x = x.to(tl.float32)
    if CASTS == LIKE_GEMMA:
        x = x.to(tl.float32)
        w = w.to(tl.float32)
    if CASTS == NONE:
        eps = eps.to(kind)
        offset = offset.to(kind)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / columns + eps)
    tl.store(rstd_ptr + row, rstd)
    x = x * rstd
    if CASTS == LIKE_LLAMA:
        x = x.to(kind)
    y = x * (offset + w)
    tl.store(y_ptr + row * y_stride + at, y, mask=mask)

def get_rms_norm_kernel_autotune_config():
    return [triton.Config({"BLOCK": block}) for block in (128, 256)]

def call(M=5, N=100, dtype=torch.bfloat16):
    x, w = torch.randn(M, N, dtype=dtype), torch.rand(N, dtype=dtype)
    y, rstd = torch.empty_like(x), torch.empty(M, dtype=torch.float32)
    rms_norm_kernel[(M,)](
        y, y.stride(0), x, x.stride(0), w, rstd, N, 1e-6, 0.5, CASTS=MODE, num_warps=4,
    )
"""
)
# A function of a library for devices, which the interpreter has not, or only in name.
TANH = (
    HEAD
    + """
@triton.jit
def tanh_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(out_ptr + at, libdevice.tanh(x), mask=at < n)

def get_tanh_kernel_autotune_config():
    return [triton.Config({"BLOCK": block}) for block in (64, 128)]

def call(N=200, dtype=torch.float32):
    x = torch.randn(N, dtype=dtype)
    tanh_kernel[lambda meta: (triton.cdiv(N, meta["BLOCK"]),)](x, torch.empty_like(x), N)
"""
)
# An integer that another type of the input would change.
LARGEST = (
    HEAD
    + """
@triton.jit
def largest_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=float("-inf"))
    tl.store(out_ptr, tl.argmax(x + x, axis=0))

def get_largest_kernel_autotune_config():
    return [triton.Config({"BLOCK": block}) for block in (128, 256)]

def call(N=100, dtype=torch.bfloat16):
    largest_kernel[(1,)](torch.randn(N, dtype=dtype), torch.empty(1, dtype=torch.int32), N)
"""
)

# Sums of fp32 that are kept in TYPE: what the interpreter computes wrongly, or adds up in another
# order.
NARROW_SUM = (
    HEAD
    + """
@triton.jit
def narrow_kernel(x_ptr, out_ptr, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.TYPE)
    if WRONG:
        x = tl.where(at < 16, 0.0, x)
    tl.store(out_ptr + row, tl.sum(x, axis=0).to(tl.float32))

def get_narrow_kernel_autotune_config():
    return [triton.Config({"WRONG": 0, "BLOCK": 128})]

def call(M=24, N=100):
    narrow_kernel[(M,)](torch.randn(M, N), torch.empty(M), N)
"""
)


@pytest.fixture
def problem_of(tmp_path):
    def make(text: str, dtype: str | None = None) -> Problem:
        path = tmp_path / "file.py"
        path.write_text(text)
        return make_problem(load_kernel(str(path)), {}, dtype)

    return make


@pytest.mark.long
@pytest.mark.parametrize(
    ("dtype", "mode"),
    [
        ("bf16", "LIKE_LLAMA"),
        ("bf16", "NONE"),
        ("bf16", "LIKE_GEMMA"),
        ("fp32", "NONE"),
    ],
)
def test_a_norm_in_every_mode(problem_of, tmp_path, dtype, mode):
    problem = problem_of(RMS_NORM.replace("MODE", f"{mode}.value"), dtype)
    arguments = {argument.name: argument for argument in problem.arguments({"BLOCK": 128})}
    x = torch.from_numpy(arguments["x_ptr"].value.view("int16")) if dtype == "bf16" else None
    if x is not None:
        exact = x.view(torch.bfloat16).float().square().mean(dim=1).add(1e-6).rsqrt()
        assert torch.allclose(torch.from_numpy(arguments["rstd_ptr"].expected), exact, rtol=1e-2)
    assert {name for name, a in arguments.items() if a.expected is not None} == {
        "y_ptr",
        "rstd_ptr",
    }
    run_kernel(problem, {"BLOCK": 256}, tmp_path, HOST)
    assert "what Triton's interpreter computes" in problem.spec.check(problem)[0]


@pytest.mark.parametrize("dtype", [pytest.param("fp32", marks=pytest.mark.long), "bf16"])
def test_a_function_of_a_device_library_is_compiled(problem_of, tmp_path, dtype):
    problem = problem_of(TANH, dtype)
    run_kernel(problem, {}, tmp_path, HOST)
    (note,) = problem.spec.check(problem)
    assert note.startswith("without a function reference, outputs are compared with what its def")
    wrong = problem_of(TANH.replace("libdevice.tanh(x)", "libdevice.tanh(x) + BLOCK - 64"), dtype)
    with pytest.raises(AssertionError, match=r"out_ptr\[\d+\] is "):
        run_kernel(wrong, {"BLOCK": 128}, tmp_path, HOST)


@pytest.mark.parametrize(
    ("dtype", "way"), [("float16", "what Triton's interpreter"), ("bfloat16", "what its default")]
)
def test_what_is_rounded_on_the_way_may_be_as_far_off(problem_of, tmp_path, dtype, way):
    problem = problem_of(NARROW_SUM.replace("TYPE", dtype))
    run_kernel(problem, {}, tmp_path, HOST)
    compared, rounded = problem.spec.check(problem)
    assert way in compared
    assert rounded.startswith(f"the default configuration rounds to {dtype} on the way to out_ptr")
    with pytest.raises(AssertionError, match=r"out_ptr\[\d+\] is "):
        run_kernel(problem, {"WRONG": 1}, tmp_path, HOST)


@pytest.mark.long
def test_integers_of_narrow_inputs_are_those_of_the_deployed_kernel(problem_of, tmp_path):
    problem = problem_of(LARGEST)
    run_kernel(problem, {}, tmp_path, HOST)
    assert "in fp32" not in problem.spec.check(problem)[0]


def test_a_mistake_is_found_by_the_check_alone(problem_of):
    wrong = TANH + "\ndef reference(x_ptr):\n    return {'out_ptr': x_ptr.tan()[1:]}\n"
    problem = problem_of(wrong)
    with pytest.raises(UserError, match="gives out_ptr the shape"):
        problem.spec.check(problem)
    assert problem_of(wrong.replace("[1:]", "")).spec.check(problem_of(TANH)) is not None


# Some seconds in the interpreter: as many programs as elements.
MANY_PROGRAMS = (
    TANH.replace("libdevice.tanh(x)", "2 * x").replace("(64, 128)", "(1,)").replace("200", "30_000")
)


def test_what_takes_the_interpreter_long_is_compiled(problem_of, monkeypatch):
    monkeypatch.setattr(reference_runs, "_INTERPRETER_LIMIT_S", 1)
    problem = problem_of(MANY_PROGRAMS)
    (note,) = problem.spec.check(problem)
    assert "compiled for this machine" in note


CRASHES = TANH.replace("libdevice.tanh(x)", "tl.load(x_ptr + (1 << 40) + at)")


def test_a_signal_is_named_with_what_finds_the_access(problem_of):
    problem = problem_of(CRASHES)
    with pytest.raises(UserError, match=r"SIGSEGV ended its process: TRITON_RVV_SANITIZE=1"):
        problem.spec.check(problem)


UNMASKED = TANH.replace("libdevice.tanh(x)", "tl.load(x_ptr + at)")


def test_an_access_outside_of_an_array_is_found_by_a_run_that_checks_each(problem_of):
    problem = problem_of(UNMASKED)
    line = UNMASKED[: UNMASKED.index("tl.load(x_ptr + at)")].count("\n") + 1
    found = problem.spec.astray(problem, Config({"BLOCK": 128}))
    assert re.search(
        rf":{line}: a load at byte \d+ of x_ptr, which has \d+ bytes, in program", found
    )


def test_time_that_the_machine_takes_for_others_does_not_count(problem_of, monkeypatch):
    monkeypatch.setattr(reference_runs, "_ASTRAY_LIMIT_S", 3)
    waits = "import os, time\nos.environ.get('TRITON_INTERPRET') == '0' and time.sleep(3.5)\n"
    problem = problem_of(waits + UNMASKED)
    assert "x_ptr" in problem.spec.astray(problem, Config({"BLOCK": 128}))


# A sum in fp32 beside an output that is rounded, and another that is made of that.
BESIDE = (
    HEAD
    + """
@triton.jit
def beside_kernel(x_ptr, narrow_ptr, sum_ptr, of_narrow_ptr, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    narrow = x.to(tl.float16)
    tl.store(narrow_ptr + row * n + at, narrow, mask=at < n)
    tl.store(sum_ptr + row, tl.sum(x * x, axis=0))
    tl.store(of_narrow_ptr + row, tl.sum(narrow, axis=0).to(tl.float32))

def get_beside_kernel_autotune_config():
    return [triton.Config({"BLOCK": 128})]

def call(M=24, N=100, dtype=torch.float16):
    x = torch.randn(M, N, dtype=dtype)
    beside_kernel[(M,)](x, torch.empty_like(x), torch.empty(M), torch.empty(M), N)
"""
)


def test_only_outputs_that_are_off_by_a_rounding_are_named(problem_of):
    problem = problem_of(BESIDE)
    (note,) = (note for note in problem.spec.check(problem) if "rounds" in note)
    assert note.startswith("the default configuration rounds to float16 on the way to of_narrow_pt")
    sums = next(a for a in problem.arguments(problem.default_config) if a.name == "sum_ptr")
    assert sums.rtol == 1e-4
