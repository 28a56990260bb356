"""Kernels of flash-linear-attention: attention over all pairs of times, and over some of them."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, agree_with_gradients, randn
from fla_inputs import BATCH, HEADS, TIME, WIDTH, decay, halves, heads_first, vector

PACKAGE = "fla"
TOLERANCE = 1e-3


def queries(seed=0):
    """Of twice as many heads as keys have."""
    return randn(BATCH, TIME, 2 * HEADS, WIDTH, seed=seed)


@pytest.mark.parametrize("window", [None, 9])
def test_attention(load, window):
    ops, naive = load("fla.ops.attn"), load("fla.ops.attn.naive")
    agree_with_gradients(
        lambda q, k, v: ops.parallel_attn(q, k, v, window_size=window),
        lambda q, k, v: naive.naive_parallel_attn(q, k, v, window_size=window)[0],
        *(queries(), vector(1), vector(2)),
        tolerance=TOLERANCE,
    )


def test_attention_over_sequences_of_several_lengths(load):
    ops, naive = load("fla.ops.attn"), load("fla.ops.attn.naive")
    bounds = [0, 15, 16, TIME]

    def reference(q, k, v):
        parts = [
            naive.naive_parallel_attn(q[:, a:b], k[:, a:b], v[:, a:b])[0]
            for a, b in itertools.pairwise(bounds)
        ]
        return torch.cat(parts, 1)

    agree_with_gradients(
        lambda q, k, v: ops.parallel_attn(q, k, v, cu_seqlens=torch.tensor(bounds)),
        reference,
        *(queries()[:1], vector(1)[:1], vector(2)[:1]),
        tolerance=TOLERANCE,
    )


def test_forgetting_attention(load):
    ops, naive = load("fla.ops.forgetting_attn"), load("fla.ops.forgetting_attn.naive")
    agree_with_gradients(
        ops.parallel_forgetting_attn,
        naive.naive_forgetting_attn,
        *(vector(0), vector(1), vector(2), decay(3)),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("name", ["fused_chunk", "parallel"])
def test_attention_by_a_polynomial(load, name):
    ops, naive = load("fla.ops.based"), load("fla.ops.based.naive")
    agree_with_gradients(
        getattr(ops, f"{name}_based"),
        lambda q, k, v: naive.naive_parallel_based(*heads_first(q, k, v)).transpose(1, 2),
        *(randn(BATCH, TIME, HEADS, 16, seed=seed) / 2 for seed in range(2)),
        vector(2),
        tolerance=TOLERANCE,
    )


def test_attention_by_a_square(load):
    ops, naive = load("fla.ops.rebased"), load("fla.ops.rebased.naive")
    agree_with_gradients(
        ops.parallel_rebased,
        lambda q, k, v: naive.naive_parallel_rebased(*heads_first(q, k, v)).transpose(1, 2),
        *(randn(BATCH, TIME, HEADS, 16, seed=seed).abs() for seed in range(2)),
        vector(2),
        tolerance=TOLERANCE,
    )


def test_attention_along_a_path(load):
    ops, naive = load("fla.ops.path_attn"), load("fla.ops.path_attn.naive")
    width = 64
    q, k, v, w = (randn(1, TIME, HEADS, width, seed=seed) for seed in range(4))
    w, beta = F.normalize(w, dim=-1), randn(1, TIME, HEADS, seed=4).sigmoid() + 1
    gates = F.logsigmoid(randn(1, TIME, HEADS, seed=5) + 4)
    agree_with_gradients(
        lambda *given: ops.parallel_path_attn(*given)[0],
        lambda *given: naive.naive_path_attn(*given, width**-0.5),
        *(q, k, v, w, beta, gates),
        tolerance=5e-3,
    )


def test_stick_breaking_attention(load):
    ops, naive = load("fla.ops.stickbreaking_attn"), load("fla.ops.stickbreaking_attn.naive")
    agree_with_gradients(
        lambda q, k, v: ops.parallel_stickbreaking_attn(q, k, v, WIDTH**-0.5, False)[0],
        lambda q, k, v: naive.naive_stickbreaking_attn(q, k, v, WIDTH**-0.5, False)[0],
        *(vector(0), vector(1), vector(2)),
        tolerance=TOLERANCE,
    )


def test_attention_with_a_correction(load):
    ops, naive = load("fla.ops.parallax"), load("fla.ops.parallax.naive")
    agree_with_gradients(
        ops.parallel_parallax,
        naive.naive_parallax,
        *halves(queries(), queries(3), vector(1), vector(2)),
        tolerance=2e-2,
    )


def test_attention_with_decay_per_element(load):
    ops = load("fla.ops.wall_attn")
    causal = torch.ones(TIME, TIME, dtype=torch.bool).tril()[:, :, None, None]

    def reference(q, k, v, g):
        passed = g.cumsum(1)
        decays = (passed[:, :, None] - passed[:, None]).where(causal, -torch.inf).exp()
        scores = (q[:, :, None] * k[:, None] * decays).sum(-1) * WIDTH**-0.5
        chances = scores.masked_fill(~causal[..., 0], -torch.inf).softmax(2)
        return torch.einsum("bijh,bjhd->bihd", chances, v)

    agree_with_gradients(
        lambda *given: ops.parallel_wall_attn(*given, scale=WIDTH**-0.5),
        reference,
        *(vector(0), vector(1), vector(2), decay(3, WIDTH)),
        tolerance=TOLERANCE,
    )


def test_native_sparse_attention(load):
    ops, naive = load("fla.ops.nsa"), load("fla.ops.nsa.naive")
    heads, blocks, size = 16, 2, 16
    q = randn(1, TIME, heads, WIDTH)
    k, v = (randn(1, TIME, 1, WIDTH, seed=seed) for seed in (1, 2))
    gates = [randn(1, TIME, heads, seed=seed).sigmoid() for seed in (3, 4)]
    latest = torch.arange(TIME)[None, :, None, None] // size
    chosen = (latest - torch.arange(blocks)).clamp(min=0)
    agree_with_gradients(
        lambda *given: ops.parallel_nsa(
            *given, block_indices=chosen, block_counts=blocks, block_size=size
        ),
        lambda *given: naive.naive_nsa(
            *given, g_swa=None, block_indices=chosen, block_counts=blocks, block_size=size
        ),
        *(q, k, v, *gates),
        tolerance=TOLERANCE,
    )


def test_inverse_of_a_triangle(load):
    ops = load("fla.ops.utils.solve_tril")
    for size in 16, 32, 64:
        keys = F.normalize(randn(1, 2, size, 64), dim=-1)
        lower = (keys @ keys.mT).tril(-1)
        inverse = torch.linalg.inv(lower + torch.eye(size))
        agree(ops.solve_tril(lower.transpose(1, 2).contiguous()).transpose(1, 2), inverse, 1e-4)


def test_cumulative_sums(load):
    ops = load("fla.ops.utils.cumsum")
    scalars, vectors = randn(BATCH, TIME, HEADS), vector(1)
    for values in scalars, vectors:
        agree(ops.chunk_global_cumsum(values), values.cumsum(1))
        agree(ops.chunk_global_cumsum(values, reverse=True), values.flip(1).cumsum(1).flip(1))
        chunks = [chunk.cumsum(1) for chunk in values.split(32, 1)]
        agree(ops.chunk_local_cumsum(values, 32), torch.cat(chunks, 1))


def test_helpers(load):
    ops = load("fla.ops.utils")
    x = randn(40, 300)
    agree(ops.softmax_fwd(x), x.softmax(-1))
    agree(load("fla.ops.utils.logsumexp").logsumexp_fwd(x), x.logsumexp(-1))
    matrices = load("fla.ops.utils.matmul")
    a, b, x = randn(70, 40), randn(40, 50, seed=1), randn(70, 50, seed=2)
    agree(matrices.matmul(a, b), a @ b)
    half, two = torch.tensor(0.5), torch.tensor(2.0)
    agree(matrices.addmm(x, a, b, half, two), 2 * x + a @ b / 2)
    agree_with_gradients(
        lambda v: load("fla.ops.utils.pooling").mean_pooling(v, 16),
        lambda v: torch.stack([chunk.mean(1) for chunk in v.split(16, 1)], 1),
        vector(0),
    )
    packing, bounds = load("fla.ops.utils.pack"), torch.tensor([0, 3, 10])
    sequence = randn(10, 40)
    padded = packing.unpack_sequence(sequence, bounds, "left")
    agree(padded, torch.stack([F.pad(sequence[:3], (0, 0, 4, 0)), sequence[3:]]))
    agree(packing.pack_sequence(padded, bounds, "left"), sequence)
