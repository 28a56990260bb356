"""Reads measurements from the result pages of camel-cdr/rvv-bench-results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["InstructionRow", "Routine", "read_instructions", "read_routines"]

_SERIES = re.compile(
    r'title:\s*"([^"]*)",\s*labels:\s*\[(.*?)\],\s*data:\s*\[(.*?\])\s*,?\s*\]', re.DOTALL
)
_LIST = re.compile(r"\[([^\[\]]*)\]")
# Throughput with the longest vectors, agnostic to tails and masks; older pages have no such choice.
# Where floating point was not measured so, it was with masks undisturbed, which is the same without
# a mask.
_TABLE = re.compile(r'<table id="(?:tblMaa|tbl0)".*?</table>', re.DOTALL)
_UNDISTURBED_TABLE = re.compile(r'<table id="tblMau".*?</table>', re.DOTALL)
_OLD_TABLE = '<table id="tbl0"'
_MASKED = "v0.t"
_COLUMN = re.compile(r"<th>e(\d+)(mf?\d)</th>")
_ROW = re.compile(r"<tr><td>([^<]*)</td>(.*?)</tr>", re.DOTALL)
_CELL = re.compile(r"<td>([^<]*)</td>")


@dataclass(frozen=True)
class Routine:
    """One implementation of a routine on a page.

    Args:
        page: the page's name, which is also that of rvv-bench's source.
        title: of the diagram, such as "memcpy aligned".
        name: of the implementation, such as "rvv_m8".
        rates: bytes (or elements) a cycle by size in the same unit.
    """

    page: str
    title: str
    name: str
    rates: dict[int, float]


@dataclass(frozen=True)
class InstructionRow:
    """Throughput of an instruction with the longest vectors, agnostic to tails and masks.

    Args:
        text: the instruction with its operands.
        cycles: by element width in bits and LMUL, such as (32, "m2").
    """

    text: str
    cycles: dict[tuple[int, str], float]


def read_routines(folder: Path) -> tuple[Routine, ...]:
    """All implementations on the pages of one processor.

    Raises:
        OSError: if the folder cannot be read.
    """
    return tuple(
        routine
        for path in sorted(folder.glob("*.html"))
        if path.name != "index.html"
        for routine in _routines(path.stem, path.read_text(encoding="utf-8"))
    )


def _routines(page: str, text: str) -> Iterator[Routine]:
    for title, labels, data in _SERIES.findall(text):
        names = re.findall(r'"([^"]*)"', labels)[1:]
        sizes, *series = [_numbers(row) for row in _LIST.findall(data)]
        for name, rates in zip(names, series, strict=False):
            by_size = {int(size): rate for size, rate in zip(sizes, rates, strict=False)}
            yield Routine(page, title, name, by_size)


def _numbers(text: str) -> list[float]:
    return [float(item) for item in text.split(",") if item.strip()]


def read_instructions(page: Path) -> tuple[InstructionRow, ...]:
    """The table of a processor's index page for vl=VLMAX ta ma.

    Of older pages, without masked instructions: they were measured with a dependence on their
    destination.

    Raises:
        OSError: if the page cannot be read.
    """
    text = page.read_text(encoding="utf-8")
    others = {row.text: row for row in _all_rows(_UNDISTURBED_TABLE, text) if not _is_masked(row)}
    rows = [row if row.cycles else others.get(row.text, row) for row in _all_rows(_TABLE, text)]
    is_old = _OLD_TABLE in text
    return tuple(row for row in rows if not (is_old and _is_masked(row)))


def _is_masked(row: InstructionRow) -> bool:
    return row.text.endswith(_MASKED)


def _all_rows(tables: re.Pattern[str], text: str) -> Iterator[InstructionRow]:
    for table in tables.findall(text):
        yield from _rows(table)


def _rows(table: str) -> Iterator[InstructionRow]:
    columns = [(int(sew), lmul) for sew, lmul in _COLUMN.findall(table)]
    for text, cells in _ROW.findall(table):
        values = zip(columns, _CELL.findall(cells), strict=False)
        yield InstructionRow(text, {key: float(value) for key, value in values if value})
