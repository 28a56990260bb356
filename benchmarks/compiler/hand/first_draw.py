"""Kernels as users write them, that `first_draw.c` has in RVV intrinsics; for bench_hand.py.

Drawn by `random.Random(20261126).sample` from twenty names, before any of them was written.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 4, 16)], key=[])
@triton.jit
def int8_row_dots(a_ptr, b_ptr, out_ptr, N: tl.constexpr, ROWS: tl.constexpr):
    """The dot product of each row of a with the same row of b, exact in int32."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = rows[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + at).to(tl.int32)
    b = tl.load(b_ptr + at).to(tl.int32)
    tl.store(out_ptr + rows, tl.sum(a * b, axis=1))


def int8_row_dots_arguments(M=256, N=512):
    return {
        "a_ptr": torch.randint(-128, 128, (M, N), dtype=torch.int8),
        "b_ptr": torch.randint(-128, 128, (M, N), dtype=torch.int8),
        "out_ptr": torch.empty(M, dtype=torch.int32),
        "N": N,
    }


def int8_row_dots_grid(meta):
    return (triton.cdiv(meta["M"], meta["ROWS"]),)


def int8_row_dots_reference(a_ptr, b_ptr):
    return {"out_ptr": (a_ptr.int() * b_ptr.int()).sum(1, dtype=torch.int32)}


@triton.autotune(
    [
        triton.Config({"BLOCK_T": time, "BLOCK_C": channels})
        for time, channels in ((16, 64), (64, 32), (8, 256))
    ],
    key=[],
)
@triton.jit
def causal_conv1d(
    x_ptr, weight_ptr, bias_ptr, y_ptr, T, C, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr
):
    """Four taps along time for each channel; what lies before the start is zero."""
    times = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    channels = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    inside = (times < T)[:, None] & (channels < C)[None, :]
    total = tl.zeros((BLOCK_T, BLOCK_C), tl.float32)
    for tap in tl.static_range(4):
        at = times - 3 + tap
        x = tl.load(
            x_ptr + at[:, None] * C + channels[None, :],
            mask=inside & (at >= 0)[:, None],
            other=0.0,
        )
        weight = tl.load(weight_ptr + tap * C + channels, mask=channels < C, other=0.0)
        total += x * weight[None, :]
    total += tl.load(bias_ptr + channels, mask=channels < C, other=0.0)[None, :]
    tl.store(y_ptr + times[:, None] * C + channels[None, :], total, mask=inside)


def causal_conv1d_arguments(T=256, C=256):
    return {
        "x_ptr": torch.randn(T, C),
        "weight_ptr": torch.randn(4, C),
        "bias_ptr": torch.randn(C),
        "y_ptr": torch.empty(T, C),
        "T": T,
        "C": C,
    }


def causal_conv1d_grid(meta):
    return (triton.cdiv(meta["T"], meta["BLOCK_T"]), triton.cdiv(meta["C"], meta["BLOCK_C"]))


def causal_conv1d_reference(x_ptr, weight_ptr, bias_ptr):
    padded = torch.nn.functional.pad(x_ptr.double(), (0, 0, 3, 0))
    taps = [weight_ptr[tap] * padded[tap : tap + len(x_ptr)] for tap in range(4)]
    return {"y_ptr": sum(taps) + bias_ptr}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512, 256)], key=[])
@triton.jit
def geglu(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """GELU, by its tanh form, of the first half of a row, times the second half."""
    row = tl.program_id(0)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < N
        a = tl.load(x_ptr + row * 2 * N + columns, mask=mask, other=0.0)
        b = tl.load(x_ptr + row * 2 * N + N + columns, mask=mask, other=0.0)
        inner = 0.7978845608 * (a + 0.044715 * a * a * a)
        gelu = a * tl.sigmoid(2 * inner)
        tl.store(y_ptr + row * N + columns, gelu * b, mask=mask)


def geglu_arguments(M=64, N=512):
    return {"x_ptr": 2 * torch.randn(M, 2 * N), "y_ptr": torch.empty(M, N), "N": N}


def geglu_grid(meta):
    return (meta["M"],)


def geglu_reference(x_ptr):
    a, b = x_ptr.double().chunk(2, 1)
    return {"y_ptr": torch.nn.functional.gelu(a, approximate="tanh") * b}


@triton.autotune(
    [triton.Config({"ROWS": rows, "BLOCK": block}) for rows, block in ((1, 32), (8, 32), (32, 32))],
    key=[],
)
@triton.jit
def avg_pool(x_ptr, y_ptr, HEIGHT, WIDTH, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """The mean of each 2x2 square of each plane."""
    plane = tl.program_id(1)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    mask = (rows < HEIGHT // 2)[:, None] & (columns < WIDTH // 2)[None, :]
    source = x_ptr + plane * HEIGHT * WIDTH + (2 * rows)[:, None] * WIDTH + (2 * columns)[None, :]
    total = tl.load(source, mask=mask) + tl.load(source + 1, mask=mask)
    total += tl.load(source + WIDTH, mask=mask) + tl.load(source + WIDTH + 1, mask=mask)
    target = plane * (HEIGHT // 2) * (WIDTH // 2) + rows[:, None] * (WIDTH // 2) + columns[None, :]
    tl.store(y_ptr + target, total * 0.25, mask=mask)


def avg_pool_arguments(C=16, H=64, W=64):
    return {
        "x_ptr": torch.randn(C, H, W),
        "y_ptr": torch.empty(C, H // 2, W // 2),
        "HEIGHT": H,
        "WIDTH": W,
    }


def avg_pool_grid(meta):
    return (triton.cdiv(meta["H"] // 2, meta["ROWS"]), meta["C"])


def avg_pool_reference(x_ptr):
    return {"y_ptr": torch.nn.functional.avg_pool2d(x_ptr.double(), 2)}


@triton.autotune(
    [
        triton.Config({"BLOCK_M": rows, "BLOCK_N": columns})
        for rows, columns in ((16, 32), (4, 128), (8, 64))
    ],
    key=[],
)
@triton.jit
def pairwise_l1(x_ptr, yt_ptr, out_ptr, N, D, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """The sum of absolute differences of each row of x and each column of yt."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for d in range(D):
        x = tl.load(x_ptr + rows * D + d)
        y = tl.load(yt_ptr + d * N + columns)
        total += tl.abs(x[:, None] - y[None, :])
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


def pairwise_l1_arguments(M=64, N=128, D=64):
    return {
        "x_ptr": torch.randn(M, D),
        "yt_ptr": torch.randn(D, N),
        "out_ptr": torch.empty(M, N),
        "N": N,
        "D": D,
    }


def pairwise_l1_grid(meta):
    return (meta["M"] // meta["BLOCK_M"], meta["N"] // meta["BLOCK_N"])


def pairwise_l1_reference(x_ptr, yt_ptr):
    return {"out_ptr": torch.cdist(x_ptr.double(), yt_ptr.double().T, p=1)}


@triton.autotune(
    [
        triton.Config({"BLOCK_H": rows, "BLOCK_W": columns})
        for rows, columns in ((4, 64), (16, 32), (2, 256))
    ],
    key=[],
)
@triton.jit
def gaussian5(
    x_ptr, weight_ptr, y_ptr, HEIGHT, WIDTH, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr
):
    """A 5x5 filter of an image; the output has the pixels whose squares lie inside."""
    rows = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)
    columns = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)
    mask = (rows < HEIGHT - 4)[:, None] & (columns < WIDTH - 4)[None, :]
    total = tl.zeros((BLOCK_H, BLOCK_W), tl.float32)
    for dy in tl.static_range(5):
        for dx in tl.static_range(5):
            weight = tl.load(weight_ptr + dy * 5 + dx)
            at = (rows + dy)[:, None] * WIDTH + (columns + dx)[None, :]
            total += weight * tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(y_ptr + rows[:, None] * (WIDTH - 4) + columns[None, :], total, mask=mask)


def gaussian5_arguments(H=68, W=260):
    return {
        "x_ptr": torch.randn(H, W),
        "weight_ptr": torch.rand(5, 5),
        "y_ptr": torch.empty(H - 4, W - 4),
        "HEIGHT": H,
        "WIDTH": W,
    }


def gaussian5_grid(meta):
    return (
        triton.cdiv(meta["H"] - 4, meta["BLOCK_H"]),
        triton.cdiv(meta["W"] - 4, meta["BLOCK_W"]),
    )


def gaussian5_reference(x_ptr, weight_ptr):
    image, weight = x_ptr.double()[None, None], weight_ptr.double()[None, None]
    return {"y_ptr": torch.nn.functional.conv2d(image, weight)[0, 0]}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def batch_norm_inference(
    x_ptr, mean_ptr, var_ptr, weight_ptr, bias_ptr, y_ptr, C, SIZE, epsilon, BLOCK: tl.constexpr
):
    """Normalises the planes of a batch by their channels' running statistics, then ReLU."""
    plane = tl.program_id(0)
    channel = plane % C
    inverse = tl.rsqrt(tl.load(var_ptr + channel) + epsilon)
    scale = tl.load(weight_ptr + channel) * inverse
    shift = tl.load(bias_ptr + channel) - tl.load(mean_ptr + channel) * scale
    for start in range(0, SIZE, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + plane * SIZE + at, mask=at < SIZE)
        y = tl.maximum(x * scale + shift, 0.0)
        tl.store(y_ptr + plane * SIZE + at, y, mask=at < SIZE)


def batch_norm_inference_arguments(B=4, C=32, HW=784):
    return {
        "x_ptr": torch.randn(B, C, HW),
        "mean_ptr": torch.randn(C),
        "var_ptr": torch.rand(C) + 0.5,
        "weight_ptr": torch.rand(C) + 0.5,
        "bias_ptr": torch.randn(C),
        "y_ptr": torch.empty(B, C, HW),
        "C": C,
        "SIZE": HW,
        "epsilon": 1e-5,
    }


def batch_norm_inference_grid(meta):
    return (meta["B"] * meta["C"],)


def batch_norm_inference_reference(x_ptr, mean_ptr, var_ptr, weight_ptr, bias_ptr, epsilon):
    x, mean, var, weight, bias = (
        each.double() for each in (x_ptr, mean_ptr, var_ptr, weight_ptr, bias_ptr)
    )
    normal = torch.nn.functional.batch_norm(x, mean, var, weight, bias, eps=epsilon)
    return {"y_ptr": normal.clamp(min=0)}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (4, 16, 64)], key=[])
@triton.jit
def q8_matvec(w_ptr, scale_ptr, x_ptr, y_ptr, K, ROWS: tl.constexpr, GROUP: tl.constexpr = 32):
    """A matrix of 8-bit integers with a scale for each 32 of a row, times a vector."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS,), tl.float32)
    for group in range(K // GROUP):
        columns = group * GROUP + tl.arange(0, GROUP)
        w = tl.load(w_ptr + rows[:, None] * K + columns[None, :]).to(tl.float32)
        x = tl.load(x_ptr + columns)
        scale = tl.load(scale_ptr + rows * (K // GROUP) + group)
        total += tl.sum(w * x[None, :], axis=1) * scale
    tl.store(y_ptr + rows, total)


def q8_matvec_arguments(N=256, K=512):
    return {
        "w_ptr": torch.randint(-127, 128, (N, K), dtype=torch.int8),
        "scale_ptr": torch.rand(N, K // 32) / 64,
        "x_ptr": torch.randn(K),
        "y_ptr": torch.empty(N),
        "K": K,
    }


def q8_matvec_grid(meta):
    return (meta["N"] // meta["ROWS"],)


def q8_matvec_reference(w_ptr, scale_ptr, x_ptr):
    wide = w_ptr.double().unflatten(1, (-1, 32)) * scale_ptr.double()[:, :, None]
    return {"y_ptr": wide.flatten(1) @ x_ptr.double()}
