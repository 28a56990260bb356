"""Kernels of bytes and shorts as users write them: in 32 bits, as Triton's integers are.

`random.Random(20261203).sample` drew four of these eight names before any was compiled, to work on:
threshold_mask, blend_by_number, hamming_bytes, rotate_hash, run_starts, gain_int16,
dilate_minus_erode, checker_parity. No cycles of the others were looked at until the end.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def threshold_mask(x_ptr, mean_ptr, y_ptr, offset, N, BLOCK: tl.constexpr):
    """White where a pixel is lighter than what is around it, less an offset."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N, other=0).to(tl.int32)
    mean = tl.load(mean_ptr + at, mask=at < N, other=0).to(tl.int32)
    y = tl.where((x > mean - offset) & (x >= offset), 255, 0)
    tl.store(y_ptr + at, y.to(tl.uint8), mask=at < N)


def threshold_mask_arguments(N=20000):
    x, mean = torch.randint(0, 256, (2, N), dtype=torch.uint8)
    return {
        "x_ptr": x,
        "mean_ptr": mean,
        "y_ptr": torch.empty(N, dtype=torch.uint8),
        "offset": 7,
        "N": N,
    }


def threshold_mask_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def threshold_mask_reference(x_ptr, mean_ptr, offset):
    x = x_ptr.int()
    return {"y_ptr": 255 * ((x > mean_ptr.int() - offset) & (x >= offset)).byte()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def blend_by_number(a_ptr, b_ptr, y_ptr, alpha, N, BLOCK: tl.constexpr):
    """A crossfade of two pictures, by a share of 256."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < N, other=0).to(tl.int32)
    b = tl.load(b_ptr + at, mask=at < N, other=0).to(tl.int32)
    y = (a * alpha + b * (256 - alpha) + 128) >> 8
    tl.store(y_ptr + at, y.to(tl.uint8), mask=at < N)


def blend_by_number_arguments(N=20000):
    a, b = torch.randint(0, 256, (2, N), dtype=torch.uint8)
    y = torch.empty(N, dtype=torch.uint8)
    return {"a_ptr": a, "b_ptr": b, "y_ptr": y, "alpha": 77, "N": N}


def blend_by_number_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def blend_by_number_reference(a_ptr, b_ptr, alpha):
    return {"y_ptr": ((a_ptr.int() * alpha + b_ptr.int() * (256 - alpha) + 128) >> 8).byte()}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (4, 1, 16)], key=[])
@triton.jit
def hamming_bytes(x_ptr, query_ptr, y_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """In how many bits each descriptor of an image differs from one."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    mask = (row < M)[:, None] & (column < N)[None, :]
    x = tl.load(x_ptr + row[:, None] * N + column[None, :], mask=mask, other=0).to(tl.int32)
    query = tl.load(query_ptr + column, mask=column < N, other=0).to(tl.int32)
    bits = tl.where(mask, x ^ query[None, :], 0)
    bits = (bits & 0x55) + ((bits >> 1) & 0x55)
    bits = (bits & 0x33) + ((bits >> 2) & 0x33)
    bits = (bits & 0x0F) + (bits >> 4)
    tl.store(y_ptr + row, tl.sum(bits, axis=1), mask=row < M)


def hamming_bytes_arguments(M=200, N=128):
    x = torch.randint(0, 256, (M, N), dtype=torch.uint8)
    return {
        "x_ptr": x,
        "query_ptr": torch.randint(0, 256, (N,), dtype=torch.uint8),
        "y_ptr": torch.empty(M, dtype=torch.int32),
        "M": M,
        "N": N,
        "BLOCK": triton.next_power_of_2(N),
    }


def hamming_bytes_grid(meta):
    return (triton.cdiv(meta["M"], meta["ROWS"]),)


def hamming_bytes_reference(x_ptr, query_ptr):
    differs = (x_ptr ^ query_ptr).int()[:, :, None] >> torch.arange(8) & 1
    return {"y_ptr": differs.sum((1, 2)).int()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def rotate_hash(x_ptr, y_ptr, N, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    """A hash of 8 bits for each column of a table of bytes: rotated, mixed in and multiplied."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mixed = tl.full((BLOCK,), 0x5A, dtype=tl.int32)
    for i in tl.static_range(ROUNDS):
        byte = tl.load(x_ptr + i * N + at, mask=at < N, other=0).to(tl.int32)
        mixed = (((mixed << 3) | (mixed >> 5)) ^ byte) & 255
        mixed = (mixed * 167 + 13) & 255
    tl.store(y_ptr + at, mixed.to(tl.uint8), mask=at < N)


def rotate_hash_arguments(N=4000, ROUNDS=8):
    x = torch.randint(0, 256, (ROUNDS, N), dtype=torch.uint8)
    return {"x_ptr": x, "y_ptr": torch.empty(N, dtype=torch.uint8), "N": N, "ROUNDS": ROUNDS}


def rotate_hash_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def rotate_hash_reference(x_ptr, ROUNDS):
    mixed = torch.full(x_ptr.shape[1:], 0x5A, dtype=torch.int32)
    for i in range(ROUNDS):
        mixed = (((mixed << 3) | (mixed >> 5)) ^ x_ptr[i].int()) & 255
        mixed = (mixed * 167 + 13) & 255
    return {"y_ptr": mixed.byte()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def run_starts(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """How a byte goes on from the one before: 0 the same, 1 by a step, 2 by a jump."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N, other=0).to(tl.int32)
    before = tl.load(x_ptr + at - 1, mask=(at > 0) & (at < N), other=0).to(tl.int32)
    step = tl.abs(x - before)
    kind = tl.where(step == 0, 0, tl.where(step <= 3, 1, 2))
    tl.store(y_ptr + at, kind.to(tl.uint8), mask=at < N)


def run_starts_arguments(N=20000):
    x = torch.randint(0, 8, (N,), dtype=torch.uint8)
    return {"x_ptr": x, "y_ptr": torch.empty(N, dtype=torch.uint8), "N": N}


def run_starts_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def run_starts_reference(x_ptr):
    x = x_ptr.int()
    step = (x - torch.nn.functional.pad(x, (1, 0))[:-1]).abs()
    return {"y_ptr": ((step > 0).int() + (step > 3).int()).byte()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def gain_int16(x_ptr, y_ptr, gain, N, BLOCK: tl.constexpr):
    """Sound made louder by a gain with 12 bits behind the point, and cut off at 16 bits."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N, other=0).to(tl.int32)
    y = (x * gain + 2048) >> 12
    y = tl.minimum(tl.maximum(y, -32768), 32767)
    tl.store(y_ptr + at, y.to(tl.int16), mask=at < N)


def gain_int16_arguments(N=20000):
    x = torch.randint(-32768, 32768, (N,), dtype=torch.int16)
    return {"x_ptr": x, "y_ptr": torch.empty(N, dtype=torch.int16), "gain": 5000, "N": N}


def gain_int16_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def gain_int16_reference(x_ptr, gain):
    return {"y_ptr": ((x_ptr.int() * gain + 2048) >> 12).clamp(-32768, 32767).short()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 1024)], key=[])
@triton.jit
def dilate_minus_erode(x_ptr, y_ptr, H, W, BLOCK: tl.constexpr):
    """Edges of a picture: the lightest of nine pixels less the darkest."""
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    lightest = tl.zeros((BLOCK,), dtype=tl.int32)
    darkest = tl.full((BLOCK,), 255, dtype=tl.int32)
    for i in tl.static_range(9):
        y, x = row + i // 3 - 1, column + i % 3 - 1
        exists = (y >= 0) & (y < H) & (x >= 0) & (x < W)
        pixel = tl.load(x_ptr + y * W + x, mask=exists, other=0).to(tl.int32)
        lightest = tl.maximum(lightest, pixel)
        darkest = tl.minimum(darkest, tl.where(exists, pixel, 255))
    tl.store(y_ptr + row * W + column, (lightest - darkest).to(tl.uint8), mask=column < W)


def dilate_minus_erode_arguments(H=80, W=250):
    x = torch.randint(0, 256, (H, W), dtype=torch.uint8)
    return {"x_ptr": x, "y_ptr": torch.empty(H, W, dtype=torch.uint8), "H": H, "W": W}


def dilate_minus_erode_grid(meta):
    return (meta["H"], triton.cdiv(meta["W"], meta["BLOCK"]))


def dilate_minus_erode_reference(x_ptr):
    pool = torch.nn.functional.max_pool2d
    light, dark = x_ptr[None].float(), 255 - x_ptr[None].float()
    return {"y_ptr": (pool(light, 3, 1, 1) + pool(dark, 3, 1, 1) - 255)[0].byte()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 1024)], key=[])
@triton.jit
def checker_parity(x_ptr, y_ptr, H, W, phase, BLOCK: tl.constexpr):
    """Every other pixel, as squares of a chessboard lie, is inverted."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < H * W
    x = tl.load(x_ptr + at, mask=mask, other=0).to(tl.int32)
    is_turned = (at // W + at % W) % 2 == phase
    tl.store(y_ptr + at, tl.where(is_turned, 255 - x, x).to(tl.uint8), mask=mask)


def checker_parity_arguments(H=80, W=250):
    x = torch.randint(0, 256, (H, W), dtype=torch.uint8)
    y = torch.empty(H, W, dtype=torch.uint8)
    return {"x_ptr": x, "y_ptr": y, "H": H, "W": W, "phase": 1}


def checker_parity_grid(meta):
    return (triton.cdiv(meta["H"] * meta["W"], meta["BLOCK"]),)


def checker_parity_reference(x_ptr, H, W, phase):
    squares = (torch.arange(H)[:, None] + torch.arange(W)) % 2 == phase
    return {"y_ptr": torch.where(squares, 255 - x_ptr, x_ptr)}
