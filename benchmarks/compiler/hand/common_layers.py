"""Kernels of networks as users write them; beside the same loops in C (`common_layers.h`)."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def add_rms_norm(x_ptr, residual_ptr, weight_ptr, y_ptr, epsilon, N, BLOCK: tl.constexpr):
    """Adds x to the residual in place, and normalises the sum."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=mask, other=0.0)
    x += tl.load(residual_ptr + row * N + columns, mask=mask, other=0.0)
    tl.store(residual_ptr + row * N + columns, x, mask=mask)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / N + epsilon)
    weight = tl.load(weight_ptr + columns, mask=mask)
    tl.store(y_ptr + row * N + columns, x * scale * weight, mask=mask)


def add_rms_norm_arguments(M=128, N=512):
    return {
        "x_ptr": torch.randn(M, N),
        "residual_ptr": torch.randn(M, N),
        "weight_ptr": torch.randn(N),
        "y_ptr": torch.empty(M, N),
        "epsilon": 1e-5,
        "N": N,
    }


def add_rms_norm_grid(meta):
    return (meta["M"],)


def add_rms_norm_reference(x_ptr, residual_ptr, weight_ptr, epsilon):
    x = x_ptr.double() + residual_ptr
    y = x / (x.square().mean(1, keepdim=True) + epsilon).sqrt() * weight_ptr
    return {"residual_ptr": x, "y_ptr": y}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def adamw(p_ptr, g_ptr, m_ptr, v_ptr, rate, decay, beta1, beta2, epsilon, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    p = tl.load(p_ptr + at, mask=mask)
    g = tl.load(g_ptr + at, mask=mask)
    m = tl.load(m_ptr + at, mask=mask)
    v = tl.load(v_ptr + at, mask=mask)
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    p = p * (1 - rate * decay) - rate * m / (tl.sqrt(v) + epsilon)
    tl.store(p_ptr + at, p, mask=mask)
    tl.store(m_ptr + at, m, mask=mask)
    tl.store(v_ptr + at, v, mask=mask)


def adamw_arguments(N=32768):
    return {
        "p_ptr": torch.randn(N),
        "g_ptr": torch.randn(N),
        "m_ptr": torch.randn(N),
        "v_ptr": torch.rand(N),
        "rate": 1e-3,
        "decay": 0.01,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-8,
        "N": N,
    }


def adamw_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def adamw_reference(p_ptr, g_ptr, m_ptr, v_ptr, rate, decay, beta1, beta2, epsilon):
    g = g_ptr.double()
    m = beta1 * m_ptr.double() + (1 - beta1) * g
    v = beta2 * v_ptr.double() + (1 - beta2) * g * g
    p = p_ptr.double() * (1 - rate * decay) - rate * m / (v.sqrt() + epsilon)
    return {"p_ptr": p, "m_ptr": m, "v_ptr": v}


@triton.autotune([triton.Config({"BLOCK": 256})], key=[])
@triton.jit
def cosine_similarity(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    dot = tl.zeros((BLOCK,), dtype=tl.float32)
    xx = tl.zeros((BLOCK,), dtype=tl.float32)
    yy = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
        y = tl.load(y_ptr + row * N + columns, mask=columns < N, other=0.0)
        dot += x * y
        xx += x * x
        yy += y * y
    norm = tl.sqrt(tl.sum(xx, axis=0) * tl.sum(yy, axis=0))
    tl.store(out_ptr + row, tl.sum(dot, axis=0) / norm)


def cosine_similarity_arguments(M=128, N=512):
    return {
        "x_ptr": torch.randn(M, N),
        "y_ptr": torch.randn(M, N),
        "out_ptr": torch.empty(M),
        "N": N,
    }


def cosine_similarity_grid(meta):
    return (meta["M"],)


def cosine_similarity_reference(x_ptr, y_ptr):
    return {"out_ptr": torch.nn.functional.cosine_similarity(x_ptr.double(), y_ptr.double())}


@triton.autotune([triton.Config({"BLOCK": 128})], key=[])
@triton.jit
def embedding_bag(ids_ptr, starts_ptr, table_ptr, out_ptr, D, BLOCK: tl.constexpr):
    """The mean of the rows of a bag, whose length is known at run time only."""
    bag = tl.program_id(0)
    first = tl.load(starts_ptr + bag)
    last = tl.load(starts_ptr + bag + 1)
    columns = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(first, last):
        row = tl.load(ids_ptr + i)
        total += tl.load(table_ptr + row * D + columns, mask=columns < D, other=0.0)
    tl.store(out_ptr + bag * D + columns, total / (last - first), mask=columns < D)


def embedding_bag_arguments(BAGS=64, D=128):
    lengths = torch.randint(1, 16, (BAGS,))
    starts = torch.cat((torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)))
    return {
        "ids_ptr": torch.randint(0, 256, (int(starts[-1]),), dtype=torch.int32),
        "starts_ptr": starts.int(),
        "table_ptr": torch.randn(256, D),
        "out_ptr": torch.empty(BAGS, D),
        "D": D,
    }


def embedding_bag_grid(meta):
    return (meta["BAGS"],)


def embedding_bag_reference(ids_ptr, starts_ptr, table_ptr):
    bags = zip(starts_ptr[:-1].tolist(), starts_ptr[1:].tolist(), strict=True)
    return {
        "out_ptr": torch.stack([table_ptr[ids_ptr[a:b].long()].double().mean(0) for a, b in bags])
    }


@triton.autotune([triton.Config({"BLOCK": 64})], key=[])
@triton.jit
def top_k(x_ptr, out_ptr, N, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=-float("inf"))
    for i in tl.static_range(K):
        best = tl.argmax(x, axis=0)
        tl.store(out_ptr + row * K + i, best)
        x = tl.where(columns == best, -float("inf"), x)


def top_k_arguments(M=128, N=64):
    out = torch.empty(M, 4, dtype=torch.int32)
    return {"x_ptr": torch.randn(M, N), "out_ptr": out, "N": N, "K": 4}


def top_k_grid(meta):
    return (meta["M"],)


def top_k_reference(x_ptr):
    return {"out_ptr": x_ptr.topk(4, dim=1).indices.int()}


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def prefix_max(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=-float("inf"))
    y = tl.associative_scan(x, 0, _larger)
    tl.store(y_ptr + row * N + columns, y, mask=columns < N)


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


def prefix_max_arguments(M=64, N=512):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(M, N), "N": N}


def prefix_max_grid(meta):
    return (meta["M"],)


def prefix_max_reference(x_ptr):
    return {"y_ptr": x_ptr.cummax(1).values}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def complex_multiply(a_ptr, b_ptr, c_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    a_re = tl.load(a_ptr + 2 * at, mask=mask)
    a_im = tl.load(a_ptr + 2 * at + 1, mask=mask)
    b_re = tl.load(b_ptr + 2 * at, mask=mask)
    b_im = tl.load(b_ptr + 2 * at + 1, mask=mask)
    tl.store(c_ptr + 2 * at, a_re * b_re - a_im * b_im, mask=mask)
    tl.store(c_ptr + 2 * at + 1, a_re * b_im + a_im * b_re, mask=mask)


def complex_multiply_arguments(N=16384):
    return {
        "a_ptr": torch.randn(N, 2),
        "b_ptr": torch.randn(N, 2),
        "c_ptr": torch.empty(N, 2),
        "N": N,
    }


def complex_multiply_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def complex_multiply_reference(a_ptr, b_ptr):
    a, b = (torch.view_as_complex(x.double()) for x in (a_ptr, b_ptr))
    return {"c_ptr": torch.view_as_real(a * b)}
