"""A seventh draw of kernels as users write them, that `seventh_draw.c` has in RVV intrinsics.

`random.Random(20261205).sample(names, 12)` drew twelve of eighteen names, of other forms of loops
than in the draws before, before any of them was compiled. The first six, here, were looked at while
rules were made; `seventh_held_out.py` has the others.
"""

import itertools

import numpy as np
import torch
import triton
import triton.language as tl

from kernels.references.philox import uniform


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 64)], key=[])
@triton.jit
def cross_entropy_online(logits_ptr, labels_ptr, loss_ptr, N, BLOCK: tl.constexpr):
    """The loss of each row, with its maximum and its sum of exponentials in one pass."""
    row = tl.program_id(0).to(tl.int64)
    start = logits_ptr + row * N
    label = tl.load(labels_ptr + row)
    m = float("-inf")
    d = 0.0
    for i in range(0, N, BLOCK):
        at = i + tl.arange(0, BLOCK)
        x = tl.load(start + at, mask=at < N, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new))
        m = m_new
    chosen = tl.load(start + label).to(tl.float32)
    tl.store(loss_ptr + row, m + tl.log(d) - chosen)


def cross_entropy_online_arguments(M=48, N=1000):
    return {
        "logits_ptr": torch.randn(M, N),
        "labels_ptr": torch.randint(0, N, (M,)),
        "loss_ptr": torch.empty(M),
        "N": N,
    }


def cross_entropy_online_grid(meta):
    return (meta["M"],)


def cross_entropy_online_reference(logits_ptr, labels_ptr):
    loss = torch.nn.functional.cross_entropy(logits_ptr.double(), labels_ptr, reduction="none")
    return {"loss_ptr": loss}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def dropout_residual(x_ptr, bias_ptr, residual_ptr, y_ptr, N, D, p, seed, BLOCK: tl.constexpr):
    """A bias, dropout and a residual, as between the layers of a transformer."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask)
    bias = tl.load(bias_ptr + at % D, mask=mask)
    residual = tl.load(residual_ptr + at, mask=mask)
    keep = tl.rand(seed, at) > p
    y = tl.where(keep, (x + bias) / (1 - p), 0.0) + residual
    tl.store(y_ptr + at, y, mask=mask)


def dropout_residual_arguments(M=50, D=192):
    return {
        "x_ptr": torch.randn(M, D),
        "bias_ptr": torch.randn(D),
        "residual_ptr": torch.randn(M, D),
        "y_ptr": torch.empty(M, D),
        "N": M * D,
        "D": D,
        "p": 0.25,
        "seed": 1234,
    }


def dropout_residual_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def dropout_residual_reference(x_ptr, bias_ptr, residual_ptr, p, seed):
    places = np.arange(x_ptr.numel(), dtype=np.int32)
    keep = torch.from_numpy(uniform(seed, places) > p).reshape(x_ptr.shape)
    kept = (x_ptr.double() + bias_ptr) / (1 - p)
    return {"y_ptr": torch.where(keep, kept, 0.0) + residual_ptr}


@triton.autotune(
    [triton.Config({"BLOCK_H": h, "BLOCK_W": w}) for h, w in ((4, 32), (1, 128), (8, 16))], key=[]
)
@triton.jit
def avg_pool_overlapped(x_ptr, y_ptr, H, W, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    """Means of 3x3 windows around each pixel; what is outside of the image does not count."""
    rows = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    columns = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)
    plane = tl.program_id(2) * H * W
    total = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    count = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            y = rows + dy
            x = columns + dx
            inside = ((y >= 0) & (y < H))[:, None] & ((x >= 0) & (x < W))[None, :]
            at = plane + y[:, None] * W + x[None, :]
            total += tl.load(x_ptr + at, mask=inside, other=0.0)
            count += inside.to(tl.float32)
    out = plane + rows[:, None] * W + columns[None, :]
    tl.store(y_ptr + out, total / count, mask=(rows < H)[:, None] & (columns < W)[None, :])


def avg_pool_overlapped_arguments(C=3, H=40, W=100):
    return {"x_ptr": torch.randn(C, H, W), "y_ptr": torch.empty(C, H, W), "H": H, "W": W}


def avg_pool_overlapped_grid(meta):
    return (
        triton.cdiv(meta["W"], meta["BLOCK_W"]),
        triton.cdiv(meta["H"], meta["BLOCK_H"]),
        meta["C"],
    )


def avg_pool_overlapped_reference(x_ptr):
    pooled = torch.nn.functional.avg_pool2d(
        x_ptr.double(), 3, stride=1, padding=1, count_include_pad=False
    )
    return {"y_ptr": pooled}


@triton.jit
def _follow(a_left, b_left, a_right, b_right):
    return a_left * a_right, a_right * b_left + b_right


@triton.autotune(
    [
        triton.Config({"BLOCK_T": steps, "BLOCK_D": channels})
        for steps, channels in ((32, 32), (16, 64), (64, 8))
    ],
    key=[],
)
@triton.jit
def linear_recurrence(a_ptr, x_ptr, h_ptr, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    """h = a h + x along time, chunk by chunk with an associative scan."""
    channels = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    steps = tl.arange(0, BLOCK_T)
    last = (steps == BLOCK_T - 1)[:, None]
    h = tl.zeros((BLOCK_D,), dtype=tl.float32)
    for start in range(0, T, BLOCK_T):
        t = start + steps
        mask = (t < T)[:, None] & (channels < D)[None, :]
        at = t[:, None] * D + channels[None, :]
        a = tl.load(a_ptr + at, mask=mask, other=1.0)
        x = tl.load(x_ptr + at, mask=mask, other=0.0)
        a, x = tl.associative_scan((a, x), 0, _follow)
        out = x + a * h[None, :]
        tl.store(h_ptr + at, out, mask=mask)
        h = tl.sum(tl.where(last, out, 0.0), axis=0)


def linear_recurrence_arguments(T=100, D=120):
    return {
        "a_ptr": torch.rand(T, D),
        "x_ptr": torch.randn(T, D),
        "h_ptr": torch.empty(T, D),
        "T": T,
        "D": D,
    }


def linear_recurrence_grid(meta):
    return (triton.cdiv(meta["D"], meta["BLOCK_D"]),)


def linear_recurrence_reference(a_ptr, x_ptr):
    a, x = a_ptr.double(), x_ptr.double()
    h, rows = torch.zeros_like(x[0]), []
    for t in range(len(x)):
        h = a[t] * h + x[t]
        rows.append(h)
    return {"h_ptr": torch.stack(rows)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 16, 128)], key=[])
@triton.jit
def kmeans_assign(
    x_ptr, centre_ptr, nearest_ptr, distance_ptr, N, K, D: tl.constexpr, BLOCK: tl.constexpr
):
    """The centre that is nearest to each point, and how far it is."""
    points = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    mask = points < N
    x = tl.load(x_ptr + points[:, None] * D + d[None, :], mask=mask[:, None], other=0.0)
    best = tl.full((BLOCK,), float("inf"), dtype=tl.float32)
    nearest = tl.zeros((BLOCK,), dtype=tl.int32)
    for k in range(K):
        centre = tl.load(centre_ptr + k * D + d)
        difference = x - centre[None, :]
        distance = tl.sum(difference * difference, axis=1)
        closer = distance < best
        best = tl.where(closer, distance, best)
        nearest = tl.where(closer, k, nearest)
    tl.store(nearest_ptr + points, nearest, mask=mask)
    tl.store(distance_ptr + points, best, mask=mask)


def kmeans_assign_arguments(N=400, K=10, D=32):
    return {
        "x_ptr": torch.randn(N, D),
        "centre_ptr": torch.randn(K, D),
        "nearest_ptr": torch.empty(N, dtype=torch.int32),
        "distance_ptr": torch.empty(N),
        "N": N,
        "K": K,
        "D": D,
    }


# The check would make some centres nearly the same: which one is nearer then depends on rounding.
kmeans_assign_kept_inputs = ["centre_ptr"]


def kmeans_assign_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def kmeans_assign_reference(x_ptr, centre_ptr):
    squares = ((x_ptr.double()[:, None] - centre_ptr.double()[None]) ** 2).sum(-1)
    distance, nearest = squares.min(1)
    return {"nearest_ptr": nearest.int(), "distance_ptr": distance}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (32, 64, 16)], key=[])
@triton.jit
def csr_matvec(starts_ptr, columns_ptr, values_ptr, x_ptr, y_ptr, BLOCK: tl.constexpr):
    """A sparse matrix by compressed rows, times a vector; one row for each program."""
    row = tl.program_id(0)
    begin = tl.load(starts_ptr + row)
    end = tl.load(starts_ptr + row + 1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(begin, end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < end
        column = tl.load(columns_ptr + at, mask=mask, other=0)
        value = tl.load(values_ptr + at, mask=mask, other=0.0)
        total += value * tl.load(x_ptr + column, mask=mask, other=0.0)
    tl.store(y_ptr + row, tl.sum(total))


def csr_matvec_arguments(M=300, N=500):
    kept = torch.rand(M, N) < 0.06
    counts = torch.cat([torch.zeros(1, dtype=torch.int64), kept.sum(1)])
    columns = kept.nonzero()[:, 1]
    return {
        "starts_ptr": counts.cumsum(0).int(),
        "columns_ptr": columns.int(),
        "values_ptr": torch.randn(len(columns)),
        "x_ptr": torch.randn(N),
        "y_ptr": torch.empty(M),
    }


def csr_matvec_grid(meta):
    return (meta["M"],)


def csr_matvec_reference(starts_ptr, columns_ptr, values_ptr, x_ptr):
    products = values_ptr.double() * x_ptr.double()[columns_ptr.long()]
    sums = [products[a:b].sum() for a, b in itertools.pairwise(starts_ptr)]
    return {"y_ptr": torch.stack(sums)}
