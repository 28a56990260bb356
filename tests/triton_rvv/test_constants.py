"""Blocks of constants that differ from one another, which only Triton's own passes make."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from qemu_kernels import Expected

from triton_rvv import pipeline
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering.ttir.known_integers import one_number
from triton_rvv.make_ttir import make_ttir


@triton.jit
def constant_kernel(x_ptr, out_ptr, flag_ptr):
    offsets = tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :]
    flipped = tl.load(x_ptr + offsets) ^ tl.full((4, 2), True, tl.int1)
    tl.store(out_ptr + offsets, tl.full((4, 2), 7, out_ptr.dtype.element_ty))
    tl.store(flag_ptr + offsets, flipped)


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float16])
def test_constants_that_differ(run, monkeypatch, dtype):
    numbers = [[1, 2], [-3, 4], [5, -6], [7, 8]]
    digits = ", ".join(str([dtype(n).item() for n in row]) for row in numbers)
    flags = np.array([[1, 0], [0, 1], [1, 1], [0, 0]], dtype=bool)

    def changed(*arguments):
        text = make_ttir(*arguments)
        for old in ("dense<7>", "dense<7.000000e+00>"):
            text = text.replace(old, f"dense<[{digits}]>")
        return text.replace("dense<true>", f"dense<{str(flags.tolist()).lower()}>")

    monkeypatch.setattr(pipeline, "make_ttir", changed)
    out, flipped = Expected(np.array(numbers, dtype)), Expected(flags)
    run(constant_kernel, x_ptr=np.zeros((4, 2), bool), out_ptr=out, flag_ptr=flipped)


@pytest.mark.parametrize(
    ("elements", "number"), [("2.5", 2.5), ("[0.0, -0.0]", None), ("[1.0, 2.0]", None)]
)
def test_one_number_fills_a_constant_or_none_does(elements, number):
    body = f'%c = "arith.constant"() {{value = dense<{elements}> : tensor<2xf32>}} : () -> '
    module = parse_module(function(body + "tensor<2xf32>"))
    (constant,) = (each for each in module.walk() if each.name == "arith.constant")
    assert one_number(constant) == number
