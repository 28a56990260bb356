"""Prefetches that LLVM cannot select ask for what lies a little before."""

from __future__ import annotations

import pytest
from pairs import in_turn

from triton_rvv.codegen.far_prefetches import without_far_prefetches
from triton_rvv.codegen.llvm import assemble, generate
from triton_rvv.targets.target import RVVTarget

TARGET = RVVTarget.named("spacemit-x60", 256)
MODULE = """
target triple = "riscv64-unknown-linux-gnu"
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
define void @f(ptr %x) "target-cpu"="spacemit-x60" {
  %half = getelementptr i8, ptr %x, i64 HALF
  call void @llvm.prefetch.p0(ptr %half, i32 0, i32 3, i32 1)
  %far = getelementptr inbounds nuw i8, ptr %half, i64 REST
  call void @llvm.prefetch.p0(ptr nonnull %far, i32 0, i32 3, i32 1)
  ret void
}
"""


def module(distance_bytes: int, half_bytes: int) -> str:
    rest = distance_bytes - half_bytes
    return MODULE.replace("HALF", str(half_bytes)).replace("REST", str(rest))


@pytest.mark.parametrize(
    ("distance_bytes", "half_bytes"),
    in_turn([4032, 4063, 4064, 4065, 4066, 4096], [0, 64, 2016, 5000]),
)
def test_llvm_selects_them(distance_bytes, half_bytes):
    """Without the change, two of the distances end the process."""
    code = generate(module(distance_bytes, half_bytes), TARGET)
    assert assemble(code.llir).count("prefetch.r") == 2


def test_others_are_left_alone():
    for text in (module(4032, 64), module(4096, 0), "no prefetch, i64 4064"):
        assert without_far_prefetches(text) == text
    changed = without_far_prefetches(module(4064, 64))
    assert changed.count("i64 -32") == 1
    assert "ptr nonnull %far, i32" not in changed


def test_names_are_those_of_one_function():
    near, far = (module(distance, 64).partition("define")[2] for distance in (4096, 4064))
    changed = without_far_prefetches(f"define{far}define{near.replace('@f', '@g')}")
    first, second = changed.split("@g")
    assert "i64 -32" in first
    assert "i64 -32" not in second
