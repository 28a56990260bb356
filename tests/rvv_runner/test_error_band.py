"""Error bands: which class of kernel has which, and from which difference an order is trusted."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from rvv_runner.emulated.error_band import BANDS_FILE, KERNEL_CLASSES, kernel_class

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "boards"))

from record_truth import RECORDED, ROUTINES_FILE
from truth_scores import Comparison, tied_below
from truth_sessions import fence_cycles, has_slow_memory

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        ({"l2_miss": 40.0, "vector_inst": 9.0}, "memory"),  # of 14.3 cycles each
        ({"l2_miss": 30.0, "vector_inst": 9.0, "vector_store_inst": 5.0}, "streaming"),
        ({"vector_inst": 8.0, "vector_load_inst": 4.0, "scalar_loads": 2.0}, "products"),
        ({"vector_inst": 9.0, "vector_load_inst": 4.0, "scalar_loads": 2.0}, "computing"),
        ({"scalar_loads": 500.0}, "computing"),
    ],
)
def test_counters_tell_a_programs_class(counters: dict[str, float], expected: str) -> None:
    assert kernel_class({"u_mode_cycle": 1000.0, **counters}) == expected
    assert expected in KERNEL_CLASSES


def test_an_order_is_trusted_from_where_most_such_pairs_are_right() -> None:
    """Every second pair is in the wrong order up to 20%, and none of those that differ by more."""
    comparisons = []
    for step in range(1, 101):
        difference = step / 200
        right = difference > 0.2 or step % 2 == 0
        for name, estimated, published in (
            ("a", 1.0, 1.0),
            ("b", 1 + difference, 2.0 if right else 0.5),
        ):
            comparisons.append(Comparison(f"{step}", name, published, estimated))
    assert tied_below(comparisons) == pytest.approx(0.2, abs=0.01)
    # Where the times as published are nearly the same, their order says nothing of the model.
    for number in range(100):
        for name, published in (("a", 1.0), ("b", 0.97)):
            estimated = 1.3 if name == "b" else 1.0
            comparisons.append(Comparison(f"near {number}", name, published, estimated))
    assert tied_below(comparisons) == pytest.approx(0.2, abs=0.01)


def test_the_document_shows_the_bands_of_every_class() -> None:
    document = (ROOT / "docs" / "concepts" / "emulated_board.md").read_text(encoding="utf-8")
    bands = tomllib.loads(BANDS_FILE.read_text(encoding="utf-8"))["x60"]
    assert set(bands) == set(KERNEL_CLASSES)
    for kind, which in KERNEL_CLASSES.items():
        band = bands[kind]
        held_out = f"{band['held_out']} | ±{band['error']:.0%}"
        row = f"| {kind} | {which} | {held_out} | {band['points']} | {band['tied']:.0%} |"
        assert row in document


@pytest.mark.parametrize(
    ("page", "size", "fence", "slow"),
    [
        ("strlen", 8000, True, False),
        ("strlen", 65_000, True, True),
        ("byteswap", 8000, True, True),  # of four bytes each: 32,000
        ("LUT4", 65_000, True, False),  # measured again in October 2024, with the fence
        ("memcpy", 65_000, False, False),
        ("memreverse", 1_000_000, False, False),
    ],
)
def test_published_times_are_of_one_session(page: str, size: int, fence: bool, slow: bool) -> None:
    assert (fence_cycles(page) > 0, has_slow_memory(page, size)) == (fence, slow)


def test_no_published_time_is_all_fence() -> None:
    rows = [line.split("\t") for line in (RECORDED / ROUTINES_FILE).read_text().splitlines()[3:]]
    assert all(float(cycles) > 1.5 * fence_cycles(page) for page, *_, cycles in rows)
