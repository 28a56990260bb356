"""What becomes of a tile's sums: they are put into rows, and written or added to a total.

An instruction's sums are a few columns of several rows. Two registers of neighbouring columns
change halves, and then hold one row each. While rows of one part are written, the next part is put
into rows: loads and stores take as long as arithmetic does.

Sums that are scaled become floats. Where they are known to be small, they are counted from the
integer whose bits are those of the float 1.5 * 2**23: then the sum's bits are those of that float
plus the sum, and a difference takes half the time of a conversion.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triton_rvv.targets.matrix_unit import MatrixUnit, TileShape

__all__ = [
    "FLOAT_OF_ZERO_BITS",
    "OUT",
    "OUT_STRIDE",
    "SUMS_AT",
    "before_rows",
    "end_of_row",
    "load_mask",
    "sums_register",
    "write_rows",
]

FLOAT_OF_ZERO_BITS = 0x4B400000  # 1.5 * 2**23, which differs from its neighbours by 1

SUMS_AT = 8  # the first register of the sums; operands are before it
# Behind the last step, registers of operands are free.
_SPARE, _TEMPORARIES, _COLUMN_FACTORS_AT = 1, (2, 3, 4, 5), 6
# Arguments: where rows go, so many bytes apart; in a function that adds, also where the sums before
# are, and in one that scales, the factors of its rows and of its columns.
OUT, OUT_STRIDE = "a4", "a5"
_START, _START_STRIDE = "a6", "a7"
_ROW_FACTORS, _COLUMN_FACTORS = "a6", "a7"
# The ends of rows that are asked for, and from the second of two rows to the next two.
_ASKED, _NEXT_ROWS = "t6", "t2"
_SCALAR, _SECOND_OUT, _SECOND_START, _TOTAL, _FLOAT_OF_ZERO = "t0", "t1", "t2", "t3", "fa0"


# Cycles of a unit for one register, where they are not one.
_TIMES = {"vslidedown": 3, "vslideup": 2, "vfcvt": 2, "vle32": 2.5, "vse32": 3}


@dataclass(frozen=True)
class _Part:
    """Two rows of a tile, or the beginning or the end of them.

    Args:
        row: the operand's.
        place: which of the two registers of its sums.
        runs: registers of a row.
    """

    row: int
    place: int
    runs: range

    def registers(self, shape: TileShape) -> list[list[int]]:
        """Those of its two rows."""
        return [
            [sums_register(shape, self.row, 2 * run + within) + self.place for run in self.runs]
            for within in range(2)
        ]


def sums_register(shape: TileShape, row: int, column: int) -> int:
    """The first of the two registers of a pair of operands' sums."""
    return SUMS_AT + 2 * (shape.columns * row + column)


def end_of_row(unit: MatrixUnit, shape: TileShape) -> int:
    """The last byte of a row: the line of the first one, if it is another, came with the tile on
    the left."""
    return 4 * shape.columns * unit.side - 1


def load_mask(unit: MatrixUnit) -> Iterator[str]:
    """The mask of the lower half of a register's sums, with a vector type of bytes."""
    yield f"li {_SCALAR}, {(1 << unit.register_bytes // 8) - 1:#x}"
    yield f"vmv.s.x v0, {_SCALAR}"


def write_rows(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    """Put sums into rows and write these, two rows at a time.

    While a part is written, the next one is scaled, and the one after that put into rows. Parts are
    halves of rows, as nothing is written beside the first one; with loads in between, which wait
    for the stores in front of them, they are whole rows.
    """
    runs = range(shape.columns // 2)
    groups = [runs] if shape.adds or shape.scales else [range(run, run + 1) for run in runs]
    parts = [_Part(*each) for each in itertools.product(range(shape.rows), range(2), groups)]
    yield f"vsetivli zero, {unit.register_bytes // 4}, e32, m1, ta, mu"
    stages = [([list(_to_rows(unit, shape, part)) for part in parts], 0)]
    if shape.scales:
        stages.append(([list(_factors(unit, shape))], 0))
        stages.append(([list(_scaled(unit, shape, part)) for part in parts], 1))
    stages.append((_written(unit, shape, parts), int(shape.scales)))
    for now in range(max(len(pieces) + delay for pieces, delay in stages)):
        yield from _merged(
            [pieces[now - delay] for pieces, delay in stages if 0 <= now - delay < len(pieces)]
        )


def _merged(pieces: Sequence[Sequence[str]]) -> list[str]:
    """Lines of several pieces, spread among one another by the time that their units take."""
    placed = []
    for piece in pieces:
        times = [_TIMES.get(line.split(".")[0], 1) if line[0] == "v" else 0 for line in piece]
        ends = itertools.accumulate(times)
        total = sum(times) or 1
        placed += [
            ((end - time / 2) / total, line)
            for end, time, line in zip(ends, times, piece, strict=True)
        ]
    return [line for _, line in sorted(placed, key=lambda each: each[0])]


def _to_rows(unit: MatrixUnit, shape: TileShape, part: _Part) -> Iterator[str]:
    """Squares of halves of registers change places across their diagonals.

    Two registers of sums of neighbouring columns hold a few columns of two rows each; afterwards,
    each holds all of these columns of one row.
    """
    half = unit.register_bytes // 8
    for first, second in zip(*part.registers(shape), strict=True):
        yield f"vadd.vi v{_SPARE}, v{second}, 0"  # a move takes longer on the X60
        yield f"vslidedown.vi v{second}, v{first}, {half}, v0.t"
        yield f"vslideup.vi v{first}, v{_SPARE}, {half}"


def _factors(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    """Load the factors of the rows, and those of the columns; the total is where rows go."""
    if shape.begins_as_float:
        yield f"li {_SCALAR}, {FLOAT_OF_ZERO_BITS:#x}"
        yield f"fmv.w.x {_FLOAT_OF_ZERO}, {_SCALAR}"
    yield f"mv {_TOTAL}, {OUT}"
    columns = [_COLUMN_FACTORS_AT + run for run in range(shape.columns // 2)]
    yield from _at_runs(unit, "vle32.v", columns, (_COLUMN_FACTORS, _SECOND_START))
    for row in range(shape.rows * unit.side):
        yield f"flw ft{row}, {4 * row}({_ROW_FACTORS})"


def _scaled(unit: MatrixUnit, shape: TileShape, part: _Part) -> Iterator[str]:
    """Two rows of a part as floats, times their factors."""
    rows = part.registers(shape)
    for v in itertools.chain(*rows):
        is_float = shape.begins_as_float
        yield f"vfsub.vf v{v}, v{v}, {_FLOAT_OF_ZERO}" if is_float else f"vfcvt.f.x.v v{v}, v{v}"
    for within, registers in enumerate(rows):
        factor = unit.side * part.row + unit.rows_per_register * part.place + within
        yield from (f"vfmul.vf v{v}, v{v}, ft{factor}" for v in registers)


def _written(unit: MatrixUnit, shape: TileShape, parts: Sequence[_Part]) -> list[list[str]]:
    """The loads of what was before the first part, and then, for each part, its sums, its stores
    and the loads for the next one: a load waits for the stores in front of it."""
    loads = [list(_load_before(unit, shape)) for _ in parts]
    pieces = [loads[0]]
    for part, following in zip(parts, [*loads[1:], []], strict=True):
        pieces.append([*_added(shape, part), *_stored(unit, shape, part), *following])
    return pieces


def _temporaries(shape: TileShape) -> list[tuple[int, ...]]:
    """Registers for what was before, of each of a part's two rows."""
    runs = shape.columns // 2
    return [_TEMPORARIES[:runs], _TEMPORARIES[runs : 2 * runs]]


def _load_before(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    """Load the next two rows of what was before, or of a total."""
    pointer, stride = (_TOTAL, OUT_STRIDE) if shape.scales else (_START, _START_STRIDE)
    if shape.adds or shape.scales:
        for registers in _temporaries(shape):
            yield from _at_runs(unit, "vle32.v", registers, (pointer, _SECOND_START))
            yield f"add {pointer}, {pointer}, {stride}"


def _added(shape: TileShape, part: _Part) -> Iterator[str]:
    """Add what was before; or to a total, times the factors of its columns."""
    if not (shape.adds or shape.scales):
        return
    for registers, loaded in zip(part.registers(shape), _temporaries(shape), strict=True):
        for run, (v, before) in enumerate(zip(registers, loaded, strict=True)):
            if shape.scales:
                yield f"vfmadd.vv v{v}, v{_COLUMN_FACTORS_AT + run}, v{before}"
            else:
                yield f"vadd.vv v{v}, v{v}, v{before}"


def _stored(unit: MatrixUnit, shape: TileShape, part: _Part) -> Iterator[str]:
    """Write two rows, or as much as there is of them, and ask for the lines of the next two."""
    rows, is_last = part.registers(shape), (part.row, part.place) == (shape.rows - 1, 1)
    ask = [] if is_last else list(_ask_for_row(shape))
    if part.runs == range(shape.columns // 2):
        for registers in rows:
            yield from _at_runs(unit, "vse32.v", registers, (OUT, _SECOND_OUT))
            yield f"add {OUT}, {OUT}, {OUT_STRIDE}"
            yield from ask
        return
    ((first,), (second,)), begins = rows, part.runs.start == 0
    if begins:
        yield f"add {_SECOND_OUT}, {OUT}, {OUT_STRIDE}"
    yield f"vse32.v v{first}, ({OUT})"
    step = f"{OUT}, {unit.register_bytes}" if begins else f"{_SECOND_OUT}, {_NEXT_ROWS}"
    yield f"add{'i' * begins} {OUT}, {step}"
    yield from ask[:1]
    yield f"vse32.v v{second}, ({_SECOND_OUT})"
    if begins:
        yield f"addi {_SECOND_OUT}, {_SECOND_OUT}, {unit.register_bytes}"
    yield from ask[1:]


def before_rows(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    """Scalars that rows need, and what asks for the lines of those that are written first."""
    yield f"addi {_NEXT_ROWS}, {OUT_STRIDE}, {-unit.register_bytes}"
    if _asks_again(shape):
        yield f"addi {_ASKED}, {OUT}, {end_of_row(unit, shape)}"
    yield from (*_ask_for_row(shape), *_ask_for_row(shape))


def _asks_again(shape: TileShape) -> bool:
    """Whether much has come into L1D since the lines of the rows were asked for. Where rows lie a
    large power of two apart, their lines push one another out of it, too."""
    return shape.prefetches and shape.steps == 0


def _ask_for_row(shape: TileShape) -> Iterator[str]:
    if _asks_again(shape):
        yield f"prefetch.w 0({_ASKED})"
        yield f"add {_ASKED}, {_ASKED}, {OUT_STRIDE}"


def _at_runs(
    unit: MatrixUnit, access: str, registers: Sequence[int], pointers: tuple[str, str]
) -> Iterator[str]:
    """Access one run of a row behind the other."""
    if len(registers) == 2:
        yield f"addi {pointers[1]}, {pointers[0]}, {unit.register_bytes}"
    for register, pointer in zip(registers, pointers, strict=False):
        yield f"{access} v{register}, ({pointer})"
