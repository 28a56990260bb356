"""Assembly of a GPU that is one mathematical function, and what is none."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv.errors import CompileError
from triton_rvv.frontend.known_assembly import as_function
from triton_rvv.frontend.types import parse_type
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.host_target import host_target


@triton.jit
def functions_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    two: tl.constexpr = "=f,f"
    y = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", two, [x], tl.float32, True, 1)
    tl.store(out_ptr + at, y, mask=at < n)
    y = tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", two, [x], tl.float32, True, 1)
    tl.store(out_ptr + n + at, y, mask=at < n)
    y = tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0,$1", two, [x], tl.float32, True, 1)
    tl.store(out_ptr + 2 * n + at, y, mask=at < n)
    y = tl.inline_asm_elementwise("cos.approx.f32 $0, $1;", two, [x], tl.float32, True, 1)
    tl.store(out_ptr + 3 * n + at, y, mask=at < n)
    y = tl.inline_asm_elementwise("div.full.f32 $0, $1, $2;", "=f,f,f", [y, x], tl.float32, True, 1)
    tl.store(out_ptr + 4 * n + at, y, mask=at < n)


def test_one_instruction_is_computed_as_its_function(run):
    x = np.array([-np.inf, np.inf, np.nan, -0.0, 0.0, 0.3, -2.5, 80.0, 1e-3, 3.0], np.float32)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        cosine = np.cos(wide)
        parts = [np.tanh(wide), np.exp2(wide), 1 / wide, cosine, cosine / wide]
        expected = np.concatenate(parts).astype(np.float32)
    out = Expected(expected, rtol=1e-6)
    run(functions_kernel, x_ptr=x, out_ptr=out, n=len(x), BLOCK=16)


@triton.jit
def scalar_kernel(x_ptr):
    x = tl.load(x_ptr)
    y = tl.inline_asm_elementwise("lg2.approx.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    tl.store(x_ptr, y)


def test_of_a_scalar(run):
    start = np.array([8.0], np.float32)
    run(scalar_kernel, x_ptr=Expected(np.array([3.0], np.float32), start=start))


def _attributes(text: str, packed: int = 1) -> dict[str, object]:
    return {"asm_string": text, "constraints": "=f,f", "packed_element": packed, "pure": True}


F32, I32 = parse_type("tensor<8xf32>"), parse_type("tensor<8xi32>")


@pytest.mark.parametrize(
    ("attributes", "operands", "results"),
    [
        (_attributes("tanh.approx.f32 $0, $1; mov.b32 $0, $1;"), [F32], [F32]),
        (_attributes("tanh.approx.bf16x2 $0, $1;"), [F32], [F32]),
        (_attributes("tanh.approx.f32 $0, $1;", packed=2), [F32], [F32]),
        (_attributes("tanh.approx.f32 $0, $1;"), [I32], [F32]),
        (_attributes("tanh.approx.f32 $0, $1;"), [F32], [I32]),
        (_attributes("tanh.approx.f32 $0, $1;"), [F32], [F32, F32]),
        (_attributes("div.full.f32 $0, $2, $1;"), [F32, F32], [F32]),
        (_attributes("bar.sync.f32 $0, $1;"), [F32], [F32]),
        (_attributes(""), [F32], [F32]),
    ],
)
def test_anything_else_stays_assembly(attributes, operands, results):
    assert as_function(attributes, operands, results) is None


@triton.jit
def other_kernel(x_ptr):
    x = tl.load(x_ptr)
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], tl.float32, True, 1)
    tl.store(x_ptr, y)


def test_which_is_refused():
    with pytest.raises(CompileError, match="inline_asm_elementwise is not supported"):
        compile_kernel(other_kernel, {"x_ptr": "*fp32"}, {}, host_target())
