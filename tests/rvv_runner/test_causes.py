"""Where cycles go: the causes add up to the estimate, and each is told from the others."""

from __future__ import annotations

import pytest

from rvv_runner.emulated.causes import CAUSES

VECTOR = "vsetvli t0, zero, e32, m4, ta, ma"
TAKE = "add t3, t3, t2\n"
# One line of each page, in an order that no stream follows: of 4 MB, and of 128 kB.
PAGES = "".join(
    f"li t1, {4096 * (397 * n % 1024)}\nadd t1, t1, a0\nld t2, 0(t1)\n{TAKE}" for n in range(1024)
)
LINES = "".join(
    f"li t1, {64 * (797 * n % 2048)}\nadd t1, t1, a0\nld t2, 0(t1)\n{TAKE}" for n in range(2048)
)
# One line of each of 96 pages, all of which L1D holds and the TLB does not.
SPREAD = "".join(
    f"li t1, {4096 * n + 64 * (n % 64)}\nadd t1, t1, a0\nld t2, 0(t1)\n{TAKE}" for n in range(96)
)
BRANCHES = "li t1, 0x5a3c96\n" + "andi t2, t1, 1\nsrli t1, t1, 1\nbnez t2, 1f\nnop\n1:\n" * 20

# What comes before a region, its body, and what takes most of it.
CASES = {
    "vector": (VECTOR, "vfmacc.vv v8, v16, v24\n" * 50),
    "issue": ("", "nop\n" * 200),
    "scalar": ("li t0, 7", "mul t0, t0, t0\n" * 50),
    "vset": ("li t1, 5", "vsetvli t0, t1, e32, m1, ta, ma\nmv t1, t0\n" * 50),
    "l1": ("sd a0, 0(a0)", "ld t0, 0(a0)\nadd t0, t0, t0\n" * 50),
    "dram": ("", PAGES),
    "branches": ("", BRANCHES),
    "l2": (LINES, LINES),
    "tlb": (SPREAD, SPREAD * 3),
}


@pytest.fixture
def regions(run_regions):
    """The region of each case, from the plug-in that explains."""
    return dict(zip(CASES, run_regions(*CASES.values(), plugin="explaining"), strict=True))


@pytest.mark.parametrize("device", ["emulated:x60", "emulated:x100"])
def test_explaining_changes_no_count_and_the_causes_add_up(run_regions, device):
    explaining = run_regions(*CASES.values(), plugin="explaining", device=device)
    for plain, explained in zip(
        run_regions(*CASES.values(), device=device), explaining, strict=True
    ):
        raw = dict(explained.raw)
        places, causes = raw.pop("places"), raw.pop("causes")
        assert raw == plain.raw
        assert causes == list(CAUSES)
        ticks = sum(round(100 * cycles) for _, *row in places for cycles in row)
        assert ticks == round(100 * explained.cycles)


def test_each_cause_is_told_from_the_others(regions):
    for cause, region in regions.items():
        cycles = dict.fromkeys(CAUSES, 0.0)
        for _, *row in region.raw["places"]:
            for name, count in zip(CAUSES, row, strict=True):
                cycles[name] += count
        assert cycles[cause] > 0.5 * region.cycles, (cause, cycles)


def test_an_instruction_pays_for_what_waits_for_it(regions):
    # The addition waits for the load before it, whose miss it is.
    rows = sorted((address, sum(row)) for address, *row in regions["dram"].raw["places"])
    of_loads = sum(cycles for address, cycles in rows[2::4])
    of_others = regions["dram"].cycles - of_loads
    assert of_loads > 20 * of_others
