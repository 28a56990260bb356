"""The memory model: caches against a small model in Python, prefetches, penalties."""

from __future__ import annotations

import random
from collections import OrderedDict

import pytest

LINE_BYTES = 64


class Cache:
    """A set-associative, least-recently-used, write-back cache of lines."""

    def __init__(self, sets: int, ways: int) -> None:
        self.sets = [OrderedDict[int, bool]() for _ in range(sets)]
        self.ways = ways

    def access(self, line: int, dirty: bool) -> tuple[bool, int | None]:
        """Whether it hit, and the dirty line that had to leave."""
        lines = self.sets[line % len(self.sets)]
        hit = line in lines
        lines[line] = lines.pop(line, False) or dirty
        if len(lines) <= self.ways:
            return hit, None
        victim, was_dirty = lines.popitem(last=False)
        return hit, victim if was_dirty else None


def _model(accesses: list[tuple[int, bool]], buffer_line: int) -> dict[str, int]:
    """Counts of the X60's two caches, from cold."""
    l1d, l2 = Cache(128, 4), Cache(512, 16)
    counts = dict.fromkeys(("l1d_miss", "l1d_load_miss", "l2_miss", "l1d_dirty_eviction"), 0)
    for offset, store in accesses:
        line = buffer_line + offset
        hit, evicted = l1d.access(line, store)
        if not hit:
            counts["l1d_miss"] += 1
            counts["l1d_load_miss"] += not store
            counts["l2_miss"] += not l2.access(line, False)[0]
        if evicted is not None:
            counts["l1d_dirty_eviction"] += 1
            l2.access(evicted, True)
    return counts


# Strides that crowd one set, a few sets and none; the last does not fit into L2.
@pytest.mark.parametrize(("lines", "stride"), [(600, 1), (40, 128), (64, 32), (16000, 1)])
def test_caches_count_like_a_small_model(run_regions, lines, stride):
    rng = random.Random(lines)
    accesses = [(rng.randrange(lines) * stride, rng.random() < 0.4) for _ in range(1500)]
    text = "".join(
        f"li t1, {line * LINE_BYTES}\nadd t1, t1, a0\n{'sb' if store else 'lb'} t2, 0(t1)\n"
        for line, store in accesses
    )
    (region,) = run_regions(("", text))
    expected = _model(accesses, buffer_line=0)  # the buffer starts a page: sets 0, 64, ...
    shifted = _model(accesses, buffer_line=64)
    counted = {name: region.counters[name] for name in expected}
    assert counted in (expected, shifted)
    assert region.counters["l1d_access"] == len(accesses)


def test_caches_stay_warm_from_before_the_region(run_regions):
    load = "lw t1, 0(a0)"
    cold, warm = run_regions(("", load), (load, load))
    assert cold.counters["l1d_miss"] == 1
    assert warm.counters["l1d_miss"] == 0


def _cycles_of_walk(run_regions, step_bytes: int, prefetch: str = "") -> float:
    """Cycles for 64 loads, each of which needs the one before, from lines that only L2 holds."""
    touch = "li t2, 8192\nmv t3, a0\n8: lw t1, 0(t3)\naddi t3, t3, 64\naddi t2, t2, -1\nbnez t2, 8b"
    walk = f"mv t3, a0\nli t4, {step_bytes}\nli t2, 64\n"
    walk += f"9: {prefetch}lw t1, 0(t3)\nand t1, t1, zero\nadd t3, t3, t4\nadd t3, t3, t1\n"
    walk += "addi t2, t2, -1\nbnez t2, 9b"
    (region,) = run_regions((touch, walk))
    assert region.counters["l2_miss"] == 0
    return region.cycles


def test_sequential_misses_are_foreseen_and_random_ones_are_not(run_regions):
    sequential = _cycles_of_walk(run_regions, 64)
    scattered = _cycles_of_walk(run_regions, 192)
    further_pages = 2
    assert scattered - sequential == pytest.approx(63 * (35 - 5) + further_pages * 25)


def test_a_software_prefetch_hides_a_miss(run_regions):
    # prefetch.r 192(t3): three lines ahead, which is where the next load goes
    hint = ".insn i 0x13, 6, x0, t3, 193\n"
    without = _cycles_of_walk(run_regions, 192)
    assert _cycles_of_walk(run_regions, 192, hint) < without - 60 * 30


def test_a_prefetch_of_an_unknown_address_is_reported(run_regions):
    (region,) = run_regions(("mv t3, a0", ".insn i 0x13, 6, x0, t3, 1"))
    assert region.unresolved == {"software_prefetch_unresolved": 1}
    assert region.counters["software_prefetch"] == 0


# Bytes a cycle that rvv-bench measured on an X60 for memcpy with groups of eight registers: L1D,
# L2, DRAM.
@pytest.mark.parametrize(
    ("size_bytes", "slowest", "fastest"),
    [(8 << 10, 5, 6), (128 << 10, 3.5, 4.2), (2 << 20, 1.6, 1.9)],
)
def test_memcpy_runs_about_as_fast_as_was_published(run_regions, size_bytes, slowest, fastest):
    copy = (
        f"li t2, {size_bytes}\nmv t3, a0\nli t4, 2097152\nadd t4, t4, a0\n"
        "7: vsetvli t0, t2, e8, m8, ta, ma\nvle8.v v8, (t3)\nadd t3, t3, t0\n"
        "sub t2, t2, t0\nvse8.v v8, (t4)\nadd t4, t4, t0\nbnez t2, 7b"
    )
    (region,) = run_regions((copy, copy))
    assert slowest <= size_bytes / region.cycles <= fastest


def test_many_pages_cost_translations(run_regions):
    pages = "mv t3, a0\n" + "li t4, 4160\n"
    touch = "lw t1, 0(t3)\nadd t3, t3, t4\n"
    few, many = run_regions(("", pages + touch * 60), ("", pages + touch * 200))
    assert few.raw["tlb_miss"] == 60
    assert many.raw["tlb_miss"] == 200 - 60
