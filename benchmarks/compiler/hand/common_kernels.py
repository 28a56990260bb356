"""Kernels as users write them, of which none was looked at when the compiler was made.

`bench_code_speed.py` measures them beside the same loops in C (`common_kernels.h`).
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def rms_norm(x_ptr, weight_ptr, y_ptr, epsilon, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=mask, other=0.0)
    scale = 1 / tl.sqrt(tl.sum(x * x, axis=0) / N + epsilon)
    weight = tl.load(weight_ptr + columns, mask=mask)
    tl.store(y_ptr + row * N + columns, x * scale * weight, mask=mask)


def rms_norm_arguments(M=128, N=512):
    return {
        "x_ptr": torch.randn(M, N),
        "weight_ptr": torch.randn(N),
        "y_ptr": torch.empty(M, N),
        "epsilon": 1e-5,
        "N": N,
    }


def rms_norm_grid(meta):
    return (meta["M"],)


def rms_norm_reference(x_ptr, weight_ptr, epsilon):
    x = x_ptr.double()
    return {"y_ptr": x / (x.square().mean(1, keepdim=True) + epsilon).sqrt() * weight_ptr}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 4096)], key=[])
@triton.jit
def swiglu(gate_ptr, up_ptr, out_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    gate = tl.load(gate_ptr + at, mask=mask)
    up = tl.load(up_ptr + at, mask=mask)
    tl.store(out_ptr + at, gate * tl.sigmoid(gate) * up, mask=mask)


def swiglu_arguments(N=32768):
    return {
        "gate_ptr": torch.randn(N),
        "up_ptr": torch.randn(N),
        "out_ptr": torch.empty(N),
        "N": N,
    }


def swiglu_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def swiglu_reference(gate_ptr, up_ptr):
    return {"out_ptr": torch.nn.functional.silu(gate_ptr.double()) * up_ptr}


@triton.autotune([triton.Config({"GROUP": 4, "BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def group_norm(
    x_ptr, weight_ptr, bias_ptr, y_ptr, epsilon, C, HW, GROUP: tl.constexpr, BLOCK: tl.constexpr
):
    group = tl.program_id(0)
    image = tl.program_id(1)
    first = image * C * HW + group * GROUP * HW
    size = GROUP * HW
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + first + at, mask=at < size, other=0.0)
        total += x
        squares += x * x
    mean = tl.sum(total, axis=0) / size
    variance = tl.sum(squares, axis=0) / size - mean * mean
    scale = 1 / tl.sqrt(variance + epsilon)
    for channel in range(group * GROUP, (group + 1) * GROUP):
        weight = tl.load(weight_ptr + channel) * scale
        bias = tl.load(bias_ptr + channel) - mean * weight
        for start in range(0, HW, BLOCK):
            at = start + tl.arange(0, BLOCK)
            place = (image * C + channel) * HW + at
            x = tl.load(x_ptr + place, mask=at < HW)
            tl.store(y_ptr + place, x * weight + bias, mask=at < HW)


def group_norm_arguments(B=2, C=32, HW=1024):
    return {
        "x_ptr": torch.randn(B, C, HW),
        "weight_ptr": torch.randn(C),
        "bias_ptr": torch.randn(C),
        "y_ptr": torch.empty(B, C, HW),
        "epsilon": 1e-5,
        "C": C,
        "HW": HW,
    }


def group_norm_grid(meta):
    return (meta["C"] // meta["GROUP"], meta["B"])


def group_norm_reference(x_ptr, weight_ptr, bias_ptr, epsilon, C):
    parameters = (weight_ptr.double(), bias_ptr.double(), epsilon)
    return {"y_ptr": torch.nn.functional.group_norm(x_ptr.double(), C // 4, *parameters)}


@triton.autotune([triton.Config({"BLOCK": 32})], key=[])
@triton.jit
def rope_pairs(x_ptr, cos_ptr, sin_ptr, y_ptr, HEADS, HALF, BLOCK: tl.constexpr):
    """Rotates neighbours: elements 2 i and 2 i + 1 of each head."""
    token = tl.program_id(0)
    pair = tl.arange(0, BLOCK)
    mask = pair < HALF
    cosine = tl.load(cos_ptr + token * HALF + pair, mask=mask)
    sine = tl.load(sin_ptr + token * HALF + pair, mask=mask)
    for head in range(0, HEADS):
        at = (token * HEADS + head) * 2 * HALF + 2 * pair
        even = tl.load(x_ptr + at, mask=mask)
        odd = tl.load(x_ptr + at + 1, mask=mask)
        tl.store(y_ptr + at, even * cosine - odd * sine, mask=mask)
        tl.store(y_ptr + at + 1, odd * cosine + even * sine, mask=mask)


def rope_pairs_arguments(TOKENS=128, HEADS=8, HALF=32):
    angle = torch.rand(TOKENS, HALF) * 6
    return {
        "x_ptr": torch.randn(TOKENS, HEADS, 2 * HALF),
        "cos_ptr": angle.cos(),
        "sin_ptr": angle.sin(),
        "y_ptr": torch.empty(TOKENS, HEADS, 2 * HALF),
        "HEADS": HEADS,
        "HALF": HALF,
    }


def rope_pairs_grid(meta):
    return (meta["TOKENS"],)


def rope_pairs_reference(x_ptr, cos_ptr, sin_ptr):
    even, odd = x_ptr.double()[..., 0::2], x_ptr.double()[..., 1::2]
    cosine, sine = cos_ptr[:, None], sin_ptr[:, None]
    rotated = torch.stack((even * cosine - odd * sine, odd * cosine + even * sine), dim=-1)
    return {"y_ptr": rotated.flatten(-2)}


@triton.autotune([triton.Config({"BLOCK": 1024})], key=[])
@triton.jit
def argmax_rows(x_ptr, best_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=-float("inf"))
    tl.store(best_ptr + row, tl.argmax(x, axis=0))


def argmax_rows_arguments(M=64, N=1000):
    return {"x_ptr": torch.randn(M, N), "best_ptr": torch.empty(M, dtype=torch.int32), "N": N}


def argmax_rows_grid(meta):
    return (meta["M"],)


def argmax_rows_reference(x_ptr):
    return {"best_ptr": x_ptr.argmax(1).int()}


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def cumsum_rows(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + row * N + columns, tl.cumsum(x, axis=0), mask=columns < N)


def cumsum_rows_arguments(M=128, N=512):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(M, N), "N": N}


def cumsum_rows_grid(meta):
    return (meta["M"],)


def cumsum_rows_reference(x_ptr):
    return {"y_ptr": x_ptr.double().cumsum(1)}


@triton.autotune([triton.Config({"BINS": 256, "BLOCK": block}) for block in (1024, 16384)], key=[])
@triton.jit
def histogram(x_ptr, counts_ptr, N, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0)
    counts = tl.histogram(x, BINS, mask=mask)
    tl.atomic_add(counts_ptr + tl.arange(0, BINS), counts)


def histogram_arguments(N=32768):
    return {
        "x_ptr": torch.randint(0, 256, (N,), dtype=torch.int32),
        "counts_ptr": torch.zeros(256, dtype=torch.int32),
        "N": N,
    }


def histogram_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def histogram_reference(x_ptr):
    return {"counts_ptr": x_ptr.bincount(minlength=256).int()}


@triton.autotune(
    [
        triton.Config({"BLOCK_H": height, "BLOCK_W": width})
        for height, width in ((16, 64), (4, 64), (1, 256), (8, 128), (4, 16), (8, 8))
    ],
    key=[],
)
@triton.jit
def blur(x_ptr, y_ptr, H, W, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    """The mean of the 3 x 3 pixels around each, of an image with a border of 1."""
    rows = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)
    columns = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)
    mask = (rows[:, None] < H) & (columns[None, :] < W)
    at = rows[:, None] * (W + 2) + columns[None, :]
    total = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    for y in tl.static_range(3):
        for x in tl.static_range(3):
            total += tl.load(x_ptr + at + y * (W + 2) + x, mask=mask)
    tl.store(y_ptr + rows[:, None] * W + columns[None, :], total / 9, mask=mask)


def blur_arguments(H=256, W=256):
    return {"x_ptr": torch.randn(H + 2, W + 2), "y_ptr": torch.empty(H, W), "H": H, "W": W}


def blur_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_H"]), triton.cdiv(meta["W"], meta["BLOCK_W"]))


def blur_reference(x_ptr):
    return {"y_ptr": torch.nn.functional.avg_pool2d(x_ptr.double()[None], 3, 1)[0]}


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def quantize_rows(x_ptr, q_ptr, scale_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=mask, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-10) / 127
    q = x * (1 / scale)
    q = tl.where(q >= 0, q + 0.5, q - 0.5).to(tl.int8)
    tl.store(q_ptr + row * N + columns, q, mask=mask)
    tl.store(scale_ptr + row, scale)


def quantize_rows_arguments(M=128, N=512):
    return {
        "x_ptr": torch.randn(M, N),
        "q_ptr": torch.empty(M, N, dtype=torch.int8),
        "scale_ptr": torch.empty(M),
        "N": N,
    }


def quantize_rows_grid(meta):
    return (meta["M"],)


def quantize_rows_reference(x_ptr):
    scale = x_ptr.abs().amax(1) / 127
    q = x_ptr * (1 / scale)[:, None]
    return {
        "q_ptr": (q + torch.where(q >= 0, 0.5, -0.5)).trunc().to(torch.int8),
        "scale_ptr": scale,
    }


@triton.autotune(
    [
        triton.Config({"BLOCK_M": height, "BLOCK_N": width})
        for height, width in ((32, 128), (1, 128), (4, 64), (8, 512), (16, 32))
    ],
    key=[],
)
@triton.jit
def column_sums(x_ptr, sums_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        total += tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
    tl.store(sums_ptr + columns, tl.sum(total, axis=0), mask=columns < N)


def column_sums_arguments(M=256, N=512):
    return {"x_ptr": torch.randn(M, N), "sums_ptr": torch.empty(N), "M": M, "N": N}


def column_sums_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK_N"]),)


def column_sums_reference(x_ptr):
    return {"sums_ptr": x_ptr.double().sum(0)}


@triton.autotune(
    [
        triton.Config({"BLOCK_M": height, "BLOCK_N": width})
        for height, width in ((32, 32), (8, 8), (16, 64), (64, 16), (64, 8), (8, 64), (128, 32))
    ],
    key=[],
)
@triton.jit
def transpose(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=mask)
    tl.store(y_ptr + columns[:, None] * M + rows[None, :], x.trans(), mask=mask.trans())


def transpose_arguments(M=256, N=384):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(N, M), "M": M, "N": N}


def transpose_grid(meta):
    return (triton.cdiv(meta["M"], meta["BLOCK_M"]), triton.cdiv(meta["N"], meta["BLOCK_N"]))


def transpose_reference(x_ptr):
    return {"y_ptr": x_ptr.T.contiguous()}


@triton.autotune([triton.Config({"BLOCK_N": block, "BLOCK_D": 256}) for block in (1, 8)], key=[])
@triton.jit
def embedding(ids_ptr, table_ptr, out_ptr, N, D, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    columns = tl.arange(0, BLOCK_D)
    ids = tl.load(ids_ptr + rows, mask=rows < N, other=0)
    mask = (rows[:, None] < N) & (columns[None, :] < D)
    values = tl.load(table_ptr + ids[:, None] * D + columns[None, :], mask=mask)
    tl.store(out_ptr + rows[:, None] * D + columns[None, :], values, mask=mask)


def embedding_arguments(N=256, D=256):
    return {
        "ids_ptr": torch.randperm(N),
        "table_ptr": torch.randn(N, D),
        "out_ptr": torch.empty(N, D),
        "N": N,
        "D": D,
    }


def embedding_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK_N"]),)


def embedding_reference(ids_ptr, table_ptr):
    return {"out_ptr": table_ptr[ids_ptr]}
