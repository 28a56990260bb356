"""Kernels compiled without some of the compiler's passes and rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

__all__ = ["without_passes"]


@contextmanager
def without_passes(names: Collection[str]) -> Iterator[None]:
    """Inside the `with`, kernels are compiled anew without these passes and rules."""
    from triton import knobs

    from triton_rvv.lowering.llvm import rules
    from triton_rvv.lowering.ttir import passes

    before = passes.PASSES, rules.RULES, knobs.compilation.always_compile
    passes.PASSES = [each for each in passes.PASSES if each.name not in names]
    rules.RULES = [each for each in rules.RULES if each.name not in names]
    knobs.compilation.always_compile = knobs.compilation.always_compile or bool(names)
    try:
        yield
    finally:
        passes.PASSES, rules.RULES, knobs.compilation.always_compile = before
