"""Losses, norms and quantisation as users write them; in C they are in `common_losses.h`."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def mish(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """x tanh(ln(1 + e^x)), by e^x alone."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask)
    power = tl.exp(tl.minimum(x, 20.0))
    square = power * (power + 2)
    tl.store(y_ptr + at, tl.where(x > 20.0, x, x * square / (square + 2)), mask=mask)


def mish_arguments(N=32768):
    return {"x_ptr": 4 * torch.randn(N), "y_ptr": torch.empty(N), "N": N}


def mish_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def mish_reference(x_ptr):
    return {"y_ptr": torch.nn.functional.mish(x_ptr.double())}


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def rms_norm_quantize(
    x_ptr, residual_ptr, weight_ptr, q_ptr, scale_ptr, epsilon, N, BLOCK: tl.constexpr
):
    """Adds x to the residual, normalises, and makes 8-bit integers of each row."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=mask, other=0.0)
    x += tl.load(residual_ptr + row * N + columns, mask=mask, other=0.0)
    tl.store(residual_ptr + row * N + columns, x, mask=mask)
    y = x * tl.rsqrt(tl.sum(x * x) / N + epsilon) * tl.load(weight_ptr + columns, mask=mask)
    scale = tl.max(tl.abs(y)) / 127
    tl.store(scale_ptr + row, scale)
    q = tl.clamp(tl.floor(y / scale + 0.5), -128.0, 127.0)
    tl.store(q_ptr + row * N + columns, q.to(tl.int8), mask=mask)


def rms_norm_quantize_arguments(M=128, N=512):
    return {
        "x_ptr": torch.randn(M, N),
        "residual_ptr": torch.randn(M, N),
        "weight_ptr": torch.rand(N) + 0.5,
        "q_ptr": torch.empty(M, N, dtype=torch.int8),
        "scale_ptr": torch.empty(M),
        "epsilon": 1e-5,
        "N": N,
    }


def rms_norm_quantize_grid(meta):
    return (meta["M"],)


def rms_norm_quantize_reference(x_ptr, residual_ptr, weight_ptr, epsilon):
    x = x_ptr.double() + residual_ptr
    y = x / (x.square().mean(1, keepdim=True) + epsilon).sqrt() * weight_ptr
    scale = y.abs().amax(1) / 127
    q = (y / scale[:, None] + 0.5).floor().to(torch.int8)
    return {"residual_ptr": x, "q_ptr": q, "scale_ptr": scale}


@triton.autotune([triton.Config({"GROUPS": groups}) for groups in (8, 32)], key=[])
@triton.jit
def quantize_groups(x_ptr, q_ptr, scale_ptr, N, GROUPS: tl.constexpr, SIZE: tl.constexpr = 64):
    """8-bit integers, with a scale for each group of neighbours."""
    groups = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    at = groups[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + at, mask=at < N, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(x), axis=1), 1e-10) / 127
    tl.store(scale_ptr + groups, scale, mask=groups * SIZE < N)
    q = tl.clamp(tl.floor(x / scale[:, None] + 0.5), -128.0, 127.0)
    tl.store(q_ptr + at, q.to(tl.int8), mask=at < N)


def quantize_groups_arguments(N=65536):
    return {
        "x_ptr": torch.randn(N),
        "q_ptr": torch.empty(N, dtype=torch.int8),
        "scale_ptr": torch.empty(N // 64),
        "N": N,
    }


def quantize_groups_grid(meta):
    return (triton.cdiv(meta["N"], 64 * meta["GROUPS"]),)


def quantize_groups_reference(x_ptr):
    groups = x_ptr.reshape(-1, 64)
    scale = groups.abs().amax(1) / 127
    q = (groups / scale[:, None] + 0.5).floor().to(torch.int8)
    return {"q_ptr": q.flatten(), "scale_ptr": scale}


@triton.autotune([triton.Config({"BLOCK": 1024})], key=[])
@triton.jit
def smooth_nll(x_ptr, label_ptr, loss_ptr, smoothing, N, BLOCK: tl.constexpr):
    """The negative log-likelihood of a row's label, with some of the weight on all the others."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=mask, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    log_total = tl.log(tl.sum(tl.exp(x), axis=0))
    label = tl.load(label_ptr + row)
    chosen = tl.sum(tl.where(columns == label, x, 0.0), axis=0)
    mean = tl.sum(tl.where(mask, x, 0.0), axis=0) / N
    tl.store(loss_ptr + row, log_total - (1 - smoothing) * chosen - smoothing * mean)


def smooth_nll_arguments(M=64, N=1000):
    return {
        "x_ptr": torch.randn(M, N),
        "label_ptr": torch.randint(0, N, (M,)),
        "loss_ptr": torch.empty(M),
        "smoothing": 0.1,
        "N": N,
    }


def smooth_nll_grid(meta):
    return (meta["M"],)


def smooth_nll_reference(x_ptr, label_ptr, smoothing):
    loss = torch.nn.functional.cross_entropy(
        x_ptr.double(), label_ptr, label_smoothing=smoothing, reduction="none"
    )
    return {"loss_ptr": loss}


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def l2_normalize(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=mask, other=0.0)
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    tl.store(y_ptr + row * N + columns, x / tl.maximum(norm, 1e-12), mask=mask)


def l2_normalize_arguments(M=128, N=500):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(M, N), "N": N}


def l2_normalize_grid(meta):
    return (meta["M"],)


def l2_normalize_reference(x_ptr):
    return {"y_ptr": torch.nn.functional.normalize(x_ptr.double())}
