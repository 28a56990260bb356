"""Where cycles go: the causes add up to the estimate, and each is told from the others."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import pytest
from conftest import PROGRAM, REGION, RUN_TIMEOUT_S, make_emulator

from rvv_runner.emulated.causes import CAUSES
from rvv_runner.emulated.plugin import build_plugin
from rvv_runner.emulated.run import run_in_qemu
from triton_rvv.zig import run_zig_cc

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


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The region of each case, first from the plug-in that does not explain."""
    folder = tmp_path_factory.mktemp("causes")
    code = "".join(REGION.format(before=before, body=body) for before, body in CASES.values())
    (folder / "program.S").write_text(PROGRAM.format(code=code))
    flags = ["-static", "-nostdlib", "program.S", "-o", "program.elf"]
    run_zig_cc(flags, timeout_s=120, folder=folder)
    emulator = make_emulator()
    found = []
    for explaining in (False, True):
        chosen = dataclasses.replace(emulator, plugin=build_plugin(explaining))
        run = run_in_qemu(chosen, folder / "program.elf", (), RUN_TIMEOUT_S)
        assert run.result.returncode == 0, run.result.stderr
        found.append(dict(zip(CASES, json.loads(run.report)["regions"], strict=True)))
    return found


def test_explaining_changes_no_count_and_the_causes_add_up(reports):
    plain, explained = reports
    for name, region in explained.items():
        ticks = sum(round(100 * cycles) for _, *row in region["places"] for cycles in row)
        assert ticks == round(100 * region["cycles"])
        assert region["causes"] == list(CAUSES)
        rest = {key: value for key, value in region.items() if key not in ("places", "causes")}
        assert rest == plain[name]


@pytest.mark.parametrize("cause", CASES)
def test_each_cause_is_told_from_the_others(reports, cause):
    region = reports[1][cause]
    cycles: Counter[str] = Counter()
    for _, *row in region["places"]:
        cycles.update(dict(zip(region["causes"], row, strict=True)))
    assert max(cycles, key=cycles.get) == cause, cycles
    assert cycles[cause] > 0.5 * region["cycles"]


def test_what_others_wait_for_is_charged(reports):
    # The load's miss keeps the addition waiting: its cycles are the load's.
    region = reports[1]["dram"]
    rows = {address: sum(row) for address, *row in region["places"]}
    by_place: Counter[int] = Counter()
    for number, address in enumerate(sorted(rows)):
        by_place[number % 4] += rows[address]
    assert by_place.most_common(1)[0][1] > 0.9 * region["cycles"]
