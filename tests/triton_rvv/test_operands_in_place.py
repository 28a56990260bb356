"""Basic blocks so long that LLVM would number their instructions for much of its time."""

from __future__ import annotations

import pytest

from triton_rvv.codegen.llvm import assemble
from triton_rvv.codegen.operands_in_place import with_operands_in_place

MODULE = """
target triple = "riscv64-unknown-linux-gnu"
define void @f(ptr %x, i8 %k, i1 %c) "target-cpu"="spacemit-x60" "target-features"="+v,+zvl256b" {
  BEFORE
  br i1 %c, label %long, label %end
long:
  WITHIN
  %v0 = load <32 x i8>, ptr %x
STEPS
  store <32 x i8> %vLAST, ptr %x
  br label %end
end:
  BEHIND
  ret void
}
"""
SPLAT = """%one = insertelement <32 x i8> poison, i8 %k, i32 0
  %k.all = shufflevector <32 x i8> %one, <32 x i8> poison, <32 x i32> zeroinitializer"""


def module(instructions: int, before: str = "", within: str = "", behind: str = "") -> str:
    """A chain of additions of one number."""
    steps = [f"  %v{i} = add <32 x i8> %v{i - 1}, %k.all" for i in range(1, instructions + 1)]
    text = MODULE.replace("STEPS", "\n".join(steps)).replace("LAST", str(instructions))
    return text.replace("BEFORE", before).replace("WITHIN", within).replace("BEHIND", behind)


def test_llvm_moves_operands_from_other_blocks_unless_one_is_very_long():
    """`vadd.vx` shows that it moved the number to where it is added."""
    for instructions, moves in ((100, True), (300, True), (2049, False)):
        text = with_operands_in_place(module(instructions, before=SPLAT))
        assert ("vadd.vx" in assemble(text)) == moves


def test_llvm_is_told_where_it_would_move_nothing():
    text = module(300, within=SPLAT)
    told = with_operands_in_place(text)
    assert told != text
    assert assemble(told) == assemble(text)
    short = module(100, within=SPLAT)
    assert with_operands_in_place(short) == short


@pytest.mark.parametrize(
    ("behind", "moves"),
    [
        ("%p = phi <32 x i8> [ %k.all, %0 ], [ zeroinitializer, %long ]", False),
        ("%s = add <32 x i8> %k.all, %k.all", True),
        ("%s = zext <32 x i1> %less to <32 x i8>", True),
    ],
)
def test_uses_in_other_blocks_count_unless_by_a_phi(behind, moves):
    compared = f"{SPLAT}\n  %less = icmp slt <32 x i8> %k.all, %k.all"
    text = module(300, within=compared, behind=behind)
    assert (with_operands_in_place(text) == text) == moves


def test_names_are_those_of_one_function():
    first = module(300, within=SPLAT)
    second = module(9, before="%one = add i8 %k, %k", within=SPLAT.replace("%one", "%other"))
    assert with_operands_in_place(first + second) != first + second
