"""Integer arithmetic on the way to a prefetched address, against QEMU's own results."""

from __future__ import annotations

import itertools

import pytest

OPERANDS = (0, 1, -1, 7, -7, 1 << 31, (1 << 32) + 3, -(1 << 63))


@pytest.mark.parametrize(
    "operation",
    [
        *("div", "divu", "rem", "remu", "divw", "divuw", "remw", "remuw"),
        *("sh2add", "add.uw", "sh3add.uw"),
    ],
)
def test_a_prefetch_behind_arithmetic_finds_its_line(run_regions, operation):
    # The result chooses one of 64 lines of a page of its own; the load then hits only if the
    # plug-in worked out the same line as QEMU did. The jump ends a block: prefetches act there.
    pairs = list(itertools.product(OPERANDS, repeat=2))
    touch = "lb t4, 0(a0)"
    body = f".option arch, +zba\n{touch}\nmv t6, a0\nli t5, 4096\n"  # a load shows its base
    for first, second in pairs:
        body += (
            f"li t0, {first}\nli t1, {second}\n{operation} t2, t0, t1\n"
            "srli t3, t2, 27\nxor t2, t2, t3\nandi t2, t2, 63\nslli t2, t2, 6\n"
            "add t3, t6, t2\n.insn i 0x13, 6, x0, t3, 1\nj 1f\n1: lb t4, 0(t3)\nadd t6, t6, t5\n"
        )
    (region,) = run_regions((touch, body))
    assert region.counters["software_prefetch"] == len(pairs)
    assert region.unresolved == {}
    assert region.counters["l1d_load_miss"] == 0
