"""The innermost loop of a kernel's assembly."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["innermost_loop"]

_LABEL = re.compile(r"^(\.?[\w$.]+):")
_JUMP = re.compile(r"^\s+(?:b\w*|j|c\.j|c\.b\w+)\s+(?:.*,\s*)?(\.?[\w$.]+)\s*(?:#.*)?$")
# Multiply-adds of scalars and vectors, and of matrix units.
_MULTIPLY_ADD = re.compile(r"^\s+(?:fn?m(?:add|sub)\.|vf?w?n?m(?:acc|sac|add|sub|adot)|smt\.v)")
_VECTOR = re.compile(r"^\s+v[a-z]")


def innermost_loop(assembly: str) -> str:
    """The lines of the innermost loop with the most multiply-adds, or else vector instructions.

    What runs most often cannot be told from assembly alone. A loop counts as innermost if no other
    in it does this work: a loop of scalars around a tail does not hide the one around it.

    Args:
        assembly: of one kernel, as LLVM prints it for RISC-V.

    Returns:
        From the loop's label to its backward branch; empty if there is no loop.
    """
    lines = [line for line in assembly.splitlines() if line.strip()]
    loops = _loops(lines)
    working = loops
    for work in (_VECTOR, _MULTIPLY_ADD):
        working = [loop for loop in working if _count(work, lines, loop)] or working
    inner = [
        (start, end)
        for start, end in working
        if not any((a, b) != (start, end) and start <= a and b <= end for a, b in working)
    ]
    if not inner:
        return ""
    start, end = max(inner, key=lambda loop: _work(lines, loop))
    return "\n".join(line.expandtabs(8) for line in lines[start : end + 1])


def _loops(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The first and the last line of each loop."""
    labels = {match[1]: at for at, line in enumerate(lines) if (match := _LABEL.match(line))}
    jumps = [
        (labels.get(jump[1]), at) for at, line in enumerate(lines) if (jump := _JUMP.match(line))
    ]
    return [(start, end) for start, end in jumps if start is not None and start <= end]


def _count(work: re.Pattern[str], lines: Sequence[str], loop: tuple[int, int]) -> int:
    return sum(bool(work.match(line)) for line in lines[loop[0] : loop[1] + 1])


def _work(lines: Sequence[str], loop: tuple[int, int]) -> tuple[int, int, int]:
    counts = [_count(work, lines, loop) for work in (_MULTIPLY_ADD, _VECTOR)]
    return counts[0], counts[1], loop[1] - loop[0]
