"""Products of blocks whose rows, columns and masks follow no rule, such as convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner

Floats = npt.NDArray[np.float32]


@triton.jit
def flat_kernel(
    x_ptr,
    w_ptr,
    y_ptr,
    N,
    C,
    H,
    W,
    K,
    P,
    Q,
    R,
    S,
    STRIDE: tl.constexpr,
    PAD: tl.constexpr,
    LEFT: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """A row for each pixel, a step for each channel and tap; images are the left or right one."""
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.program_id(1) * BN + tl.arange(0, BN)
    n = at // (P * Q)
    p = at % (P * Q) // Q
    q = at % Q
    total = tl.zeros((BM, BN) if LEFT else (BN, BM), dtype=tl.float32)
    for start in range(0, C * R * S, BK):
        depth = start + tl.arange(0, BK)
        c = depth // (R * S)
        r = depth % (R * S) // S
        s = depth % S
        h = p[:, None] * STRIDE + r[None, :] - PAD
        w = q[:, None] * STRIDE + s[None, :] - PAD
        inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
        inside = inside & (n[:, None] < N) & (depth[None, :] < C * R * S)
        x_at = n[:, None] * C * H * W + c[None, :] * H * W + h * W + w
        x = tl.load(x_ptr + x_at, mask=inside, other=0.0)
        w_at = k[None, :] * (C * R * S) + depth[:, None]
        w_mask = (k[None, :] < K) & (depth[:, None] < C * R * S)
        weights = tl.load(w_ptr + w_at, mask=w_mask, other=0.0)
        if LEFT:
            total += tl.dot(x, weights)
        else:
            total += tl.dot(tl.trans(weights), tl.trans(x))
    y_at = n[:, None] * K * P * Q + k[None, :] * P * Q + p[:, None] * Q + q[:, None]
    y_mask = (at[:, None] < N * P * Q) & (k[None, :] < K)
    tl.store(y_ptr + y_at, total if LEFT else tl.trans(total), mask=y_mask)


@triton.jit
def taps_kernel(
    x_ptr,
    w_ptr,
    y_ptr,
    N,
    H,
    W,
    K,
    P,
    Q,
    x_n,
    x_c,
    x_h,
    x_w,
    w_n,
    w_c,
    w_h,
    w_w,
    y_n,
    y_c,
    y_h,
    y_w,
    C: tl.constexpr,
    R: tl.constexpr,
    STRIDE: tl.constexpr,
    PAD: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """One loop over taps and blocks of channels, with the strides of all axes."""
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    n, p, q = at // Q // P, at // Q % P, at % Q
    k = tl.program_id(1) * BN + tl.arange(0, BN)
    x_ptr += (x_n * n)[:, None]
    w_ptr += (w_n * k)[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    blocks: tl.constexpr = (C + BK - 1) // BK
    for step in range(R * R * blocks):
        c = step % blocks * BK + tl.arange(0, BK)
        r, s = step // blocks // R, step // blocks % R
        h = r - PAD + STRIDE * p
        w = s - PAD + STRIDE * q
        x_ptrs = x_ptr + (x_c * c)[None, :] + (x_h * h)[:, None] + (x_w * w)[:, None]
        w_ptrs = w_ptr + (w_c * c)[:, None] + w_h * r + w_w * s
        inside = (n < N)[:, None] & (c < C)[None, :]
        inside = (
            inside & (h >= 0)[:, None] & (h < H)[:, None] & (w >= 0)[:, None] & (w < W)[:, None]
        )
        x = tl.load(x_ptrs, mask=inside)
        weights = tl.load(w_ptrs, mask=(c < C)[:, None] & (k < K)[None, :])
        total += tl.dot(x, weights)
    y_ptr += (y_n * n)[:, None] + (y_c * k)[None, :] + (y_h * p)[:, None] + (y_w * q)[:, None]
    tl.store(y_ptr, total, mask=(n < N)[:, None] & (k < K)[None, :])


def convolved(x: Floats, weights: Floats, stride: int, pad: int) -> npt.NDArray[np.float64]:
    """N x C x H x W images with K x C x R x R weights, in float64."""
    n, _, height, width = x.shape
    size = weights.shape[2]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    p, q = ((side + 2 * pad - size) // stride + 1 for side in (height, width))
    y = np.zeros((n, len(weights), p, q))
    for r in range(size):
        for s in range(size):
            part = padded[:, :, r : r + stride * p : stride, s : s + stride * q : stride]
            y += np.einsum("nchw,kc->nkhw", part[:, :, :p, :q], weights[:, :, r, s])
    return y


# N, C, H, W, K, R, STRIDE, PAD, BM, BN, BK
SHAPES = [
    (1, 3, 9, 11, 20, 3, 1, 1, 64, 32, 32),
    (2, 17, 7, 6, 9, 3, 2, 1, 32, 16, 16),
    (2, 32, 6, 8, 33, 1, 1, 0, 32, 32, 32),
    (1, 33, 12, 5, 16, 3, 1, 1, 16, 16, 64),
    (3, 5, 8, 8, 7, 5, 1, 2, 128, 16, 16),
    (1, 16, 20, 20, 32, 3, 1, 0, 64, 32, 16),
]


def _case(shape: tuple[int, ...]) -> tuple[Floats, Floats, dict[str, Any]]:
    n, c, height, width, k, size, stride, pad, *blocks = shape
    random = np.random.default_rng(shape)
    x = random.standard_normal((n, c, height, width)).astype(np.float32)
    weights = random.standard_normal((k, c, size, size)).astype(np.float32)
    x[0, 0, 0, 0] = -0.0
    p, q = ((side + 2 * pad - size) // stride + 1 for side in (height, width))
    names: dict[str, Any] = {
        "N": n,
        "H": height,
        "W": width,
        "K": k,
        "P": p,
        "Q": q,
        "C": c,
        "R": size,
    }
    names |= {"STRIDE": stride, "PAD": pad}
    return x, weights, names | dict(zip(("BM", "BN", "BK"), blocks, strict=True))


def _grid(values: dict[str, Any]) -> tuple[int, int]:
    pixels = values["N"] * values["P"] * values["Q"]
    return -(-pixels // values["BM"]), -(-values["K"] // values["BN"])


@pytest.mark.parametrize(
    ("number", "vlen_bits", "left", "known"),
    in_turn(range(len(SHAPES)), (128, 256, 512), (True, False), (True, False), turns=2),
)
def test_pixels_by_channels_and_taps(
    run: KernelRunner, number: int, vlen_bits: int, left: bool, known: bool
) -> None:
    x, weights, values = _case(SHAPES[number])
    y = convolved(x, weights, values["STRIDE"], values["PAD"]).astype(np.float32)
    sizes = ("N", "C", "H", "W", "K", "P", "Q", "R", "S")
    run(
        flat_kernel,
        x_ptr=x,
        w_ptr=weights,
        y_ptr=Expected(y, atol=1e-4, rtol=1e-4),
        **values,
        S=values["R"],
        LEFT=left,
        grid=_grid(values),
        vlen_bits=vlen_bits,
        known=sizes if known else (),
    )


def _strides(shape: tuple[int, ...], is_last: bool) -> tuple[int, ...]:
    """Of N x C x H x W axes, where channels lie last or where they do not."""
    _, c, h, w = shape
    return (c * h * w, 1, w * c, c) if is_last else (c * h * w, h * w, w, 1)


@pytest.mark.parametrize(
    ("number", "vlen_bits", "is_last", "known"),
    in_turn(range(len(SHAPES)), (512, 128, 256), (True, False), (True, False), turns=2),
)
def test_taps_one_after_another(
    run: KernelRunner, number: int, vlen_bits: int, is_last: bool, known: bool
) -> None:
    x, weights, values = _case(SHAPES[number])
    y = convolved(x, weights, values["STRIDE"], values["PAD"]).astype(np.float32)
    arrays: dict[str, Any] = {"x": x, "w": weights, "y": y}
    for name, array in list(arrays.items()):
        for axis, stride in zip("nchw", _strides(array.shape, is_last), strict=True):
            values[f"{name}_{axis}"] = stride
        if is_last:
            arrays[name] = np.ascontiguousarray(array.transpose(0, 2, 3, 1))
    constants = ("C", "R", "STRIDE", "PAD", "BM", "BN", "BK")
    run(
        taps_kernel,
        x_ptr=arrays["x"],
        w_ptr=arrays["w"],
        y_ptr=Expected(arrays["y"], atol=1e-4, rtol=1e-4),
        **values,
        grid=_grid(values),
        vlen_bits=vlen_bits,
        known=[name for name in values if name not in constants] if known else (),
    )


@triton.jit
def chosen_kernel(
    x_ptr, index_ptr, flag_ptr, w_ptr, y_ptr, rows, BM: tl.constexpr, BK: tl.constexpr
):
    """Rows that are found by an index, of which some are left out; then they change."""
    m, k, n = tl.arange(0, BM), tl.arange(0, BK), tl.arange(0, 16)
    index = tl.load(index_ptr + m)
    flags = tl.load(flag_ptr + m) != 0
    at = (index * index // 2 % rows)[:, None] * BK
    mask = (flags & (index >= 0))[:, None] & (k < BK - 3)[None, :]
    x = tl.load(x_ptr + at + k[None, :], mask=mask, other=0.0)
    again = tl.load(x_ptr + at + BK - 1 - k[None, :], mask=mask, other=2.0)
    tl.store(x_ptr + m[:, None] * BK + k[None, :], tl.zeros((BM, BK), tl.float32))
    w = tl.load(w_ptr + k[:, None] * 16 + n[None, :])
    total = tl.dot(x, w) + 3 * tl.dot(again, w)
    tl.store(y_ptr + m[:, None] * 16 + n[None, :], total, mask=flags[:, None])


def _halves(index: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Halves of squares, which wrap as the kernel's do, cut off toward zero."""
    return np.trunc(index * index / 2).astype(np.int64)


@pytest.mark.parametrize(("vlen_bits", "block_m"), in_turn([128, 256, 512], [16, 32]))
def test_rows_that_an_index_and_flags_choose(
    run: KernelRunner, vlen_bits: int, block_m: int
) -> None:
    random = np.random.default_rng(block_m)
    x = random.standard_normal((block_m, 32)).astype(np.float32)
    index = random.integers(-50, 30000, block_m).astype(np.int32)
    flags = random.integers(0, 2, block_m).astype(np.int8)
    w = random.standard_normal((32, 16)).astype(np.float32)
    index[np.fmod(_halves(index), block_m) < 0] = 0
    rows = np.fmod(_halves(index), block_m)
    wanted = ((flags != 0) & (index >= 0))[:, None] & (np.arange(32) < 29)
    taken = np.where(wanted, x[rows], 0)
    again = np.where(wanted, x[rows][:, ::-1], 2)
    y = taken.astype(np.float64) @ w + 3 * (again.astype(np.float64) @ w)
    before = np.full((block_m, 16), 7, np.float32)
    y = np.where(flags[:, None] != 0, y, before).astype(np.float32)
    run(
        chosen_kernel,
        x_ptr=Expected(np.zeros_like(x), start=x),
        index_ptr=index,
        flag_ptr=flags,
        w_ptr=w,
        y_ptr=Expected(y, start=before, atol=1e-4, rtol=1e-4),
        rows=block_m,
        BM=block_m,
        BK=32,
        grid=(1,),
        vlen_bits=vlen_bits,
    )
