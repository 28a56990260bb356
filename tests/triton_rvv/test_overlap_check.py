"""Which code a call runs: the fast one wherever no two arguments overlap that must not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.runtime.cache import get_cache_manager
from triton.tools.tensor_descriptor import TensorDescriptor

import triton_rvv

N = 512


@pytest.fixture(autouse=True)
def _on_host(tmp_path, monkeypatch):
    """The host is Triton's driver, its cache is empty, and no kernel has been compiled."""
    before = triton.runtime.driver._active
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    triton_rvv.activate("host")
    for kernel in (add_kernel, flip_kernel, loop_kernel, softmax_kernel, rows_kernel):
        kernel.device_caches.clear()
    yield
    triton.runtime.driver._active = before


def code_for_overlaps(compiled) -> list[Path]:
    """The object files for arguments that overlap, which are made when they are first needed."""
    return list(Path(get_cache_manager(compiled.hash).cache_dir).glob("*.overlaps.o"))


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + tl.load(y_ptr + at))


@triton.jit
def flip_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + N - 1 - at, tl.load(x_ptr + at))


@triton.jit
def loop_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    """Pointers that a loop carries."""
    x_at, out_at = x_ptr + tl.arange(0, N), out_ptr + tl.arange(0, N)
    for _ in range(n):
        tl.store(out_at, 2 * tl.load(x_at))
        x_at += N
        out_at += N


@triton.jit
def softmax_kernel(x_ptr, out_ptr, N: tl.constexpr):
    """Every load is over before anything is stored, since it has two uses."""
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    numerator = tl.exp(x - tl.max(x))
    tl.store(out_ptr + N - 1 - at, numerator / tl.sum(numerator))


@triton.jit
def rows_kernel(tensors, ROWS: tl.constexpr, N: tl.constexpr):
    """out[i, j] = x[i, n - 1 - j], with the pointers in a tuple."""
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, N)[None, :]
    tl.store(tensors[1] + i * N + j, tl.load(tensors[0] + i * N + N - 1 - j))


def test_what_is_only_read_may_overlap():
    x, out = torch.randn(N + 8), torch.zeros(N)
    compiled = add_kernel[(1,)](x, x[8:], out, N=N)
    torch.testing.assert_close(out, x[:N] + x[8:])
    assert not code_for_overlaps(compiled)


def test_element_by_element_in_place():
    x, y = torch.randn(4 * N), torch.randn(4 * N)
    expected = x + y
    compiled = add_kernel[(4,)](x, y, x, N=N)
    torch.testing.assert_close(x, expected)
    assert not code_for_overlaps(compiled)


def test_element_by_element_in_place_in_a_loop():
    x = torch.randn(4 * N)
    expected = 2 * x
    compiled = loop_kernel[(1,)](x, x, 4, N=N)
    torch.testing.assert_close(x, expected)
    assert not code_for_overlaps(compiled)


def test_loads_that_are_over_need_no_check():
    x = torch.randn(N)
    expected = torch.softmax(x, 0).flip(0)
    compiled = softmax_kernel[(1,)](x, x, N=N)
    torch.testing.assert_close(x, expected)
    assert not code_for_overlaps(compiled)


def test_only_calls_that_need_it_run_other_code():
    x, out = torch.randn(N), torch.zeros(N)
    compiled = flip_kernel[(1,)](x, out, N=N)
    assert torch.equal(out, x.flip(0))
    assert not code_for_overlaps(compiled)
    flip_kernel[(1,)](x, x, N=N)
    assert torch.equal(out, x)
    (path,) = code_for_overlaps(compiled)
    made_at = path.stat().st_mtime_ns
    flip_kernel.device_caches.clear()  # as in another process
    flip_kernel[(1,)](x, x, N=N)
    assert torch.equal(x, out.flip(0))
    assert path.stat().st_mtime_ns == made_at


def test_views_by_a_shift_in_place():
    memory = torch.randn(N + 1)
    expected = memory[:N] + memory[1:]
    compiled = add_kernel[(1,)](memory, memory[1:], memory[1:], N=N)
    torch.testing.assert_close(memory[1:], expected)
    assert code_for_overlaps(compiled)


def test_parts_of_numpy_arrays():
    n = N // 2  # a kernel of its own, since the others' code for overlaps stays in the cache
    memory = np.arange(4 * n, dtype=np.float32)
    compiled = flip_kernel[(1,)](memory[:n], memory[n : 2 * n], N=n)
    np.testing.assert_array_equal(memory[n : 2 * n], memory[n - 1 :: -1])
    assert not code_for_overlaps(compiled)
    expected = memory[1 : n + 1][::-1].copy()
    compiled = flip_kernel[(1,)](memory[1:], memory[:n], N=n)
    np.testing.assert_array_equal(memory[:n], expected)
    assert code_for_overlaps(compiled)


def test_interleaved_views():
    memory = torch.randn(2 * N)
    expected = memory.clone()
    expected[1 : N + 1] = memory[:N].flip(0)
    flip_kernel[(1,)](memory[::2], memory[1::2], N=N)
    assert torch.equal(memory, expected)


class Pointer:
    """What Triton takes for a tensor, without any memory of its own."""

    dtype = torch.float32

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def data_ptr(self) -> int:
        return self._tensor.data_ptr()


@pytest.mark.parametrize(
    "wrapped", [Pointer, lambda tensor: triton.reinterpret(tensor, torch.float32)]
)
def test_pointers_that_are_no_tensors(wrapped):
    memory = torch.randn(N + 4)
    expected = memory[:N].flip(0)
    flip_kernel[(1,)](memory, wrapped(memory[4:]), N=N)
    assert torch.equal(memory[4:], expected)
    other = torch.zeros(N)
    flip_kernel[(1,)](wrapped(memory[4:]), other, N=N)
    assert torch.equal(other, memory[4:].flip(0))


def test_tuples():
    x = torch.randn(8, 64)
    expected = x.flip(1)
    compiled = rows_kernel[(1,)]((x, x), ROWS=8, N=64)
    assert torch.equal(x, expected)
    assert code_for_overlaps(compiled)


@triton.jit
def descriptor_kernel(source, target, ROWS: tl.constexpr):
    target.store([1, 0], source.load([0, 0]))


def test_descriptors():
    x = torch.randn(65, 16)
    expected = x[:64].clone()
    source, target = (TensorDescriptor.from_tensor(x, [64, 16]) for _ in range(2))
    descriptor_kernel[(1,)](source, target, ROWS=64)
    assert torch.equal(x[1:], expected)


def test_a_call_may_say_that_arguments_are_disjoint():
    x, out = torch.randn(N), torch.zeros(2 * N)
    flip_kernel[(1,)](out, out[N:], N=N, disjoint_arguments=True)
    compiled = flip_kernel[(1,)](x, out, N=N, disjoint_arguments=True)
    assert torch.equal(out[:N], x.flip(0))
    assert not code_for_overlaps(compiled)


@triton.jit
def assert_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + N - 1 - at, x)
    tl.device_assert(tl.load(out_ptr) < 0, "the last one was not")


def test_other_code_says_the_line_of_an_assertion():
    x = torch.ones(N)
    with pytest.raises(AssertionError, match=r"test_overlap_check.py:\d+: .*the last one was not"):
        assert_kernel[(1,)](x, x, N=N, debug=True)


@triton.jit
def used_again_kernel(x_ptr, out_ptr, twice_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x + 1)
    tl.store(twice_ptr + at, 2 * x, mask=at > 0)  # in another walk, since the mask differs


def test_what_is_read_again_after_a_store_is_not_its_place():
    x, twice = torch.randn(4 * N), torch.zeros(4 * N)
    expected = x.clone()
    compiled = used_again_kernel[(1,)](x, x, twice, N=4 * N)
    torch.testing.assert_close(x, expected + 1)
    torch.testing.assert_close(twice[1:], 2 * expected[1:])
    assert code_for_overlaps(compiled)
