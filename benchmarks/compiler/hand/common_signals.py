"""Kernels of signals, images and rows as users write them; in C they are in `common_signals.h`."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def bias_relu(x_ptr, bias_ptr, y_ptr, C, HW, N, BLOCK: tl.constexpr):
    """A bias for each channel of images that lie in one row."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    bias = tl.load(bias_ptr + at // HW % C, mask=mask)
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(y_ptr + at, tl.maximum(x + bias, 0.0), mask=mask)


def bias_relu_arguments(B=2, C=16, HW=1024):
    return {
        "x_ptr": torch.randn(B, C, HW),
        "bias_ptr": torch.randn(C),
        "y_ptr": torch.empty(B, C, HW),
        "C": C,
        "HW": HW,
        "N": B * C * HW,
    }


def bias_relu_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def bias_relu_reference(x_ptr, bias_ptr):
    return {"y_ptr": (x_ptr.double() + bias_ptr[:, None]).relu()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def enlarge(x_ptr, y_ptr, H, W, N, BLOCK: tl.constexpr):
    """Twice as many rows and columns, each pixel four times."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = at // (2 * W)
    column = at % (2 * W)
    x = tl.load(x_ptr + row // 2 * W + column // 2, mask=at < N)
    tl.store(y_ptr + at, x, mask=at < N)


def enlarge_arguments(H=64, W=96):
    y = torch.empty(2 * H, 2 * W)
    return {"x_ptr": torch.randn(H, W), "y_ptr": y, "H": H, "W": W, "N": 4 * H * W}


def enlarge_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def enlarge_reference(x_ptr):
    return {"y_ptr": x_ptr.repeat_interleave(2, 0).repeat_interleave(2, 1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def shift_image(x_ptr, y_ptr, H, W, down, right, BLOCK: tl.constexpr):
    """What leaves the image at one side comes back at the other one."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < H * W
    row = (at // W + H - down) % H
    column = (at % W + W - right) % W
    tl.store(y_ptr + at, tl.load(x_ptr + row * W + column, mask=mask), mask=mask)


def shift_image_arguments(H=128, W=192):
    y = torch.empty(H, W)
    return {"x_ptr": torch.randn(H, W), "y_ptr": y, "H": H, "W": W, "down": 5, "right": 17}


def shift_image_grid(meta):
    return (triton.cdiv(meta["H"] * meta["W"], meta["BLOCK"]),)


def shift_image_reference(x_ptr, down, right):
    return {"y_ptr": x_ptr.roll((down, right), (0, 1))}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def dequantize_groups(
    q_ptr, scale_ptr, zero_ptr, y_ptr, GROUP: tl.constexpr, N, BLOCK: tl.constexpr
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    q = tl.load(q_ptr + at, mask=mask).to(tl.float32)
    scale = tl.load(scale_ptr + at // GROUP, mask=mask)
    zero = tl.load(zero_ptr + at // GROUP, mask=mask)
    tl.store(y_ptr + at, (q - zero) * scale, mask=mask)


def dequantize_groups_arguments(N=32768):
    return {
        "q_ptr": torch.randint(-128, 128, (N,), dtype=torch.int8),
        "scale_ptr": torch.rand(N // 32),
        "zero_ptr": torch.randn(N // 32),
        "y_ptr": torch.empty(N),
        "GROUP": 32,
        "N": N,
    }


def dequantize_groups_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def dequantize_groups_reference(q_ptr, scale_ptr, zero_ptr):
    q = q_ptr.double().view(-1, 32)
    return {"y_ptr": ((q - zero_ptr[:, None]) * scale_ptr[:, None]).flatten()}


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def softmax_backward(y_ptr, dy_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    y = tl.load(y_ptr + row * N + columns, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + row * N + columns, mask=mask, other=0.0)
    total = tl.sum(y * dy, axis=0)
    tl.store(dx_ptr + row * N + columns, y * (dy - total), mask=mask)


def softmax_backward_arguments(M=128, N=500):
    return {
        "y_ptr": torch.randn(M, N).softmax(1),
        "dy_ptr": torch.randn(M, N),
        "dx_ptr": torch.empty(M, N),
        "N": N,
    }


def softmax_backward_grid(meta):
    return (meta["M"],)


def softmax_backward_reference(y_ptr, dy_ptr):
    y, dy = y_ptr.double(), dy_ptr.double()
    return {"dx_ptr": y * (dy - (y * dy).sum(1, keepdim=True))}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def fir(x_ptr, taps_ptr, y_ptr, TAPS, N, BLOCK: tl.constexpr):
    """A filter of a signal; what lies before its start counts as 0."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(TAPS):
        x = tl.load(x_ptr + at - i, mask=(at >= i) & (at < N), other=0.0)
        total += tl.load(taps_ptr + i) * x
    tl.store(y_ptr + at, total, mask=at < N)


def fir_arguments(N=16384):
    taps = torch.randn(16)
    return {"x_ptr": torch.randn(N), "taps_ptr": taps, "y_ptr": torch.empty(N), "TAPS": 16, "N": N}


def fir_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def fir_reference(x_ptr, taps_ptr):
    padded = torch.nn.functional.pad(x_ptr.double(), (15, 0))[None, None]
    return {
        "y_ptr": torch.nn.functional.conv1d(padded, taps_ptr.double().flip(0)[None, None])[0, 0]
    }


@triton.autotune(
    [triton.Config({"BLOCK_Y": y, "BLOCK_X": x}) for y, x in ((8, 64), (4, 32))], key=[]
)
@triton.jit
def laplace_3d(x_ptr, y_ptr, D, H, W, BLOCK_Y: tl.constexpr, BLOCK_X: tl.constexpr):
    z = tl.program_id(2)
    rows = tl.program_id(1) * BLOCK_Y + tl.arange(0, BLOCK_Y)[:, None]
    columns = tl.program_id(0) * BLOCK_X + tl.arange(0, BLOCK_X)[None, :]
    inside = (rows < H) & (columns < W)
    at = x_ptr + (z * H + rows) * W + columns
    here = tl.load(at, mask=inside)
    total = tl.load(at - W, mask=inside & (rows > 0), other=0.0)
    total += tl.load(at + W, mask=inside & (rows < H - 1), other=0.0)
    total += tl.load(at - 1, mask=inside & (columns > 0), other=0.0)
    total += tl.load(at + 1, mask=inside & (columns < W - 1), other=0.0)
    total += tl.load(at - H * W, mask=inside & (z > 0), other=0.0)
    total += tl.load(at + H * W, mask=inside & (z < D - 1), other=0.0)
    tl.store(y_ptr + (z * H + rows) * W + columns, total - 6 * here, mask=inside)


def laplace_3d_arguments(D=16, H=32, W=64):
    y = torch.empty(D, H, W)
    return {"x_ptr": torch.randn(D, H, W), "y_ptr": y, "D": D, "H": H, "W": W}


def laplace_3d_grid(meta):
    columns, rows = triton.cdiv(meta["W"], meta["BLOCK_X"]), triton.cdiv(meta["H"], meta["BLOCK_Y"])
    return (columns, rows, meta["D"])


def laplace_3d_reference(x_ptr):
    p = torch.nn.functional.pad(x_ptr.double(), (1,) * 6)
    total = p[:-2, 1:-1, 1:-1] + p[2:, 1:-1, 1:-1] + p[1:-1, :-2, 1:-1] + p[1:-1, 2:, 1:-1]
    total += p[1:-1, 1:-1, :-2] + p[1:-1, 1:-1, 2:]
    return {"y_ptr": total - 6 * x_ptr.double()}


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def welford(x_ptr, mean_ptr, variance_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=mask, other=0.0)
    zeros = tl.zeros((BLOCK,), dtype=tl.float32)
    mean, squares, _ = tl.reduce((x, zeros, mask.to(tl.float32)), 0, _joined)
    tl.store(mean_ptr + row, mean)
    tl.store(variance_ptr + row, squares / N)


@triton.jit
def _joined(mean_a, squares_a, count_a, mean_b, squares_b, count_b):
    count = count_a + count_b
    share = tl.where(count > 0, count_b / count, 0.0)
    difference = mean_b - mean_a
    squares = squares_a + squares_b + difference * difference * count_a * share
    return mean_a + difference * share, squares, count


def welford_arguments(M=64, N=500):
    return {
        "x_ptr": torch.randn(M, N) + 3,
        "mean_ptr": torch.empty(M),
        "variance_ptr": torch.empty(M),
        "N": N,
    }


def welford_grid(meta):
    return (meta["M"],)


def welford_reference(x_ptr):
    x = x_ptr.double()
    return {"mean_ptr": x.mean(1), "variance_ptr": x.var(1, unbiased=False)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 32)], key=[])
@triton.jit
def max_pool(x_ptr, y_ptr, H, W, BLOCK: tl.constexpr):
    """The largest of each 2 by 2 pixels."""
    row = tl.program_id(1)
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = column < W // 2
    at = x_ptr + 2 * row * W + 2 * column
    upper = tl.maximum(tl.load(at, mask=mask), tl.load(at + 1, mask=mask))
    lower = tl.maximum(tl.load(at + W, mask=mask), tl.load(at + W + 1, mask=mask))
    tl.store(y_ptr + row * (W // 2) + column, tl.maximum(upper, lower), mask=mask)


def max_pool_arguments(H=128, W=192):
    return {"x_ptr": torch.randn(H, W), "y_ptr": torch.empty(H // 2, W // 2), "H": H, "W": W}


def max_pool_grid(meta):
    return (triton.cdiv(meta["W"] // 2, meta["BLOCK"]), meta["H"] // 2)


def max_pool_reference(x_ptr):
    return {"y_ptr": torch.nn.functional.max_pool2d(x_ptr[None], 2)[0]}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 4096)], key=[])
@triton.jit
def huber(x_ptr, y_ptr, loss_ptr, delta, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    distance = tl.abs(tl.load(x_ptr + at, mask=mask) - tl.load(y_ptr + at, mask=mask))
    far = delta * (distance - 0.5 * delta)
    loss = tl.where(distance < delta, 0.5 * distance * distance, far)
    tl.store(loss_ptr + at, tl.where(distance == 0, 0.0, loss), mask=mask)


def huber_arguments(N=32768):
    x, y = torch.randn(2, N)
    return {"x_ptr": x, "y_ptr": y, "loss_ptr": torch.empty(N), "delta": 1.0, "N": N}


def huber_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def huber_reference(x_ptr, y_ptr, delta):
    return {
        "loss_ptr": torch.nn.functional.huber_loss(
            x_ptr.double(), y_ptr.double(), reduction="none", delta=delta
        )
    }


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def matvec(a_ptr, x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + row * N + at, mask=at < N, other=0.0)
        total += a * tl.load(x_ptr + at, mask=at < N, other=0.0)
    tl.store(y_ptr + row, tl.sum(total, axis=0))


def matvec_arguments(M=128, N=1000):
    a, x = torch.randn(M, N), torch.randn(N)
    return {"a_ptr": a, "x_ptr": x, "y_ptr": torch.empty(M), "N": N}


def matvec_grid(meta):
    return (meta["M"],)


def matvec_reference(a_ptr, x_ptr):
    return {"y_ptr": a_ptr.double() @ x_ptr.double()}
