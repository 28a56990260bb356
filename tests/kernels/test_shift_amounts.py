"""How far a kernel shifts stays: machines differ beyond an integer's width."""

from __future__ import annotations

from pathlib import Path

from foundation.config import Config
from kernels.own.accesses import accesses_of
from kernels.own.changeable import changeable
from kernels.own.integer_changes import INTEGERS
from kernels.own.kernel_file import read_kernel_file
from kernels.own.launch import Launch

FILE = '''\
"""Requantises sums, with a shift and an offset for each column."""
import torch
import triton
import triton.language as tl


@triton.jit
def requantise_kernel(x_ptr, shift_ptr, offset_ptr, y_ptr, N: tl.constexpr, ROWS: tl.constexpr):
    column = tl.arange(0, N)
    shift = tl.load(shift_ptr + column) + 1
    for row in range(ROWS):
        at = row * N + column
        moved = (tl.load(x_ptr + at) + (1 << (shift - 1))) >> shift
        tl.store(y_ptr + at, (moved + (tl.load(offset_ptr + column) << 2)).to(tl.int8))


def arguments(N=32):
    return {
        "x_ptr": torch.randint(-9999, 9999, (4, N), dtype=torch.int32),
        "shift_ptr": torch.randint(7, 10, (N,), dtype=torch.int32),
        "offset_ptr": torch.randint(0, 5, (N,), dtype=torch.int32),
        "y_ptr": torch.empty(4, N, dtype=torch.int8),
        "N": N,
    }


def get_requantise_kernel_autotune_config():
    return [triton.Config({"ROWS": 4})]


def grid(meta):
    return (1,)


def reference(x_ptr, shift_ptr, offset_ptr):
    moved = (x_ptr + (1 << shift_ptr)) >> (shift_ptr + 1)
    return {"y_ptr": (moved + (offset_ptr << 2)).to(torch.int8)}
'''


def test_what_is_shifted_is_changed_and_how_far_is_not(tmp_path: Path) -> None:
    path = tmp_path / "requantise.py"
    path.write_text(FILE)
    launch = Launch(read_kernel_file(path), {"N": 32}, "i32", Config({"ROWS": 4}))
    accesses, values = accesses_of(launch), launch.values()
    assert accesses.shifted_by == {"shift_ptr"}
    changed = changeable(frozenset(), accesses, values, frozenset({"y_ptr"}), INTEGERS)
    assert changed == ["x_ptr", "offset_ptr"]
