"""Writes scatters to neighbouring elements in another order as a permutation and one store.

LLVM 22.1 does the same where it makes machine code for RVV, with the permutation the wrong way
round: element i goes where the element that belongs into place i should, which is right for
permutations that are their own inverses alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from triton_rvv.codegen.changed_lines import with_changed_lines
from triton_rvv.codegen.element_bytes import ELEMENT_BYTES

__all__ = ["with_permuted_stores"]

_ADDRESSES = re.compile(
    r" *(?P<name>%[-\w.]+) = getelementptr (?:(?:inbounds|nuw|nusw) )*(?P<type>\w+), "
    r"ptr (?P<base>[%@][-\w.]+), <\d+ x i\d+> <(?P<steps>(?:i\d+ -?\d+(?:, )?)+)>.*"
)
_SCATTER = re.compile(
    r" *call void @llvm\.masked\.scatter\.\S+?\((?P<vector><\d+ x (?P<type>\w+)>) (?P<value>.+), "
    r"<\d+ x ptr> align (?P<align>\d+) (?P<addresses>%[-\w.]+), <\d+ x i1> splat \(i1 true\)\)"
    r"(?: #\d+)?(?P<rest>.*)"
)


def with_permuted_stores(llir: str) -> str:
    """The text of a module without scatters that are permutations."""
    return with_changed_lines(llir, _changes) if "@llvm.masked.scatter" in llir else llir


def _changes(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    # Blocks may come before those that they follow.
    addresses = {found["name"]: found for found in map(_ADDRESSES.fullmatch, lines) if found}
    for number, line in enumerate(lines):
        scatter = _SCATTER.fullmatch(line)
        if scatter is not None and (places := addresses.get(scatter["addresses"])) is not None:
            stored = _stored(scatter, places, number)
            if stored is not None:
                yield number, stored


def _stored(scatter: re.Match[str], addresses: re.Match[str], number: int) -> str | None:
    """A permutation and a store in place of a scatter; None if its places are no neighbours."""
    places = _places(addresses, ELEMENT_BYTES.get(scatter["type"], 0))
    if places is None or sorted(places) != list(range(len(places))):
        return None
    lanes = ", ".join(f"i32 {places.index(place)}" for place in range(len(places)))
    vector, name = scatter["vector"], f"%in.order.{number}"
    mask = f"<{len(places)} x i32> <{lanes}>"
    return (
        f"  {name} = shufflevector {vector} {scatter['value']}, {vector} poison, {mask}\n"
        f"  store {vector} {name}, ptr {addresses['base']}, "
        f"align {scatter['align']}{scatter['rest']}"
    )


def _places(addresses: re.Match[str], size_bytes: int) -> list[int] | None:
    """Elements of `size_bytes` between the base and each address; None if they are none."""
    step_bytes = ELEMENT_BYTES.get(addresses["type"], 0)
    offsets = [int(step.split()[1]) * step_bytes for step in addresses["steps"].split(", ")]
    if not step_bytes or not size_bytes or any(offset % size_bytes for offset in offsets):
        return None
    return [offset // size_bytes for offset in offsets]
