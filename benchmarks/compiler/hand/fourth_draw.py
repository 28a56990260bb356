"""A fourth draw of kernels as users write them, that `fourth_draw.c` has in RVV intrinsics.

Ten were written, and `random.Random(20261129).sample(names, 5)`, with the names in the order of
this file, told which five to hold out.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (16, 64, 4)], key=[])
@triton.jit
def masked_scores(
    query_ptr, keys_ptr, keep_ptr, scores_ptr, N, scale, D: tl.constexpr, BLOCK: tl.constexpr
):
    """How well one query goes with each key that a mask of bytes lets through."""
    head = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    depth = tl.arange(0, D)
    mask = at < N
    query = tl.load(query_ptr + head * D + depth)
    rows = (head * N + at)[:, None] * D + depth[None, :]
    keys = tl.load(keys_ptr + rows, mask=mask[:, None], other=0.0)
    scores = tl.sum(query[None, :] * keys, axis=1) * scale
    keep = tl.load(keep_ptr + at, mask=mask, other=0)
    tl.store(scores_ptr + head * N + at, tl.where(keep != 0, scores, -1e9), mask=mask)


def masked_scores_arguments(HEADS=4, N=300, D=64):
    return {
        "query_ptr": torch.randn(HEADS, D),
        "keys_ptr": torch.randn(HEADS, N, D),
        "keep_ptr": torch.randint(0, 2, (N,), dtype=torch.uint8),
        "scores_ptr": torch.empty(HEADS, N),
        "N": N,
        "scale": D**-0.5,
        "D": D,
    }


def masked_scores_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]), meta["HEADS"])


def masked_scores_reference(query_ptr, keys_ptr, keep_ptr, scale):
    scores = (query_ptr.double()[:, None] * keys_ptr.double()).sum(-1) * scale
    return {"scores_ptr": torch.where(keep_ptr != 0, scores, -1e9)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 128)], key=[])
@triton.jit
def yuv_planes(rgb_ptr, y_ptr, u_ptr, v_ptr, PIXELS, BLOCK: tl.constexpr):
    """Pixels of three bytes as planes of brightness and two colours, in integers."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < PIXELS
    red = tl.load(rgb_ptr + 3 * at, mask=mask, other=0).to(tl.int32)
    green = tl.load(rgb_ptr + 3 * at + 1, mask=mask, other=0).to(tl.int32)
    blue = tl.load(rgb_ptr + 3 * at + 2, mask=mask, other=0).to(tl.int32)
    y = ((66 * red + 129 * green + 25 * blue + 128) >> 8) + 16
    u = ((-38 * red - 74 * green + 112 * blue + 128) >> 8) + 128
    v = ((112 * red - 94 * green - 18 * blue + 128) >> 8) + 128
    tl.store(y_ptr + at, y.to(tl.uint8), mask=mask)
    tl.store(u_ptr + at, u.to(tl.uint8), mask=mask)
    tl.store(v_ptr + at, v.to(tl.uint8), mask=mask)


def yuv_planes_arguments(P=16000):
    return {
        "rgb_ptr": torch.randint(0, 256, (P, 3), dtype=torch.uint8),
        "y_ptr": torch.empty(P, dtype=torch.uint8),
        "u_ptr": torch.empty(P, dtype=torch.uint8),
        "v_ptr": torch.empty(P, dtype=torch.uint8),
        "PIXELS": P,
    }


def yuv_planes_grid(meta):
    return (triton.cdiv(meta["P"], meta["BLOCK"]),)


def yuv_planes_reference(rgb_ptr):
    red, green, blue = rgb_ptr.int().unbind(-1)
    y = ((66 * red + 129 * green + 25 * blue + 128) >> 8) + 16
    u = ((-38 * red - 74 * green + 112 * blue + 128) >> 8) + 128
    v = ((112 * red - 94 * green - 18 * blue + 128) >> 8) + 128
    return {name: each.to(torch.uint8) for name, each in (("y_ptr", y), ("u_ptr", u), ("v_ptr", v))}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (32, 64, 16)], key=[])
@triton.jit
def decayed_mean(x_ptr, decay_ptr, y_ptr, STEPS, CHANNELS, BLOCK: tl.constexpr):
    """Each channel's mean so far, of which the past counts less and less."""
    channels = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = channels < CHANNELS
    decay = tl.load(decay_ptr + channels, mask=mask, other=0.0)
    mean = tl.zeros((BLOCK,), tl.float32)
    for step in range(STEPS):
        x = tl.load(x_ptr + step * CHANNELS + channels, mask=mask, other=0.0)
        mean = decay * mean + (1 - decay) * x
        tl.store(y_ptr + step * CHANNELS + channels, mean, mask=mask)


def decayed_mean_arguments(T=200, C=150):
    return {
        "x_ptr": torch.randn(T, C),
        "decay_ptr": torch.rand(C),
        "y_ptr": torch.empty(T, C),
        "STEPS": T,
        "CHANNELS": C,
    }


def decayed_mean_grid(meta):
    return (triton.cdiv(meta["C"], meta["BLOCK"]),)


def decayed_mean_reference(x_ptr, decay_ptr):
    decay, means = decay_ptr.double(), []
    mean = torch.zeros_like(decay)
    for x in x_ptr.double():
        mean = decay * mean + (1 - decay) * x
        means.append(mean)
    return {"y_ptr": torch.stack(means)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 128, 32)], key=[])
@triton.jit
def pack_bits(x_ptr, threshold, bits_ptr, BYTES, BLOCK: tl.constexpr):
    """Which numbers are above a threshold, eight of them in a byte."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.arange(0, 8)
    mask = at < BYTES
    x = tl.load(x_ptr + 8 * at[:, None] + bits[None, :], mask=mask[:, None], other=0.0)
    packed = tl.sum((x > threshold).to(tl.int32) << bits[None, :], axis=1)
    tl.store(bits_ptr + at, packed.to(tl.uint8), mask=mask)


def pack_bits_arguments(BYTES=2500):
    return {
        "x_ptr": torch.randn(8 * BYTES),
        "threshold": 0.25,
        "bits_ptr": torch.empty(BYTES, dtype=torch.uint8),
        "BYTES": BYTES,
    }


def pack_bits_grid(meta):
    return (triton.cdiv(meta["BYTES"], meta["BLOCK"]),)


def pack_bits_reference(x_ptr, threshold):
    above = (x_ptr > threshold).int().reshape(-1, 8)
    return {"bits_ptr": (above << torch.arange(8)).sum(1).to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def clip_renormalise(x_ptr, y_ptr, N, low, high, BLOCK: tl.constexpr):
    """Each row's shares, none of them below or above a limit, that add up to one again."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=mask, other=0.0)
    clipped = tl.minimum(tl.maximum(x, low), high)
    total = tl.sum(tl.where(mask, clipped, 0.0), axis=0)
    tl.store(y_ptr + row * N + columns, clipped / total, mask=mask)


def clip_renormalise_arguments(M=64, N=420):
    return {
        "x_ptr": torch.rand(M, N) / N,
        "y_ptr": torch.empty(M, N),
        "N": N,
        "low": 0.2 / N,
        "high": 0.9 / N,
    }


def clip_renormalise_grid(meta):
    return (meta["M"],)


def clip_renormalise_reference(x_ptr, low, high):
    clipped = x_ptr.double().clamp(low, high)
    return {"y_ptr": clipped / clipped.sum(1, keepdim=True)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 128)], key=[])
@triton.jit
def horner(x_ptr, coefficients_ptr, y_ptr, N, DEGREE: tl.constexpr, BLOCK: tl.constexpr):
    """A polynomial of which the coefficients lie in memory."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    y = tl.zeros((BLOCK,), tl.float32) + tl.load(coefficients_ptr + DEGREE)
    for power in tl.static_range(DEGREE):
        y = y * x + tl.load(coefficients_ptr + DEGREE - 1 - power)
    tl.store(y_ptr + at, y, mask=mask)


def horner_arguments(N=15000, DEGREE=7):
    return {
        "x_ptr": torch.rand(N),
        "coefficients_ptr": torch.randn(DEGREE + 1),
        "y_ptr": torch.empty(N),
        "N": N,
        "DEGREE": DEGREE,
    }


def horner_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def horner_reference(x_ptr, coefficients_ptr):
    x, y = x_ptr.double(), 0
    for coefficient in coefficients_ptr.double().flip(0):
        y = y * x + coefficient
    return {"y_ptr": y}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 128)], key=[])
@triton.jit
def relu_dropout_backward(x_ptr, keep_ptr, grad_ptr, out_ptr, N, slope, scale, BLOCK: tl.constexpr):
    """The gradient of a leaky relu behind which a mask of bytes drops elements."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    keep = tl.load(keep_ptr + at, mask=mask, other=0)
    grad = tl.load(grad_ptr + at, mask=mask, other=0.0)
    grad = tl.where(keep != 0, grad * scale, 0.0)
    tl.store(out_ptr + at, tl.where(x > 0, grad, slope * grad), mask=mask)


def relu_dropout_backward_arguments(N=15000):
    return {
        "x_ptr": torch.randn(N),
        "keep_ptr": torch.randint(0, 2, (N,), dtype=torch.uint8),
        "grad_ptr": torch.randn(N),
        "out_ptr": torch.empty(N),
        "N": N,
        "slope": 0.1,
        "scale": 2.0,
    }


def relu_dropout_backward_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def relu_dropout_backward_reference(x_ptr, keep_ptr, grad_ptr, slope, scale):
    grad = grad_ptr.double() * scale * (keep_ptr != 0)
    return {"out_ptr": torch.where(x_ptr > 0, grad, slope * grad)}


@triton.autotune(
    [
        triton.Config({"BLOCK_H": rows, "BLOCK_W": columns})
        for rows, columns in ((4, 128), (1, 256), (8, 64))
    ],
    key=[],
)
@triton.jit
def halve_bytes(x_ptr, y_ptr, HEIGHT, WIDTH, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    """A grey image of half the size: rounded means of squares of four pixels."""
    rows = (tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H))[:, None]
    columns = (tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W))[None, :]
    mask = (rows < HEIGHT) & (columns < WIDTH)
    at = 2 * rows * (2 * WIDTH) + 2 * columns
    total = tl.load(x_ptr + at, mask=mask, other=0).to(tl.int32)
    total += tl.load(x_ptr + at + 1, mask=mask, other=0).to(tl.int32)
    total += tl.load(x_ptr + at + 2 * WIDTH, mask=mask, other=0).to(tl.int32)
    total += tl.load(x_ptr + at + 2 * WIDTH + 1, mask=mask, other=0).to(tl.int32)
    tl.store(y_ptr + rows * WIDTH + columns, ((total + 2) // 4).to(tl.uint8), mask=mask)


def halve_bytes_arguments(H=60, W=250):
    return {
        "x_ptr": torch.randint(0, 256, (2 * H, 2 * W), dtype=torch.uint8),
        "y_ptr": torch.empty(H, W, dtype=torch.uint8),
        "HEIGHT": H,
        "WIDTH": W,
    }


def halve_bytes_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_H"]), triton.cdiv(meta["W"], meta["BLOCK_W"]))


def halve_bytes_reference(x_ptr):
    x = x_ptr.int()
    total = x[::2, ::2] + x[::2, 1::2] + x[1::2, ::2] + x[1::2, 1::2]
    return {"y_ptr": ((total + 2) // 4).to(torch.uint8)}


@triton.autotune(
    [
        triton.Config({"BLOCK_M": rows, "BLOCK_N": columns})
        for rows, columns in ((4, 128), (1, 512), (16, 64))
    ],
    key=[],
)
@triton.jit
def requantise_channels(
    sums_ptr, scale_ptr, bias_ptr, q_ptr, M, N, zero, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    """Sums of a product of bytes as bytes again, by a scale and a bias for each channel."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    at = rows[:, None] * N + columns[None, :]
    scale = tl.load(scale_ptr + columns, mask=columns < N, other=0.0)
    bias = tl.load(bias_ptr + columns, mask=columns < N, other=0)
    sums = tl.load(sums_ptr + at, mask=mask, other=0) + bias[None, :]
    q = tl.floor(sums.to(tl.float32) * scale[None, :] + 0.5) + zero
    q = tl.minimum(tl.maximum(q, -128.0), 127.0)
    tl.store(q_ptr + at, q.to(tl.int8), mask=mask)


def requantise_channels_arguments(M=48, N=320):
    return {
        "sums_ptr": torch.randint(-30000, 30000, (M, N), dtype=torch.int32),
        "scale_ptr": torch.rand(N) / 200,
        "bias_ptr": torch.randint(-3000, 3000, (N,), dtype=torch.int32),
        "q_ptr": torch.empty(M, N, dtype=torch.int8),
        "M": M,
        "N": N,
        "zero": 3.0,
    }


# A zero point is a whole number, and the intrinsics take it as one.
requantise_channels_kept_inputs = ["zero"]


def requantise_channels_grid(meta):
    return (triton.cdiv(meta["M"], meta["BLOCK_M"]), triton.cdiv(meta["N"], meta["BLOCK_N"]))


def requantise_channels_reference(sums_ptr, scale_ptr, bias_ptr, zero):
    scaled = (sums_ptr + bias_ptr).float() * scale_ptr
    return {"q_ptr": ((scaled + 0.5).floor() + zero).clamp(-128, 127).to(torch.int8)}


@triton.autotune(
    [
        triton.Config({"BLOCK_N": 64, "BLOCK_M": 16}),
        triton.Config({"BLOCK_N": 32, "BLOCK_M": 32}),
        triton.Config({"BLOCK_N": 128, "BLOCK_M": 4}),
    ],
    key=[],
)
@triton.jit
def batch_statistics(x_ptr, mean_ptr, var_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Mean and variance of each column, from sums and sums of squares."""
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_N,), tl.float32)
    squares = tl.zeros((BLOCK_N,), tl.float32)
    for start in range(0, M, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows < M)[:, None] & (columns < N)[None, :]
        x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
        total += tl.sum(x, axis=0)
        squares += tl.sum(x * x, axis=0)
    mean = total / M
    tl.store(mean_ptr + columns, mean, mask=columns < N)
    tl.store(var_ptr + columns, squares / M - mean * mean, mask=columns < N)


def batch_statistics_arguments(M=250, N=200):
    return {
        "x_ptr": torch.randn(M, N),
        "mean_ptr": torch.empty(N),
        "var_ptr": torch.empty(N),
        "M": M,
        "N": N,
    }


def batch_statistics_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK_N"]),)


def batch_statistics_reference(x_ptr):
    x = x_ptr.double()
    return {"mean_ptr": x.mean(0), "var_ptr": x.var(0, correction=0)}
