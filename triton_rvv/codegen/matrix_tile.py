"""Functions in assembly that compute one tile of a product by a matrix unit.

LLVM's code generator knows neither the instruction nor which registers such a loop has to use. So a
kernel calls these functions, and they are put behind its assembly.

A tile of R x C operands keeps 2 x R x C registers of sums. Each step along K takes R + C loads and
R x C instructions. Loads take longer: two cycles for a register on the X60, 14 for the 7 of a step
of 3 x 4 operands, whose instructions take 12. So a load comes whenever two registers are free, and
what is multiplied in between was loaded before the one in front of it:

    columns come in halves of two, and the first two operands of A as a pair
    a third one is loaded for two steps at once: its products come last in the first step, and
    before those of the pair, which is still on its way, in the first half of the second

Behind the last step, sums are put into rows: an instruction's sums are a few columns of several
rows.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from triton_rvv.targets.matrix_unit import MatrixUnit, TileShape

__all__ = ["tile_functions"]

_SUMS_AT = 8  # the first register of the sums; operands are before it
_LEFT_AT, _THIRD_AT = 4, 6  # the first registers of A
_COLUMN_FACTORS_AT = 6  # behind the last step, when operands are no longer needed
_LINE_BYTES = 64
_LOADED = {1: "vl1re8.v", 2: "vl2re8.v"}
# Arguments: where the operands lie, turns of two steps along K, and where rows go, so many bytes
# apart; in a function that adds, also where the sums before are, and in one that scales, the
# factors of its rows and of its columns.
_PAIR, _THIRD, _COLUMNS, _TURNS = "a0", "a1", "a2", "a3"
_OUT, _OUT_STRIDE, _START, _START_STRIDE = "a4", "a5", "a6", "a7"
_ROW_FACTORS, _COLUMN_FACTORS = "a6", "a7"
_LENGTH, _SECOND_OUT, _SECOND_START = "t0", "t1", "t2"
_ASKED, _NEXT_ASKED, _FIRST_ASKED = "t3", "t4", "t5"  # the ends of rows that are asked for


def tile_functions(llir: str) -> str:
    """The functions for tiles that a module declares, in assembly; nothing where it has none."""
    names = sorted(set(re.findall(r"^declare void @(\S+)\(", llir, re.MULTILINE)))
    return "".join(
        _function(name, *known) for name in names if (known := TileShape.of_function(name))
    )


def _function(name: str, unit: MatrixUnit, shape: TileShape) -> str:
    lines = "".join(
        f"\t{line}\n" if line[-1] != ":" else f"{line}\n" for line in _tile(unit, shape)
    )
    mark = f"\t.type {name},@function\n{name}:\n"
    return f"\t.text\n\t.p2align 2\n{mark}{lines}\t.size {name}, .-{name}\n"


def _sums(shape: TileShape, row: int, column: int) -> int:
    """The first of the two registers of a pair of operands' sums."""
    return _SUMS_AT + 2 * (shape.columns * row + column)


def _tile(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    yield f"vsetvli {_LENGTH}, zero, e8, m1, ta, ma"
    yield from _load_left(unit, shape, 0)
    yield from _load_columns(unit, shape, 0)
    if shape.rows == 3:
        yield from _load_third(unit, shape)
    # As many elements as before, since another number takes time; in half the time of a move.
    yield "vsetvli zero, zero, e32, m4, ta, ma"
    last = _sums(shape, shape.rows, 0)
    yield from (f"vsub.vv v{v}, v{v}, v{v}" for v in range(_SUMS_AT, last, 4))
    yield "vsetvli zero, zero, e8, m1, ta, ma"
    if shape.is_single_step:
        yield from _step(unit, shape, 0)
    else:
        yield from _turns(unit, shape)
    yield from _write_rows(unit, shape)
    yield "ret"


def _turns(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    """All steps along K, two in a turn. The last turns also ask for the lines that are written, a
    row in each: from L1D, which evicts at random, many would have gone again if they came earlier.
    """
    asked = []
    if shape.prefetches:
        # The line of a row's last byte: that of its first one, if it is another, came with the tile
        # on the left. Turns before the last ones ask for the first row's, whose end is the lowest.
        yield f"addi {_FIRST_ASKED}, {_OUT}, {4 * shape.columns * unit.side - 1}"
        yield f"addi {_NEXT_ASKED}, {_TURNS}, {-shape.rows * unit.side}"
        yield f"mul {_NEXT_ASKED}, {_NEXT_ASKED}, {_OUT_STRIDE}"
        yield f"sub {_NEXT_ASKED}, {_FIRST_ASKED}, {_NEXT_ASKED}"
        asked = [
            f"maxu {_ASKED}, {_NEXT_ASKED}, {_FIRST_ASKED}",
            f"prefetch.w 0({_ASKED})",
            f"add {_NEXT_ASKED}, {_NEXT_ASKED}, {_OUT_STRIDE}",
        ]
    yield "1:"
    lines = [*_step(unit, shape, 0), *_step(unit, shape, 1)]
    yield from _spread(unit, [*asked, f"addi {_TURNS}, {_TURNS}, -1"], lines)
    yield f"bnez {_TURNS}, 1b"


def _spread(unit: MatrixUnit, waiting: Sequence[str], lines: Sequence[str]) -> Iterator[str]:
    """Scalar instructions one by one behind the unit's: more in a row would hold up the next one.

    Their order stays, and what they compute is there before a load needs it.
    """
    scalars = list(waiting)
    for line in lines:
        if line.startswith("v"):
            address = line.partition("(")[2]
            while address and any(f"({address}" in s or f" {address[:-1]}," in s for s in scalars):
                yield scalars.pop(0)
            yield line
        elif line.startswith(unit.instruction):
            yield line
            yield from scalars[:1]
            del scalars[:1]
        else:
            scalars.append(line)
    yield from scalars


def _step(unit: MatrixUnit, shape: TileShape, step: int) -> Iterator[str]:
    """One step along K, the first or the second of a turn, and the loads for those that follow."""
    later = iter(range(step * shape.halves + 1, (step + 1) * shape.halves + 1))
    if shape.rows < 3:
        yield from _load_columns(unit, shape, next(later))
    for part in range(shape.halves):
        for rows in _groups(shape, step, part):
            yield from _products(unit, shape, step, part, rows)
            if part == 0 and (buffer := next(later, None)) is not None:
                yield from _load_columns(unit, shape, buffer)
            if part == shape.halves - 1 and 0 in rows:
                yield from _load_left(unit, shape, step + 1)
    if shape.rows == 3 and step == 1:
        yield from _load_third(unit, shape)


def _groups(shape: TileShape, step: int, part: int) -> list[range]:
    """Operands of A whose products with a part of the columns come together, in their order."""
    pair, third = range(shape.pairs), range(2, shape.rows)
    if not third:
        return [pair]
    return [third, pair] if step == 1 and part == 0 else [pair, third]


def _products(
    unit: MatrixUnit, shape: TileShape, step: int, part: int, rows: range
) -> Iterator[str]:
    buffer = step * shape.halves + part
    for row, within in itertools.product(rows, range(shape.half)):
        left, right = _left_register(shape, row, step), 2 * (buffer % 2) + within
        sums = _sums(shape, row, part * shape.half + within)
        yield f"{unit.instruction} v{sums}, v{left}, v{right}"


def _left_register(shape: TileShape, row: int, step: int) -> int:
    if shape.rows == 3:
        return _THIRD_AT + step if row == 2 else _LEFT_AT + row
    return (_LEFT_AT if step % 2 == 0 else _THIRD_AT) + row


def _load_left(unit: MatrixUnit, shape: TileShape, step: int) -> Iterator[str]:
    first = _LEFT_AT if shape.rows == 3 or step % 2 == 0 else _THIRD_AT
    return _load(first, shape.pairs, _PAIR, unit, shape)


def _load_columns(unit: MatrixUnit, shape: TileShape, buffer: int) -> Iterator[str]:
    return _load(2 * (buffer % 2), shape.half, _COLUMNS, unit, shape)


def _load_third(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    return _load(_THIRD_AT, 2, _THIRD, unit, shape)


def _load(
    first: int, count: int, pointer: str, unit: MatrixUnit, shape: TileShape
) -> Iterator[str]:
    size_bytes = count * unit.register_bytes
    yield f"{_LOADED[count]} v{first}, ({pointer})"
    yield f"addi {pointer}, {pointer}, {size_bytes}"
    for line in range(0, size_bytes, _LINE_BYTES) if shape.prefetches else ():
        yield f"prefetch.r {(unit.loads_ahead - 1) * size_bytes + line}({pointer})"


def _write_rows(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    """Put sums into rows and write these, one part at a time: while one is written, the next is
    put into rows."""
    half = unit.register_bytes // 4 // 2
    lanes = unit.register_bytes // 4
    yield f"vsetivli zero, {lanes}, e32, m1, ta, mu"
    yield f"li {_LENGTH}, {(1 << half) - 1:#x}"
    yield f"vmv.s.x v0, {_LENGTH}"  # the lower half
    parts = list(itertools.product(range(shape.rows), range(2)))
    spares = itertools.cycle((1, 2, 3))
    if shape.scales:
        yield from _factors(unit, shape)
        yield from _in_stages(unit, shape, parts, half)
        return
    yield from _to_rows(shape, parts[0], half, spares)
    for number, part in enumerate(parts):
        following = parts[number + 1 : number + 2]
        others = [line for each in following for line in _to_rows(shape, each, half, spares)]
        written = list(_write_part(unit, shape, part))
        for lines in itertools.zip_longest(written, others):
            yield from (line for line in lines if line is not None)


def _to_rows(
    shape: TileShape, part: tuple[int, int], half: int, spares: Iterator[int]
) -> Iterator[str]:
    """Squares of halves of registers change places across their diagonals.

    Two registers of sums of neighbouring columns hold a few columns of two rows each; afterwards,
    each holds all of these columns of one row.
    """
    row, place = part
    for column in range(0, shape.columns, 2):
        first, second = (_sums(shape, row, column + n) + place for n in range(2))
        spare = next(spares)
        yield f"vadd.vi v{spare}, v{second}, 0"  # a move takes longer on the X60
        yield f"vslidedown.vi v{second}, v{first}, {half}, v0.t"
        yield f"vslideup.vi v{first}, v{spare}, {half}"


def _write_part(unit: MatrixUnit, shape: TileShape, part: tuple[int, int]) -> Iterator[str]:
    """Two rows of a part; where a function adds, to what was before."""
    row, place = part
    runs = range(shape.columns // 2)
    temporaries = itertools.cycle((4, 5, 6, 7))
    for within in range(2):
        registers = [_sums(shape, row, 2 * run + within) + place for run in runs]
        if shape.adds:
            yield from _added(unit, registers, temporaries)
        yield from _at_runs(unit, "vse32.v", registers, (_OUT, _SECOND_OUT))
        yield f"add {_OUT}, {_OUT}, {_OUT_STRIDE}"


def _factors(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    """Load the factors of the rows, and those of the columns."""
    columns = [_COLUMN_FACTORS_AT + run for run in range(shape.columns // 2)]
    yield from _at_runs(unit, "vle32.v", columns, (_COLUMN_FACTORS, _SECOND_START))
    for row in range(shape.rows * unit.side):
        yield f"flw ft{row}, {4 * row}({_ROW_FACTORS})"


def _in_stages(
    unit: MatrixUnit, shape: TileShape, parts: Sequence[tuple[int, int]], half: int
) -> Iterator[str]:
    """Add parts to a total: while one is added, the next is scaled, and the one after that put into
    rows, since loads and stores take as long as arithmetic does."""
    spares = itertools.cycle((1, 2))
    rows = [list(_to_rows(shape, part, half, spares)) for part in parts]
    scaled = [list(_scaled(unit, shape, part)) for part in parts]
    added = [list(_added_to_total(unit, shape, part)) for part in parts]
    for number in range(-2, len(parts)):
        stages = ((added, number), (scaled, number + 1), (rows, number + 2))
        yield from _merged([each[at] for each, at in stages if 0 <= at < len(parts)])


def _merged(pieces: Sequence[Sequence[str]]) -> list[str]:
    """Lines of several pieces, spread evenly among one another."""
    placed = [
        ((number + 0.5) / len(piece), line) for piece in pieces for number, line in enumerate(piece)
    ]
    return [line for _, line in sorted(placed, key=lambda each: each[0])]


def _rows_of(shape: TileShape, part: tuple[int, int]) -> list[list[int]]:
    """The registers of a part's two rows."""
    row, place = part
    runs = range(shape.columns // 2)
    return [[_sums(shape, row, 2 * run + within) + place for run in runs] for within in range(2)]


def _scaled(unit: MatrixUnit, shape: TileShape, part: tuple[int, int]) -> Iterator[str]:
    """Two rows of a part as floats, times their factors."""
    row, place = part
    rows = _rows_of(shape, part)
    yield from (f"vfcvt.f.x.v v{v}, v{v}" for registers in rows for v in registers)
    for within, registers in enumerate(rows):
        factor = unit.side * row + unit.rows_per_register * place + within
        yield from (f"vfmul.vf v{v}, v{v}, ft{factor}" for v in registers)


def _added_to_total(unit: MatrixUnit, shape: TileShape, part: tuple[int, int]) -> Iterator[str]:
    """Add two rows of a part to a total, times the factors of their columns."""
    temporaries = itertools.cycle((3, 4, 5))
    for registers in _rows_of(shape, part):
        totals = [next(temporaries) for _ in registers]
        yield from _at_runs(unit, "vle32.v", totals, (_OUT, _SECOND_OUT))
        for run, (v, total) in enumerate(zip(registers, totals, strict=True)):
            yield f"vfmadd.vv v{v}, v{_COLUMN_FACTORS_AT + run}, v{total}"
        yield from _at_runs(unit, "vse32.v", registers, (_OUT, _SECOND_OUT))
        yield f"add {_OUT}, {_OUT}, {_OUT_STRIDE}"


def _added(unit: MatrixUnit, registers: Sequence[int], temporaries: Iterator[int]) -> Iterator[str]:
    loaded = [next(temporaries) for _ in registers]
    yield from _at_runs(unit, "vle32.v", loaded, (_START, _SECOND_START))
    yield f"add {_START}, {_START}, {_START_STRIDE}"
    for register, before in zip(registers, loaded, strict=True):
        yield f"vadd.vv v{register}, v{register}, v{before}"


def _at_runs(
    unit: MatrixUnit, access: str, registers: Sequence[int], pointers: tuple[str, str]
) -> Iterator[str]:
    """Access one run of a row behind the other."""
    if len(registers) == 2:
        yield f"addi {pointers[1]}, {pointers[0]}, {unit.register_bytes}"
    for register, pointer in zip(registers, pointers, strict=False):
        yield f"{access} v{register}, ({pointer})"
