"""Stores that follow one another: in one walk if they are apart, as one if they lie in turn."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel

N = 128
UNTOUCHED = np.full(2 * N + 8, -1, np.int8)


@triton.jit
def pair_kernel(x_ptr, out_ptr, n, apart, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(out_ptr + 2 * at, x, mask=mask)
    tl.store(out_ptr + apart + 2 * at, x + 1, mask=mask)


@pytest.mark.parametrize(
    ("vlen_bits", "n", "apart"), in_turn([128, 256, 512], [N, 100, 1], [1, 3, 0, 4])
)
def test_pairs_wherever_they_lie(run, vlen_bits, n, apart):
    x = np.arange(N, dtype=np.int8)
    expected = UNTOUCHED.copy()
    expected[0 : 2 * n : 2] = x[:n]
    expected[apart : apart + 2 * n : 2] = x[:n] + 1
    out = Expected(expected, start=UNTOUCHED)
    run(pair_kernel, vlen_bits=vlen_bits, x_ptr=x, out_ptr=out, n=n, apart=apart, BLOCK=N)


@triton.jit
def in_place_kernel(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    even, odd = tl.load(x_ptr + 2 * at), tl.load(x_ptr + 2 * at + 1)
    tl.store(x_ptr + 2 * at, odd)
    tl.store(x_ptr + 2 * at + 1, even)


@pytest.mark.parametrize("size", [16, 1024])
def test_neighbours_change_places_in_place(run, size):
    x = np.arange(2 * size, dtype=np.int32)
    run(in_place_kernel, x_ptr=Expected(x.reshape(-1, 2)[:, ::-1].ravel(), start=x), BLOCK=size)


@triton.jit
def pair_in_rows_kernel(x_ptr, out_ptr, first, stride, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + columns)
    pointers = out_ptr + first + rows * stride + 2 * columns
    tl.store(pointers, x)
    tl.store(pointers + 1, -x)


@pytest.mark.parametrize("stride", in_turn([64, 65, 2, 1, 3, -1], turns=3))
def test_pairs_in_rows_that_overlap(run, stride):
    """The whole first store comes before the second one, also where rows share places."""
    m, n = 8, 32
    x = np.arange(1, m * n + 1, dtype=np.int32).reshape(m, n)
    start = np.zeros(600, np.int32)
    expected, first = start.copy(), 7 if stride < 0 else 0
    for odd in (0, 1):
        for row in range(m):
            at = first + row * stride + odd
            expected[at : at + 2 * n : 2] = -x[row] if odd else x[row]
    out = Expected(expected, start=start)
    run(pair_in_rows_kernel, x_ptr=x, out_ptr=out, first=first, stride=stride, M=m, N=n)


@triton.jit
def load_between_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + 2 * at, at)
    seen = tl.load(x_ptr + 2 * at + 2)
    tl.store(x_ptr + 2 * at + 1, seen)
    tl.store(out_ptr + at, seen)


def test_a_load_between_two_stores_sees_the_first(run):
    seen = np.append(np.arange(1, N), -1).astype(np.int32)
    start = np.full(2 * N + 1, -1, np.int32)
    x = np.append(np.stack([np.arange(N), seen], axis=1).ravel(), -1).astype(np.int32)
    run(load_between_kernel, x_ptr=Expected(x, start=start), out_ptr=Expected(seen), BLOCK=N)


@pytest.mark.parametrize("known", [{"apart": 1}, {}])
def test_a_pair_is_one_instruction(known):
    target = RVVTarget.named("x60")
    signature = {"x_ptr": "*i8", "out_ptr": "*i8", "n": "i32", "apart": "i32"}
    constants = {"BLOCK": N}
    compiled = compile_kernel(
        pair_kernel, signature, constants, target, known, disjoint_arguments=True
    )
    assert ("vsseg2e8.v" in compiled.assembly) == bool(known)


@triton.jit
def changed_on_the_way_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + 2 * at)
    tl.store(x_ptr + 2 * at, x + 1)
    tl.store(y_ptr + 2 * at, x + 2)


@pytest.mark.parametrize("size", [16, 2048])
def test_the_second_store_uses_what_the_first_one_changes(run, size):
    x, y = np.arange(2 * size, dtype=np.int32), np.zeros(2 * size, np.int32)
    changed, expected = x.copy(), y.copy()
    changed[::2] += 1
    expected[::2] = x[::2] + 2
    both = {"x_ptr": Expected(changed, start=x), "y_ptr": Expected(expected, start=y)}
    run(changed_on_the_way_kernel, **both, BLOCK=size)


@triton.jit
def planes_kernel(x_ptr, out_ptr, n, first, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for plane in tl.static_range(COUNT):
        x = tl.load(x_ptr + plane * BLOCK + at, mask=at < n)
        tl.store(out_ptr + (plane + first) % COUNT + COUNT * at, x, mask=at < n)


@pytest.mark.parametrize(
    ("vlen_bits", "count", "n", "first"),
    in_turn([128, 256, 512, 1024], [3, 4, 5], [(N, 0), (100, 0), (N, 1)]),
)
def test_planes_become_pixels(run, vlen_bits, count, n, first):
    """Where they begin elsewhere, the planes are not in turn."""
    x = np.arange(count * N).astype(np.int16).reshape(count, N)
    out = np.full((N, count), -1, np.int16)
    out[:n] = np.roll(x, first, axis=0).T[:n]
    start = np.full(N * count, -1, np.int16)
    arrays = {"x_ptr": x.ravel(), "out_ptr": Expected(out.ravel(), start=start)}
    constants = {"COUNT": count, "BLOCK": N}
    run(planes_kernel, vlen_bits=vlen_bits, **arrays, n=n, first=first, **constants)


@triton.jit
def momentum_kernel(p_ptr, v_ptr, g_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    v = tl.load(v_ptr + at, mask=mask) // 2 + tl.load(g_ptr + at, mask=mask)
    p = tl.load(p_ptr + at, mask=mask) - v
    tl.store(p_ptr + at, p, mask=mask)
    tl.store(v_ptr + at, v, mask=mask)
    tl.store(g_ptr + at, p + v, mask=mask)


@pytest.mark.parametrize("size", [16, 2048])
def test_several_arrays_change_in_place(run, size):
    p, v, g = (np.arange(k, size + k, dtype=np.int32) for k in (5, 3, 1))
    new_v = v // 2 + g
    changed = {"p_ptr": (p - new_v, p), "v_ptr": (new_v, v), "g_ptr": (p, g)}
    arrays = {name: Expected(after, start=before) for name, (after, before) in changed.items()}
    run(momentum_kernel, **arrays, n=size, BLOCK=size)


def test_several_arrays_change_in_one_walk():
    signature = {"p_ptr": "*i32", "v_ptr": "*i32", "g_ptr": "*i32", "n": "i32"}
    constants, target = {"BLOCK": 1024}, RVVTarget.named("x60")
    compiled = compile_kernel(
        momentum_kernel, signature, constants, target, disjoint_arguments=True
    )
    assert "alloca" not in compiled.llir


@triton.jit
def add_then_sum_kernel(x_ptr, sum_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.load(sum_ptr + at) + tl.load(x_ptr + at)
    tl.store(sum_ptr + at, total)
    tl.store(out_ptr, tl.sum(total, axis=0))
    tl.store(x_ptr + at, total * 2)


@pytest.mark.parametrize("size", [16, 2048])
def test_what_is_stored_in_place_is_used_again(run, size):
    x, before = np.arange(size, dtype=np.int32), np.arange(size, dtype=np.int32) * 3
    arrays = {
        "x_ptr": Expected(8 * x, start=x),
        "sum_ptr": Expected(4 * x, start=before),
        "out_ptr": Expected(np.array([4 * x.sum()], np.int32)),
    }
    run(add_then_sum_kernel, **arrays, BLOCK=size)


@triton.jit
def chased_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    place = tl.load(x_ptr + at)
    tl.store(x_ptr + at, at * 0 - 1)
    tl.store(out_ptr + place, at)


def test_a_store_goes_where_memory_said_before_the_store_ahead_of_it(run):
    places = np.random.default_rng(0).permutation(N).astype(np.int32)
    x = Expected(np.full(N, -1, np.int32), start=places)
    run(chased_kernel, x_ptr=x, out_ptr=Expected(np.argsort(places).astype(np.int32)), BLOCK=N)


@triton.jit
def one_mask_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr, COSTLY: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    if COSTLY:
        mask = (at < n) & (tl.exp(tl.exp(tl.sin(x.to(tl.float32)))) > 2)
    else:
        mask = (at < n) & (x > 3)
    tl.store(x_ptr + at, at * 0 - 1, mask=mask)
    tl.store(y_ptr + at, 2.5, mask=mask)
    tl.store(z_ptr + at, at + 1, mask=mask)


@pytest.mark.parametrize(("costly", "size"), in_turn([False, True], [64, 2048]))
def test_stores_of_several_types_have_one_mask(run, size, costly):
    x, at = np.random.default_rng(0).integers(0, 8, size).astype(np.int32), np.arange(size)
    wanted = np.exp(np.exp(np.sin(x))) > 2 if costly else x > 3
    wanted &= at < size - 4
    untouched_y, untouched_z = np.full(size, 7, np.float32), np.full(size, 7, np.int16)
    run(
        one_mask_kernel,
        x_ptr=Expected(np.where(wanted, -1, x).astype(np.int32), start=x),
        y_ptr=Expected(np.where(wanted, 2.5, untouched_y).astype(np.float32), start=untouched_y),
        z_ptr=Expected(np.where(wanted, at + 1, untouched_z).astype(np.int16), start=untouched_z),
        n=size - 4,
        BLOCK=size,
        COSTLY=costly,
    )


@triton.jit
def chosen_pixels_kernel(x_ptr, keep_ptr, out_ptr, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    keep = tl.load(keep_ptr + at) != 0
    for plane in tl.static_range(COUNT):
        x = tl.load(x_ptr + plane * BLOCK + at)
        tl.store(out_ptr + plane + COUNT * at, x, mask=keep)


@pytest.mark.parametrize(("vlen_bits", "count"), in_turn([128, 256, 512], [2, 3, 4]))
def test_pixels_under_a_mask_are_one_instruction(run, vlen_bits, count):
    x = np.arange(count * N).astype(np.int8).reshape(count, N)
    keep = np.arange(N) % 7 % 3 == 0
    start = np.full((N, count), -1, np.int8)
    out = np.where(keep[:, None], x.T, start)
    arrays = {"x_ptr": x.ravel(), "keep_ptr": keep.astype(np.int8)}
    expected = Expected(out.ravel(), start=start.ravel())
    run(chosen_pixels_kernel, vlen_bits=vlen_bits, **arrays, out_ptr=expected, COUNT=count, BLOCK=N)
    signature = {"x_ptr": "*i8", "keep_ptr": "*i8", "out_ptr": "*i8"}
    constants = {"COUNT": count, "BLOCK": N}
    target = RVVTarget(vlen_bits=vlen_bits)
    compiled = compile_kernel(
        chosen_pixels_kernel, signature, constants, target, disjoint_arguments=True
    )
    stores = [line for line in compiled.assembly.splitlines() if f"vsseg{count}e8.v" in line]
    assert stores
    assert all("v0.t" in line for line in stores)
