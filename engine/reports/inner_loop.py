"""The innermost loop of a kernel's assembly."""

from __future__ import annotations

import re

__all__ = ["innermost_loop"]

_LABEL = re.compile(r"^(\.?[\w$.]+):")
_JUMP = re.compile(r"^\s+(?:b\w*|j|c\.j|c\.b\w+)\s+(?:.*,\s*)?(\.?[\w$.]+)\s*(?:#.*)?$")
_VECTOR = re.compile(r"^\s+v[a-z]")


def innermost_loop(assembly: str) -> str:
    """The lines of the loop that holds no other and has the most vector instructions.

    What runs most often cannot be told from assembly alone; of loops without an inner one, the one
    that does the most vector work is shown.

    Args:
        assembly: of one kernel, as LLVM prints it for RISC-V.

    Returns:
        From the loop's label to its backward branch; empty if there is no loop.
    """
    lines = [line for line in assembly.splitlines() if line.strip()]
    labels = {match[1]: at for at, line in enumerate(lines) if (match := _LABEL.match(line))}
    loops = []
    for at, line in enumerate(lines):
        jump = _JUMP.match(line)
        start = labels.get(jump[1]) if jump else None
        if start is not None and start <= at:
            loops.append((start, at))
    inner = [
        (start, end)
        for start, end in loops
        if not any((a, b) != (start, end) and start <= a and b <= end for a, b in loops)
    ]
    if not inner:
        return ""
    start, end = max(inner, key=lambda loop: _vector_instructions(lines[loop[0] : loop[1] + 1]))
    return "\n".join(line.expandtabs(8) for line in lines[start : end + 1])


def _vector_instructions(lines: list[str]) -> tuple[int, int]:
    return sum(bool(_VECTOR.match(line)) for line in lines), len(lines)
