"""Which of the compiler's passes and rules makes a kernel wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection

from triton_rvv.pass_printer import skipped_names

__all__ = ["wrong_after"]


def wrong_after(is_wrong: Callable[[Collection[str]], bool]) -> str:
    """After which pass, or with which rule, a kernel is wrong, as a sentence.

    Passes and rules are added one after another, in their order. Half of those that may be to blame
    are left out each time, so about eight builds tell.

    Args:
        is_wrong: whether the kernel is wrong when compiled without some of them, given by name.
    """
    names = skipped_names()
    if not is_wrong(()):
        return "It is right this time."
    if is_wrong(names):
        return (
            "It is wrong without any pass or rule: look at how operations are written, or at LLVM."
        )
    right, wrong = 0, len(names)  # with so many of them
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if is_wrong(names[middle:]):
            wrong = middle
        else:
            right = middle
    return f"It is wrong after {names[right]}."
