"""Kernels of vLLM that carry a state along a sequence, against a loop over its tokens."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, randn
from vllm_package import VLLM

PACKAGE = VLLM
MAMBA = "vllm.model_executor.layers.mamba.ops"
FLA = "vllm.third_party.flash_linear_attention.ops"


def scan(x, dt, a, b, c, state):
    """Mamba 2: of each token a decay and an outer product; returns outputs and the last state."""
    heads, outputs = x.shape[1], []
    b, c = (tensor.repeat_interleave(heads // tensor.shape[1], 1) for tensor in (b, c))
    for t in range(len(x)):
        decay = torch.exp(dt[t] * a)[:, None, None]
        state = state * decay + torch.einsum("h,hp,hn->hpn", dt[t], x[t], b[t])
        outputs.append(torch.einsum("hpn,hn->hp", state, c[t]))
    return torch.stack(outputs), state


def test_mamba_in_chunks(load):
    ops = load(f"{MAMBA}.ssd_combined")
    lengths, chunk, heads, width, states = [40, 20], 16, 4, 32, 16
    x, dt, a = randn(60, heads, width), randn(60, heads, seed=1), -randn(heads, seed=2).abs()
    b, c = randn(60, 2, states, seed=3), randn(60, 2, states, seed=4)
    bias, gate, skip = randn(heads, seed=5), randn(60, heads, width, seed=6), randn(heads, seed=7)
    first = randn(2, heads, width, states, seed=8)
    starts = torch.tensor([0, 16, 32, 40, 56, 60], dtype=torch.int32)
    out = torch.empty_like(x)
    final = ops.mamba_chunk_scan_combined_varlen(
        x, dt, a, b, c, chunk, torch.tensor([0, 40, 60], dtype=torch.int32), starts,
        torch.tensor([2, 4], dtype=torch.int32),
        torch.tensor([0, 0, 0, 1, 1], dtype=torch.int32),
        out, D=skip, z=gate, dt_bias=bias, initial_states=first, dt_softplus=True,
    )  # fmt: skip
    step = F.softplus(dt + bias)
    parts = zip(*(tensor.split(lengths) for tensor in (x, step, b, c)), strict=True)
    expected = [scan(*part[:2], a, *part[2:], first[i]) for i, part in enumerate(parts)]
    outputs = torch.cat([part[0] for part in expected]) + x * skip[:, None]
    agree(out, outputs * F.silu(gate), 1e-4)
    agree(final, torch.stack([part[1] for part in expected]), 1e-4)


def test_mamba_by_token(load):
    ops = load(f"{MAMBA}.mamba_ssm")
    heads, width, states = 4, 32, 16
    state, x, gate = randn(5, heads, width, states), randn(3, heads, width), randn(3, heads, width)
    dt = randn(3, heads, seed=1)[..., None].expand(3, heads, width)
    a = -randn(heads, seed=2).abs()[:, None, None].expand(heads, width, states)
    b, c = randn(3, 2, states, seed=3), randn(3, 2, states, seed=4)
    bias = randn(heads, seed=5)[:, None].expand(heads, width)
    skip = randn(heads, seed=6)[:, None].expand(heads, width)
    slots, out = torch.tensor([4, 1, 2], dtype=torch.int32), torch.empty_like(x)
    before = state.clone()
    ops.selective_state_update(
        state, x, dt, a, b, c, skip, bias, gate, True, state_batch_indices=slots, out=out
    )
    for i, slot in enumerate(slots):
        step = F.softplus(dt[i, :, 0] + bias[:, 0])[None]
        got, last = scan(x[i][None], step, a[:, 0, 0], b[i][None], c[i][None], before[slot])
        agree(out[i], (got[0] + x[i] * skip) * F.silu(gate[i]))
        agree(state[slot], last)


def convolved(x, weight, bias, before):
    """Causal convolution of [tokens, channels] after `before`, the last inputs of the past."""
    whole = torch.cat([before.T, x])
    windows = whole.unfold(0, weight.shape[1], 1)
    return F.silu((windows * weight).sum(-1) + bias), whole[-(weight.shape[1] - 1) :].T


def test_convolution(load):
    ops = load(f"{MAMBA}.causal_conv1d")
    lengths, channels, width = [20, 1, 9], 64, 4
    x, weight, bias = randn(30, channels), randn(channels, width, seed=1), randn(channels, seed=2)
    states = randn(5, width - 1, channels, seed=3).transpose(1, 2)
    before, slots = states.clone(), torch.tensor([3, 1, 4], dtype=torch.int32)
    known = torch.tensor([True, False, True])
    starts = torch.tensor([0, 20, 21, 30], dtype=torch.int32)
    out = ops.causal_conv1d_fn(x.T, weight, bias, states, starts, slots, known)
    expected = []
    for i, part in enumerate(x.split(lengths)):
        got, last = convolved(part, weight, bias, before[slots[i]] * known[i])
        expected.append(got)
        agree(states[slots[i]], last)
    agree(out.T, torch.cat(expected))


def test_convolution_by_token(load):
    ops = load(f"{MAMBA}.causal_conv1d")
    channels, width = 64, 4
    x, weight, bias = randn(3, channels), randn(channels, width, seed=1), randn(channels, seed=2)
    states = randn(5, width - 1, channels, seed=3).transpose(1, 2)
    before, slots = states.clone(), torch.tensor([3, 1, 4], dtype=torch.int32)
    given = x.clone()
    out = ops.causal_conv1d_update(
        given, states, weight, bias, "silu", slots, out=torch.empty_like(given)
    )
    for i, slot in enumerate(slots):
        got, last = convolved(x[i : i + 1], weight, bias, before[slot])
        agree(out[i], got[0])
        agree(states[slot], last)


@pytest.mark.parametrize("module", [f"{MAMBA}.layernorm_gated", f"{FLA}.layernorm_guard"])
def test_gated_norm(load, module):
    ops = load(module)
    x, gate, weight = randn(9, 128), randn(9, 128, seed=1), randn(128, seed=2)
    norm = getattr(ops, "rms_norm_gated", None) or ops.rmsnorm_fn
    out = norm(x, weight, None, z=gate, eps=1e-6, group_size=64, norm_before_gate=False)
    gated = (x * F.silu(gate)).unflatten(1, (2, 64))
    agree(out, F.rms_norm(gated, (64,), eps=1e-6).flatten(1) * weight)


def test_lightning_attention(load, monkeypatch):
    ops = load("vllm.model_executor.layers.lightning_attn")
    monkeypatch.setattr(ops, "rearrange", lambda x, _: x.transpose(1, 2).flatten(2))
    heads, size = 2, 64
    q, k, v = (randn(1, heads, 80, size, seed=seed) * 0.3 for seed in range(3))
    slopes = torch.tensor([0.1, 0.4])
    out, _ = ops.lightning_attention(q, k, v, slopes, 64)
    distance = torch.arange(80)[:, None] - torch.arange(80)
    decay = torch.exp(-slopes[:, None, None] * distance).masked_fill(distance < 0, 0)
    agree(out, ((q @ k.transpose(-1, -2)) * decay) @ v, 1e-4)
    cache, one = randn(3, heads, size, size, seed=5), torch.tensor([2])
    before = cache.clone()
    got = ops.linear_decode_forward_triton(
        q[:, :, :1].contiguous(),
        k[:, :, :1].contiguous(),
        v[:, :, :1].contiguous(),
        cache,
        slopes,
        one,
    )
    new = before[2] * torch.exp(-slopes)[:, None, None] + k[0, :, 0, :, None] * v[0, :, :1]
    agree(cache[2], new)
    agree(got.view(heads, size), torch.einsum("hd,hde->he", q[0, :, 0], new))


def delta_rule(q, k, v, g, beta, state):
    """Gated delta rule of [tokens, heads, size]: the state is [heads, values, keys]."""
    outputs = []
    for t in range(len(q)):
        state = state * torch.exp(g[t])[..., None, None]
        wrong = v[t] - torch.einsum("hvk,hk->hv", state, k[t])
        state = state + torch.einsum("hv,hk->hvk", wrong * beta[t][:, None], k[t])
        outputs.append(torch.einsum("hvk,hk->hv", state, q[t]))
    return torch.stack(outputs) * q.shape[-1] ** -0.5, state


def delta_inputs(tokens, heads=2, size=64):
    q, k = (F.normalize(randn(1, tokens, heads, size, seed=seed), dim=-1) for seed in (0, 1))
    v, g = randn(1, tokens, heads, size, seed=2), F.logsigmoid(randn(1, tokens, heads, seed=3))
    return q, k, v, g, torch.sigmoid(randn(1, tokens, heads, seed=4))


def test_gated_delta_rule_in_chunks(load):
    ops = load(f"{FLA}.chunk")
    q, k, v, g, beta = delta_inputs(150)
    q, k, v, beta = (tensor.bfloat16() for tensor in (q, k, v, beta))
    state = randn(1, 2, 64, 64, seed=5)
    out, last = ops.chunk_gated_delta_rule(
        q, k, v, g, beta, initial_state=state, output_final_state=True
    )
    given = (tensor[0].float() for tensor in (q, k, v, g, beta))
    expected, final = delta_rule(*given, state[0])
    agree(out[0], expected)
    agree(last[0], final, 3e-2)


def test_gated_delta_rule_by_token(load):
    ops = load(f"{FLA}.fused_recurrent")
    given, state = delta_inputs(7), randn(1, 2, 64, 64, seed=5)
    out, last = ops.fused_recurrent_gated_delta_rule(
        *given, initial_state=state.clone(), inplace_final_state=False
    )
    expected, final = delta_rule(*(tensor[0] for tensor in given), state[0])
    agree(out[0], expected)
    agree(last[-1], final)


def test_sigmoid_gating(load):
    ops = load(f"{FLA}.fused_sigmoid_gating")
    q, k, v, a, b = delta_inputs(7)
    logs, bias, state = randn(2, seed=6), randn(2, seed=7), randn(1, 2, 64, 64, seed=5)
    out, _ = ops.fused_sigmoid_gating_delta_rule_update(
        logs, a, b, bias, q, k, v, initial_state=state.clone(), inplace_final_state=False
    )
    g = -logs.exp() * F.softplus(a + bias)
    expected, _ = delta_rule(q[0], k[0], v[0], g[0], b[0].sigmoid(), state[0])
    agree(out[0], expected)


def test_parts_of_the_delta_rule(load):
    x = randn(9, 128)
    agree(load(f"{FLA}.l2norm").l2norm_fwd(x), F.normalize(x, dim=-1))
    steps = randn(1, 100, 4)
    parts = [part.cumsum(1) for part in steps.split(32, 1)]
    agree(load(f"{FLA}.cumsum").chunk_local_cumsum(steps, 32), torch.cat(parts, 1))


@pytest.mark.parametrize("size", [16, 32, 64])
def test_inverse_of_triangles(load, size):
    ops = load(f"{FLA}.solve_tril")
    lower = randn(1, 2 * size, 3, size) * 0.1
    at = torch.arange(2 * size) % size
    lower = lower.masked_fill(torch.arange(size)[None, None, None] >= at[None, :, None, None], 0)
    blocks = lower.view(1, 2, size, 3, size).transpose(2, 3)
    expected = torch.linalg.inv(torch.eye(size) + blocks).transpose(2, 3).reshape(lower.shape)
    agree(ops.solve_tril(lower), expected)


def test_norm_with_gate(load):
    ops = load(f"{FLA}.fused_norm_gate")
    x, gate, weight = randn(9, 128), randn(9, 128, seed=1), randn(128, seed=2)
    expected = F.rms_norm(x, (128,), weight, 1e-6) * F.silu(gate)
    agree(ops.rms_norm_gated(x, gate, weight, None), expected)


def test_kimi_delta_attention(load):
    ops = load(f"{FLA}.kda")
    q, k, v, _, beta = delta_inputs(130)
    g, state = F.logsigmoid(randn(1, 130, 2, 64, seed=6)), randn(1, 2, 64, 64, seed=5)
    # It writes the result over the values that it is given.
    given = (q, k, v.clone(), g, beta)
    out, last = ops.chunk_kda(*given, initial_state=state, output_final_state=True)
    expected, now = [], state[0]
    for t in range(130):
        now = now * g[0, t].exp()[:, None]
        wrong = v[0, t] - torch.einsum("hvk,hk->hv", now, k[0, t])
        now = now + torch.einsum("hv,hk->hvk", wrong * beta[0, t][:, None], k[0, t])
        expected.append(torch.einsum("hvk,hk->hv", now, q[0, t]) / 8)
    agree(out[0], torch.stack(expected), 1e-3)
    agree(last[0], now, 1e-3)
