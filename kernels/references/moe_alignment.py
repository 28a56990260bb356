"""Tokens sorted by expert, with each expert's tokens padded to whole blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = ["AlignedTokens", "moe_align_block_size"]


@dataclass(frozen=True)
class AlignedTokens:
    """The rows that each block of a fused MoE kernel works on.

    Args:
        sorted_token_ids: int32, (padded,): positions in the flattened `topk_ids`, grouped by
            expert; padding has the value `topk_ids.numel()`, which is not a position.
        expert_ids: int32, (padded / block_size,): the expert of each block.
    """

    sorted_token_ids: torch.Tensor
    expert_ids: torch.Tensor


def moe_align_block_size(
    topk_ids: torch.Tensor, block_size: int, num_experts: int
) -> AlignedTokens:
    """Sort tokens by expert, and pad each expert's count to a multiple of `block_size`.

    With block_size 4, experts with 7, 5, 2 and 2 tokens get 8, 8, 4 and 4 rows.

    Args:
        topk_ids: (tokens, top_k), the experts of each token.
        block_size: rows of a block.
        num_experts: number of experts; an expert without tokens gets no block.
    """
    flat = topk_ids.flatten().long()
    counts = torch.bincount(flat, minlength=num_experts)
    blocks = (counts + block_size - 1) // block_size
    starts = (blocks.cumsum(0) - blocks) * block_size
    order = torch.argsort(flat, stable=True)
    rank_in_expert = torch.arange(flat.numel()) - (counts.cumsum(0) - counts)[flat[order]]
    ids = torch.full((int(blocks.sum()) * block_size,), flat.numel(), dtype=torch.int32)
    ids[starts[flat[order]] + rank_in_expert] = order.int()
    return AlignedTokens(ids, torch.arange(num_experts).repeat_interleave(blocks).int())
