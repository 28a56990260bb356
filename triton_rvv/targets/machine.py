"""What of a core's caches and latencies decides which code is made for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["MACHINES", "PREFETCHES", "X60", "Machine", "Prefetch"]

# Software prefetches: none; as far ahead as the numbers below say; or twice as far.
Prefetch = Literal["off", "near", "far"]
PREFETCHES: tuple[Prefetch, ...] = ("off", "near", "far")


@dataclass(frozen=True)
class Machine:
    """Caches and latencies of a core; the defaults are the SpacemiT X60's.

    Args:
        l1d_bytes, l1d_ways, line_bytes: the L1 data cache.
        conflict_bytes: a distance at which rows share so few sets of L1 that some of them cause
            conflict misses: half of what a way of the X60's holds.
        resident_bytes: an operand of a product up to this size stays in L1 while the rows of the
            other one go by: half of the X60's.
        lines_in_flight: lines of one operand that are asked for at once without conflict misses.
        rows_ahead: rows of a block from a load to the prefetch beside it. Rows further on are often
            evicted from a cache of 4 ways before their turn comes.
        colliding_rows_ahead: the same where rows share a few sets of L1.
        max_rows_asked_for: rows of different arrays that are asked for side by side.
        max_rows_beside: rows that one block of code reads, up to which any is asked for: AdamW,
            which reads four, took a tenth longer where not all of them lie in L2.
        rows_at_once: neighbouring rows that are read side by side; a prefetch of one of them comes
            too late.
        stream_cost: instructions on each run that rows have to share for each array that they read,
            before several rows are visited in turn: the hardware then foresees their lines less
            well than those of one row after another.
        copied_rows: rows that are copied side by side. An in-order core waits for each load, and
            more rows cause conflict misses where they are far apart (measured with 1, 2 and 4).
        loads_ahead: how many runs of a product's right operand are loaded before they are used, for
            tiles of 1, 2, 4 and 8 runs. A load of LMUL 2 takes about 18 cycles on the X60, and to
            multiply a run by 8 rows 16. With 5 loads for 4 runs, some are spilled.
        fmas_between_loads: multiply-adds between two loads of a product's left operand: a row of
            the right one takes 4.4 cycles with LMUL 2, for which an in-order core would wait.
        max_packed_runs: panels of a packed operand that a tile reads. With 4, a tile of 2 rows
            waits longer for lines of L2 than for its multiply-adds.
        max_panels_in_place: panels of the right operand up to which the left one is read where it
            lies: a copy costs about a third of the multiply-adds with one panel.
        max_unpacked_tiles: tiles that read a right operand where it lies. Each reads all of it, and
            a copy of a run costs what a tile takes to multiply it.
        max_unpacked_steps: its rows that more than two of these tiles find in the caches.
        max_colliding_steps: the same for two tiles, where rows share a few sets of L1 and each
            takes a page of the TLB.
        min_runs_computed: runs of a right operand that a tile reads, from which on it pays to
            compute them on the way: what is computed is waited for.
        min_tile_rows: tiles of fewer rows take as many runs as these.
        unroll_k: steps along K that a tile writes out; loads are hidden behind earlier steps only
            within these. A power of two.
        tail_k: the same behind the last whole turn, where operands end there. A power of two.
        max_epilogue_turns: turns of a loop around a product up to which the last one stores the
            result: 1 to 30% faster with 1 or 2, and 3 to 13% slower with more.
        sum_chains: chains of sums that hide the latency of one; more take registers from what the
            sums are made from.
        segment_load_cycles: of a segment load of 3 and of 4 streams for each register of a stream,
            where a load by strides takes a cycle for an element (rvv-bench).
        segment_register_bytes: the bytes of a register in these.
        strided_element_cycles: of a load by strides, for each element (rvv-bench: vlse32, m1).
        row_sum_cycles: to add up the lanes of one register and move the sum to a scalar: vredsum,
            its start and vmv.x.s (rvv-bench, m1).
        lookup_cycles: to take all lanes of a register from another one (rvv-bench: vrgather.vv,
            m1); in a group, each register takes as long for each of its registers.
        shifts_slowly: whether shifts, bitwise operations and moves of registers take twice as long
            as products and sums (rvv-bench: vsll, vand and vmv1r take 2 cycles for m1, vmul, vmulhu
            and vadd one).
        issues_in_order: whether an instruction that waits holds up those behind it.
        prefetch: whether code asks for lines ahead of their use, and how far ahead.
    """

    l1d_bytes: int = 32 << 10
    l1d_ways: int = 4
    line_bytes: int = 64
    conflict_bytes: int = 4 << 10
    resident_bytes: int = 16 << 10
    lines_in_flight: int = 8
    rows_ahead: int = 4
    colliding_rows_ahead: int = 2
    max_rows_asked_for: int = 2
    max_rows_beside: int = 3
    rows_at_once: int = 2
    stream_cost: int = 4
    copied_rows: int = 2
    loads_ahead: tuple[int, int, int, int] = (2, 3, 4, 5)
    fmas_between_loads: int = 2
    max_packed_runs: int = 2
    max_panels_in_place: int = 4
    max_unpacked_tiles: int = 8
    max_unpacked_steps: int = 64
    max_colliding_steps: int = 32
    min_runs_computed: int = 4
    min_tile_rows: int = 2
    unroll_k: int = 16
    tail_k: int = 4
    max_epilogue_turns: int = 2
    sum_chains: int = 4
    segment_load_cycles: tuple[float, float] = (20.4, 24.5)
    segment_register_bytes: int = 32
    strided_element_cycles: float = 1.0
    row_sum_cycles: float = 4.0
    lookup_cycles: float = 4.0
    shifts_slowly: bool = True
    issues_in_order: bool = True
    prefetch: Prefetch = "near"

    def with_prefetch(self, prefetch: Prefetch) -> Machine:
        """The same core, for which code asks for lines from another distance.

        Args:
            prefetch: of this core's own distances.
        """
        further = 2 if prefetch == "far" else 1
        return replace(
            self,
            rows_ahead=further * self.rows_ahead,
            colliding_rows_ahead=further * self.colliding_rows_ahead,
            lines_in_flight=further * self.lines_in_flight,
            prefetch=prefetch,
        )

    @property
    def way_bytes(self) -> int:
        """The distance at which lines share a set of L1."""
        return self.l1d_bytes // self.l1d_ways

    def turns_ahead(self, row_bytes: int) -> int:
        """How many turns of a loop ahead to ask for the row that each reads; 0 for long rows."""
        lines = -(-row_bytes // self.line_bytes)
        if lines > self.lines_in_flight:
            return 0
        return max(1, min(self.rows_ahead, self.lines_in_flight // lines))

    @property
    def stream_ahead_bytes(self) -> int:
        """How far ahead to ask for the lines of a row that is read once."""
        return self.lines_in_flight * self.line_bytes

    @property
    def next_program_bytes(self) -> int:
        """A block up to this size is not evicted before the next program reads it."""
        return self.l1d_bytes // 8

    def loads_ahead_of(self, runs: int) -> int:
        """Runs that are loaded before they are used, for tiles of 1, 2, 4 or 8 runs."""
        return self.loads_ahead[runs.bit_length() - 1]

    def looks_up(self, registers: float, lanes: int) -> bool:
        """Whether to look lanes up in a group of registers takes no longer than to gather them.

        Groups of more than four would leave too few registers for anything else.
        """
        cycles = registers**2 * self.lookup_cycles
        return registers <= 4 and cycles <= lanes * self.strided_element_cycles

    def segment_cycles(self, streams: int) -> float | None:
        """Cycles of a segment load for each register of a stream; None where not measured."""
        return dict(zip((3, 4), self.segment_load_cycles, strict=True)).get(streams)


X60 = Machine()

# By the name that `tune` of a board file has. On the emulated board of each, 18 kernels and shapes
# were measured with these numbers and with the X60's: nothing is slower. L1 caches of 64 KiB pay
# where rows are 8 KiB apart (up to 1.3%); with `conflict_bytes` and `resident_bytes` doubled too,
# products take up to 1.6% longer. On the A100, what makes some kernels faster makes others slower,
# but for the cycles of short rows: `pack_bits`, 8 elements for a sum, takes 14% less turned around,
# and 2% less on the X100; on the X60, 36% more.
_WITH_64_KIB = Machine(l1d_bytes=64 << 10, shifts_slowly=False, issues_in_order=False)
MACHINES: Mapping[str, Machine] = {
    "x60": X60,
    # A load of a shorter vector takes fewer cycles: up to 5.3% (correlation).
    "c908": Machine(rows_ahead=2, loads_ahead=(1, 2, 2, 4)),
    "c920": replace(_WITH_64_KIB, lookup_cycles=0.5),
    "x100": replace(
        _WITH_64_KIB, strided_element_cycles=0.63, row_sum_cycles=8.0, lookup_cycles=2.0
    ),
    "ascalon": replace(
        _WITH_64_KIB, strided_element_cycles=0.42, row_sum_cycles=2.0, lookup_cycles=0.5
    ),
    "a100": Machine(
        strided_element_cycles=1.25, row_sum_cycles=10.0, lookup_cycles=64.0, shifts_slowly=False
    ),
}
