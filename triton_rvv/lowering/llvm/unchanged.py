"""Quotients and roots of numbers that a loop does not change: they are computed before it.

LLVM takes them out only where a loop leaves registers for integers, which few do here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["taken_out"]

_FLOAT = r"(?:float|double|half|bfloat)"
_NUMBER = rf"(?:{_FLOAT}|i\d+)"
# What has no effect, whatever the operands: quotients of integers are not among them.
_INSTRUCTION = (
    r"fdiv|fmul|fadd|fsub|fneg|fpext|fptrunc|sitofp|uitofp|bitcast|add|sub|mul|and|or|xor|shl"
    r"|lshr|ashr|sext|zext|trunc|fcmp|icmp|select"
)
_INTRINSIC = r"fabs|copysign|fma|maxnum|minnum|maximum|minimum|sqrt|smax|smin|umax|umin"
_PURE = re.compile(
    rf"(?:(?:{_INSTRUCTION})(?: [a-z]+)*? {_NUMBER}|call {_NUMBER} @llvm\.(?:{_INTRINSIC})\.)[^<]*$"
)
_TAKES_LONG = re.compile(r"fdiv |call \w+ @llvm\.sqrt\.")
_GIVES_FLOAT = re.compile(rf"(?:f(?!cmp)\w+(?: [a-z]+)*?|call) {_FLOAT} ")
_NAME = re.compile(r"%[\w.]+")


@dataclass(frozen=True)
class _Line:
    """A line of a loop that computes a number.

    Args:
        result: its name.
        text: what follows " = ".
        inside: names of the operands that other lines of the loop compute.
    """

    result: str
    text: str
    inside: frozenset[str]


def taken_out(lines: Sequence[str], counter: str) -> tuple[list[str], list[str]]:
    """A loop's turn as what is computed before the loop, and what is left.

    Quotients and roots go before it with all that they are made of, and floats that are then made
    of nothing else inside the loop.

    Args:
        counter: the name of what each turn begins with.
    """
    if not any(map(_may_take_long, lines)):
        return [], [*lines]
    unchanged = _unchanged(lines, counter)
    chosen = set[str]()
    for line in reversed(unchanged):
        if line.result in chosen or _TAKES_LONG.match(line.text):
            chosen |= {line.result, *line.inside}
    for line in unchanged:
        if line.inside and line.inside <= chosen and _GIVES_FLOAT.match(line.text):
            chosen.add(line.result)
    out, left = list[str](), list[str]()
    for text in lines:
        (out if text.split(" = ")[0].strip() in chosen else left).append(text)
    return out, left


def _may_take_long(text: str) -> bool:
    return "<" not in text and (" = fdiv " in text or "@llvm.sqrt." in text)


def _unchanged(lines: Sequence[str], counter: str) -> list[_Line]:
    """The lines that compute the same number in every turn, in order."""
    parts = [text.partition(" = ") for text in lines]
    changing = {counter, *(name.strip() for name, defines, _ in parts if defines)}
    inside, found = frozenset(changing), list[_Line]()
    for name, defines, text in parts:
        if defines and _PURE.match(text):
            operands = inside.intersection(_NAME.findall(text))
            if not operands & changing:
                changing.remove(name.strip())
                found.append(_Line(name.strip(), text, operands))
    return found
