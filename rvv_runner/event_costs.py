"""The cost of events in cycles, if a board's core has a model."""

from __future__ import annotations

from collections.abc import Mapping

from rvv_runner.board import BoardError
from rvv_runner.devices import emulated_board_file
from rvv_runner.emulated.board import cost_table_of

__all__ = ["event_costs"]

# Each event, and the least and the most that the model charges for one: for a miss that the
# prefetcher has foreseen, and for one that it has not.
_CHARGES = {
    "l1d_miss": ("l2_streamed", "l2_random"),
    "l1d_load_miss": ("l2_streamed", "l2_random"),
    "l2_miss": ("dram_read", "dram_random"),
    "l1d_dirty_eviction": ("dirty_eviction", "dirty_eviction"),
    "tlb_miss": ("tlb_miss", "tlb_miss"),
    "branch_misses": ("mispredict", "mispredict"),
}


def event_costs(device: str) -> Mapping[str, tuple[float, float]]:
    """The least and the most cycles that each event costs; empty for a core without a model.

    Args:
        device: its name in studies: "emulated:x60", or "x60" for boards of this kind.
    """
    try:
        board_file = emulated_board_file(device)
    except BoardError:
        return {}
    if board_file.emulation is None:
        return {}
    table = cost_table_of(board_file)
    return {
        event: (table.cycles(least), table.cycles(most))
        for event, (least, most) in _CHARGES.items()
    }
