"""Runs the compiler's passes on a few lines of IR."""

from __future__ import annotations

from ir_text import function

from triton_rvv.frontend.ttir import Operation, parse_module
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.passes import PASSES
from triton_rvv.targets.target import RVVTarget

__all__ = ["after", "only"]


def after(
    name: str, body: str, disjoint: bool = True, n: int | None = None
) -> tuple[int, Operation]:
    """A kernel after all passes up to one, and how many places that one changed."""
    module, target = parse_module(function(body)), RVVTarget(vlen_bits=256)
    kernel = Kernel(module, target, disjoint, [None, None, n])
    for each in PASSES:
        count = each.run(kernel)
        verify(kernel.module)
        if each.name == name:
            return count, kernel.module
    raise AssertionError(f"there is no pass {name}")


def only(module: Operation, name: str) -> Operation:
    """The one operation of a module that has that name."""
    (found,) = (operation for operation in module.walk() if operation.name == name)
    return found
