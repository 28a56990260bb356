"""The other six kernels of the eighth draw, that `eighth_held_out.c` has in RVV intrinsics.

They were written before any was compiled, and measured once, at the end.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (32, 16, 64)], key=[])
@triton.jit
def peak_envelope(x_ptr, y_ptr, T, D, decay, BLOCK: tl.constexpr):
    """Meters of many channels of sound: peaks are held and fall by a factor each step."""
    channels = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = channels < D
    peak = tl.zeros((BLOCK,), dtype=tl.float32)
    for t in range(T):
        x = tl.load(x_ptr + t * D + channels, mask=mask, other=0.0)
        peak = tl.maximum(tl.abs(x), peak * decay)
        tl.store(y_ptr + t * D + channels, peak, mask=mask)


def peak_envelope_arguments(T=200, D=48):
    return {
        "x_ptr": torch.randn(T, D),
        "y_ptr": torch.empty(T, D),
        "T": T,
        "D": D,
        "decay": 0.96875,
    }


def peak_envelope_grid(meta):
    return (triton.cdiv(meta["D"], meta["BLOCK"]),)


def peak_envelope_reference(x_ptr, decay):
    peak, rows = torch.zeros(x_ptr.shape[1], dtype=torch.double), []
    for x in x_ptr.double():
        peak = torch.maximum(x.abs(), peak * decay)
        rows.append(peak)
    return {"y_ptr": torch.stack(rows)}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 4, 8)], key=[])
@triton.jit
def relative_bias_scores(
    scores_ptr, table_ptr, out_ptr, N, scale, BLOCK: tl.constexpr, ROWS: tl.constexpr
):
    """Scores of attention with a bias for each distance of query and key, up to the diagonal."""
    head = tl.program_id(1)
    queries = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    keys = tl.arange(0, BLOCK)
    mask = (queries < N)[:, None] & (keys < N)[None, :]
    at = (head * N + queries)[:, None] * N + keys[None, :]
    scores = tl.load(scores_ptr + at, mask=mask, other=0.0)
    distance = keys[None, :] - queries[:, None] + N - 1
    bias = tl.load(table_ptr + head * (2 * N - 1) + distance, mask=mask, other=0.0)
    scores = tl.where(keys[None, :] <= queries[:, None], scores * scale + bias, -1e9)
    tl.store(out_ptr + at, scores, mask=mask)


def relative_bias_scores_arguments(HEADS=4, N=100):
    return {
        "scores_ptr": torch.randn(HEADS, N, N),
        "table_ptr": torch.randn(HEADS, 2 * N - 1),
        "out_ptr": torch.empty(HEADS, N, N),
        "N": N,
        "scale": 0.125,
        "BLOCK": triton.next_power_of_2(N),
    }


def relative_bias_scores_grid(meta):
    return (triton.cdiv(meta["N"], meta["ROWS"]), meta["HEADS"])


def relative_bias_scores_reference(scores_ptr, table_ptr, scale, N):
    places = torch.arange(N)
    bias = table_ptr.double()[:, places[None, :] - places[:, None] + N - 1]
    scores = scores_ptr.double() * scale + bias
    return {"out_ptr": scores.masked_fill(places[None, :] > places[:, None], -1e9)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 4096, 256)], key=[])
@triton.jit
def xor_key(data_ptr, key_ptr, out_ptr, N, LENGTH, BLOCK: tl.constexpr):
    """Bytes combined with a key that repeats."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    data = tl.load(data_ptr + at, mask=mask, other=0)
    key = tl.load(key_ptr + at % LENGTH)
    tl.store(out_ptr + at, data ^ key, mask=mask)


def xor_key_arguments(N=20000, LENGTH=48):
    return {
        "data_ptr": torch.randint(0, 256, (N,), dtype=torch.uint8),
        "key_ptr": torch.randint(0, 256, (LENGTH,), dtype=torch.uint8),
        "out_ptr": torch.empty(N, dtype=torch.uint8),
        "N": N,
        "LENGTH": LENGTH,
    }


def xor_key_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def xor_key_reference(data_ptr, key_ptr, LENGTH):
    return {"out_ptr": data_ptr ^ key_ptr[torch.arange(len(data_ptr)) % LENGTH]}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512, 256, 128)], key=[])
@triton.jit
def cross_entropy_backward(
    logits_ptr, labels_ptr, lse_ptr, dloss_ptr, dlogits_ptr, N, BLOCK: tl.constexpr
):
    """The gradient of a cross entropy whose logarithms of sums are known from the forward pass."""
    row = tl.program_id(0)
    label = tl.load(labels_ptr + row)
    lse = tl.load(lse_ptr + row)
    dloss = tl.load(dloss_ptr + row)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < N
        x = tl.load(logits_ptr + row * N + columns, mask=mask, other=0.0)
        p = tl.exp(x - lse)
        p = tl.where(columns == label, p - 1.0, p)
        tl.store(dlogits_ptr + row * N + columns, p * dloss, mask=mask)


def cross_entropy_backward_arguments(M=32, N=500):
    logits = torch.randn(M, N)
    return {
        "logits_ptr": logits,
        "labels_ptr": torch.randint(0, N, (M,)),
        "lse_ptr": torch.logsumexp(logits, 1),
        "dloss_ptr": torch.randn(M),
        "dlogits_ptr": torch.empty(M, N),
        "N": N,
    }


# A sum of exponentials belongs to its logits: the intrinsics take no exponents below -87.
cross_entropy_backward_kept_inputs = ["logits_ptr", "lse_ptr"]


def cross_entropy_backward_grid(meta):
    return (meta["M"],)


def cross_entropy_backward_reference(logits_ptr, labels_ptr, lse_ptr, dloss_ptr):
    p = torch.exp(logits_ptr.double() - lse_ptr.double()[:, None])
    p[torch.arange(len(p)), labels_ptr] -= 1
    return {"dlogits_ptr": p * dloss_ptr.double()[:, None]}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 4096, 256)], key=[])
@triton.jit
def sgd_momentum(
    p_ptr, g_ptr, m_ptr, p_out_ptr, m_out_ptr, N, rate, momentum, decay, BLOCK: tl.constexpr
):
    """A step of gradient descent with Nesterov's momentum and decay of the weights."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    p = tl.load(p_ptr + at, mask=mask)
    g = tl.load(g_ptr + at, mask=mask) + decay * p
    m = momentum * tl.load(m_ptr + at, mask=mask) + g
    tl.store(m_out_ptr + at, m, mask=mask)
    tl.store(p_out_ptr + at, p - rate * (g + momentum * m), mask=mask)


def sgd_momentum_arguments(N=20000):
    return {
        "p_ptr": torch.randn(N),
        "g_ptr": torch.randn(N),
        "m_ptr": torch.randn(N),
        "p_out_ptr": torch.empty(N),
        "m_out_ptr": torch.empty(N),
        "N": N,
        "rate": 0.125,
        "momentum": 0.875,
        "decay": 0.0625,
    }


def sgd_momentum_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def sgd_momentum_reference(p_ptr, g_ptr, m_ptr, rate, momentum, decay):
    p = p_ptr.double()
    g = g_ptr.double() + decay * p
    m = momentum * m_ptr.double() + g
    return {"m_out_ptr": m, "p_out_ptr": p - rate * (g + momentum * m)}


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": c}) for r, c in ((1, 128), (4, 64), (8, 32))], key=[]
)
@triton.jit
def unsharp_mask(x_ptr, y_ptr, H, W, amount, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """A picture minus its blurred self, in bytes; pixels at the edge are their own neighbours."""
    y = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = (y < H) & (x < W)
    blurred = tl.zeros((ROWS, BLOCK), dtype=tl.int32)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            row = tl.minimum(tl.maximum(y + dy, 0), H - 1)
            column = tl.minimum(tl.maximum(x + dx, 0), W - 1)
            pixel = tl.load(x_ptr + row * W + column, mask=mask, other=0).to(tl.int32)
            blurred += pixel * ((2 - dy * dy) * (2 - dx * dx))
    pixel = tl.load(x_ptr + y * W + x, mask=mask, other=0).to(tl.int32)
    sharp = pixel + (((pixel * 16 - blurred) * amount) >> 8)
    sharp = tl.minimum(tl.maximum(sharp, 0), 255)
    tl.store(y_ptr + y * W + x, sharp.to(tl.uint8), mask=mask)


def unsharp_mask_arguments(H=60, W=100, amount=24):
    return {
        "x_ptr": torch.randint(0, 256, (H, W), dtype=torch.uint8),
        "y_ptr": torch.empty(H, W, dtype=torch.uint8),
        "H": H,
        "W": W,
        "amount": amount,
    }


def unsharp_mask_grid(meta):
    return (triton.cdiv(meta["W"], meta["BLOCK"]), triton.cdiv(meta["H"], meta["ROWS"]))


def unsharp_mask_reference(x_ptr, amount):
    x = x_ptr.double()
    padded = torch.nn.functional.pad(x[None, None], (1, 1, 1, 1), mode="replicate")
    row = torch.tensor([1.0, 2.0, 1.0], dtype=torch.double)
    blurred = torch.nn.functional.conv2d(padded, (row[:, None] * row)[None, None])[0, 0]
    sharp = x + torch.floor((x * 16 - blurred) * amount / 256)
    return {"y_ptr": sharp.clamp(0, 255).to(torch.uint8)}
