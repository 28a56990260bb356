"""Three more kernels of the fourteenth draw to work on, that `fourteenth_draw2.c` has.

The names, and the seed that drew them, are in `fourteenth_draw.py`.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"PAIRS": pairs}) for pairs in (1, 4, 2)], key=[])
@triton.jit
def dtw_antidiagonal(
    x_ptr, y_ptr, cost_ptr, B, N, M, far, BLOCK: tl.constexpr, PAIRS: tl.constexpr
):
    """Dynamic time warping: costs of all alignments, diagonal by diagonal, and far outside."""
    pair = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)[:, None]
    i = tl.arange(0, BLOCK)[None, :]
    mask = (pair < B) & (i < N)
    x = tl.load(x_ptr + pair * N + i, mask=mask, other=0.0)
    for k in range(N + M - 1):
        j = k - i
        now = cost_ptr + (pair * (N + M - 1) + k) * N + i
        inside = mask & (j >= 0) & (j < M)
        y = tl.load(y_ptr + pair * M + j, mask=inside, other=0.0)
        left = tl.load(now - N, mask=mask & (k >= 1), other=far)
        above = tl.load(now - N - 1, mask=mask & (k >= 1) & (i >= 1), other=far)
        corner = tl.load(now - 2 * N - 1, mask=mask & (k >= 2) & (i >= 1), other=far)
        best = tl.minimum(tl.minimum(left, above), corner)
        best = tl.where(k == 0, 0.0, best)
        tl.store(now, tl.where(inside, (x - y) * (x - y) + best, far), mask=mask)
        tl.debug_barrier()


def dtw_antidiagonal_arguments(B=4, N=90, M=110):
    return {
        "x_ptr": torch.randn(B, N),
        "y_ptr": torch.randn(B, M),
        "cost_ptr": torch.empty(B, N + M - 1, N),
        "B": B,
        "N": N,
        "M": M,
        "far": 1e30,
        "BLOCK": triton.next_power_of_2(N),
    }


def dtw_antidiagonal_grid(meta):
    return (triton.cdiv(meta["B"], meta["PAIRS"]),)


def dtw_antidiagonal_reference(x_ptr, y_ptr, B, N, M, far):
    x, y = x_ptr.double(), y_ptr.double()
    cost = torch.full((B, N + M + 1, N + 1), float(far), dtype=torch.float64)
    i = torch.arange(N)
    for k in range(N + M - 1):
        inside = i[(k - i >= 0) & (k - i < M)]
        left, above = cost[:, k + 1, inside + 1], cost[:, k + 1, inside]
        best = torch.minimum(torch.minimum(left, above), cost[:, k, inside])
        step = (x[:, inside] - y[:, k - inside]).square()
        cost[:, k + 2, inside + 1] = step + (best if k else 0)
    return {"cost_ptr": cost[:, 2:, 1:]}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512, 128, 2048)], key=[])
@triton.jit
def retinex_log_ratio(
    image_ptr, blur_ptr, out_ptr, N, gain, offset, SCALES: tl.constexpr, BLOCK: tl.constexpr
):
    """How much lighter a pixel is than what is around it, of some sizes, whatever the light."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    own = tl.log(tl.load(image_ptr + at, mask=mask, other=0).to(tl.float32) + 1.0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for scale in range(SCALES):
        around = tl.load(blur_ptr + scale * N + at, mask=mask, other=0.0)
        total += own - tl.log(around + 1.0)
    tl.store(out_ptr + at, gain * (total / SCALES) + offset, mask=mask)


def retinex_log_ratio_arguments(H=90, W=121, SCALES=3):
    image = torch.randint(0, 256, (H, W), dtype=torch.uint8)
    return {
        "image_ptr": image,
        "blur_ptr": 0.8 * torch.rand(SCALES, H, W) * (image + 40),
        "out_ptr": torch.empty(H, W),
        "N": H * W,
        "gain": 60.0,
        "offset": 128.0,
        "SCALES": SCALES,
    }


def retinex_log_ratio_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def retinex_log_ratio_reference(image_ptr, blur_ptr, gain, offset):
    ratios = image_ptr.double().log1p() - blur_ptr.double().log1p()
    return {"out_ptr": gain * ratios.mean(0) + offset}


@triton.autotune([triton.Config({"PAIRS": pairs}) for pairs in (1, 4, 2)], key=[])
@triton.jit
def smith_waterman_diagonal(
    query_ptr,
    target_ptr,
    work_ptr,
    score_ptr,
    B,
    N,
    M,
    match,
    mismatch,
    gap,
    BLOCK: tl.constexpr,
    PAIRS: tl.constexpr,
):
    """The best local alignment of two sequences: three diagonals of scores are kept."""
    pair = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)[:, None]
    i = tl.arange(0, BLOCK)[None, :]
    mask = (pair < B) & (i < N)
    query = tl.load(query_ptr + pair * N + i, mask=mask, other=0)
    best = tl.zeros((PAIRS, BLOCK), dtype=tl.int32)
    work = work_ptr + pair * 3 * N + i
    for k in range(N + M - 1):
        j = k - i
        inside = mask & (j >= 0) & (j < M)
        target = tl.load(target_ptr + pair * M + j, mask=inside, other=0)
        last = work + (k + 2) % 3 * N
        left = tl.load(last, mask=inside & (j >= 1), other=0)
        above = tl.load(last - 1, mask=inside & (i >= 1), other=0)
        before = work + (k + 1) % 3 * N - 1
        corner = tl.load(before, mask=inside & (i >= 1) & (j >= 1), other=0)
        score = corner + tl.where(query == target, match, mismatch)
        score = tl.maximum(score, tl.maximum(left, above) - gap)
        score = tl.where(inside, tl.maximum(score, 0), 0)
        tl.store(work + k % 3 * N, score, mask=mask)
        best = tl.maximum(best, score)
        tl.debug_barrier()
    tl.store(score_ptr + pair, tl.max(best, axis=1)[:, None], mask=pair < B)


def smith_waterman_diagonal_arguments(B=8, N=100, M=140):
    target = torch.randint(0, 4, (B, M), dtype=torch.int8)
    query = target[:, (torch.arange(N) + 15) % M]
    changed = torch.rand(B, N) < 0.3 + 0.1 * torch.arange(B)[:, None] / B
    query[changed] = torch.randint(0, 4, (int(changed.sum()),), dtype=torch.int8)
    return {
        "query_ptr": query.roll(3, 1),
        "target_ptr": target,
        "work_ptr": torch.empty(B, 3, N, dtype=torch.int32),
        "score_ptr": torch.empty(B, dtype=torch.int32),
        "B": B,
        "N": N,
        "M": M,
        "match": 3,
        "mismatch": -4,
        "gap": 5,
        "BLOCK": triton.next_power_of_2(N),
    }


def smith_waterman_diagonal_grid(meta):
    return (triton.cdiv(meta["B"], meta["PAIRS"]),)


def smith_waterman_diagonal_reference(query_ptr, target_ptr, B, N, M, match, mismatch, gap):
    score = torch.zeros(B, N + 1, M + 1, dtype=torch.int64)
    for k in range(N + M - 1):
        i = torch.arange(max(0, k - M + 1), min(N, k + 1))
        j = k - i
        same = torch.where(query_ptr[:, i] == target_ptr[:, j], match, mismatch)
        around = torch.maximum(score[:, i, j + 1], score[:, i + 1, j]) - gap
        score[:, i + 1, j + 1] = torch.maximum(score[:, i, j] + same, around).clamp(min=0)
    return {"score_ptr": score.amax((1, 2)), "work_ptr": None}
