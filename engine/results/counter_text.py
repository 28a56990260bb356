"""The counters of a run in words."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["counter_text"]

# As docs/reference/counters.md explains them.
_WORDS: Mapping[str, str] = {
    "vector_inst": "vector instructions",
    "vector_load_inst": "vector loads",
    "vector_store_inst": "vector stores",
    "vector_micro_op": "vector registers processed",
    "eu_vfpu_full": "cycles of waiting for the unit of vector floating point",
    "vidu_total_cycle": "cycles of busy vector units",
    "l1d_access": "cache lines touched",
    "l1d_load_access": "cache lines touched by loads",
    "l1d_miss": "misses of L1D",
    "l1d_load_miss": "loads that miss L1D",
    "l2_access": "accesses to L2",
    "l2_load_access": "loads from L2",
    "l2_store_access": "stores to L2",
    "l2_miss": "lines from DRAM",
    "scalar_loads": "scalar loads",
    "scalar_stores": "scalar stores",
    "whole_register_loads": "loads of whole vector registers, as after spills",
    "whole_register_stores": "stores of whole vector registers, as of spills",
    "vector_mf8": "vector instructions on an eighth of a register",
    "vector_mf4": "vector instructions on a quarter of a register",
    "vector_mf2": "vector instructions on half a register",
    "vector_m1": "vector instructions on one register",
    "vector_m2": "vector instructions on two registers",
    "vector_m4": "vector instructions on four registers",
    "vector_m8": "vector instructions on eight registers",
    "l1d_dirty_eviction": "lines written back from L1D",
    "tlb_miss": "misses of the TLB",
    "branch_misses": "mispredicted branches",
    "software_prefetch": "software prefetches",
}


def counter_text(name: str) -> str:
    """What a counter counts, with its name: "mispredicted branches (branch_misses)"."""
    return f"{_WORDS[name]} ({name})" if name in _WORDS else name
