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

from triton_rvv.targets.matrix_unit import MatrixUnit, TileShape

__all__ = [
    "FLOAT_OF_ZERO_BITS",
    "OUT",
    "OUT_STRIDE",
    "SUMS_AT",
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
_SCALAR, _SECOND_OUT, _SECOND_START, _TOTAL, _FLOAT_OF_ZERO = "t0", "t1", "t2", "t3", "fa0"

# An operand's row of a tile, and which of the two registers of its sums.
Part = tuple[int, int]


def sums_register(shape: TileShape, row: int, column: int) -> int:
    """The first of the two registers of a pair of operands' sums."""
    return SUMS_AT + 2 * (shape.columns * row + column)


def load_mask(unit: MatrixUnit) -> Iterator[str]:
    """The mask of the lower half of a register's sums."""
    yield f"vsetivli zero, {unit.register_bytes // 4}, e32, m1, ta, mu"
    yield f"li {_SCALAR}, {(1 << unit.register_bytes // 8) - 1:#x}"
    yield f"vmv.s.x v0, {_SCALAR}"


def write_rows(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    """Put sums into rows and write these, two rows at a time.

    While a part is written, the next one is scaled, and the one after that put into rows.
    """
    parts = list(itertools.product(range(shape.rows), range(2)))
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
    """Lines of several pieces, spread evenly among one another."""
    placed = [
        ((number + 0.5) / len(piece), line) for piece in pieces for number, line in enumerate(piece)
    ]
    return [line for _, line in sorted(placed, key=lambda each: each[0])]


def _rows_of(shape: TileShape, part: Part) -> list[list[int]]:
    """The registers of a part's two rows."""
    row, place = part
    runs = range(shape.columns // 2)
    return [
        [sums_register(shape, row, 2 * run + within) + place for run in runs] for within in range(2)
    ]


def _to_rows(unit: MatrixUnit, shape: TileShape, part: Part) -> Iterator[str]:
    """Squares of halves of registers change places across their diagonals.

    Two registers of sums of neighbouring columns hold a few columns of two rows each; afterwards,
    each holds all of these columns of one row.
    """
    half = unit.register_bytes // 8
    for first, second in zip(*_rows_of(shape, part), strict=True):
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


def _scaled(unit: MatrixUnit, shape: TileShape, part: Part) -> Iterator[str]:
    """Two rows of a part as floats, times their factors."""
    row, place = part
    rows = _rows_of(shape, part)
    for v in itertools.chain(*rows):
        is_float = shape.begins_as_float
        yield f"vfsub.vf v{v}, v{v}, {_FLOAT_OF_ZERO}" if is_float else f"vfcvt.f.x.v v{v}, v{v}"
    for within, registers in enumerate(rows):
        factor = unit.side * row + unit.rows_per_register * place + within
        yield from (f"vfmul.vf v{v}, v{v}, ft{factor}" for v in registers)


def _written(unit: MatrixUnit, shape: TileShape, parts: Sequence[Part]) -> list[list[str]]:
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


def _added(shape: TileShape, part: Part) -> Iterator[str]:
    """Add what was before; or to a total, times the factors of its columns."""
    for registers, loaded in zip(_rows_of(shape, part), _temporaries(shape), strict=True):
        for run, (v, before) in enumerate(zip(registers, loaded, strict=True)):
            if shape.scales:
                yield f"vfmadd.vv v{v}, v{_COLUMN_FACTORS_AT + run}, v{before}"
            elif shape.adds:
                yield f"vadd.vv v{v}, v{v}, v{before}"


def _stored(unit: MatrixUnit, shape: TileShape, part: Part) -> Iterator[str]:
    for registers in _rows_of(shape, part):
        yield from _at_runs(unit, "vse32.v", registers, (OUT, _SECOND_OUT))
        yield f"add {OUT}, {OUT}, {OUT_STRIDE}"


def _at_runs(
    unit: MatrixUnit, access: str, registers: Sequence[int], pointers: tuple[str, str]
) -> Iterator[str]:
    """Access one run of a row behind the other."""
    if len(registers) == 2:
        yield f"addi {pointers[1]}, {pointers[0]}, {unit.register_bytes}"
    for register, pointer in zip(registers, pointers, strict=False):
        yield f"{access} v{register}, ({pointer})"
