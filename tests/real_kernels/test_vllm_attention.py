"""Attention kernels of vLLM, against torch's attention of one sequence after another."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, randn
from vllm_package import VLLM

PACKAGE = VLLM
OPS = "vllm.v1.attention.ops"
HEAD = 64


def attention(q, k, v, *, causal=True, window=0):
    """Of one sequence: q has [tokens, heads, size], k and v have fewer heads and may be longer."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    distance = torch.arange(len(k)) - torch.arange(len(k) - len(q), len(k))[:, None]
    seen = distance <= 0 if causal else torch.ones_like(distance, dtype=torch.bool)
    seen = seen & (distance > -window) if window else seen
    q, k, v = (tensor.transpose(0, 1) for tensor in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, seen).transpose(0, 1)


class Paged:
    """Keys and values of sequences of some lengths, in pages of a shared cache."""

    def __init__(self, lengths, kv_heads, page=16, dtype=torch.float32):
        pages = sum(-(-length // page) for length in lengths)
        self.lengths = torch.tensor(lengths, dtype=torch.int32)
        self.k = randn(pages + 1, page, kv_heads, HEAD, seed=11, dtype=dtype)
        self.v = randn(pages + 1, page, kv_heads, HEAD, seed=12, dtype=dtype)
        shuffled = iter((1 + torch.randperm(pages)).tolist())
        rows = [[next(shuffled) for _ in range(-(-length // page))] for length in lengths]
        widest = max(map(len, rows))
        self.table = torch.tensor(
            [row + [0] * (widest - len(row)) for row in rows], dtype=torch.int32
        )

    def of(self, sequence):
        """The keys and values of one sequence."""
        length = self.lengths[sequence]
        pages = self.table[sequence].long()
        return self.k[pages].flatten(0, 1)[:length], self.v[pages].flatten(0, 1)[:length]


@pytest.mark.parametrize("kv_heads", [4, 1])
def test_decode(load, kv_heads):
    ops = load(f"{OPS}.triton_decode_attention")
    cache, q = Paged([37, 90], kv_heads), randn(2, 4, HEAD)
    out, lse, parts = torch.empty_like(q), torch.empty(2, 4), torch.empty(2, 4, 3, HEAD + 1)
    ops.decode_attention_fwd(
        q, cache.k, cache.v, out, lse, cache.table, cache.lengths, parts, 3, HEAD**-0.5, 16
    )
    agree(out, torch.cat([attention(q[i : i + 1], *cache.of(i)) for i in range(2)]))


@pytest.mark.parametrize("causal", [True, False])
def test_prefill(load, causal):
    ops = load(f"{OPS}.triton_prefill_attention")
    lengths = [35, 60]
    q, k, v = randn(95, 4, HEAD), randn(95, 2, HEAD, seed=1), randn(95, 2, HEAD, seed=2)
    out, starts = torch.empty_like(q), torch.tensor([0, 35])
    ops.context_attention_fwd(q, k, v, out, starts, torch.tensor(lengths), 60, causal)
    parts = zip(*(tensor.split(lengths) for tensor in (q, k, v)), strict=True)
    agree(out, torch.cat([attention(*part, causal=causal) for part in parts]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("window", [0, 20])
def test_unified(load, window, dtype):
    ops = load(f"{OPS}.triton_unified_attention")
    cache, new = Paged([50, 70, 33], 2, dtype=dtype), [20, 1, 33]
    q = randn(sum(new), 4, HEAD, dtype=dtype)
    starts = torch.tensor([0, *torch.tensor(new).cumsum(0)], dtype=torch.int32)
    out = torch.empty_like(q)
    ops.unified_attention(
        q, cache.k, cache.v, out, starts, 33, cache.lengths, 70, HEAD**-0.5, True,
        (window - 1 if window else -1, -1), cache.table, 0, None, None, None,
    )  # fmt: skip
    sequences = [(part, *cache.of(i)) for i, part in enumerate(q.split(new))]
    agree(out, torch.cat([attention(*each, window=window) for each in sequences]))


def test_unified_split_over_keys(load):
    ops = load(f"{OPS}.triton_unified_attention")
    cache, q = Paged([50, 170], 2), randn(2, 4, HEAD)
    out, starts = torch.empty_like(q), torch.tensor([0, 1, 2], dtype=torch.int32)
    scratch = torch.empty(2, 4, 4, HEAD), torch.empty(2, 4, 4), torch.empty(2, 4, 4)
    ops.unified_attention(
        q, cache.k, cache.v, out, starts, 1, cache.lengths, 170, HEAD**-0.5, True, (-1, -1),
        cache.table, 0, None, None, None, 128, 4, *scratch,
    )  # fmt: skip
    agree(out, torch.cat([attention(q[i : i + 1], *cache.of(i)) for i in range(2)]))


def head_major(cache):
    """Keys and values of `cache` as vLLM's oldest kernels have them: heads before tokens."""
    pages, page, heads, _ = cache.k.shape
    k = cache.k.view(pages, page, heads, HEAD // 8, 8).permute(0, 2, 3, 1, 4).contiguous()
    return k, cache.v.permute(0, 2, 3, 1).contiguous()


@pytest.mark.parametrize("alibi", [False, True])
def test_prefill_after_a_prefix(load, alibi):
    ops = load(f"{OPS}.prefix_prefill")
    cache, new = Paged([50, 70], 2), [20, 41]
    q, one = randn(61, 4, HEAD), torch.ones(())
    k, v = (torch.cat([cache.of(i)[at][-n:] for i, n in enumerate(new)]) for at in (0, 1))
    out, starts = torch.empty_like(q), torch.tensor([0, 20, 61])
    slopes = torch.zeros(4) if alibi else None
    ops.context_attention_fwd(
        q, k, v, out, "auto", *head_major(cache), cache.table, starts, cache.lengths, 70, 41,
        one, one, slopes,
    )  # fmt: skip
    agree(out, torch.cat([attention(part, *cache.of(i)) for i, part in enumerate(q.split(new))]))


def test_paged_decode(load):
    ops = load(f"{OPS}.chunked_prefill_paged_decode")
    cache, q, one = Paged([50, 70], 2), randn(2, 4, HEAD), torch.ones(())
    out, starts = torch.empty_like(q), torch.tensor([0, 1, 2])
    k = torch.cat([cache.of(i)[0][-1:] for i in range(2)])
    ops.chunked_prefill_paged_decode(
        q,
        k,
        k,
        out,
        "auto",
        *head_major(cache),
        cache.table,
        starts,
        cache.lengths,
        70,
        1,
        one,
        one,
    )
    agree(out, torch.cat([attention(q[i : i + 1], *cache.of(i)) for i in range(2)]))


def test_merge_states(load):
    ops = load(f"{OPS}.triton_merge_attn_states")
    first, second = randn(7, 4, HEAD), randn(7, 4, HEAD, seed=1)
    lse = randn(4, 7, seed=2), randn(4, 7, seed=3)
    out, out_lse = torch.empty_like(first), torch.empty(4, 7)
    ops.merge_attn_states(out, first, lse[0], second, lse[1], out_lse)
    share = torch.stack(lse).softmax(0).transpose(1, 2)[..., None]
    agree(out, first * share[0] + second * share[1])
    agree(out_lse, torch.logaddexp(*lse))


def test_write_into_the_cache(load, monkeypatch):
    ops = load(f"{OPS}.triton_reshape_and_cache_flash")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (8, 0))
    monkeypatch.setattr(ops, "_is_supported_kv_cache_dtype", lambda _: True)
    monkeypatch.setattr(ops, "is_quantized_kv_cache", lambda _: False)
    k, v, slots = randn(9, 2, HEAD), randn(9, 2, HEAD, seed=1), torch.randperm(48)[:9]
    slots[4] = -1
    caches = torch.zeros(3, 16, 2, HEAD), torch.zeros(3, 16, 2, HEAD)
    ops.triton_reshape_and_cache_flash(k, v, *caches, slots, "auto", torch.ones(()), torch.ones(()))
    for cache, new in zip(caches, (k, v), strict=True):
        expected = torch.zeros(48, 2, HEAD)
        expected[slots[slots >= 0]] = new[slots >= 0]
        agree(cache.flatten(0, 1), expected)


def test_quantise_into_the_cache(load):
    ops = load(f"{OPS}.triton_reshape_and_cache_flash")
    mode = ops.KVQuantMode.INT8_PER_TOKEN_HEAD
    k, v, slots = randn(9, 2, HEAD), randn(9, 2, HEAD, seed=1), torch.arange(3, 12)
    caches = [torch.zeros(2, 16, 2, HEAD, dtype=torch.int8) for _ in range(2)]
    scales = [torch.zeros(2, 16, 2) for _ in range(2)]
    ops.triton_reshape_and_cache_flash_per_token_head_quant(k, v, *caches, *scales, slots, mode)
    for cache, scale, new in zip(caches, scales, (k, v), strict=True):
        restored = (cache * scale[..., None]).flatten(0, 1)[3:12]
        agree(restored, new, 0.01)


def test_pack_sequences(load):
    ops = load(f"{OPS}.common")
    x, lengths = randn(12, 3, 40), torch.tensor([5, 0, 7])
    packed = ops.pack_seq_triton(x, lengths, 0.5)
    expected = torch.full((3, 7, 3, 40), 0.5)
    expected[0, :5], expected[2] = x[:5], x[5:]
    agree(packed, expected)
    agree(ops.unpack_seq_triton(packed, lengths), x)
