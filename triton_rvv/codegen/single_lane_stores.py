"""Writes masked stores of one lane, which is known beforehand, as stores of that element.

LLVM 22.1 does the same where it makes machine code for x86, and then stores four bytes where lanes
of one or two were narrowed from wider ones: the elements behind that lane were overwritten.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from triton_rvv.codegen.changed_lines import with_changed_lines
from triton_rvv.codegen.element_bytes import ELEMENT_BYTES

__all__ = ["with_single_lane_stores"]

_STORE = re.compile(
    r" *(?:tail )?call void @llvm\.masked\.store\.\S+?\((?P<vector><\d+ x (?P<type>\w+)>) "
    r"(?P<value>.+), ptr (?:align (?P<align>\d+) )?(?P<base>[%@][-\w.]+), "
    r"<\d+ x i1> <(?P<lanes>i1 \w+(?:, i1 \w+)*)>\)(?: #\d+)?(?P<rest>.*)"
)


def with_single_lane_stores(llir: str) -> str:
    """The text of a module without masked stores of one known lane."""
    return with_changed_lines(llir, _changes) if "@llvm.masked.store" in llir else llir


def _changes(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines):
        if "@llvm.masked.store" in line and (found := _STORE.fullmatch(line)) is not None:
            lanes = found["lanes"].split(", ")
            if lanes.count("i1 true") == 1 and found["type"] in ELEMENT_BYTES:
                yield number, "\n".join(_stored(found, lanes.index("i1 true"), number))


def _stored(found: re.Match[str], lane: int, number: int) -> Iterator[str]:
    element, place, rest = f"%one.lane.{number}", f"%its.place.{number}", found["rest"]
    align = math.gcd(int(found["align"] or 1), lane * ELEMENT_BYTES[found["type"]])
    yield f"  {element} = extractelement {found['vector']} {found['value']}, i64 {lane}{rest}"
    yield f"  {place} = getelementptr {found['type']}, ptr {found['base']}, i64 {lane}{rest}"
    yield f"  store {found['type']} {element}, ptr {place}, align {align}{rest}"
