"""Kernels of SGLang: attention, linear attention, quantisation, activations."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, randn
from sglang_package import SGLANG

PACKAGE = SGLANG
OPS = "sglang.kernels.ops"
HEAD = 64


def attention(q, k, v, *, causal=True):
    """Of one sequence: q has [tokens, heads, size], k and v have fewer heads and may be longer."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    seen = torch.ones(len(q), len(k), dtype=torch.bool)
    seen = seen.tril(len(k) - len(q)) if causal else seen
    q, k, v = (tensor.transpose(0, 1) for tensor in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, seen).transpose(0, 1)


@pytest.mark.parametrize("kv_heads", [4, 1])
def test_decode(load, kv_heads):
    ops = load(f"{OPS}.attention.decode_attention")
    q, k, v = randn(2, 4, HEAD), randn(200, kv_heads, HEAD), randn(200, kv_heads, HEAD, seed=1)
    starts, places = torch.tensor([0, 37, 127], dtype=torch.int32), torch.randperm(200)[:127]
    out, parts, lse = torch.empty_like(q), torch.empty(2, 4, 3, HEAD), torch.empty(2, 4, 3)
    splits = torch.tensor([2, 3], dtype=torch.int32)
    ops.decode_attention_fwd(
        q, k, v, out, starts, places, parts, lse, splits, 3, HEAD**-0.5, 1.0, 1.0
    )
    own = places[:37], places[37:]
    agree(out, torch.cat([attention(q[i : i + 1], k[own[i]], v[own[i]]) for i in range(2)]))


def test_extend(load):
    ops = load(f"{OPS}.attention.extend_attention")
    before, new = [30, 50], [20, 41]
    q, k, v = randn(61, 4, HEAD), randn(61, 2, HEAD, seed=1), randn(61, 2, HEAD, seed=2)
    old_k, old_v = randn(100, 2, HEAD, seed=3), randn(100, 2, HEAD, seed=4)
    places = torch.randperm(100)[:80]
    out = torch.empty_like(q)
    ops.extend_attention_fwd(
        q, k, v, out, old_k, old_v, torch.tensor([0, 20, 61]), torch.tensor([0, 30, 80]), places,
        None, True, None, 41, 1.0, 1.0,
    )  # fmt: skip
    parts = zip(places.split(before), *(t.split(new) for t in (q, k, v)), strict=True)
    expected = [
        attention(own_q, torch.cat([old_k[at], own_k]), torch.cat([old_v[at], own_v]))
        for at, own_q, own_k, own_v in parts
    ]
    agree(out, torch.cat(expected))


@pytest.mark.parametrize("causal", [True, False])
def test_prefill(load, causal):
    ops = load(f"{OPS}.attention.prefill_attention")
    lengths = [35, 60]
    q, k, v = randn(95, 4, HEAD), randn(95, 2, HEAD, seed=1), randn(95, 2, HEAD, seed=2)
    out, starts = torch.empty_like(q), torch.tensor([0, 35])
    ops.context_attention_fwd(q, k, v, out, starts, torch.tensor(lengths), 60, causal)
    parts = zip(*(tensor.split(lengths) for tensor in (q, k, v)), strict=True)
    agree(out, torch.cat([attention(*part, causal=causal) for part in parts]))


def test_merge_states(load):
    ops = load(f"{OPS}.attention.merge_state")
    first, second = randn(7, 4, HEAD), randn(7, 4, HEAD, seed=1)
    lse = randn(7, 4, seed=2), randn(7, 4, seed=3)
    out, out_lse = ops.merge_state_triton(first, lse[0], second, lse[1])
    share = torch.stack(lse).softmax(0)[..., None]
    agree(out, first * share[0] + second * share[1])
    agree(out_lse, torch.logaddexp(*lse))


def test_quantise_to_int8(load):
    ops = load(f"{OPS}.quantization.int8_kernel")
    x = randn(9, 256)
    quantised, scale = ops.per_token_quant_int8(x)
    agree(quantised * scale, x, 0.01)
    quantised, scale = ops.per_token_group_quant_int8(x, 64)
    agree(quantised.view(9, 4, 64) * scale[..., None], x.view(9, 4, 64), 0.01)


def test_activations(load):
    x = randn(9, 256)
    gated = load(f"{OPS}.activation.gelu_and_mul_triton").gelu_and_mul_triton(x)
    result = gated[0] if isinstance(gated, tuple) else gated
    agree(result, F.gelu(x[:, :128], approximate="tanh") * x[:, 128:], 1e-3)
    soft = load(f"{OPS}.activation.softcap")
    agree(soft.softcap_inplace_logits(x.clone(), 3.0), 3 * torch.tanh(x / 3))


def test_linear_attention(load):
    x, steps = randn(9, 128), randn(1, 100, 4)
    fla = f"{OPS}.attention.fla"
    agree(load(f"{fla}.l2norm").l2norm_fwd(x), F.normalize(x, dim=-1))
    parts = [part.cumsum(1) for part in steps.split(32, 1)]
    agree(load(f"{fla}.cumsum").chunk_local_cumsum(steps, 32), torch.cat(parts, 1))


def test_gated_delta_rule_by_token(load):
    ops = load(f"{OPS}.attention.fla.fused_recurrent")
    q, k = (F.normalize(randn(1, 7, 2, 64, seed=seed), dim=-1) for seed in (0, 1))
    v, g = randn(1, 7, 2, 64, seed=2), F.logsigmoid(randn(1, 7, 2, seed=3))
    beta = torch.sigmoid(randn(1, 7, 2, seed=4))
    out, _ = ops.fused_recurrent_gated_delta_rule(q, k, v, g, beta)
    state, expected = torch.zeros(2, 64, 64), []
    for t in range(7):
        state = state * g[0, t].exp()[:, None, None]
        wrong = v[0, t] - torch.einsum("hvk,hk->hv", state, k[0, t])
        state = state + torch.einsum("hv,hk->hvk", wrong * beta[0, t][:, None], k[0, t])
        expected.append(torch.einsum("hvk,hk->hv", state, q[0, t]) / 8)
    agree(out[0], torch.stack(expected))
