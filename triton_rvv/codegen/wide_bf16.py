"""Computes extremes of single bf16 numbers in fp32, where LLVM made them ones of bf16.

    r = maximum(a, b)       r = bf16(maximum(float(a), float(b)))

The lowering writes the second, and LLVM's optimisation the first: the same numbers, which LLVM 22.1
cannot select for a core that converts bf16 by instructions (Zfbfmin): it ends the process. Vectors
it selects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from triton_rvv.codegen.changed_lines import with_changed_lines

__all__ = ["with_wide_bf16"]

_EXTREME = re.compile(
    r" *(?P<name>%[-\w.]+) = (?:tail )?call (?P<flags>(?:\w+ )*)bfloat "
    r"@llvm\.(?P<does>maximum|minimum)\.bf16\(bfloat (?P<one>[^,]+), bfloat (?P<other>[^,]+)\)"
    r"(?: #\d+)?(?P<rest>.*)"
)


def with_wide_bf16(llir: str) -> str:
    """The text of a module without extremes of single bf16 numbers."""
    text, used = llir, [does for does in ("maximum", "minimum") if f"@llvm.{does}.bf16(" in llir]
    if used:
        text = with_changed_lines(llir, _changes)
    functions = {does: f"@llvm.{does}.f32(" for does in used}
    missing = [
        does for does, function in functions.items() if f"declare float {function}" not in text
    ]
    return "".join((text, *(f"\ndeclare float {functions[n]}float, float)\n" for n in missing)))


def _changes(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines):
        if "call" in line and (found := _EXTREME.fullmatch(line)) is not None:
            yield number, "\n".join(_wide(found, number))


def _wide(found: re.Match[str], number: int) -> Iterator[str]:
    one, other, most = (f"%wide.{part}.{number}" for part in ("one", "other", "most"))
    rest = found["rest"]
    yield f"  {one} = fpext bfloat {found['one']} to float{rest}"
    yield f"  {other} = fpext bfloat {found['other']} to float{rest}"
    called = f"@llvm.{found['does']}.f32(float {one}, float {other})"
    yield f"  {most} = call {found['flags']}float {called}{rest}"
    yield f"  {found['name']} = fptrunc float {most} to bfloat{rest}"
