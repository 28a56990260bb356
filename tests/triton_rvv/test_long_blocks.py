"""Basic blocks so long that LLVM would number their instructions for most of its time."""

from __future__ import annotations

from triton_rvv.codegen.llvm import assemble
from triton_rvv.codegen.long_blocks import has_long_block

MODULE = """
target triple = "riscv64-unknown-linux-gnu"
define void @f(ptr %x, i8 %k, i1 %c) "target-cpu"="spacemit-x60" "target-features"="+v,+zvl256b" {
  %one = insertelement <32 x i8> poison, i8 %k, i32 0
  %k.all = shufflevector <32 x i8> %one, <32 x i8> poison, <32 x i32> zeroinitializer
  br i1 %c, label %long, label %end
long:
  %v0 = load <32 x i8>, ptr %x
STEPS
  store <32 x i8> %vLAST, ptr %x
  br label %end
end:
  ret void
}
"""


def module(instructions: int) -> str:
    """A chain of additions of one number, which is made in another block."""
    last = instructions - 3
    steps = [f"  %v{i} = add <32 x i8> %v{i - 1}, %k.all" for i in range(1, last + 1)]
    return MODULE.replace("STEPS", "\n".join(steps)).replace("LAST", str(last))


def test_llvm_moves_no_operands_into_long_blocks():
    """`vadd.vx` shows that it moved the number to where it is added."""
    assert "vadd.vx" in assemble(module(100))
    assert "vadd.vx" not in assemble(module(2049))
    assert "vadd.vx" in assemble(module(100))


def test_a_block_ends_with_its_label():
    assert not has_long_block(module(2048))
    assert has_long_block(module(2049))
    assert not has_long_block(module(2000) + module(2000))
