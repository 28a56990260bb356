"""The six kernels of the fifth draw that were held out; see `fifth_draw.py`.

They were compiled once before passes were made and once after, and written in intrinsics
(`fifth_held_out.c`) after that. `embedding_bag`, as it was drawn, is the weighted one, since
`common_layers.py` has another.
"""

import itertools

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (8, 16, 1)], key=[])
@triton.jit
def quantise_groups_absmax(
    x_ptr, q_ptr, scale_ptr, GROUPS, GROUP: tl.constexpr, BLOCK: tl.constexpr
):
    """Groups of numbers as bytes, by the largest magnitude in each."""
    groups = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = groups[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    mask = groups < GROUPS
    x = tl.load(x_ptr + at, mask=mask[:, None], other=0.0)
    largest = tl.max(tl.abs(x), axis=1)
    scale = tl.maximum(largest, 1e-8) / 127.0
    q = x / scale[:, None]
    q = tl.where(q >= 0, q + 0.5, q - 0.5).to(tl.int8)
    tl.store(q_ptr + at, q, mask=mask[:, None])
    tl.store(scale_ptr + groups, scale, mask=mask)


def quantise_groups_absmax_arguments(GROUPS=300, GROUP=64):
    return {
        "x_ptr": torch.randn(GROUPS, GROUP),
        "q_ptr": torch.empty(GROUPS, GROUP, dtype=torch.int8),
        "scale_ptr": torch.empty(GROUPS),
        "GROUPS": GROUPS,
        "GROUP": GROUP,
    }


def quantise_groups_absmax_grid(meta):
    return (triton.cdiv(meta["GROUPS"], meta["BLOCK"]),)


def quantise_groups_absmax_reference(x_ptr):
    scale = x_ptr.abs().amax(1).clamp_min(1e-8) / 127
    q = x_ptr / scale[:, None]
    return {"q_ptr": (q + torch.copysign(torch.tensor(0.5), q)).to(torch.int8), "scale_ptr": scale}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 64, 32)], key=[])
@triton.jit
def weighted_embedding_bag(
    table_ptr, ids_ptr, weights_ptr, offsets_ptr, out_ptr, D, BLOCK: tl.constexpr
):
    """The weighted sum of a bag's rows of a table, where offsets say which ids are in it."""
    bag = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < D
    total = tl.zeros((BLOCK,), tl.float32)
    for at in range(tl.load(offsets_ptr + bag), tl.load(offsets_ptr + bag + 1)):
        row = tl.load(ids_ptr + at)
        x = tl.load(table_ptr + row * D + columns, mask=mask, other=0.0)
        total += tl.load(weights_ptr + at) * x
    tl.store(out_ptr + bag * D + columns, total, mask=mask)


def weighted_embedding_bag_arguments(BAGS=40, ROWS=200, D=120):
    lengths = torch.randint(1, 12, (BAGS,))
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).int()
    count = int(offsets[-1])
    return {
        "table_ptr": torch.randn(ROWS, D),
        "ids_ptr": torch.randint(0, ROWS, (count,), dtype=torch.int32),
        "weights_ptr": torch.rand(count),
        "offsets_ptr": offsets,
        "out_ptr": torch.empty(BAGS, D),
        "D": D,
    }


def weighted_embedding_bag_grid(meta):
    return (meta["BAGS"], triton.cdiv(meta["D"], meta["BLOCK"]))


def weighted_embedding_bag_reference(table_ptr, ids_ptr, weights_ptr, offsets_ptr):
    rows = table_ptr.double()[ids_ptr.long()] * weights_ptr.double()[:, None]
    ends = offsets_ptr.tolist()
    sums = [rows[begin:end].sum(0) for begin, end in itertools.pairwise(ends)]
    return {"out_ptr": torch.stack(sums)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 128)], key=[])
@triton.jit
def haar_wavelet_step(x_ptr, low_ptr, high_ptr, HALF, BLOCK: tl.constexpr):
    """Sums and differences of neighbours, by which a signal is halved."""
    row = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < HALF
    even = tl.load(x_ptr + 2 * (row * HALF + at), mask=mask, other=0.0)
    odd = tl.load(x_ptr + 2 * (row * HALF + at) + 1, mask=mask, other=0.0)
    tl.store(low_ptr + row * HALF + at, (even + odd) * 0.70710678, mask=mask)
    tl.store(high_ptr + row * HALF + at, (even - odd) * 0.70710678, mask=mask)


def haar_wavelet_step_arguments(M=16, HALF=500):
    return {
        "x_ptr": torch.randn(M, 2 * HALF),
        "low_ptr": torch.empty(M, HALF),
        "high_ptr": torch.empty(M, HALF),
        "HALF": HALF,
    }


def haar_wavelet_step_grid(meta):
    return (triton.cdiv(meta["HALF"], meta["BLOCK"]), meta["M"])


def haar_wavelet_step_reference(x_ptr):
    even, odd = x_ptr.double()[:, ::2], x_ptr.double()[:, 1::2]
    return {"low_ptr": (even + odd) * 0.5**0.5, "high_ptr": (even - odd) * 0.5**0.5}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 128)], key=[])
@triton.jit
def yuv_to_rgb_interleaved(y_ptr, u_ptr, v_ptr, rgb_ptr, PIXELS, BLOCK: tl.constexpr):
    """Planes of brightness and two colours as pixels of three bytes, in integers."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < PIXELS
    y = (tl.load(y_ptr + at, mask=mask, other=0).to(tl.int32) - 16) * 298
    u = tl.load(u_ptr + at, mask=mask, other=0).to(tl.int32) - 128
    v = tl.load(v_ptr + at, mask=mask, other=0).to(tl.int32) - 128
    red = (y + 409 * v + 128) >> 8
    green = (y - 100 * u - 208 * v + 128) >> 8
    blue = (y + 516 * u + 128) >> 8
    red = tl.minimum(tl.maximum(red, 0), 255)
    green = tl.minimum(tl.maximum(green, 0), 255)
    blue = tl.minimum(tl.maximum(blue, 0), 255)
    tl.store(rgb_ptr + 3 * at, red.to(tl.uint8), mask=mask)
    tl.store(rgb_ptr + 3 * at + 1, green.to(tl.uint8), mask=mask)
    tl.store(rgb_ptr + 3 * at + 2, blue.to(tl.uint8), mask=mask)


def yuv_to_rgb_interleaved_arguments(P=12000):
    return {
        "y_ptr": torch.randint(0, 256, (P,), dtype=torch.uint8),
        "u_ptr": torch.randint(0, 256, (P,), dtype=torch.uint8),
        "v_ptr": torch.randint(0, 256, (P,), dtype=torch.uint8),
        "rgb_ptr": torch.empty(P, 3, dtype=torch.uint8),
        "PIXELS": P,
    }


def yuv_to_rgb_interleaved_grid(meta):
    return (triton.cdiv(meta["P"], meta["BLOCK"]),)


def yuv_to_rgb_interleaved_reference(y_ptr, u_ptr, v_ptr):
    y, u, v = (y_ptr.int() - 16) * 298, u_ptr.int() - 128, v_ptr.int() - 128
    rgb = (y + 409 * v, y - 100 * u - 208 * v, y + 516 * u)
    return {"rgb_ptr": torch.stack([((c + 128) >> 8).clamp(0, 255) for c in rgb], 1).byte()}


@triton.autotune(
    [
        triton.Config({"BLOCK_N": rows, "BLOCK_K": columns})
        for rows, columns in ((8, 128), (4, 256), (16, 64))
    ],
    key=[],
)
@triton.jit
def matvec_few_rows(
    x_ptr, w_ptr, y_ptr, N, K, M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    """A few tokens by a weight of which each row is one output."""
    outputs = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    for m in tl.static_range(M):
        total = tl.zeros((BLOCK_N,), tl.float32)
        for start in range(0, K, BLOCK_K):
            depth = start + tl.arange(0, BLOCK_K)
            mask = (outputs < N)[:, None] & (depth < K)[None, :]
            w = tl.load(w_ptr + outputs[:, None] * K + depth[None, :], mask=mask, other=0.0)
            x = tl.load(x_ptr + m * K + depth, mask=depth < K, other=0.0)
            total += tl.sum(w * x[None, :], axis=1)
        tl.store(y_ptr + m * N + outputs, total, mask=outputs < N)


def matvec_few_rows_arguments(M=3, N=100, K=500):
    return {
        "x_ptr": torch.randn(M, K),
        "w_ptr": torch.randn(N, K),
        "y_ptr": torch.empty(M, N),
        "N": N,
        "K": K,
        "M": M,
    }


def matvec_few_rows_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK_N"]),)


def matvec_few_rows_reference(x_ptr, w_ptr):
    return {"y_ptr": x_ptr.double() @ w_ptr.double().T}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 512, 128)], key=[])
@triton.jit
def windowed_max(x_ptr, y_ptr, N, OUT, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    """The largest of each window of a row."""
    row = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < OUT
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for tap in range(WINDOW):
        x = tl.load(x_ptr + row * N + at + tap, mask=mask, other=float("-inf"))
        largest = tl.maximum(largest, x)
    tl.store(y_ptr + row * OUT + at, largest, mask=mask)


def windowed_max_arguments(M=32, N=400, WINDOW=9):
    out = N - WINDOW + 1
    return {
        "x_ptr": torch.randn(M, N),
        "y_ptr": torch.empty(M, out),
        "N": N,
        "OUT": out,
        "WINDOW": WINDOW,
    }


def windowed_max_grid(meta):
    return (triton.cdiv(meta["N"] - meta["WINDOW"] + 1, meta["BLOCK"]), meta["M"])


def windowed_max_reference(x_ptr):
    return {"y_ptr": x_ptr.unfold(1, 9, 1).amax(-1)}
