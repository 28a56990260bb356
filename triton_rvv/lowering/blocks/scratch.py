"""Memory for blocks that are too large for the stack; the program around a kernel provides it."""

from __future__ import annotations

from triton_rvv.lowering.llvm.builder import SCRATCH, Builder

__all__ = ["PROVIDER", "entry_lines"]

# `triton_rvv_scratch` of launchers/kernel_abi.h.
PROVIDER = "triton_rvv_scratch"


def entry_lines(builder: Builder, size_bytes: int) -> list[str]:
    """How a function begins whose blocks need so much: with all its arrays, up to `entry`.

    A program that gets no memory does nothing.
    """
    if size_bytes == 0:
        return ["entry:", *builder.allocas]
    builder.declarations.add(f"declare ptr @{PROVIDER}(i64)")
    return [
        "first:",
        f"  {SCRATCH.ref} = call ptr @{PROVIDER}(i64 {size_bytes})",
        *builder.allocas,
        f"  %none = icmp eq ptr {SCRATCH.ref}, null",
        "  br i1 %none, label %without, label %entry",
        "without:",
        "  ret void",
        "entry:",
    ]
