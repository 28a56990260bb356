"""Kernels compiled without some of the compiler's passes, and the pass that makes one wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

__all__ = ["blamed", "pass_names", "without_passes"]


def pass_names() -> list[str]:
    """All passes, in order."""
    from triton_rvv.lowering import PASSES

    return [each.name for each in PASSES]


@contextmanager
def without_passes(names: Collection[str]) -> Iterator[None]:
    """Inside the `with`, kernels are compiled anew without these passes."""
    from triton import knobs

    from triton_rvv.lowering.ttir import passes

    every, always = passes.PASSES, knobs.compilation.always_compile
    passes.PASSES = [each for each in every if each.name not in names]
    knobs.compilation.always_compile = always or bool(names)
    try:
        yield
    finally:
        passes.PASSES, knobs.compilation.always_compile = every, always


def blamed(is_wrong: Callable[[Collection[str]], bool]) -> str:
    """After which pass a kernel is wrong that all passes together make wrong, as a sentence.

    Args:
        is_wrong: whether the kernel is wrong when compiled without some passes.
    """
    names = pass_names()
    for count in range(len(names) + 1):
        if is_wrong(names[count:]):
            return f"It is wrong after {names[count - 1]}." if count else "No pass makes it wrong."
    return "It is right this time."
