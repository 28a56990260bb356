"""Pointer arguments that lead to the same memory: views of one array, and one array twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import KernelRunner

import triton_rvv
from launchers import Argument
from triton_rvv.codegen.llvm import generate
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.target import RVVTarget


@pytest.fixture(autouse=True)
def _on_host(tmp_path, monkeypatch):
    """The host is Triton's driver, and its cache is empty."""
    before = triton.runtime.driver._active
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    triton_rvv.activate("host")
    yield
    triton.runtime.driver._active = before


@triton.jit
def flip_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + N - 1 - at, tl.load(x_ptr + at))


@triton.jit
def transpose_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(y_ptr + j * N + i, tl.load(x_ptr + i * N + j))


@triton.jit
def permuted_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y_ptr + at, tl.trans(tl.load(x_ptr + at)))


@triton.jit
def shift_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at + 3, tl.load(x_ptr + at), mask=at < N - 3)


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at, tl.cumsum(tl.load(x_ptr + N - 1 - at)))


@triton.jit
def rows_kernel(x_ptr, y_ptr, N: tl.constexpr):
    """Each row is the sum of the first one and of itself backwards."""
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    first = tl.load(x_ptr + tl.arange(0, N))
    tl.store(y_ptr + i * N + j, first[None, :] + tl.load(x_ptr + i * N + N - 1 - j))


@triton.jit
def loop_kernel(x_ptr, y_ptr, N: tl.constexpr):
    """Backwards through blocks of 16, and what is stored is loaded in a later turn."""
    at = tl.arange(0, 16)
    for start in range(0, N, 16):
        block = tl.load(x_ptr + start + 15 - at)
        if start % 32 == 0:
            tl.store(y_ptr + start + at, block + 1)
        else:
            tl.store(y_ptr + start + at, block * 2)


@triton.jit
def pointers_kernel(x_ptr, y_ptr, N: tl.constexpr):
    """As `shift_kernel`, through addresses that were numbers in between."""
    at = tl.arange(0, N)
    address = x_ptr.to(tl.int64, bitcast=True)
    x_again = address.to(tl.pointer_type(tl.float32), bitcast=True)
    tl.store(y_ptr + at + 3, tl.load(x_again + at), mask=at < N - 3)


@triton.jit
def move(source, target, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(source + at)
    if N > 0:
        tl.store(target + N - 1 - at, value)


move_apart = triton.jit(move.fn, noinline=True)


@triton.jit
def call_kernel(x_ptr, y_ptr, N: tl.constexpr):
    move_apart(x_ptr, y_ptr, N)


@triton.jit
def atomic_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    before = tl.atomic_add(y_ptr + N - 1 - at, x)
    tl.debug_barrier()
    tl.store(y_ptr + at, x + before)


@triton.jit
def dot_kernel(x_ptr, y_ptr, N: tl.constexpr):
    """The product of a matrix and of itself, and of what a store has made of it, itself."""
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a, b = tl.load(x_ptr + at), tl.load(x_ptr + at)
    tl.store(y_ptr + at, a + 1)
    tl.store(y_ptr + at, tl.dot(tl.load(x_ptr + at), b))


def flip(load, store, n):
    store(n - 1 - np.arange(n), load(np.arange(n)))


def transpose(load, store, n):
    at = np.arange(n * n).reshape(n, n)
    store(at.T, load(at))


def shift(load, store, n):
    at = np.arange(n - 3)
    store(at + 3, load(at))


def cumsum(load, store, n):
    store(np.arange(n), np.cumsum(load(np.arange(n)[::-1]), dtype=np.float32))


def rows(load, store, n):
    at = np.arange(n * n).reshape(n, n)
    store(at, load(at[0]) + load(at[:, ::-1]))


def loop(load, store, n):
    for start in range(0, n, 16):
        at = start + np.arange(16)
        block = load(at[::-1])
        store(at, block * 2 if start % 32 else block + 1)


def atomic(load, store, n):
    at = np.arange(n)
    x = load(at)
    before = load(at[::-1], from_y=True)
    store(at[::-1], before + x)
    store(at, x + before)


def dot(load, store, n):
    at = np.arange(n * n).reshape(n, n)
    a = load(at)
    store(at, a + 1)
    store(at, load(at) @ a)


# A kernel, what it does, and how many elements of a dimension it takes.
CASES = {
    "flip": (flip_kernel, flip, 1024),
    "transpose": (transpose_kernel, transpose, 64),
    "permuted": (permuted_kernel, transpose, 64),
    "shift": (shift_kernel, shift, 1024),
    "cumsum": (cumsum_kernel, cumsum, 1024),
    "rows": (rows_kernel, rows, 64),
    "loop": (loop_kernel, loop, 1024),
    "pointers": (pointers_kernel, shift, 1024),
    "call": (call_kernel, flip, 1024),
    "atomic": (atomic_kernel, atomic, 256),
    "dot": (dot_kernel, dot, 32),
}
MATRICES = {"transpose", "permuted", "rows", "dot"}


def outcome(what, memory, x, y, n):
    """What one program leaves in memory, its views starting at `x` and `y`."""
    memory = memory.copy()

    def load(at, from_y=False):
        return memory[at + (y if from_y else x)]

    def store(at, values):
        memory[at + y] = values

    what(load, store, n)
    return memory


def places(reach, count, seed=2):
    """Where two views start: at the same place, elsewhere by a little or by a random distance."""
    rng = np.random.default_rng(seed)
    near = [(0, 0), (1, 0), (0, 1), (8, 0), (0, 16)]
    return [*near, *(tuple(map(int, rng.integers(0, reach, 2))) for _ in range(count - 5))]


def numbers(count):
    """Integers, so that sums and products are exact in any order."""
    return np.random.default_rng(1).integers(-99, 99, count).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "is_small"),
    in_turn([*CASES], [True, False]),
)
def test_views_of_one_array(name, is_small):
    kernel, what, size = CASES[name]
    size = 16 if is_small else size
    reach = size**2 if name in MATRICES else size
    start = numbers(2 * reach)
    for x, y in places(reach, 12):
        memory = torch.from_numpy(start.copy())
        kernel[(1,)](memory[x:], memory[y:], N=size)
        expected = outcome(what, start, x, y, size)
        np.testing.assert_array_equal(memory.numpy(), expected, err_msg=f"views at {x} and {y}")


@pytest.mark.parametrize("name", in_turn([*CASES], turns=4))
def test_views_on_risc_v(run, name):
    kernel, what, size = CASES[name]
    reach = size**2 if name in MATRICES else size
    elf = elf_of_views(run, kernel, size, RVVTarget())
    start = numbers(2 * reach)
    for x, y in places(reach, 7):
        arguments = [
            Argument("memory", "*fp32", start, outcome(what, start, x, y, size)),
            Argument("x", "i64", x * start.itemsize),
            Argument("y", "i64", y * start.itemsize),
        ]
        run.run_elf(elf, arguments, (1, 1, 1), RVVTarget())


VIEWS = """
define void @triton_rvv_kernel(ptr %args, i32 %a, i32 %b, i32 %c, i32 %d, i32 %e, i32 %f) #0 {
  %memory = load ptr, ptr %args
  %x.slot = getelementptr i64, ptr %args, i64 1
  %y.slot = getelementptr i64, ptr %args, i64 2
  %x.bytes = load i64, ptr %x.slot
  %y.bytes = load i64, ptr %y.slot
  %x = getelementptr i8, ptr %memory, i64 %x.bytes
  %y = getelementptr i8, ptr %memory, i64 %y.bytes
  %slots = alloca [2 x ptr]
  %second = getelementptr ptr, ptr %slots, i64 1
  store ptr %x, ptr %slots
  store ptr %y, ptr %second
  call void @of_views(ptr %slots, i32 %a, i32 %b, i32 %c, i32 %d, i32 %e, i32 %f)
  ret void
}
"""


def elf_of_views(run: KernelRunner, kernel, size: int, target: RVVTarget) -> Path:
    """An executable that takes an array and how many bytes two views of it start behind it."""
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32"}
    llir = compile_kernel(kernel, signature, {"N": size}, target).llir
    inside = llir.replace("@triton_rvv_kernel(", "@of_views(")
    return run.link(generate(inside + VIEWS, target).object, target)


@triton.jit
def wrapping_pair_kernel(x_ptr, y_ptr, first, N: tl.constexpr):
    at = tl.arange(0, N)
    y = tl.load(y_ptr + at)
    pointers = x_ptr + 2147483648 + (first + 2 * at)
    tl.store(pointers, y + 1, mask=at > 0)
    tl.store(pointers + 1, y + 2, mask=at > 0)


def test_offsets_that_wrap_lead_elsewhere_than_it_seems():
    n = 2048
    x = np.arange(3 * n, dtype=np.int32)
    expected = x.copy()
    expected[: 2 * n - 2] = (x[1:n, None] + [1, 2]).ravel()
    wrapping_pair_kernel[(1,)](x, x, (1 << 31) - 2, N=n)
    np.testing.assert_array_equal(x, expected)
