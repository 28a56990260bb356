"""Estimates, from RISC-V machine code, how long it takes an in-order core.

It compares two orders of the same instructions and foresees no time: it counts how long results
are waited for, how long the vector units are taken, and how loads and stores queue for memory.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.codegen.vector_code import (
    FLOAT,
    INTEGER,
    MULTIPLY,
    Other,
    Reload,
    SetLength,
    Vector,
    stretches,
)

__all__ = ["LoopEstimate", "estimated_cycles"]

_FLOAT, _INTEGER, _MEMORY = "float unit", "integer unit", "memory"

# Rounded cycles for a register of 256 bits, from LLVM's model of the SpacemiT X60
# (RISCVSchedSpacemitX60.td) and rvv-bench's measurements of it: the unit, how long a register takes
# it, and when the result can be used. By kind and funct6 of the instruction; others take 1 and 4.
_QUOTIENT, _FLOAT_SUM, _FLOAT_MASK = (_FLOAT, 40, 40), (_FLOAT, 6, 15), (_FLOAT, 2, 4)
_SUM, _GATHER, _LOGIC = (_INTEGER, 2, 7), (_INTEGER, 4, 4), (_INTEGER, 2, 4)
_LOGIC_FUNCTS = (4, 5, 6, 7, 9, 10, 11, 14, 15, 19, *range(24, 32), 0b100101, 0b101000, 0b101001)
_TIMES = {
    **{(FLOAT, funct): _QUOTIENT for funct in (0b100000, 0b100001)},
    **{(FLOAT, funct): _FLOAT_SUM for funct in (1, 3, 5, 7, 0b110001, 0b110011)},
    **{(FLOAT, funct): _FLOAT_MASK for funct in range(24, 32)},
    **{(MULTIPLY, funct): _SUM for funct in range(8)},
    **{(MULTIPLY, funct): _LOGIC for funct in (14, 15)},
    (MULTIPLY, 0b010111): _GATHER,  # vcompress
    **{(INTEGER, funct): _LOGIC for funct in _LOGIC_FUNCTS},
    (INTEGER, 12): _GATHER,
}
_OTHERS = {FLOAT: (_FLOAT, 1, 4), INTEGER: (_INTEGER, 1, 4), MULTIPLY: (_INTEGER, 1, 4)}
_ISSUE = 0.5  # two instructions a cycle
_LOAD_LATENCY, _MEMORY_OCCUPANCY = 3, 2.2
# A register of 32 bytes on the way to DRAM, and how far memory runs ahead of the core.
_DRAM_PER_REGISTER, _DRAM_AHEAD = 7, 60
# Loads wait for vector stores to leave the core; registers are read back soon after they are saved.
_DRAIN_PER_REGISTER = 1.7
# An integer that was saved is loaded right before it is used.
_RELOAD = 3
# Vectors wait for a length that goes through a register.
_SET_LENGTH = 3
_TURNS = 4  # after which waits of one turn for the last have settled; most loops have more


@dataclass(frozen=True)
class LoopEstimate:
    """Cycles of machine code, and what takes them.

    Args:
        loops: every innermost loop.
        others: the code between these loops.
    """

    loops: Sequence[Sequence[_Demand]]
    others: Sequence[Sequence[_Demand]]

    @functools.cached_property
    def cycles(self) -> float:
        """Of one turn of every loop, in the order of the instructions; 0 for code without loops."""
        return sum(map(_last_turn, self.loops))

    @functools.cached_property
    def least(self) -> float:
        """What no order of the loops can go below: memory or a unit is taken for so long."""
        return sum(map(_least_cycles, self.loops))

    @functools.cached_property
    def saves_between(self) -> bool:
        """Whether registers of vectors are saved between loops."""
        return any(map(_saves, self.others))

    @property
    def saves(self) -> bool:
        """Whether registers of vectors are saved anywhere."""
        return self.saves_between or any(map(_saves, self.loops))

    @functools.cached_property
    def of_all(self) -> tuple[float, float]:
        """`cycles` and `least` of all code, with a few turns of each loop.

        Lines are in the cache between loops.
        """
        between = sum(_last_turn(part, 1, waits_for_dram=False) for part in self.others)
        least = sum(_least_cycles(part, waits_for_dram=False) for part in self.others)
        return _TURNS * self.cycles + between, _TURNS * self.least + least

    def without_saves(self) -> LoopEstimate:
        """The same code, had it enough registers."""
        loops, others = (
            [[each for each in part if not (each.is_save or each is _RELOADED)] for part in parts]
            for parts in (self.loops, self.others)
        )
        return LoopEstimate(loops, others)


def estimated_cycles(code: bytes) -> LoopEstimate:
    """The estimate for machine code."""
    parts = [(is_loop, [_demand(each) for each in part]) for is_loop, part in stretches(code)]
    loops = [part for is_loop, part in parts if is_loop]
    others = [part for is_loop, part in parts if not is_loop]
    return LoopEstimate(loops, others)


@dataclass(frozen=True, slots=True)
class _Demand:
    """What an instruction asks of the core.

    Args:
        unit: that it takes; "" for what is no vector instruction.
        occupancy: cycles for which the unit is taken.
        latency: cycles until `written` can be used.
        read, written: numbers of vector registers.
        dram: cycles for which memory is taken.
        drain: cycles for which what follows waits.
        is_extra: whether another order may do without.
    """

    unit: str = ""
    occupancy: float = 0
    latency: float = 0
    read: tuple[int, ...] = ()
    written: tuple[int, ...] = ()
    dram: float = 0
    drain: float = 0
    is_extra: bool = False

    @property
    def is_save(self) -> bool:
        """Whether it saves registers of vectors on the stack, or reads them back."""
        return self.is_extra and self.unit == _MEMORY


_SCALAR = _Demand()
_RELOADED = _Demand(drain=_RELOAD, is_extra=True)
_LENGTH_SET = _Demand(drain=_SET_LENGTH, is_extra=True)


def _demand(instruction: Other | Vector) -> _Demand:
    if instruction is None:
        return _SCALAR
    if isinstance(instruction, Reload | SetLength):
        return _RELOADED if isinstance(instruction, Reload) else _LENGTH_SET
    if not instruction.kind:
        return _access(instruction)
    unit, occupancy, latency = _times(instruction)
    taken = occupancy * max(instruction.group, 1)
    return _Demand(
        unit,
        2 * taken if instruction.is_masked else taken,
        max(latency, taken),
        instruction.read,
        instruction.written,
        is_extra=instruction.is_move,
    )


def _times(instruction: Vector) -> tuple[str, float, float]:
    kind, funct, of = instruction.kind, instruction.funct, instruction.of
    is_root = kind == FLOAT and of == 1 and funct == 0b010011 and instruction.first == 0
    if is_root:
        return _QUOTIENT
    if kind == INTEGER and of == 0 and funct == 14:  # vrgatherei16
        return _GATHER
    if instruction.is_move or (kind == INTEGER and funct == 0b010111 and len(instruction.read) > 1):
        return _LOGIC
    return _TIMES.get((kind, funct), _OTHERS[kind])


def _access(instruction: Vector) -> _Demand:
    count, is_save = instruction.group, instruction.is_save
    return _Demand(
        _MEMORY,
        _MEMORY_OCCUPANCY * count,
        _LOAD_LATENCY,
        instruction.read,
        instruction.written,
        dram=0 if is_save else _DRAM_PER_REGISTER * count,
        drain=_DRAIN_PER_REGISTER * count if is_save else 0,
        is_extra=is_save,
    )


def _saves(part: Sequence[_Demand]) -> bool:
    return any(each.is_save for each in part)


def _least_cycles(part: Sequence[_Demand], waits_for_dram: bool = True) -> float:
    """What the most wanted of units, memory and the front end is taken for."""
    kept = [each for each in part if not each.is_extra]
    taken: dict[str, float] = defaultdict(float)
    for each in kept:
        taken[each.unit] += each.occupancy
    dram = sum(each.dram for each in kept) if waits_for_dram else 0
    return max([*taken.values(), dram, _ISSUE * len(kept)])


def _last_turn(part: Sequence[_Demand], turns: int = _TURNS, waits_for_dram: bool = True) -> float:
    """Cycles of the last of so many turns, of which each waits for the one before."""
    time = memory_free = before = 0.0
    unit_free: dict[str, float] = defaultdict(float)
    ready = [0.0] * 32
    for _ in range(turns):
        before = time
        for each in part:
            if not each.unit:
                time += _ISSUE + each.drain
                continue
            start = max(time, unit_free[each.unit])
            for number in each.read:
                start = max(start, ready[number])
            if each.dram and waits_for_dram:
                memory_free = max(memory_free, start - _DRAM_AHEAD) + each.dram
                start = max(start, memory_free)
            unit_free[each.unit] = start + each.occupancy
            for number in each.written:
                ready[number] = start + each.latency
            time = start + _ISSUE + each.drain
    return time - before
