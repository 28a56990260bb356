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

What becomes of the sums behind the last step is in `triton_rvv.codegen.matrix_sums`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from triton_rvv.codegen.matrix_sums import (
    FLOAT_OF_ZERO_BITS,
    OUT,
    OUT_STRIDE,
    before_rows,
    end_of_row,
    load_mask,
    sums_register,
    write_rows,
)
from triton_rvv.targets.matrix_unit import TILE_FUNCTION, MatrixUnit, TileShape

__all__ = ["tile_functions"]

_LEFT_AT, _THIRD_AT = 4, 6  # the first registers of A
_LINE_BYTES = 64
# As many elements as four registers of sums, since another number takes time.
_ONE_REGISTER = "vsetvli zero, zero, e8, m1, ta, ma"
_LOADED = {1: "vl1re8.v", 2: "vl2re8.v"}
# Arguments: where the operands lie, turns of two steps along K, and where rows go, so many bytes
# apart.
_PAIR, _THIRD, _COLUMNS, _TURNS = "a0", "a1", "a2", "a3"
_LENGTH = "t0"
_ASKED, _NEXT_ASKED, _FIRST_ASKED = "t3", "t4", "t5"  # the ends of rows that are asked for


def tile_functions(llir: str) -> str:
    """The functions for tiles that a module declares, in assembly; nothing where it has none."""
    if TILE_FUNCTION not in llir:
        return ""
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


def _tile(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    if shape.steps:
        yield from _without_loop(unit, shape)
    else:
        yield from _turns(unit, shape)
    yield from write_rows(unit, shape)
    yield "ret"
    if not shape.steps:  # a lone turn, which loads what does not come
        yield "3:"
        yield from (*load_mask(unit), *before_rows(unit, shape))
        yield "j 4b"


def _begin(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    """The first operands, and the sums that are needed first: loads and arithmetic do not wait for
    one another."""
    loads = [_load_left(unit, shape), _load_columns(unit, shape, 0)]
    if shape.rows == 3:
        loads.append(_load_third(unit, shape))
    # A length in the instruction is there at once, another takes a while. What the size of an
    # element is does not matter to a zero.
    whole, of_four = f"vsetvli {_LENGTH}, zero, ", 4 * unit.register_bytes // 8
    four = f"vsetivli zero, {of_four}, e64, m4, ta, ma"
    yield whole + "e32, m4, ta, ma" if shape.begins_as_float else four
    for clear, load in itertools.zip_longest(_clear(shape, 0), loads[:-1], fillvalue=()):
        yield from clear
        yield from load
    yield _ONE_REGISTER if shape.begins_as_float else whole + "e8, m1, ta, ma"
    yield from loads[-1]


def _clear(shape: TileShape, part: int) -> list[list[str]]:
    """Begin the sums of a part of the columns, four registers at a time: a difference takes half
    the time of a move."""
    groups = [sums_register(shape, row, 2 * part) for row in range(shape.rows)]
    if not shape.begins_as_float:
        return [[f"vsub.vv v{v}, v{v}, v{v}"] for v in groups]
    # Copied from sums of the last part, which are not counted in until all are there.
    source = sums_register(shape, 0, 2 * (shape.halves - 1))
    lines = [[f"vadd.vi v{v}, v{source}, 0"] for v in groups if v != source]
    if part != 0:
        return lines
    return [[f"li {_LENGTH}, {FLOAT_OF_ZERO_BITS:#x}", f"vmv.v.x v{source}, {_LENGTH}"], *lines]


def _with_groups(lines: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines for groups of four registers, between others for one."""
    yield "vsetvli zero, zero, e32, m4, ta, ma"
    yield from itertools.chain(*lines)
    yield _ONE_REGISTER


def _turns(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    """All steps along K, two in a turn. The last turns also ask for the lines that are written, a
    row in each: from L1D, which evicts at random, many would have gone again if they came earlier.

    The first turn also begins the sums that it does not need at once, and the last one loads
    nothing for those that do not come.
    """
    asked, begin = [], list(_begin(unit, shape))
    if shape.prefetches:
        # Turns before the last ones ask for the first row's, whose end is the lowest. Where that is
        # comes out while the loads, which begin first, are on their way.
        begin[3:3] = [
            f"addi {_FIRST_ASKED}, {OUT}, {end_of_row(unit, shape)}",
            f"addi {_NEXT_ASKED}, {_TURNS}, {-shape.rows * unit.side}",
            f"mul {_NEXT_ASKED}, {_NEXT_ASKED}, {OUT_STRIDE}",
        ]
        begin.append(f"sub {_NEXT_ASKED}, {_FIRST_ASKED}, {_NEXT_ASKED}")
        asked = [
            f"maxu {_ASKED}, {_NEXT_ASKED}, {_FIRST_ASKED}",
            f"prefetch.w 0({_ASKED})",
            f"add {_NEXT_ASKED}, {_NEXT_ASKED}, {OUT_STRIDE}",
        ]
    yield from begin
    count = f"addi {_TURNS}, {_TURNS}, -1"
    yield from _spread(unit, [count, *asked], _lines(unit, shape, _Steps(2, begins=True)))
    yield f"beqz {_TURNS}, 3f"
    yield count
    yield f"beqz {_TURNS}, 2f"
    yield "1:"
    yield from _spread(unit, [count, *asked], _lines(unit, shape, _Steps(2)))
    yield f"bnez {_TURNS}, 1b"
    yield "2:"
    yield from _last_steps(unit, shape, asked, _Steps(2, ends=True))
    yield "4:"


def _last_steps(
    unit: MatrixUnit, shape: TileShape, asked: Sequence[str], steps: _Steps
) -> Iterator[str]:
    """Steps along K behind which nothing is loaded, and the mask that the rows need as soon as its
    register is free: what it holds takes a while."""
    waiting = [*asked, *before_rows(unit, shape)]
    lines = list(_spread(unit, waiting, _lines(unit, shape, steps)))
    reading = [n for n, line in enumerate(lines) if re.search(r", v[01]\b", line)]
    number, *rest = load_mask(unit)
    yield number
    yield from (*lines[: reading[-1] + 1], *rest, *lines[reading[-1] + 1 :])


def _without_loop(unit: MatrixUnit, shape: TileShape) -> Iterator[str]:
    """All steps along K, which also ask for the lines of all rows that are written."""
    yield from _begin(unit, shape)
    asked = []
    if shape.prefetches:
        yield f"addi {_ASKED}, {OUT}, {end_of_row(unit, shape)}"
        row = [f"prefetch.w 0({_ASKED})", f"add {_ASKED}, {_ASKED}, {OUT_STRIDE}"]
        asked = row * (shape.rows * unit.side)
    yield from _last_steps(unit, shape, asked, _Steps(shape.steps, True, True))


def _spread(unit: MatrixUnit, waiting: Sequence[str], lines: Sequence[str]) -> Iterator[str]:
    """Scalar instructions one by one behind the unit's: more in a row would hold up the next one.

    Those of loads come first, and what they compute is there before the next load needs it; those
    that wait take the places that are left.
    """
    own, others = list[str](), list(waiting)
    for line in lines:
        if line.startswith("v"):
            address = line.partition("(")[2]
            while address and any(f"({address}" in s or f" {address[:-1]}," in s for s in own):
                yield own.pop(0)
            yield line
        elif line.startswith(unit.instruction):
            yield line
            queue = own or others
            yield from queue[:1]
            del queue[:1]
        else:
            own.append(line)
    yield from (*own, *others)


@dataclass(frozen=True)
class _Steps:
    """Steps along K without a branch in between.

    Args:
        begins, ends: whether they are the first of a tile, and the last.
    """

    count: int
    begins: bool = False
    ends: bool = False

    def need(self, step: int) -> bool:
        """Whether operands of that step are loaded: behind these, there may be others."""
        return not self.ends or step < self.count


def _lines(unit: MatrixUnit, shape: TileShape, steps: _Steps) -> list[str]:
    return [line for step in range(steps.count) for line in _step(unit, shape, steps, step)]


def _step(unit: MatrixUnit, shape: TileShape, steps: _Steps, step: int) -> Iterator[str]:
    """One step along K, and the loads for those that follow."""
    later = iter(range(step * shape.halves + 1, (step + 1) * shape.halves + 1))
    if shape.rows < 3:
        yield from _load_later(unit, shape, steps, next(later))
    for part in range(shape.halves):
        if steps.begins and step == 0 and part > 0:
            yield from _with_groups(_clear(shape, part))
        for rows in _groups(shape, step, part):
            yield from _products(unit, shape, step, part, rows)
            if part == 0 and (buffer := next(later, None)) is not None:
                yield from _load_later(unit, shape, steps, buffer)
            if part == shape.halves - 1 and 0 in rows and steps.need(step + 1):
                yield from _load_left(unit, shape, step + 1)
    if shape.rows == 3 and step % 2 == 1 and steps.need(step + 1):
        yield from _load_third(unit, shape)


def _load_later(unit: MatrixUnit, shape: TileShape, steps: _Steps, buffer: int) -> Iterator[str]:
    if steps.need(buffer // shape.halves):
        yield from _load_columns(unit, shape, buffer)


def _groups(shape: TileShape, step: int, part: int) -> list[range]:
    """Operands of A whose products with a part of the columns come together, in their order."""
    pair, third = range(shape.pairs), range(2, shape.rows)
    if not third:
        return [pair]
    return [third, pair] if step % 2 == 1 and part == 0 else [pair, third]


def _products(
    unit: MatrixUnit, shape: TileShape, step: int, part: int, rows: range
) -> Iterator[str]:
    buffer = step * shape.halves + part
    for row, within in itertools.product(rows, range(shape.half)):
        left, right = _left_register(shape, row, step), 2 * (buffer % 2) + within
        sums = sums_register(shape, row, part * shape.half + within)
        yield f"{unit.instruction} v{sums}, v{left}, v{right}"


def _left_register(shape: TileShape, row: int, step: int) -> int:
    if shape.rows == 3:
        return _THIRD_AT + step % 2 if row == 2 else _LEFT_AT + row
    return (_LEFT_AT if step % 2 == 0 else _THIRD_AT) + row


def _load_left(unit: MatrixUnit, shape: TileShape, step: int = 0) -> Iterator[str]:
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
