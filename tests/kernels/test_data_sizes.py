"""Which constants of captured launches are sizes of the data, and how what stays is told."""

from __future__ import annotations

import captured_kernels as kernels
import pytest
import torch
from captured_launches import freedom, launch, memory_of, normal, probe

from kernels.captured.data_sizes import data_covering_names, data_size_names
from kernels.captured.freedom import Freedom
from kernels.captured.freedom_text import freedom_texts

HEADS = """
def kernel(x, out, T, C, BLOCK):
    head = tl.program_id(0)
    start = (head // C) * T
    steps = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = (start + steps) * C + head % C
    tl.store(out + at, tl.load(x + at, mask=steps < T), mask=steps < T)
"""
POINTER = """
def kernel(x, T, C, BLOCK):
    start = tl.program_id(0) * BLOCK
    part = tl.make_block_ptr(x, (T, 64), strides=(C * 64, 1), {}, order=(1, 0))
    tl.store(part, tl.load(part) * 2)
"""
# A kernel over rows of C elements, in which C stands once more.
ROWS = """
def kernel(x, n, C, BLOCK):
    rows = tl.program_id(0) * 16 + tl.arange(0, 16)[:, None]
    within = tl.arange(0, BLOCK)
    at = x + rows * C + within
    {}
    tl.store(at, tl.load(at) * 2, mask=rows * 4 < n)
"""
# One whose rows are listed.
LISTED = """
def kernel(x, rows, C, BLOCK):
    row = tl.load(rows + tl.program_id(0)).to(tl.int64)
    at = x + row * C + tl.arange(0, {})
    tl.store(at, tl.load(at) * 2)
"""
PLACES = "offsets=({}, 0), block_shape=({}, 64)"


@pytest.mark.parametrize(
    "source",
    [
        HEADS,
        LISTED.format("BLOCK"),
        POINTER.format(PLACES.format("start", "BLOCK")),
        ROWS.format("keeps = within < C"),
        ROWS.format("for start in range(0, C, BLOCK): at += BLOCK"),
        ROWS.format("for start in range(tl.cdiv(C, BLOCK)): at += BLOCK"),
    ],
)
def test_a_stride_is_a_size_of_the_data(source: str) -> None:
    assert data_size_names(source) == {"C"}


@pytest.mark.parametrize(
    "source",
    [
        POINTER.format(PLACES.format("tl.program_id(0) * C", "BLOCK")),
        LISTED.format("C"),
        POINTER.format(PLACES.format("start", "C")),
        ROWS.format("within += tl.arange(0, C)"),
        ROWS.format("half = C // 2; within += tl.arange(0, half)"),
        ROWS.format("within += tl.zeros([16, C], tl.int32)"),
        ROWS.format("for turn in tl.static_range(C): at += 1"),
        ROWS.format("for start in range(0, n, C): at += C"),
        ROWS.format("for start in range(tl.cdiv(n, C)): at += C"),
        ROWS.format("for start in range(0, n // C): at += C"),
        ROWS.format("keeps = tl.program_id(1) * C + within < n"),
        ROWS.format("at += min(C, n)"),
        ROWS.format("at += of_its_own(C)"),
    ],
)
def test_what_stands_where_a_block_may_is_none(source: str) -> None:
    assert data_size_names(source) == frozenset()


def test_a_size_of_the_data_stays_without_a_run() -> None:
    constants = {"STRIDE": 64, "ROWS": 4, "BLOCK": 16}
    deployed = launch(kernels.column_sums_kernel, 4, constants)
    found = probe(deployed, memory_of(x=normal(4, 64), out=torch.zeros(64)))
    assert freedom(found, "STRIDE").why == "is a size of the data"
    assert freedom(found, "ROWS").values == (4, 8)
    assert freedom(found, "BLOCK").values == (2, 4, 8, 16, 32, 64)


def test_a_stride_that_is_no_size_of_the_launch_is_probed() -> None:
    deployed = launch(kernels.column_sums_kernel, 4, {"STRIDE": 64, "ROWS": 4, "BLOCK": 16})
    found = probe(deployed, memory_of(x=normal(256), out=torch.zeros(65)))
    assert freedom(found, "STRIDE").why.startswith("outputs differ with ")


def test_constants_that_stay_for_one_reason_are_told_together() -> None:
    size, mode = "is a size of the data", "is only compared, as modes and sizes are"
    freedoms = [
        Freedom("H", 2, (2,), size),
        Freedom("BM", 8, (8, 16), "the grid stays"),
        Freedom("MODE", 1, (1,), mode),
        Freedom("K", 64, (64,), size),
        Freedom("BN", 16, (8, 16), "the grid stays"),
        Freedom("V", 32, (32,), size),
        Freedom("ROW", 4, (4,), "outputs differ with 2 and with 8"),
    ]
    assert [f"{text.subject} {text.verb}: {text.why}" for text in freedom_texts(freedoms)] == [
        "H=2, K=64 and V=32 stay: each is a size of the data",
        "BM and BN vary: 8, 16; the grid stays",
        "MODE=1 stays: it is only compared, as modes and sizes are",
        "ROW=4 stays: outputs differ with 2 and with 8",
    ]


ROWS = """
def rows(offsets, data, out, columns, BLOCK: tl.constexpr, LONGEST: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    begin, end = tl.load(offsets + row), tl.load(offsets + row + 1)
    at = begin[:, None] + tl.arange(0, LONGEST)[None, :]
    values = tl.load(data + at, mask=at < end[:, None])
    column = tl.arange(0, C)
    values += tl.sum(tl.load(data + column, mask=column < columns))
    tl.store(out + row, tl.sum(values, 1))
"""


def test_a_block_whose_end_is_read_from_the_data_is_told_from_those_of_sizes() -> None:
    assert data_covering_names(ROWS) == {"LONGEST"}
    in_turns = ROWS.replace("values +=", "for _ in range(0, columns, LONGEST): values +=")
    assert data_covering_names(in_turns) == frozenset()
