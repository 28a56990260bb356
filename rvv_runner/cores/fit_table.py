"""From throughputs of instructions to entries of a cost table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from rvv_runner.cores.class_rows import ARITHMETIC, MEMORY, OF_ONE_REGISTER, SCALAR, ClassRows
from rvv_runner.cores.results_page import InstructionRow
from rvv_runner.emulated.instruction_costs import LMULS, SEW_BITS

__all__ = ["ClassThroughput", "class_throughputs", "entries_of"]

Key = tuple[int, str]  # element width in bits, LMUL
_MASKED = "v0.t"
_M1 = LMULS.index("m1")
_ALIKE = 0.03  # columns that differ by less than this part are one
_REFERENCE_SEW_BITS = 32
_INTEGER_PIPES = 2  # of the model


@dataclass(frozen=True)
class ClassThroughput:
    """Cycles that an instruction of a class occupies its unit.

    Args:
        cycles: by element width in bits and LMUL.
        masked: the same under a mask; empty if nothing is known.
        latency: until one that waits for its result begins; empty if nothing is known.
    """

    cycles: Mapping[Key, float]
    masked: Mapping[Key, float]
    latency: Mapping[Key, float] = field(default_factory=dict)


def class_throughputs(rows: Sequence[InstructionRow]) -> dict[str, ClassThroughput]:
    """The throughput of every class that the rows show, by the class's name."""
    found = {}
    for name, wanted in (*SCALAR.items(), *ARITHMETIC.items(), *MEMORY.items()):
        plain, masked = (_median_cells(rows, wanted, masked=of) for of in (False, True))
        if name in OF_ONE_REGISTER:
            plain, masked = _as_one_register(plain), _as_one_register(masked)
        if plain:
            found[name] = ClassThroughput(plain, masked)
    if moves := _whole_moves(rows):
        found["v_move_whole"] = ClassThroughput(moves, {})
    if wide := _median_cells(rows, ClassRows(r"vrgatherei16\.vv"), masked=False):
        bytes_only = {key: cycles for key, cycles in wide.items() if key[0] == min(SEW_BITS)}
        found["v_gather_wide_index"] = ClassThroughput(bytes_only, {})
    return found


def _as_one_register(cells: Mapping[Key, float]) -> dict[Key, float]:
    """Cells with that of one register in place of those of groups."""
    return {(sew, lmul): cells.get((sew, "m1"), cycles) for (sew, lmul), cycles in cells.items()}


def _median_cells(
    rows: Iterable[InstructionRow], wanted: ClassRows, masked: bool
) -> dict[Key, float]:
    """The median over the instructions of a class, for each cell that any of them has.

    Accesses to memory count where elements in memory are as wide as SEW, so that LMUL is theirs.
    """
    cells: dict[Key, list[float]] = {}
    for row in rows:
        mnemonic, _, operands = row.text.partition(" ")
        if operands.endswith(_MASKED) != masked:
            continue
        for key, cycles in row.cycles.items():
            there = replace(wanted, mnemonics=wanted.mnemonics.replace("{eew}", str(key[0])))
            if there.takes(mnemonic):
                cells.setdefault(key, []).append(cycles / wanted.fields)
    return {key: statistics.median(values) for key, values in cells.items()}


def _whole_moves(rows: Iterable[InstructionRow]) -> dict[Key, float]:
    """vmv1r to vmv8r, by the LMUL whose registers they move."""
    found: dict[Key, float] = {}
    for row in rows:
        for registers in (1, 2, 4, 8):
            lmul = f"m{registers}"
            if row.text.startswith(f"vmv{registers}r.v "):
                values = (cycles for key, cycles in row.cycles.items() if key[1] == lmul)
                found |= dict.fromkeys(((sew, lmul) for sew in SEW_BITS), min(values, default=0))
    return {key: cycles for key, cycles in found.items() if cycles > 0}


def entries_of(
    measured: Mapping[str, ClassThroughput], base: Mapping[str, Any], source: str, like: str
) -> dict[str, dict[str, Any]]:
    """Entries for [scalar], [vector] and [vector_memory], by section and class.

    Args:
        measured: by class.
        base: a whole table, which gives what was not measured: units, which classes are chained,
            most latencies.
        source: where the measurements are from.
        like: the core that the table is of.
    """
    sections: dict[str, dict[str, Any]] = {"scalar": {}, "vector": {}, "vector_memory": {}}
    for name, throughput in measured.items():
        assumed = "unit" if throughput.latency else "latency and unit"
        said = f"{source}; {assumed} assumed to be those of {like}"
        if name in SCALAR:
            # The loop around the copies shows in the short columns only.
            occupancy = round(min(throughput.cycles.values()) * _INTEGER_PIPES, 2)
            entry = base["scalar"][name]
            sections["scalar"][name] = {**entry, "occupancy": occupancy, "source": said}
            continue
        section = "vector_memory" if name in base["vector_memory"] else "vector"
        sections[section][name] = _vector_entry(throughput, base[section][name], said)
    return sections


def _vector_entry(
    throughput: ClassThroughput, base: Mapping[str, Any], source: str
) -> dict[str, Any]:
    entry = {
        key: base[key] for key in ("unit", "chained", "scales_with") if base.get(key) is not None
    }
    columns = {sew: _column(throughput.cycles, sew) for sew in SEW_BITS}
    known = {sew: column for sew, column in columns.items() if column}
    reference = _REFERENCE_SEW_BITS if _REFERENCE_SEW_BITS in known else max(known)
    entry["occupancy"] = known[reference]
    latencies = _latencies(throughput, base, known, reference)
    if latencies:
        entry["latency"] = latencies[reference]
    for sew, column in known.items():
        if "scales_with" in base or not _alike(column, known[reference]):
            entry[f"occupancy_e{sew}"] = column
        if latencies and not _alike(latencies[sew], latencies[reference]):
            entry[f"latency_e{sew}"] = latencies[sew]
    return {**entry, **_mask(throughput), "source": source}


def _latencies(
    throughput: ClassThroughput,
    base: Mapping[str, Any],
    occupancies: Mapping[int, Sequence[float]],
    reference: int,
) -> dict[int, list[float]]:
    """The latencies of each element width that has an occupancy, as they were measured; if they
    were not, the reference's or the base's, or the occupancy if that is longer.

    Empty for what has none, as accesses to memory.
    """
    if "latency" not in base:
        return {}
    measured = {sew: column for sew in SEW_BITS if (column := _column(throughput.latency, sew))}
    assumed = measured.get(reference) or _without_occupancy(base)
    return {
        sew: measured.get(sew) or [max(pair) for pair in zip(assumed, column, strict=True)]
        for sew, column in occupancies.items()
    }


def _without_occupancy(base: Mapping[str, Any]) -> list[float]:
    """A core's latencies, that of a smaller group where its unit takes longer for a group."""
    latencies, occupancies = base["latency"], base["occupancy"]
    known = [
        latency if latency > occupancy else latencies[min(index, _M1)]
        for index, (latency, occupancy) in enumerate(zip(latencies, occupancies, strict=True))
    ]
    return list(accumulate(known, max))


def _column(cells: Mapping[Key, float], sew: int) -> list[float]:
    """Cycles over LMULS; a missing fraction is as long as the next one, a missing group twice the
    one before it. Empty if there is no whole register."""
    column = [cells.get((sew, lmul)) for lmul in LMULS]
    if column[_M1] is None:
        return []
    for index in range(_M1 - 1, -1, -1):
        column[index] = column[index] if column[index] is not None else column[index + 1]
    for index in range(_M1 + 1, len(LMULS)):
        before = column[index - 1]
        assert before is not None
        column[index] = column[index] if column[index] is not None else 2 * before
    return [round(max(cycles or 0.0, 0.01), 2) for cycles in column]


def _alike(column: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two columns show the same within what a measurement repeats to."""
    return all(abs(a - b) <= _ALIKE * max(a, b) for a, b in zip(column, other, strict=True))


def _mask(throughput: ClassThroughput) -> dict[str, float]:
    """What a mask costs: a factor or some cycles, whichever comes nearer."""
    pairs = [
        (throughput.cycles[key], cycles)
        for key, cycles in throughput.masked.items()
        if key in throughput.cycles and LMULS.index(key[1]) >= _M1
    ]
    if not pairs:
        return {}
    factor = round(statistics.median(masked / plain for plain, masked in pairs), 2)
    more = round(statistics.median(masked - plain for plain, masked in pairs), 2)
    by_factor = sum(abs(plain * factor / masked - 1) for plain, masked in pairs)
    by_more = sum(abs((plain + more) / masked - 1) for plain, masked in pairs)
    if max(factor, 1) - 1 <= _ALIKE and more <= 0:
        return {}
    if by_factor <= by_more:
        return {"masked": max(factor, 1.0)} if factor > 1 + _ALIKE else {}
    return {"masked_adds": more} if more > 0 else {}
