"""A file whose own function launches the kernel: what is caught of it, and mistakes in it."""

from __future__ import annotations

import pytest
from kernel_runs import run_kernel
from triton.runtime.driver import driver

from foundation.errors import UserError
from kernels.on_device import without_contents
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner.devices import load_board
from triton_rvv.driver import RVVDriver

HEAD = """import torch
import triton
import triton.language as tl
"""
# A wrapper as libraries have them: an output of its own, strides, a block that the sizes decide,
# options, a grid that follows the configuration, and code behind the launch.
ROWS = (
    HEAD
    + """
@triton.jit
def scale_rows_kernel(x_ptr, scale_ptr, out_ptr, stride, rows, columns, bias=0.5,
                      BLOCK: tl.constexpr = 16, ROWS: tl.constexpr = 1):
    for row in range(tl.program_id(0) * ROWS, tl.minimum((tl.program_id(0) + 1) * ROWS, rows)):
        at = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < columns)
        y = x * tl.load(scale_ptr + row) + bias
        tl.store(out_ptr + row * stride + at, y, mask=at < columns)

class ScaleRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        rows, columns = x.shape
        out = torch.empty_like(x)
        try:
            grid = lambda meta: (triton.cdiv(rows, meta["ROWS"]),)
            scale_rows_kernel[grid](
                x, scale, out, x.stride(0), rows=rows, columns=columns,
                BLOCK=triton.next_power_of_2(columns), num_warps=8,
            )
        except Exception:
            return x
        return out + torch.ones(0)

def scale_rows(x, scale):
    return ScaleRows.apply(x, scale)

def get_scale_rows_kernel_autotune_config():
    return [triton.Config({"ROWS": rows}) for rows in (1, 4, 3)]

def call(M=10, N=21, dtype=torch.float32):
    scale_rows(torch.randn(M, N, dtype=dtype), torch.rand(M, dtype=dtype))

def reference(x_ptr, scale_ptr):
    return {"out_ptr": x_ptr.float() * scale_ptr.float()[:, None] + 0.5}
"""
)
# The decorators choose the block; the wrapper gives what is positional by name too.
AUTOTUNED = (
    HEAD
    + """
@triton.autotune([triton.Config({"BLOCK": block}) for block in (32, 64)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def twice(x_ptr, out_ptr, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (at < n) | EVEN
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=mask), mask=mask)

def call(N=96):
    twice[lambda meta: (triton.cdiv(N, meta["BLOCK"]), 1)](
        x_ptr=torch.randn(N), out_ptr=torch.empty(N), n=N
    )

def reference(x_ptr):
    return {"out_ptr": 2 * x_ptr}
"""
)
# Two kernels with a wrapper each; the second has the same grid in every configuration.
TWO = (
    HEAD
    + """
@triton.jit
def plus_kernel(x_ptr, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)

@triton.jit
def minus_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) - 1, mask=at < n)

def get_plus_kernel_autotune_config():
    return [triton.Config({"BLOCK": block}) for block in (16, 64)]

get_minus_kernel_autotune_config = get_plus_kernel_autotune_config

def plus_call(N=90):
    plus_kernel[(1,)](torch.randn(N), N, BLOCK=16)

def minus_call(config, N=90):
    block = config["BLOCK"]
    minus_kernel[(triton.cdiv(N, block),)](torch.randn(N), N, BLOCK=block)

def plus_reference(x_ptr):
    return {"x_ptr": x_ptr + 1}

def minus_reference(x_ptr):
    return {"x_ptr": x_ptr - 1}
"""
)
# A gradient, whose kernel reads what two others have left, one of them to be measured first.
GRADIENT = (
    HEAD
    + """
DEVICE = triton.runtime.driver.active.get_active_torch_device()

@triton.autotune([triton.Config({"BLOCK": block}) for block in (32, 64)], key=["n"])
@triton.jit
def squares(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * x, mask=at < n)

@triton.jit
def sums(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0)))

@triton.jit
def gradient(x_ptr, norm_ptr, given_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = x / tl.sqrt(tl.load(norm_ptr)) * tl.load(given_ptr)
    tl.store(out_ptr + at, y, mask=at < n)

class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        squared, total = torch.empty_like(x), torch.empty(1, device=DEVICE)
        n = x.numel()
        squares[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, squared, n)
        sums[(1,)](squared, total, n, BLOCK=triton.next_power_of_2(n))
        ctx.save_for_backward(x, total)
        return total.sqrt()

    @staticmethod
    def backward(ctx, given):
        x, total = ctx.saved_tensors
        out = torch.empty_like(x)
        n = x.numel()
        gradient[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, total, given, out, n)
        return out

def get_gradient_kernel_autotune_config():
    assert triton.runtime.driver.active.get_current_target().backend == "cpu"
    return [triton.Config({"BLOCK": block}) for block in (16, 64)]

def gradient_call(N=90):
    Norm.apply(torch.randn(N, device=DEVICE, requires_grad=True)).backward(torch.tensor([2.0]))

def gradient_reference(x_ptr):
    return {"out_ptr": 2 * x_ptr / x_ptr.norm()}
"""
)


@pytest.fixture
def problem_of(tmp_path):
    def make(text: str, kernel: str = "", dtype: str | None = None, **shape: int) -> Problem:
        path = tmp_path / "file.py"
        path.write_text(text)
        return make_problem(load_kernel(f"{path}{kernel}"), shape, dtype)

    return make


def space_of(problem: Problem):
    return problem.space(load_board("emulated").info)


@pytest.mark.parametrize("dtype", [pytest.param("fp32", marks=pytest.mark.long), "fp16"])
def test_the_launch_gives_values_constants_and_grid(problem_of, tmp_path, dtype):
    problem = problem_of(ROWS, dtype=dtype)
    passed = {argument.name: argument for argument in problem.arguments({"ROWS": 4})}
    assert list(passed) == ["x_ptr", "scale_ptr", "out_ptr", "stride", "rows", "columns", "bias"]
    assert (passed["stride"].value, passed["rows"].value, passed["bias"].value) == (21, 10, 0.5)
    assert problem.constants({"ROWS": 4}) == {"BLOCK": 32, "ROWS": 4}
    for rows, programs in [(1, 10), (4, 3), (3, 4)]:
        assert problem.spec.grid(problem, {"ROWS": rows}) == (programs, 1, 1)
        run_kernel(problem, {"ROWS": rows}, tmp_path)
    assert space_of(problem).notes == ()


def test_the_sizes_of_the_call_are_those_of_the_command(problem_of):
    problem = problem_of(ROWS, M=3, N=40)
    assert problem.spec.grid(problem, {"ROWS": 1}) == (3, 1, 1)
    assert problem.constants({"ROWS": 1})["BLOCK"] == 64


@pytest.mark.parametrize(("size", "even"), [(96, True), (100, False)])
def test_an_autotuned_kernel_launched_by_names(problem_of, tmp_path, size, even):
    problem = problem_of(AUTOTUNED, N=size)
    assert [config["BLOCK"] for config in space_of(problem).valid_configs()] == [32, 64]
    assert problem.constants({"BLOCK": 32})["EVEN"] is even
    run_kernel(problem, {"BLOCK": 32}, tmp_path)


def test_two_kernels_with_a_call_each(problem_of, tmp_path):
    for kernel, grid in [("plus", (1, 1, 1)), ("minus", (2, 1, 1))]:
        problem = problem_of(TWO, f":{kernel}_kernel")
        assert problem.spec.grid(problem, {"BLOCK": 64}) == grid
        run_kernel(problem, {"BLOCK": 64}, tmp_path)


def test_kernels_before_the_caught_one_run(problem_of, tmp_path, monkeypatch):
    """A gradient follows the kernels of the value, and a program may ask for Triton's device."""
    monkeypatch.setattr(driver, "_active", None)  # whatever this process ran before
    problem = problem_of(GRADIENT, ":gradient")
    x, norm, given, out = problem.timed_arguments({"BLOCK": 16})[:4]
    assert norm.value == pytest.approx(float((x.value**2).sum()), rel=1e-5)
    assert given.value == 2
    assert out.expected == pytest.approx(2 * x.value / float((x.value**2).sum()) ** 0.5, rel=1e-5)
    run_kernel(problem, {"BLOCK": 16}, tmp_path)
    with pytest.raises(RuntimeError, match="0 active drivers"):
        _ = driver.active


def test_other_kernels_do_not_run_where_only_types_are_asked_for(problem_of, monkeypatch):
    problem = problem_of(GRADIENT.replace("device=DEVICE", "device=None"), ":gradient")
    config = problem.default_config
    monkeypatch.setattr(RVVDriver, "get_current_device", None)  # which every launch asks for
    passed = without_contents(problem, config)
    assert [a.type for a in passed] == ["*fp32", "*fp32", "*fp32", "*fp32", "i32"]


def test_a_grid_that_no_configuration_changes_is_said(problem_of):
    launched = "plus_kernel[(1,)]"
    in_blocks = TWO.replace(launched, "plus_kernel[(triton.cdiv(N, 16),)]")
    (note,) = space_of(problem_of(in_blocks, ":plus_kernel")).notes
    assert note.startswith("every configuration runs as many programs as the file launches")
    for rows in ("1", "N"):  # no block divides what each row has a program for
        text = TWO.replace(launched, f"plus_kernel[({rows},)]")
        assert space_of(problem_of(text, ":plus_kernel")).notes == ()
    assert space_of(problem_of(TWO, ":minus_kernel")).notes == ()


def test_a_grid_of_the_file_counts_before_that_of_the_launch(problem_of):
    problem = problem_of(TWO + "\ndef plus_grid(meta):\n    return meta['n']", ":plus_kernel")
    assert problem.spec.grid(problem, {"BLOCK": 16}) == (90, 1, 1)


def test_another_call_or_wrapper_makes_earlier_times_worthless(problem_of):
    digest = problem_of(ROWS).spec.source_digest
    for old, new in [("torch.randn(M", "torch.rand(M"), ("triton.next_power_of_2(columns)", "64")]:
        assert old in ROWS
        assert problem_of(ROWS.replace(old, new)).spec.source_digest != digest
    more = ROWS.replace("(1, 4, 3)", "(1, 4, 3, 2)")
    assert problem_of(more).spec.source_digest == digest


def test_a_kernel_that_is_compiled_first_is_caught_when_it_is_started(problem_of, tmp_path):
    """As in Triton's tutorial of softmax, whose grid follows from what was compiled."""
    launch = ROWS.replace("scale_rows_kernel[grid](", "kernel = scale_rows_kernel.warmup(").replace(
        "BLOCK=triton.next_power_of_2(columns), num_warps=8,\n            )",
        "BLOCK=triton.next_power_of_2(columns), ROWS=1, num_warps=8, grid=(1,),\n            )\n"
        "            kernel[(rows, 1, 1)](x, scale, out, x.stride(0), rows, columns, 0.5)",
    )
    problem = problem_of(launch.replace("for rows in (1, 4, 3)", "for rows in (1,)"))
    assert problem.constants({"ROWS": 1}) == {"BLOCK": 32, "ROWS": 1}
    assert problem.spec.grid(problem, {"ROWS": 1}) == (10, 1, 1)
    run_kernel(problem, {"ROWS": 1}, tmp_path)
    launching = "return {'y': scale_rows(x_ptr, scale_ptr), "
    with pytest.raises(UserError, match="reference launches scale_rows_kernel"):
        use(problem_of, launch.replace("return {", launching))


def test_the_kernel_may_be_launched_again_afterwards(problem_of):
    """What is caught leaves the kernel as it was."""
    problem = problem_of(ROWS)
    launched = problem.spec.kernel
    before = launched.run
    problem.arguments({"ROWS": 1})
    assert launched.run == before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("scale_rows(torch.randn", "(torch.randn"), "call does not launch scale_rows_kernel"),
        (("bias=0.5,", ""), "scale_rows_kernel has no parameter bias"),
        (("x, scale, out, ", "x, scale, "), "call gives no value for stride"),
        (("x, scale, out, x.st", "*range(12), x.st"), "the launch has 13 values, but scale_rows"),
        (("rows, columns = x", "rows, columns, _ = x"), r":17 fails in call: ValueError: not eno"),
        (("next_power_of_2(columns)", "next_power_of_2(columns), BLOK=3"), "has no parameter BLOK"),
        (('meta["ROWS"]', 'meta["ROW"]'), "fails in grid: KeyError: 'ROW'"),
        (("return {", "return {'y': scale_rows(x_ptr, scale_ptr), "), "reference launches scale_r"),
        (("def call(", "def calls("), "has no function arguments, .* nor call, which launches"),
    ],
)
def test_mistakes(problem_of, change, sentence):
    text = ROWS.replace("columns=columns,", "columns=columns, bias=0.5,")
    old, new = change
    assert old in text
    with pytest.raises(UserError, match=sentence) as caught:
        use(problem_of, text.replace(old, new, 1))
    assert "\n" not in str(caught.value)


def use(problem_of, text: str) -> None:
    """Ask for what a build asks for."""
    problem = problem_of(text)
    problem.arguments({"ROWS": 1})
    problem.spec.grid(problem, {"ROWS": 1})
