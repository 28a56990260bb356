"""Inputs of demo_decoder.c, and what it computes by torch, with the weights as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from kernels.references.packed_weights import GROUP, TILE

__all__ = ["KEYS_BEFORE", "PROMPT", "Expected", "Found", "Model"]

# As in demo_decoder.c.
WIDTH, HEAD_SIZE, HEADS, KV_HEADS, INNER, VOCABULARY = 896, 64, 14, 2, 4864, 151936
QUERIES, KEYS = HEADS * HEAD_SIZE, KV_HEADS * HEAD_SIZE
ROOM, TOP, PROMPT = 576, 40, 32
KEYS_BEFORE = 512  # of a token that is generated

_BASE = 1e6  # of the angles, as in Qwen2.5's config.json
_EPSILON = 1e-6
_MOST = 127
# Stages whose noise others amplify: gate times up has that of both, and so have scores.
_AMPLIFIED = 2.0

_Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Packed:
    """A matrix with weights of 4 bits, as `matmul_w4a8` takes it.

    Args:
        weights: (tiles, depth / 2, TILE), a byte for two of them.
        scales: (tiles, depth / GROUP, TILE), fp16.
    """

    weights: npt.NDArray[np.uint8]
    scales: npt.NDArray[np.float16]

    def columns(self, first_tile: int = 0, tiles: int | None = None) -> torch.Tensor:
        """The numbers of some tiles: (depth, columns), fp64."""
        end = len(self.weights) if tiles is None else first_tile + tiles
        packed, scales = self.weights[first_tile:end], self.scales[first_tile:end]
        halves = packed.reshape(*scales.shape[:2], GROUP // 2, TILE)
        numbers = np.concatenate([halves & 15, halves >> 4], axis=2).astype(np.float32) - 8
        numbers *= scales[:, :, None, :].astype(np.float32)
        whole = numbers.reshape(len(packed), -1, TILE).transpose(1, 0, 2)
        return torch.from_numpy(whole.reshape(whole.shape[0], -1)).double()


@dataclass(frozen=True)
class Found:
    """What the program wrote.

    Args:
        hidden: behind the layer, (PROMPT, WIDTH), of which the first rows count.
        logits: of the last token.
        top: tokens with the largest logits.
        sampled: the next token.
    """

    hidden: npt.NDArray[np.float32]
    logits: npt.NDArray[np.float32]
    top: npt.NDArray[np.int32]
    sampled: int

    @staticmethod
    def read(contents: bytes) -> Found:
        """From the program's output."""
        sizes = np.cumsum([PROMPT * WIDTH, VOCABULARY])
        floats = np.frombuffer(contents, np.float32)
        integers = np.frombuffer(contents, np.int32)[sizes[1] :]
        return Found(
            floats[: sizes[0]].reshape(PROMPT, WIDTH),
            floats[sizes[0] : sizes[1]],
            integers[:TOP],
            int(integers[TOP]),
        )


@dataclass(frozen=True)
class Expected:
    """What is right, and how far 8-bit activations may be from it.

    Args:
        start: the embedding, (tokens, WIDTH).
        hidden: behind the layer.
        logits: of the last token.
        tolerance: of the error's root mean square, relative to that of what the layer adds, or of
            the logits.
    """

    start: torch.Tensor
    hidden: torch.Tensor
    logits: torch.Tensor
    tolerance: float

    def error_of(self, found: Found) -> float:
        """The larger of the two errors, as the tolerance is.

        Raises:
            ValueError: if the tokens are not those with the largest of its own logits.
        """
        order = np.argsort(-found.logits, kind="stable")[:TOP]
        if not np.array_equal(order, found.top) or found.sampled not in order:
            raise ValueError("the sampled tokens are not those with the largest logits")
        hidden = torch.from_numpy(found.hidden[: len(self.hidden)].astype(np.float64))
        logits = torch.from_numpy(found.logits.astype(np.float64))
        return max(
            _relative(hidden - self.hidden, self.hidden - self.start),
            _relative(logits - self.logits, self.logits),
        )


class Model:
    """Random weights, tokens and a cache; the same for the same seed.

    Args:
        seed: of all numbers.
        tokens: how many are computed.
        past: how many are in the cache.
    """

    def __init__(self, seed: int, tokens: int, past: int) -> None:
        random = np.random.default_rng(seed)
        self._past = past
        self._tokens = random.integers(0, VOCABULARY, PROMPT, dtype=np.int32)
        self._count = tokens
        speeds = _BASE ** (-np.arange(HEAD_SIZE // 2) / (HEAD_SIZE // 2))
        angles = np.outer(past + np.arange(PROMPT), speeds)
        self._turns = np.stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
        self._norms = random.uniform(0.5, 1.5, (3, WIDTH)).astype(np.float32)
        self._bias = random.normal(0, 0.5, QUERIES + 2 * KEYS).astype(np.float32)
        self._queries = _packed(random, WIDTH, QUERIES + 2 * KEYS)
        self._mix = _packed(random, QUERIES, WIDTH)
        self._gate_and_up = _packed(random, WIDTH, 2 * INNER)
        self._down = _packed(random, INNER, WIDTH)
        self._vocabulary = _packed(random, WIDTH, VOCABULARY)
        cache = random.standard_normal((2, KV_HEADS, ROOM, HEAD_SIZE), np.float32)
        self._cache = cache.astype(np.float16)

    def parts(self) -> Iterator[_Array]:
        """The file that the program reads, in order."""
        yield from (self._tokens, self._turns, self._norms, self._bias)
        for matrix in (self._queries, self._mix, self._gate_and_up, self._down, self._vocabulary):
            yield from (matrix.weights, matrix.scales)
        yield self._cache

    def expected(self) -> Expected:
        """The decoder in fp64, without quantised activations."""
        noises: list[float] = []
        start = self._embedding()
        added = start + self._attention(start, noises)
        hidden = added + self._network(added, noises)
        normed = _normed(hidden[-1:], self._norms[2])
        noises.append(_noise(normed))
        tiles = len(self._vocabulary.weights)
        parts = [normed @ self._vocabulary.columns(at, 64) for at in range(0, tiles, 64)]
        # What the steps lose adds up as squares do.
        tolerance = _AMPLIFIED * sum(noise**2 for noise in noises) ** 0.5
        return Expected(start, hidden, torch.cat(parts, dim=1)[0], tolerance)

    def _embedding(self) -> torch.Tensor:
        tokens = self._tokens[: self._count]
        rows = [self._vocabulary.columns(t // TILE, 1)[:, t % TILE] for t in tokens]
        return torch.stack(rows)

    def _attention(self, x: torch.Tensor, noises: list[float]) -> torch.Tensor:
        normed = _normed(x, self._norms[0])
        projected = normed @ self._queries.columns() + torch.from_numpy(self._bias).double()
        q, k, v = projected.split([QUERIES, KEYS, KEYS], dim=1)
        q, k = self._turned(q), self._turned(k)
        old = torch.from_numpy(self._cache[:, :, : self._past].astype(np.float64))
        keys = torch.cat([old[0], k], dim=1).repeat_interleave(HEADS // KV_HEADS, dim=0)
        new = v.view(self._count, KV_HEADS, HEAD_SIZE).transpose(0, 1)
        values = torch.cat([old[1], new], dim=1).repeat_interleave(HEADS // KV_HEADS, dim=0)
        scores = q @ keys.transpose(1, 2) / HEAD_SIZE**0.5
        unseen = torch.ones(self._count, self._past + self._count, dtype=torch.bool)
        scores = scores.masked_fill(unseen.triu(self._past + 1), -torch.inf)
        mixed = (scores.softmax(dim=2) @ values).transpose(0, 1).reshape(self._count, QUERIES)
        noises += [_noise(normed), _noise(mixed)]
        return mixed @ self._mix.columns()

    def _turned(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows of heads, turned by their tokens' angles: (heads, tokens, HEAD_SIZE)."""
        cosines, sines = torch.from_numpy(self._turns[:, : self._count].astype(np.float64))
        heads = rows.view(self._count, -1, HEAD_SIZE).transpose(0, 1)
        real, imaginary = heads.chunk(2, dim=-1)
        parts = (real * cosines - imaginary * sines, imaginary * cosines + real * sines)
        return torch.cat(parts, dim=-1)

    def _network(self, x: torch.Tensor, noises: list[float]) -> torch.Tensor:
        normed = _normed(x, self._norms[1])
        gate, up = (normed @ self._gate_and_up.columns()).chunk(2, dim=1)
        inner = torch.nn.functional.silu(gate) * up
        noises += [_noise(normed), _noise(inner)]
        return inner @ self._down.columns()


def _packed(random: np.random.Generator, depth: int, columns: int) -> Packed:
    """Weights from -7 to 7, whose root mean square is 4.3, for products of about unit size.

    Without -8, their mean is 0: otherwise one component of a product would hide errors in others.
    """
    tiles = columns // TILE
    shape = (tiles, depth // 2, TILE)
    low, high = (random.integers(1, 16, shape, dtype=np.uint8) for _ in range(2))
    sizes = random.uniform(0.75, 1.25, (tiles, depth // GROUP, TILE)).astype(np.float32)
    return Packed(low | high * np.uint8(16), (sizes / (4.3 * depth**0.5)).astype(np.float16))


def _normed(x: torch.Tensor, weight: npt.NDArray[np.float32]) -> torch.Tensor:
    scale = (x.square().mean(dim=1, keepdim=True) + _EPSILON).rsqrt()
    return x * scale * torch.from_numpy(weight).double()


def _noise(x: torch.Tensor) -> float:
    """What rows lose in 8 bits with a scale for each GROUP elements, relative to their size."""
    groups = x.reshape(-1, GROUP)
    scales = groups.abs().amax(dim=1, keepdim=True) / _MOST
    return _relative((groups / scales).round() * scales - groups, groups)


def _relative(error: torch.Tensor, of: torch.Tensor) -> float:
    return float(error.square().mean().sqrt() / of.square().mean().sqrt())
