"""Writes choices between two masks by a lane's place as operations of masks.

LLVM's passes make a shuffle of `(c & a) | (~c & b)` where c is constant. For RVV, LLVM 22.1 then
makes bytes of both masks, merges those, and compares them with 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from triton_rvv.codegen.changed_lines import with_changed_lines

__all__ = ["with_mask_blends"]

_SHUFFLE = re.compile(
    r" *(?P<name>%[-\w.]+) = shufflevector (?P<type><(?P<width>\d+) x i1>) (?P<first>%[-\w.]+), "
    r"(?P=type) (?P<other>%[-\w.]+), <(?P=width) x i32> <(?P<lanes>[^>]+)>(?P<rest>.*)"
)


def with_mask_blends(llir: str) -> str:
    """The text of a module without shuffles of masks that leave lanes in place."""
    return with_changed_lines(llir, _changes) if " x i1> %" in llir else llir


def _changes(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines):
        shuffle = _SHUFFLE.fullmatch(line) if " shufflevector " in line else None
        if shuffle is not None and (blend := _blend(shuffle, number)) is not None:
            yield number, blend


def _blend(shuffle: re.Match[str], number: int) -> str | None:
    """Operations in place of a shuffle; None if it moves lanes."""
    width = int(shuffle["width"])
    lanes = [lane.removeprefix("i32 ") for lane in shuffle["lanes"].split(", ")]
    if any(each not in (str(i), str(i + width), "poison") for i, each in enumerate(lanes)):
        return None
    is_first = [each == str(i) for i, each in enumerate(lanes)]
    type_, rest, parts = shuffle["type"], shuffle["rest"], ("first", "other")
    text = ""
    for part, keeps in zip(parts, (True, False), strict=True):
        name = f"%blend.{number}.{part}"
        kept = ", ".join(f"i1 {str(lane is keeps).lower()}" for lane in is_first)
        # Lanes that are left out may be poison, which `and` keeps.
        text += f"  {name}.whole = freeze {type_} {shuffle[part]}{rest}\n"
        text += f"  {name} = and {type_} {name}.whole, <{kept}>{rest}\n"
    first, other = (f"%blend.{number}.{part}" for part in parts)
    return f"{text}  {shuffle['name']} = or disjoint {type_} {first}, {other}{rest}"
