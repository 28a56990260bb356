"""The other six kernels of the seventh draw, that `seventh_held_out.c` has in RVV intrinsics.

They were written before any was compiled, and measured once, at the end.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (16, 32, 8)], key=[])
@triton.jit
def selective_scan(
    x_ptr, delta_ptr, a_ptr, b_ptr, c_ptr, y_ptr, T, D, STATES: tl.constexpr, BLOCK: tl.constexpr
):
    """A state space model whose steps depend on the input, as in Mamba."""
    channels = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    states = tl.arange(0, STATES)
    mask = channels < D
    a = tl.load(a_ptr + channels[:, None] * STATES + states[None, :], mask=mask[:, None], other=0.0)
    h = tl.zeros((BLOCK, STATES), dtype=tl.float32)
    for t in range(T):
        x = tl.load(x_ptr + t * D + channels, mask=mask, other=0.0)
        delta = tl.load(delta_ptr + t * D + channels, mask=mask, other=0.0)
        b = tl.load(b_ptr + t * STATES + states)
        c = tl.load(c_ptr + t * STATES + states)
        h = h * tl.exp(delta[:, None] * a) + (delta * x)[:, None] * b[None, :]
        tl.store(y_ptr + t * D + channels, tl.sum(h * c[None, :], axis=1), mask=mask)


def selective_scan_arguments(T=40, D=48, STATES=16):
    return {
        "x_ptr": torch.randn(T, D),
        "delta_ptr": torch.rand(T, D),
        "a_ptr": -torch.rand(D, STATES),
        "b_ptr": torch.randn(T, STATES),
        "c_ptr": torch.randn(T, STATES),
        "y_ptr": torch.empty(T, D),
        "T": T,
        "D": D,
        "STATES": STATES,
    }


def selective_scan_grid(meta):
    return (triton.cdiv(meta["D"], meta["BLOCK"]),)


def selective_scan_reference(x_ptr, delta_ptr, a_ptr, b_ptr, c_ptr):
    x, delta, a, b, c = (each.double() for each in (x_ptr, delta_ptr, a_ptr, b_ptr, c_ptr))
    h, rows = torch.zeros_like(a), []
    for t in range(len(x)):
        h = h * torch.exp(delta[t][:, None] * a) + (delta[t] * x[t])[:, None] * b[t]
        rows.append((h * c[t]).sum(1))
    return {"y_ptr": torch.stack(rows)}


@triton.autotune([triton.Config({"BLOCK": rows}) for rows in (1, 4, 16)], key=[])
@triton.jit
def topk_gate(
    logits_ptr, weight_ptr, expert_ptr, M, E: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr
):
    """The largest of each row one after the other, with a softmax of these, to route tokens."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = rows < M
    experts = tl.arange(0, E)
    x = tl.load(
        logits_ptr + rows[:, None] * E + experts[None, :], mask=mask[:, None], other=float("-inf")
    )
    first = tl.max(x, axis=1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in tl.static_range(K):
        value = tl.max(x, axis=1)
        place = tl.argmax(x, axis=1)
        weight = tl.exp(value - first)
        total += weight
        tl.store(weight_ptr + rows * K + k, weight, mask=mask)
        tl.store(expert_ptr + rows * K + k, place, mask=mask)
        x = tl.where(experts[None, :] == place[:, None], float("-inf"), x)
    for k in tl.static_range(K):
        weight = tl.load(weight_ptr + rows * K + k, mask=mask, other=0.0)
        tl.store(weight_ptr + rows * K + k, weight / total, mask=mask)


def topk_gate_arguments(M=200, E=64, K=4):
    return {
        "logits_ptr": torch.randn(M, E),
        "weight_ptr": torch.empty(M, K),
        "expert_ptr": torch.empty(M, K, dtype=torch.int32),
        "M": M,
        "E": E,
        "K": K,
    }


def topk_gate_grid(meta):
    return (triton.cdiv(meta["M"], meta["BLOCK"]),)


def topk_gate_reference(logits_ptr, K):
    values, places = logits_ptr.double().topk(K, 1)
    return {"weight_ptr": values.softmax(1), "expert_ptr": places.int()}


@triton.autotune([triton.Config({"BLOCK": heads}) for heads in (8, 4, 2)], key=[])
@triton.jit
def rope_interleaved_split(
    x_ptr, cos_ptr, sin_ptr, y_ptr, HEADS, D: tl.constexpr, BLOCK: tl.constexpr
):
    """Rotary positions on pairs of neighbours, which are told apart in the block."""
    token = tl.program_id(0)
    heads = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = heads < HEADS
    half = tl.arange(0, D // 2)
    at = (token * HEADS + heads)[:, None] * D + tl.arange(0, D)[None, :]
    x = tl.load(x_ptr + at, mask=mask[:, None], other=0.0)
    even, odd = tl.split(tl.reshape(x, (BLOCK, D // 2, 2)))
    cos = tl.load(cos_ptr + token * (D // 2) + half)[None, :]
    sin = tl.load(sin_ptr + token * (D // 2) + half)[None, :]
    y = tl.interleave(even * cos - odd * sin, odd * cos + even * sin)
    tl.store(y_ptr + at, y, mask=mask[:, None])


def rope_interleaved_split_arguments(TOKENS=40, HEADS=8, D=64):
    angle = torch.rand(TOKENS, D // 2) * 6
    return {
        "x_ptr": torch.randn(TOKENS, HEADS, D),
        "cos_ptr": angle.cos(),
        "sin_ptr": angle.sin(),
        "y_ptr": torch.empty(TOKENS, HEADS, D),
        "HEADS": HEADS,
        "D": D,
    }


def rope_interleaved_split_grid(meta):
    return (meta["TOKENS"], triton.cdiv(meta["HEADS"], meta["BLOCK"]))


def rope_interleaved_split_reference(x_ptr, cos_ptr, sin_ptr):
    even, odd = x_ptr.double()[..., 0::2], x_ptr.double()[..., 1::2]
    cos, sin = cos_ptr.double()[:, None], sin_ptr.double()[:, None]
    return {"y_ptr": torch.stack([even * cos - odd * sin, odd * cos + even * sin], -1).flatten(-2)}


@triton.autotune([triton.Config({"BLOCK": 256, "PARTS": parts}) for parts in (4, 8, 2)], key=[])
@triton.jit
def layernorm_backward_rows(
    dy_ptr,
    x_ptr,
    w_ptr,
    mean_ptr,
    rstd_ptr,
    dx_ptr,
    dw_ptr,
    db_ptr,
    M,
    N,
    BLOCK: tl.constexpr,
    PARTS: tl.constexpr,
):
    """Gradients of a layer norm; each program goes over every PARTS-th row."""
    part = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    w = tl.load(w_ptr + columns, mask=mask, other=0.0)
    dw = tl.zeros((BLOCK,), dtype=tl.float32)
    db = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(part, M, PARTS):
        x = tl.load(x_ptr + row * N + columns, mask=mask, other=0.0)
        dy = tl.load(dy_ptr + row * N + columns, mask=mask, other=0.0)
        mean = tl.load(mean_ptr + row)
        rstd = tl.load(rstd_ptr + row)
        x_hat = tl.where(mask, (x - mean) * rstd, 0.0)
        wdy = w * dy
        c1 = tl.sum(x_hat * wdy, axis=0) / N
        c2 = tl.sum(wdy, axis=0) / N
        tl.store(dx_ptr + row * N + columns, (wdy - (x_hat * c1 + c2)) * rstd, mask=mask)
        dw += dy * x_hat
        db += dy
    tl.atomic_add(dw_ptr + columns, dw, mask=mask)
    tl.atomic_add(db_ptr + columns, db, mask=mask)


def layernorm_backward_rows_arguments(M=64, N=200):
    x = torch.randn(M, N)
    return {
        "dy_ptr": torch.randn(M, N),
        "x_ptr": x,
        "w_ptr": torch.randn(N),
        "mean_ptr": x.mean(1),
        "rstd_ptr": 1 / torch.sqrt(x.var(1, correction=0) + 1e-5),
        "dx_ptr": torch.empty(M, N),
        "dw_ptr": torch.zeros(N),
        "db_ptr": torch.zeros(N),
        "M": M,
        "N": N,
    }


def layernorm_backward_rows_grid(meta):
    return (meta["PARTS"],)


def layernorm_backward_rows_reference(dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr):
    dy, x, w = dy_ptr.double(), x_ptr.double(), w_ptr.double()
    x_hat = (x - mean_ptr.double()[:, None]) * rstd_ptr.double()[:, None]
    wdy = w * dy
    c1, c2 = (x_hat * wdy).mean(1, keepdim=True), wdy.mean(1, keepdim=True)
    return {
        "dx_ptr": (wdy - x_hat * c1 - c2) * rstd_ptr.double()[:, None],
        "dw_ptr": (dy * x_hat).sum(0),
        "db_ptr": dy.sum(0),
    }


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 128, 32)], key=[])
@triton.jit
def causal_conv1d_silu(x_ptr, w_ptr, bias_ptr, y_ptr, T, D, CHUNK, BLOCK: tl.constexpr):
    """Four taps along time for each channel, kept in registers from step to step, and SiLU."""
    channels = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = channels < D
    start = tl.program_id(1) * CHUNK
    w0 = tl.load(w_ptr + channels * 4, mask=mask, other=0.0)
    w1 = tl.load(w_ptr + channels * 4 + 1, mask=mask, other=0.0)
    w2 = tl.load(w_ptr + channels * 4 + 2, mask=mask, other=0.0)
    w3 = tl.load(w_ptr + channels * 4 + 3, mask=mask, other=0.0)
    bias = tl.load(bias_ptr + channels, mask=mask, other=0.0)
    x0 = tl.load(x_ptr + (start - 3) * D + channels, mask=mask & (start >= 3), other=0.0)
    x1 = tl.load(x_ptr + (start - 2) * D + channels, mask=mask & (start >= 2), other=0.0)
    x2 = tl.load(x_ptr + (start - 1) * D + channels, mask=mask & (start >= 1), other=0.0)
    for t in range(start, min(start + CHUNK, T)):
        x3 = tl.load(x_ptr + t * D + channels, mask=mask, other=0.0)
        total = bias + x0 * w0 + x1 * w1 + x2 * w2 + x3 * w3
        tl.store(y_ptr + t * D + channels, total * tl.sigmoid(total), mask=mask)
        x0 = x1
        x1 = x2
        x2 = x3


def causal_conv1d_silu_arguments(T=64, D=100, CHUNK=16):
    return {
        "x_ptr": torch.randn(T, D),
        "w_ptr": torch.randn(D, 4),
        "bias_ptr": torch.randn(D),
        "y_ptr": torch.empty(T, D),
        "T": T,
        "D": D,
        "CHUNK": CHUNK,
    }


def causal_conv1d_silu_grid(meta):
    return (triton.cdiv(meta["D"], meta["BLOCK"]), triton.cdiv(meta["T"], meta["CHUNK"]))


def causal_conv1d_silu_reference(x_ptr, w_ptr, bias_ptr):
    x = torch.nn.functional.pad(x_ptr.double().T[None], (3, 0))
    channels = w_ptr.shape[0]
    total = torch.nn.functional.conv1d(
        x, w_ptr.double()[:, None], bias_ptr.double(), groups=channels
    )
    return {"y_ptr": torch.nn.functional.silu(total[0].T)}


@triton.autotune([triton.Config({"BLOCK": keys}) for keys in (32, 16, 64)], key=[])
@triton.jit
def attention_decode(
    q_ptr, k_ptr, v_ptr, lengths_ptr, out_ptr, S, scale, D: tl.constexpr, BLOCK: tl.constexpr
):
    """One new query for each head, against all keys so far, with a running softmax."""
    head = tl.program_id(0)
    d = tl.arange(0, D)
    length = tl.load(lengths_ptr + head)
    q = tl.load(q_ptr + head * D + d) * scale
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), dtype=tl.float32)
    for start in range(0, length, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        mask = keys < length
        at = (head * S + keys)[:, None] * D + d[None, :]
        k = tl.load(k_ptr + at, mask=mask[:, None], other=0.0)
        scores = tl.where(mask, tl.sum(q[None, :] * k, axis=1), float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, axis=0))
        p = tl.exp(scores - m_new)
        shrink = tl.exp(m - m_new)
        v = tl.load(v_ptr + at, mask=mask[:, None], other=0.0)
        acc = acc * shrink + tl.sum(p[:, None] * v, axis=0)
        total = total * shrink + tl.sum(p, axis=0)
        m = m_new
    tl.store(out_ptr + head * D + d, acc / total)


def attention_decode_arguments(HEADS=8, S=100, D=64):
    return {
        "q_ptr": torch.randn(HEADS, D),
        "k_ptr": torch.randn(HEADS, S, D),
        "v_ptr": torch.randn(HEADS, S, D),
        "lengths_ptr": torch.randint(60, S + 1, (HEADS,), dtype=torch.int32),
        "out_ptr": torch.empty(HEADS, D),
        "S": S,
        "scale": D**-0.5,
        "D": D,
    }


def attention_decode_grid(meta):
    return (meta["HEADS"],)


def attention_decode_reference(q_ptr, k_ptr, v_ptr, lengths_ptr, scale):
    scores = (k_ptr.double() @ q_ptr.double()[:, :, None])[..., 0] * scale
    beyond = torch.arange(scores.shape[1])[None] >= lengths_ptr[:, None]
    p = scores.masked_fill(beyond, float("-inf")).softmax(1)
    return {"out_ptr": (p[:, None] @ v_ptr.double())[:, 0]}
