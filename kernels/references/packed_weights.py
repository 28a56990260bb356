"""Weights of four bits with a scale for each 32 along K, as products with few rows read them.

The numbers are those of llama.cpp's format Q4_0: a weight is (q - 8) * scale, with q from 0 to 15,
and of each group of 32, byte j holds weight j in its low half and weight j + 16 in its high one.
Their order differs: TILE columns lie side by side, so that a program reads its part of the matrix
from front to back, and each lane of a vector has a column. The order is the same for every
configuration: a model's weights are packed once, for one row of activations and for many.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from kernels.values import seeded_integers, seeded_normal
from search_spaces.packed_weights import GROUP, TILE

__all__ = ["GROUP", "TILE", "PackedWeights", "groups_of", "packed_weights", "tiled_columns"]

_ZERO = 8


@dataclass(frozen=True)
class PackedWeights:
    """A matrix of K x N weights, K a multiple of GROUP.

    Args:
        packed: N / TILE tiles, rounded up, each of K / 2 rows of TILE bytes: those of columns
            t * TILE to (t + 1) * TILE. Columns behind N are 0.
        scales: fp16, likewise, of K / GROUP rows.
        values: what they stand for: K x N, fp64.
    """

    packed: torch.Tensor
    scales: torch.Tensor
    values: torch.Tensor


def groups_of(k: int) -> int:
    """Groups along K; a part of one counts."""
    return (k + GROUP - 1) // GROUP


def tiled_columns(n: int) -> int:
    """Columns in whole tiles."""
    return -(-n // TILE) * TILE


def packed_weights(k: int, n: int, seed: int) -> PackedWeights:
    """Random weights of about unit size; those behind k are 0."""
    groups = groups_of(k)
    quantised = seeded_integers((groups * GROUP, n), seed, 0, 15)
    quantised[k:] = _ZERO
    scales = ((0.5 + seeded_normal((groups, n), seed + 1).abs()) / 8).half()
    halves = quantised.view(groups, 2, GROUP // 2, n)
    packed = (halves[:, 0] + 16 * halves[:, 1]).to(torch.uint8).reshape(-1, n)
    values = (quantised - _ZERO).double() * scales.double().repeat_interleave(GROUP, dim=0)
    return PackedWeights(_tiled(packed), _tiled(scales), values)


def _tiled(matrix: torch.Tensor) -> torch.Tensor:
    """The columns of a matrix, tile by tile: tiles x rows x TILE."""
    rows, columns = matrix.shape
    whole = matrix.new_zeros((rows, tiled_columns(columns)))
    whole[:, :columns] = matrix
    return whole.view(rows, -1, TILE).transpose(0, 1).contiguous()
