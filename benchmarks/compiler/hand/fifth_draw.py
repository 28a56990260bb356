"""A fifth draw of kernels as users write them, that `fifth_draw.c` has in RVV intrinsics.

`random.Random(20261131).sample(names, 12)` drew twelve of forty names before any of them was
compiled. The first six, here, were looked at while passes were made; `fifth_held_out.py` has
the others.
"""

import math

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 256, 32)], key=[])
@triton.jit
def batched_3x3_products(a_ptr, b_ptr, c_ptr, N, BLOCK: tl.constexpr):
    """The products of many pairs of 3x3 matrices, such as rotations."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    for i in tl.static_range(3):
        a0 = tl.load(a_ptr + 9 * at + 3 * i, mask=mask, other=0.0)
        a1 = tl.load(a_ptr + 9 * at + 3 * i + 1, mask=mask, other=0.0)
        a2 = tl.load(a_ptr + 9 * at + 3 * i + 2, mask=mask, other=0.0)
        for j in tl.static_range(3):
            b0 = tl.load(b_ptr + 9 * at + j, mask=mask, other=0.0)
            b1 = tl.load(b_ptr + 9 * at + 3 + j, mask=mask, other=0.0)
            b2 = tl.load(b_ptr + 9 * at + 6 + j, mask=mask, other=0.0)
            tl.store(c_ptr + 9 * at + 3 * i + j, a0 * b0 + a1 * b1 + a2 * b2, mask=mask)


def batched_3x3_products_arguments(N=1000):
    return {
        "a_ptr": torch.randn(N, 3, 3),
        "b_ptr": torch.randn(N, 3, 3),
        "c_ptr": torch.empty(N, 3, 3),
        "N": N,
    }


def batched_3x3_products_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def batched_3x3_products_reference(a_ptr, b_ptr):
    return {"c_ptr": a_ptr.double() @ b_ptr.double()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 128)], key=[])
@triton.jit
def mulaw_encode(x_ptr, codes_ptr, N, mu, inverse_log, BLOCK: tl.constexpr):
    """Samples of sound as bytes, on a logarithmic scale."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    magnitude = tl.log(1.0 + mu * tl.abs(x)) * inverse_log
    signed = tl.where(x < 0, -magnitude, magnitude)
    codes = ((signed + 1.0) * 0.5 * mu + 0.5).to(tl.int32)
    tl.store(codes_ptr + at, codes.to(tl.uint8), mask=mask)


def mulaw_encode_arguments(N=12000):
    return {
        "x_ptr": 2 * torch.rand(N) - 1,
        "codes_ptr": torch.empty(N, dtype=torch.uint8),
        "N": N,
        "mu": 255.0,
        "inverse_log": 1 / math.log(256),
    }


# Sound is from -1 to 1, and the intrinsics rely on that.
mulaw_encode_kept_inputs = ["x_ptr"]


def mulaw_encode_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def mulaw_encode_reference(x_ptr):
    x = x_ptr.double()
    signed = torch.sign(x) * torch.log1p(255 * x.abs()) / math.log(256)
    return {"codes_ptr": ((signed + 1) / 2 * 255 + 0.5).to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 128)], key=[])
@triton.jit
def median3_rows(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """Each element's median with its two neighbours in the row, of which the ends repeat."""
    row = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    start = x_ptr + row * N
    left = tl.load(start + tl.maximum(at - 1, 0), mask=mask, other=0.0)
    x = tl.load(start + at, mask=mask, other=0.0)
    right = tl.load(start + tl.minimum(at + 1, N - 1), mask=mask, other=0.0)
    median = tl.maximum(tl.minimum(left, x), tl.minimum(tl.maximum(left, x), right))
    tl.store(y_ptr + row * N + at, median, mask=mask)


def median3_rows_arguments(M=40, N=500):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(M, N), "N": N}


def median3_rows_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]), meta["M"])


def median3_rows_reference(x_ptr):
    padded = torch.cat([x_ptr[:, :1], x_ptr, x_ptr[:, -1:]], 1)
    return {"y_ptr": padded.unfold(1, 3, 1).median(-1).values}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 256, 32)], key=[])
@triton.jit
def pack_ternary(w_ptr, packed_ptr, inverse_scale, BYTES, BLOCK: tl.constexpr):
    """Weights rounded to -1, 0 or 1, four of them in a byte."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    places = tl.arange(0, 4)
    mask = at < BYTES
    w = tl.load(w_ptr + 4 * at[:, None] + places[None, :], mask=mask[:, None], other=0.0)
    limited = tl.minimum(tl.maximum(w * inverse_scale, -1.0), 1.0)
    codes = tl.floor(limited + 0.5).to(tl.int32) + 1
    packed = tl.sum(codes << (2 * places)[None, :], axis=1)
    tl.store(packed_ptr + at, packed.to(tl.uint8), mask=mask)


def pack_ternary_arguments(BYTES=4000):
    return {
        "w_ptr": torch.randn(4 * BYTES),
        "packed_ptr": torch.empty(BYTES, dtype=torch.uint8),
        "inverse_scale": 1.25,
        "BYTES": BYTES,
    }


def pack_ternary_grid(meta):
    return (triton.cdiv(meta["BYTES"], meta["BLOCK"]),)


def pack_ternary_reference(w_ptr, inverse_scale):
    codes = ((w_ptr * inverse_scale).clamp(-1, 1) + 0.5).floor().int() + 1
    return {"packed_ptr": (codes.reshape(-1, 4) << (2 * torch.arange(4))).sum(1).to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512, 1024, 256)], key=[])
@triton.jit
def unpack_bits_signs(bits_ptr, scale_ptr, w_ptr, N, BLOCK: tl.constexpr):
    """Weights of one bit as numbers again: a row's scale, or its negative."""
    row = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    scale = tl.load(scale_ptr + row)
    byte = tl.load(bits_ptr + (row * N + at) // 8, mask=mask, other=0)
    bit = (byte >> (at % 8).to(tl.uint8)) & 1
    tl.store(w_ptr + row * N + at, tl.where(bit != 0, scale, -scale), mask=mask)


def unpack_bits_signs_arguments(M=32, N=800):
    return {
        "bits_ptr": torch.randint(0, 256, (M, N // 8), dtype=torch.uint8),
        "scale_ptr": torch.rand(M),
        "w_ptr": torch.empty(M, N),
        "N": N,
    }


def unpack_bits_signs_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]), meta["M"])


def unpack_bits_signs_reference(bits_ptr, scale_ptr):
    bits = (bits_ptr[:, :, None] >> torch.arange(8, dtype=torch.uint8)) & 1
    return {"w_ptr": (bits.flatten(1).float() * 2 - 1) * scale_ptr[:, None]}


@triton.autotune(
    [
        triton.Config({"BLOCK_M": rows, "BLOCK_N": columns})
        for rows, columns in ((8, 64), (1, 256), (16, 32))
    ],
    key=[],
)
@triton.jit
def gather_columns(
    x_ptr, index_ptr, y_ptr, M, N, COUNT, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    """Chosen columns of a matrix, in the order of a list."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows < M)[:, None] & (columns < COUNT)[None, :]
    index = tl.load(index_ptr + columns, mask=columns < COUNT, other=0)
    x = tl.load(x_ptr + rows[:, None] * N + index[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + rows[:, None] * COUNT + columns[None, :], x, mask=mask)


def gather_columns_arguments(M=100, N=400, COUNT=120):
    return {
        "x_ptr": torch.randn(M, N),
        "index_ptr": torch.randint(0, N, (COUNT,)),
        "y_ptr": torch.empty(M, COUNT),
        "M": M,
        "N": N,
        "COUNT": COUNT,
    }


def gather_columns_grid(meta):
    return (triton.cdiv(meta["M"], meta["BLOCK_M"]), triton.cdiv(meta["COUNT"], meta["BLOCK_N"]))


def gather_columns_reference(x_ptr, index_ptr):
    return {"y_ptr": x_ptr[:, index_ptr]}
