"""Weights of four bits with a scale for each 32 along K, as products with few rows read them.

The numbers are those of llama.cpp's format Q4_0: a weight is (q - 8) * scale, with q from 0 to 15,
and of each group of 32, byte j holds weight j in its low half and weight j + 16 in its high one.
Their order differs: columns of a tile lie side by side, so that a program reads its part of the
matrix from front to back, and each lane of a vector has a column.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from kernels.values import seeded_integers, seeded_normal

__all__ = ["GROUP", "PackedWeights", "groups_of", "packed_weights"]

# Weights along K that share a scale.
GROUP = 32
_ZERO = 8


@dataclass(frozen=True)
class PackedWeights:
    """A matrix of K x N weights, K a multiple of GROUP.

    Args:
        packed: K / 2 x N bytes, tile by tile: tile t holds the K / 2 rows of columns t * tile to
            (t + 1) * tile; the last one, those that are left.
        scales: fp16, K / GROUP x N, tile by tile as well.
        values: what they stand for: K x N, fp64.
    """

    packed: torch.Tensor
    scales: torch.Tensor
    values: torch.Tensor


def groups_of(k: int) -> int:
    """Groups along K; a part of one counts."""
    return -(-k // GROUP)


def packed_weights(k: int, n: int, tile: int, seed: int) -> PackedWeights:
    """Random weights of about unit size in tiles of `tile` columns; those behind k are 0."""
    groups = groups_of(k)
    quantised = seeded_integers((groups * GROUP, n), seed, 0, 15)
    quantised[k:] = _ZERO
    scales = ((0.5 + seeded_normal((groups, n), seed + 1).abs()) / 8).half()
    halves = quantised.view(groups, 2, GROUP // 2, n)
    packed = (halves[:, 0] + 16 * halves[:, 1]).to(torch.uint8).reshape(-1, n)
    values = (quantised - _ZERO).double() * scales.double().repeat_interleave(GROUP, dim=0)
    return PackedWeights(_tiled(packed, tile), _tiled(scales, tile), values)


def _tiled(matrix: torch.Tensor, tile: int) -> torch.Tensor:
    """The same elements, tile after tile, with the shape of the matrix."""
    tiles = [part.reshape(-1) for part in torch.split(matrix, tile, dim=1)]
    return torch.cat(tiles).view(matrix.shape)
