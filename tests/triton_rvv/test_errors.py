"""Kernels that cannot be compiled: one sentence that names the line and what to do."""

from __future__ import annotations

import inspect

import pytest
import triton
import triton.language as tl

from triton_rvv import CompileError, RVVTarget, compile_kernel
from triton_rvv.compiler import RVVOptions


def compile_error(kernel, signature, constants=None, target=None):
    with pytest.raises(CompileError) as caught:
        compile_kernel(kernel, signature, constants or {}, target or RVVTarget())
    message = str(caught.value)
    assert "\n" not in message
    return caught.value


def line_of(kernel, text):
    """ "file:line" of the line that contains `text` in a kernel's source."""
    lines, first = inspect.getsourcelines(kernel.fn)
    (offset,) = (number for number, line in enumerate(lines) if text in line)
    return f"{__file__}:{first + offset}"


@triton.jit
def assembly_kernel(x_ptr):
    x = tl.load(x_ptr)
    y = tl.inline_asm_elementwise("nop", "=r,r", [x], tl.float32, is_pure=True, pack=1)
    tl.store(x_ptr, y)


def test_unsupported_operation():
    error, text = (
        compile_error(assembly_kernel, {"x_ptr": "*fp32"}, {}),
        "tl.inline_asm_elementwise",
    )
    assert error.problem.startswith(f"{text} is not supported: ")
    assert error.line == line_of(assembly_kernel, text)


@triton.jit
def square_kernel(x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, tl.dot(x, x))


@triton.jit
def many_blocks_kernel(x_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    for _ in tl.static_range(140):
        x = tl.cumsum(x)
    tl.store(x_ptr + tl.arange(0, N), x)


def test_blocks_too_large_for_memory():
    error = compile_error(many_blocks_kernel, {"x_ptr": "*fp64"}, {"N": 1 << 20})
    assert error.problem == (
        "the blocks need more than 1 GiB of memory: choose smaller block sizes"
    )
    assert error.line == line_of(many_blocks_kernel, "tl.cumsum")


def test_blocks_too_large_for_triton():
    error = compile_error(square_kernel, {"x_ptr": "*fp32"}, {"N": 2048})
    assert "exceeds triton maximum tensor numel" in error.problem


@triton.jit
def undefined_name_kernel(x_ptr):
    tl.store(x_ptr, undefined_name)  # type: ignore[name-defined] # noqa: F821 # tested


@triton.jit
def wrong_shapes_kernel(x_ptr):
    tl.store(x_ptr + tl.arange(0, 8), tl.arange(0, 4) + tl.arange(0, 8))


@triton.jit
def static_assert_kernel(x_ptr, N: tl.constexpr):
    tl.static_assert(N > 100, "N has to be above 100")
    tl.store(x_ptr, N)


@triton.jit
def odd_range_kernel(x_ptr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), 0)


@pytest.mark.parametrize(
    ("kernel", "constants", "what"),
    [
        (undefined_name_kernel, {}, "undefined_name is not defined"),
        (wrong_shapes_kernel, {}, "incompatible dimensions"),
        (static_assert_kernel, {"N": 5}, "N has to be above 100"),
        (odd_range_kernel, {"N": 24}, "arange's range must be a power of 2"),
    ],
)
def test_mistakes_in_a_kernel(kernel, constants, what):
    error = compile_error(kernel, {"x_ptr": "*i32"}, constants)
    assert what in error.problem
    # Neither the excerpt of the source nor the mark under it.
    assert "^" not in error.problem
    assert error.line.startswith(f"{__file__}:")


@triton.jit
def accumulator_kernel(x_ptr):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    x = tl.load(x_ptr + at)
    total = tl.zeros((16, 16), tl.int32)
    total = tl.dot(x, x, total)  # Triton wants an out_dtype of int32, which it does not say
    tl.store(x_ptr + at, total.to(tl.int8))


def test_what_triton_asserts_without_a_message():
    error = compile_error(accumulator_kernel, {"x_ptr": "*i8"})
    assert error.line == line_of(accumulator_kernel, "tl.dot")
    assert error.problem.startswith("Triton does not accept `total = tl.dot(x, x, total)")
    assert "AssertionError in its semantic.py:" in error.problem
    assert error.problem.endswith("acc.type.element_ty == out_dtype`")


def test_unknown_core():
    target = RVVTarget(cpu="spacemit-x61")
    message = str(compile_error(square_kernel, {"x_ptr": "*fp32"}, {"N": 4}, target))
    assert "no RISC-V core named spacemit-x61" in message
    assert "spacemit-x60" in message


@pytest.mark.parametrize("cpu", ["generic-rv64", "spacemit-x60"])
def test_known_cores(cpu):
    assert compile_kernel(square_kernel, {"x_ptr": "*fp32"}, {"N": 4}, RVVTarget(cpu=cpu)).object


def test_unknown_vector_length():
    with pytest.raises(ValueError, match="choose one of 128, 256, 512, 1024"):
        RVVTarget(vlen_bits=192)


@pytest.mark.parametrize("number", [0, 3])
def test_a_number_of_warps_that_no_target_takes(number):
    with pytest.raises(AssertionError, match=f"must be a power of 2, and is {number}"):
        RVVOptions(num_warps=number)
