"""The softmax of each token's scores for the experts, and its best eight with their weights."""

import torch
import triton
import triton.language as tl

BEST = 8


@triton.autotune(
    [
        triton.Config({"BLOCK_ROWS": rows}, num_warps=warps)
        for rows in (1, 2, 4, 8, 16, 32, 64)
        for warps in (1, 2, 4, 8)
    ],
    key=["rows"],
)
@triton.jit
def expert_choice_kernel(
    scores_ptr,
    weights_ptr,
    experts_ptr,
    rows,
    BLOCK_ROWS: tl.constexpr,
    EXPERTS: tl.constexpr,
    BEST_OF: tl.constexpr,
):
    row = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    expert = tl.arange(0, EXPERTS)
    at = row[:, None] * EXPERTS + expert[None, :]
    scores = tl.load(scores_ptr + at, mask=(row < rows)[:, None], other=0.0).to(tl.float32)
    scores = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    scores = scores / tl.sum(scores, axis=1)[:, None]
    for place in tl.static_range(BEST_OF):
        best, chosen = tl.max(scores, axis=1, return_indices=True)
        tl.store(weights_ptr + row * BEST_OF + place, best, mask=row < rows)
        tl.store(experts_ptr + row * BEST_OF + place, chosen.to(tl.int32), mask=row < rows)
        scores = tl.where(expert[None, :] == chosen[:, None], -1.0, scores)


def arguments(rows=32768, experts=128):
    return {
        "scores_ptr": torch.randn(rows, experts),
        "weights_ptr": torch.empty(rows, BEST),
        "experts_ptr": torch.empty(rows, BEST, dtype=torch.int32),
        "rows": rows,
        "EXPERTS": experts,
        "BEST_OF": BEST,
    }


def grid(meta):
    return (triton.cdiv(meta["rows"], meta["BLOCK_ROWS"]),)


def _chosen(scores):
    return torch.topk(torch.softmax(scores, dim=1), BEST, dim=1)


def reference(scores_ptr):
    weights, experts = _chosen(scores_ptr)
    return {"weights_ptr": weights, "experts_ptr": experts.int()}


def with_torch(scores_ptr):
    return _chosen(scores_ptr)
