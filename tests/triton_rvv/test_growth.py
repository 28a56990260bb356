"""Addresses that grow with a loop's counter: what the next turn reads is asked for."""

from __future__ import annotations

import re

import triton
import triton.language as tl

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.targets.host_target import host_target

SIGNATURE = {"x_ptr": "*fp32", "y_ptr": "*fp32", "turns": "i32"}


def lowered(kernel: triton.JITFunction, skipped: str = "", **constants: int) -> str:
    target, skip = RVVTarget.named("x60"), skipped.split()
    return compile_kernel(kernel, SIGNATURE, constants, target, skipped_passes=skip).lowered


@triton.jit
def copy_kernel(x_ptr, y_ptr, turns, STEP: tl.constexpr):
    """Copies blocks of four rows, as many rows as are asked for ahead."""
    rows, columns = tl.arange(0, 4)[:, None], tl.arange(0, 256)[None, :]
    for turn in range(turns):
        at = turn * STEP + rows * 256 + columns
        tl.store(y_ptr + at, tl.load(x_ptr + at) + 1)


def test_the_next_turn_is_asked_for() -> None:
    moving, staying = (
        len(re.findall(r"@llvm.prefetch.*i32 0, i32 3", lowered(copy_kernel, STEP=step)))
        for step in (1024, 0)
    )
    assert moving > staying == 0


def test_a_processor_that_foresees_rows_is_not_asked() -> None:
    compiled = compile_kernel(copy_kernel, SIGNATURE, {"STEP": 1024}, host_target())
    assert "@llvm.prefetch" not in compiled.lowered


@triton.jit
def shifted_kernel(x_ptr, y_ptr, turns, N: tl.constexpr, BLOCK: tl.constexpr, TWICE: tl.constexpr):
    """Takes the largest of a row off it, or only finds it."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns)
    largest = tl.max(x, axis=0)
    if TWICE:
        tl.store(y_ptr + row * N + columns, x - largest)
    else:
        tl.store(y_ptr + row, largest)


def test_the_next_program_is_asked_for_when_its_row_is_short_and_read_again() -> None:
    def prefetches(length: int, twice: int, stride: int) -> int:
        code = lowered(shifted_kernel, "prefetch-stream", N=stride, BLOCK=length, TWICE=twice)
        return len(re.findall(r"call .*@llvm.prefetch", code))

    assert prefetches(256, 1, 256) > 0
    assert prefetches(256, 0, 256) == 0
    assert prefetches(256, 1, 0) == 0
    assert prefetches(4096, 1, 4096) == 0


@triton.jit
def streamed_kernel(
    x_ptr, y_ptr, turns, N: tl.constexpr, STEP: tl.constexpr, OWN: tl.constexpr, KEPT: tl.constexpr
):
    """Adds up lines, each program's own or the same ones; or only copies them."""
    columns, program = tl.arange(0, N), tl.program_id(0)
    total = tl.zeros((N,), dtype=tl.float32)
    for turn in range(turns):
        x = tl.load(x_ptr + program * OWN + turn * STEP + columns)
        total += x
        if KEPT:
            tl.store(y_ptr + program * OWN + turn * STEP + columns, x)
    tl.store(y_ptr + program * N + columns, total)


def test_lines_of_a_later_turn_are_asked_for_where_no_program_has_read_them() -> None:
    """Those that follow one another: of short blocks, also where each turn copies its block; those
    that lie apart in any case."""

    def is_asked(size: int, step: int, own: int, kept: int) -> bool:
        code = lowered(streamed_kernel, "prefetch-stream", N=size, STEP=step, OWN=own, KEPT=kept)
        return re.search(r"call .*@llvm.prefetch", code) is not None

    assert is_asked(64, 64, 4096, 0)
    assert not is_asked(64, 64, 0, 0)
    assert is_asked(64, 64, 4096, 1)
    assert not is_asked(64, 64, 0, 1)
    assert not is_asked(1024, 1024, 4096, 0)
    assert is_asked(64, 200, 4096, 1)
    assert not is_asked(128, 200, 4096, 1)


@triton.jit
def rows_kernel(x_ptr, y_ptr, turns, STRIDE: tl.constexpr, N: tl.constexpr, ROWS: tl.constexpr):
    """Adds up rows of each program, or of all where they lie at no stride."""
    columns = tl.arange(0, N)
    total = tl.zeros((N,), dtype=tl.float32)
    for row in tl.static_range(ROWS):
        total += tl.load(x_ptr + tl.program_id(0) * STRIDE + row * 100000 + columns)
    tl.store(y_ptr + tl.program_id(0) * N + columns, total)


def test_rows_that_are_read_once_are_asked_for_ahead() -> None:
    """Long ones some lines further on, short ones of the next program; no rows that all programs
    read, and none beside many others."""

    def asked(stride: int, size: int, rows: int) -> int:
        code = lowered(rows_kernel, STRIDE=stride, N=size, ROWS=rows)
        return len(re.findall(r"call .*@llvm.prefetch", code))

    assert asked(4096, 4096, 1) > 0
    assert asked(0, 4096, 1) == 0
    assert asked(4096, 4096, 3) == asked(4096, 4096, 2) == 2 * asked(4096, 4096, 1)
    assert asked(4096, 4096, 4) == 0
    assert asked(64, 64, 1) > asked(0, 64, 1) == 0


@triton.jit
def pairs_kernel(x_ptr, y_ptr, turns, OWN: tl.constexpr, N: tl.constexpr, ARRAYS: tl.constexpr):
    """Adds up both halves of pairs, of each program or of all, in some arrays."""
    columns, total = tl.arange(0, N), tl.zeros((N,), dtype=tl.float32)
    for array in tl.static_range(ARRAYS):
        pairs = x_ptr + array * 100000 + tl.program_id(0) * OWN + 2 * columns
        total += tl.load(pairs) * tl.load(pairs + 1)
    tl.store(y_ptr + tl.program_id(0) * N + columns, total)


def test_rows_of_pairs_are_asked_for_ahead() -> None:
    """Once for what is loaded together; of too many arrays none, nor what all programs read."""

    def asked(own: int, arrays: int, skipped: str = "") -> int:
        code = lowered(pairs_kernel, skipped, OWN=own, N=2048, ARRAYS=arrays)
        return len(re.findall(r"call .*@llvm.prefetch", code))

    assert asked(4096, 3) == asked(4096, 2) > asked(4096, 1) > 0
    assert asked(4096, 4) == asked(0, 1) == asked(4096, 1, "prefetch-stream") == 0


@triton.jit
def few_rows_kernel(x_ptr, y_ptr, turns, N: tl.constexpr, HEIGHT: tl.constexpr):
    """Copies blocks of a few long rows."""
    rows = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)[:, None]
    at = rows * N + tl.arange(0, N)[None, :]
    tl.store(y_ptr + at, tl.load(x_ptr + at) + 1)


def test_blocks_of_few_rows_are_asked_for_by_the_program_before() -> None:
    """A row by itself is asked for in the other way."""
    asked, alone = (
        lowered(few_rows_kernel, "prefetch-stream", N=256, HEIGHT=height).count("@llvm.prefetch")
        for height in (2, 1)
    )
    assert asked > alone == 0


@triton.jit
def long_sum_kernel(x_ptr, y_ptr, turns, LENGTH: tl.constexpr):
    rows, columns = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    for turn in range(turns):
        at = turn
        for _ in tl.static_range(LENGTH):
            at = at * at + at
        tl.store(y_ptr + rows * 32 + columns, tl.load(x_ptr + at + rows * 32 + columns))


def test_long_computations_of_addresses_are_not_followed() -> None:
    """Each step uses the one before three times: following all of them would never end."""
    assert "load" in lowered(long_sum_kernel, LENGTH=40)


@triton.jit
def running_largest_kernel(x_ptr, y_ptr, turns, LENGTH: tl.constexpr):
    """The largest element of a row, of which each part is compared with what was so far."""
    columns = tl.arange(0, 64)
    largest = tl.load(x_ptr + columns, mask=columns < turns, other=0.0)
    for part in tl.static_range(LENGTH):
        at = part * 64 + columns
        x = tl.load(x_ptr + at, mask=at < turns, other=0.0)
        largest = tl.where(x > largest, x, largest)
    tl.store(y_ptr, tl.max(largest))


def test_what_is_used_twice_is_looked_at_once() -> None:
    """Each part uses what was so far twice: looking at it each time would never end."""
    assert "load" in lowered(running_largest_kernel, LENGTH=40)
