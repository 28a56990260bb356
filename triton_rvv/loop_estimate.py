"""Estimates, from RISC-V assembly, how long a turn of each loop takes on an in-order core.

It compares two orders of the same instructions and foresees no time: it counts how long results
are waited for, how long the vector units are taken, and how loads and stores queue for memory.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["estimated_cycles"]

# Rounded cycles for a register of 256 bits, from LLVM's model of the SpacemiT X60
# (RISCVSchedSpacemitX60.td) and rvv-bench's measurements of it: the start of a mnemonic, the unit,
# how long a register takes it, and when the result can be used. The first that fits counts.
_TIMES: tuple[tuple[str, str, float, float], ...] = (
    (r"vfr?div|vfsqrt", "float", 40, 40),
    (r"vfred", "float", 6, 15),
    (r"vmf", "float", 2, 4),
    (r"vf", "float", 1, 4),
    (r"vred", "integer", 2, 7),
    (r"vrgather|vcompress", "integer", 4, 4),
    (r"vms|vmv\dr|vand|vor|vxor|vmerge|vfmerge|vmin|vmax|vs[lr]", "integer", 2, 4),
    (r"v", "integer", 1, 4),
)
_ISSUE = 0.5  # two instructions a cycle
_LOAD_LATENCY, _MEMORY_OCCUPANCY = 3, 2.2
# A register of 32 bytes on the way to DRAM, and how far memory runs ahead of the core.
_DRAM_PER_REGISTER, _DRAM_AHEAD = 7, 60
# Loads wait for vector stores to leave the core; registers are read back soon after they are saved.
_DRAIN_PER_REGISTER = 1.7
_TURNS = 4  # after which waits of one turn for the last have settled

_LABEL = re.compile(r"(\.L\w+):")
_BRANCH = re.compile(r"\s(?:b\w+|j)\s.*?(\.L\w+)$")
_REGISTERS = re.compile(r"\bv(\d+)\b")
_LMUL = re.compile(r"\bm(f?[1248])\b")
_WHOLE = re.compile(r"v[ls](\d)r|vmv(\d)r")
_SPILL = re.compile(r"Folded (?:Spill|Reload)")
_IN_PLACE = re.compile(r"vf?w?n?m(?:acc|add|sac|sub)")


def estimated_cycles(assembly: str) -> float:
    """Cycles of one turn of every innermost loop, added up; 0 for code without loops.

    Args:
        assembly: a module's assembly, with LLVM's comments, which say what saves registers.
    """
    return sum(_turn_cycles(loop) for loop in _innermost_loops(assembly.splitlines()))


def _innermost_loops(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """From each branch back, the lines since its target where nothing else branches back."""
    places: dict[str, int] = {}
    last_loop = -1
    for place, line in enumerate(lines):
        code = line.partition("#")[0].rstrip()
        if label := _LABEL.match(code):
            places[label[1]] = place
        elif (branch := _BRANCH.search(code)) and branch[1] in places:
            start = places[branch[1]]
            if start > last_loop:
                yield lines[start : place + 1]
            last_loop = max(last_loop, start)


@dataclass(frozen=True)
class _Instruction:
    """What a line asks of the core.

    Args:
        unit: "memory", "float" or "integer"; "" for what is no vector instruction.
        occupancy: cycles for which the unit is taken.
        latency: cycles until `written` can be used.
        read, written: numbers of vector registers.
        dram: cycles for which memory is taken.
        drain: cycles for which loads wait afterwards.
    """

    unit: str = ""
    occupancy: float = 0
    latency: float = 0
    read: tuple[int, ...] = ()
    written: tuple[int, ...] = ()
    dram: float = 0
    drain: float = 0


def _instructions(loop: Sequence[str]) -> Iterator[_Instruction]:
    group = 1.0  # registers that an operand takes
    for line in loop:
        mnemonic, _, operands = line.partition("#")[0].strip().partition("\t")
        if mnemonic.startswith("vset") and (lmul := _LMUL.search(operands)):
            size = lmul[1]
            group = 1 / int(size[1]) if size[0] == "f" else int(size)
        if mnemonic.startswith("v") and not mnemonic.startswith("vset"):
            whole = _WHOLE.match(mnemonic)
            count = int(whole[1] or whole[2]) if whole else group
            registers = tuple(int(number) for number in _REGISTERS.findall(operands))
            if "(" in operands:
                yield _access(mnemonic, registers, count, bool(_SPILL.search(line)))
            else:
                yield _computation(mnemonic, registers, count, "v0.t" in operands)
        elif operands:
            yield _Instruction()


def _access(
    mnemonic: str, registers: tuple[int, ...], count: float, is_spill: bool
) -> _Instruction:
    written = 0 if mnemonic.startswith("vs") else 1
    return _Instruction(
        "memory",
        _MEMORY_OCCUPANCY * count,
        _LOAD_LATENCY,
        registers[written:],
        registers[:written],
        dram=0 if is_spill else _DRAM_PER_REGISTER * count,
        drain=_DRAIN_PER_REGISTER * count if is_spill else 0,
    )


def _computation(
    mnemonic: str, registers: tuple[int, ...], count: float, is_masked: bool
) -> _Instruction:
    _, unit, occupancy, latency = next(each for each in _TIMES if re.match(each[0], mnemonic))
    taken = occupancy * max(count, 1)
    read = registers if _IN_PLACE.match(mnemonic) else registers[1:]
    return _Instruction(
        unit, 2 * taken if is_masked else taken, max(latency, taken), read, registers[:1]
    )


def _turn_cycles(loop: Sequence[str]) -> float:
    instructions = list(_instructions(loop))
    time = memory_free = before = 0.0
    unit_free: dict[str, float] = defaultdict(float)
    ready: dict[int, float] = defaultdict(float)
    for _ in range(_TURNS):
        before = time
        for each in instructions:
            start = max([time, unit_free[each.unit], *(ready[number] for number in each.read)])
            if each.dram:
                memory_free = max(memory_free, start - _DRAM_AHEAD) + each.dram
                start = max(start, memory_free)
            unit_free[each.unit] = start + each.occupancy
            for number in each.written:
                ready[number] = start + each.latency
            time = start + _ISSUE + each.drain
    return time - before
