"""Extremes of single bf16 numbers, which LLVM cannot select for cores that convert bf16."""

from __future__ import annotations

import pytest

from triton_rvv.codegen.llvm import assemble, generate
from triton_rvv.codegen.wide_bf16 import with_wide_bf16
from triton_rvv.targets.target import RVVTarget

# As the lowering writes it; LLVM's optimisation takes the conversions away.
MODULE = """
target triple = "riscv64-unknown-linux-gnu"
declare float @llvm.EXTREME.f32(float, float)
define void @f(ptr %x) "target-features"="+v,+zfbfmin,+zvfbfmin" {
  %a = load bfloat, ptr %x
  %b = getelementptr i8, ptr %x, i64 2
  %c = load bfloat, ptr %b
  %d = fpext bfloat %a to float
  %e = fpext bfloat %c to float
  %most = call float @llvm.EXTREME.f32(float %d, float %e)
  %r = fptrunc float %most to bfloat
  store bfloat %r, ptr %x
  ret void
}
"""
NARROW = """declare bfloat @llvm.maximum.bf16(bfloat, bfloat) #1
define bfloat @f(bfloat %a) {
  %r = tail call nsz bfloat @llvm.maximum.bf16(bfloat %a, bfloat 0xR3F80), !dbg !7
  ret bfloat %r
}
"""


@pytest.mark.parametrize("extreme", ["maximum", "minimum"])
def test_llvm_selects_them(extreme):
    """Without the change, LLVM ends the process."""
    code = generate(MODULE.replace("EXTREME", extreme), RVVTarget.named("a100"))
    assert f"llvm.{extreme}.bf16(bfloat %" not in code.llir
    assert f"fm{extreme[1:3]}" in assemble(code.llir)


def test_they_are_computed_in_fp32():
    wide = with_wide_bf16(NARROW)
    assert "call nsz float @llvm.maximum.f32(float %wide.one.1, float %wide.other.1), !dbg" in wide
    assert "%wide.other.1 = fpext bfloat 0xR3F80 to float, !dbg !7" in wide
    assert wide.endswith("\ndeclare float @llvm.maximum.f32(float, float)\n")
    assert with_wide_bf16(wide.replace("bf16(", "f64(")).count("declare float") == 1
