"""Error bands: which class of kernel has which, and from which difference an order is trusted."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from rvv_runner.emulated.error_band import BANDS_FILE, KERNEL_CLASSES, kernel_class

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from truth_scores import Comparison, tied_below

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
        for name, estimated, published in (("a", 1.0, 1.0), ("b", 1 + difference, 2 * right)):
            comparisons.append(Comparison(f"{step}", name, published, estimated))
    assert tied_below(comparisons) == pytest.approx(0.2, abs=0.01)


def test_the_document_shows_the_bands_of_every_class() -> None:
    document = (ROOT / "docs" / "concepts" / "emulated_board.md").read_text(encoding="utf-8")
    bands = tomllib.loads(BANDS_FILE.read_text(encoding="utf-8"))["x60"]
    assert set(bands) == set(KERNEL_CLASSES)
    for kind, which in KERNEL_CLASSES.items():
        band = bands[kind]
        row = f"| {kind} | {which} | {band['points']} | ±{band['error']:.0%} | {band['tied']:.0%} |"
        assert row in document
