"""Integer arithmetic on the way to a prefetched address, against QEMU's own results."""

from __future__ import annotations

import itertools

import pytest

OPERANDS = (0, 1, -1, 7, -7, 1 << 31, (1 << 32) + 3, -(1 << 63))


@pytest.mark.parametrize(
    "operation",
    [
        *("div", "remuw", "sh2add", "add.uw", "mulhsu", "andn", "maxu", "rolw", "bset"),
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in (
                *("divu", "rem", "remu", "divw", "divuw", "remw", "sh3add.uw"),
                *("mulh", "mulhu", "orn", "xnor", "min"),
                *("rol", "ror", "rorw", "bclr", "binv", "bext"),
            )
        ),
    ],
)
def test_a_prefetch_behind_arithmetic_finds_its_line(run_regions, operation):
    found_lines(run_regions, f"{operation} t2, t0, t1", itertools.product(OPERANDS, repeat=2))


@pytest.mark.parametrize(
    "operation",
    [
        *("clz", "ctz", "cpop", "clzw", "cpopw"),  # QEMU 7.2 is wrong about ctzw
        *("sext.b", "sext.h", "zext.h", "orc.b", "rev8"),
    ],
)
def test_so_does_one_behind_an_operation_on_one_register(run_regions, operation):
    found_lines(run_regions, f"{operation} t2, t0", ((operand, 0) for operand in OPERANDS))


@pytest.mark.parametrize("operation", ["bseti", "bclri", "binvi", "bexti", "rori", "roriw"])
def test_so_does_one_behind_an_operation_with_a_number(run_regions, operation):
    for by in (0, 13, 31):
        found_lines(
            run_regions, f"{operation} t2, t0, {by}", ((operand, 0) for operand in OPERANDS)
        )


def found_lines(run_regions, operation, pairs):
    """The operation, on pairs of values in t0 and t1, must be replayed as QEMU does it."""
    # The result chooses one of 64 lines of a page of its own; the load then hits only if the
    # plug-in worked out the same line as QEMU did. The jump ends a block: prefetches act there.
    cases = list(pairs)
    touch = "lb t4, 0(a0)"  # a load shows its base
    body = f".option arch, +zba, +zbb, +zbs\n{touch}\nmv t6, a0\nli t5, 4096\n"
    for first, second in cases:
        body += (
            f"li t0, {first}\nli t1, {second}\n{operation}\n"
            "srli t3, t2, 27\nxor t2, t2, t3\nandi t2, t2, 63\nslli t2, t2, 6\n"
            "add t3, t6, t2\n.insn i 0x13, 6, x0, t3, 1\nj 1f\n1: lb t4, 0(t3)\nadd t6, t6, t5\n"
        )
    (region,) = run_regions((touch, body))
    assert region.counters["software_prefetch"] == len(cases)
    assert region.unresolved == {}
    assert region.counters["l1d_load_miss"] == 0
