"""Pieces of code that are written side by side."""

from __future__ import annotations

from functools import partial

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer


def test_stores_of_pieces_keep_their_order():
    """LLVM would join those of an array where the last part's is, before others have values."""
    builder = Builder()
    array = builder.alloca("i32", 3)

    def stored_after(lines: int, place: int) -> None:
        value = Val("i32", "%x")
        for _ in range(lines):
            value = builder.add(value, Val("i32", "%y"))
        builder.store(value, builder.element_pointer("i32", array, integer(place)), 4)

    lines = (7, 2, 4)
    builder.interleave([partial(stored_after, *each) for each in zip(lines, range(3), strict=True)])
    targets = [line.split()[4] for line in builder.lines if line.startswith("  store")]
    makers = {line.split()[0]: line for line in builder.lines if " = " in line}
    places = [makers.get(target.rstrip(","), "i64 0").split()[-1] for target in targets]
    assert places == ["0", "1", "2"]
    assert len(builder.lines) == sum(lines) + 3 + 2
