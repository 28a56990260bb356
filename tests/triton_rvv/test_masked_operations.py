"""Choices whose sides are exchanged, so that one instruction computes under a mask."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv.codegen.llvm import target_machine
from triton_rvv.codegen.masked_operations import with_masked_operations
from triton_rvv.targets.target import RVVTarget

X60 = RVVTarget.named("spacemit-x60", 256)
MODULE = """
target triple = "riscv64-unknown-linux-gnu"
define void @f(ptr %p, ptr %q, ptr %r) vscale_range(4,4) "target-cpu"="spacemit-x60" {{
entry:
  %a = load <8 x {type}>, ptr %p
  %b = load <8 x {type}>, ptr %q
  %x = load <8 x {type}>, ptr %r
  %m = {kind}cmp {how} <8 x {type}> %a, %b
  {lines}
  store <8 x {type}> %s, ptr %p
  ret void
}}
"""
SUM = "%t = {f}add <8 x {type}> %x, %b\n  %s = select <8 x i1> %m, <8 x {type}> %x, <8 x {type}> %t"
PART = (
    "%t = select <8 x i1> %m, <8 x {type}> zeroinitializer, <8 x {type}> %b\n"
    "  %s = or <8 x {type}> %x, %t"
)


def module(how: str, lines: str = SUM, type_: str = "i32") -> str:
    f = "" if type_ == "i32" else "f"
    filled = lines.format(type=type_, f=f)
    return MODULE.format(type=type_, kind=f or "i", how=how, lines=filled)


def assembly(text: str) -> str:
    return str(target_machine(X60).emit_assembly(llvm.parse_assembly(text)))


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        (module("ult"), "icmp uge"),
        (module("sgt", PART), "icmp sle"),
        (module("eq", PART), "icmp ne"),
        (module("ult", type_="float"), "fcmp oge"),
        (module("oeq", type_="float"), "fcmp une"),
    ],
)
def test_a_merge_is_saved(text, opposite):
    turned = with_masked_operations(text)
    assert f"%m = {opposite} <" in turned
    assert "vmerge" in assembly(text)
    assert "vmerge" not in assembly(turned)


COUNT = "%t = zext <8 x i1> %m to <8 x {type}>\n  %s = add nuw <8 x {type}> {sides}"


@pytest.mark.parametrize("sides", ["%x, %t", "%t, %x"])
def test_truths_are_counted_under_a_mask(sides):
    text = module("ult", COUNT.replace("{sides}", sides))
    assert "vmerge" in assembly(text)
    turned = assembly(with_masked_operations(text))
    assert "vmerge" not in turned
    assert "vadd.vi" in turned


@pytest.mark.parametrize(
    "text",
    [
        module("ult", COUNT.replace("{sides}", "%b, %t")),  # which %m compares
        module("olt", type_="float"),  # whose opposite is no instruction
        module("ult").replace("%x, <8 x i32> %t", "%t, <8 x i32> %x"),
        module("ult").replace("store", "store <8 x i32> %t, ptr %q\n  store"),
        module("ult").replace("store", "store <8 x i32> %x, ptr %q\n  store"),
        module("ult").replace("store", "store <8 x i1> %m, ptr %q\n  store"),
        module("ult", PART.replace("or", "mul")),
    ],
)
def test_what_saves_nothing_stays(text):
    assert with_masked_operations(text) == text


@triton.jit
def choices_kernel(a_ptr, b_ptr, x_ptr, code_ptr, sum_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b, x = tl.load(a_ptr + at), tl.load(b_ptr + at), tl.load(x_ptr + at)
    code = (a >= b).to(tl.int32) | ((a == b).to(tl.int32) << 1) | ((x >= a).to(tl.int32) << 2)
    code += (x < b).to(tl.int32) + (x > 1).to(tl.int32)
    tl.store(code_ptr + at, code)
    tl.store(sum_ptr + at, tl.where(a != b, x - a, tl.where(x == a, x, x + b)))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32])
def test_choices_are_the_same(run, dtype):
    a, b, x = (np.random.default_rng(seed).integers(0, 4, 128).astype(dtype) for seed in range(3))
    if dtype == np.float32:
        a[::5], b[::7], x[::11] = np.nan, np.nan, np.inf
    code = (a >= b).astype(np.int32) | (a == b) << 1 | (x >= a) << 2
    code = code + (x < b) + (x > 1)
    total = np.where(a != b, x - a, np.where(x == a, x, x + b)).astype(dtype)
    run(
        choices_kernel, a_ptr=a, b_ptr=b, x_ptr=x, core="spacemit-x60",
        code_ptr=Expected(code.astype(np.int32)), sum_ptr=Expected(total), N=128,
    )  # fmt: skip
