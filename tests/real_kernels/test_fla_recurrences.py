"""Kernels of flash-linear-attention: recurrences over a state, by chunks and step by step."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, agree_with_gradients, randn
from fla_inputs import BATCH, HEADS, TIME, WIDTH, decay, halves, heads_first, rate, unit, vector

PACKAGE = "fla"

TOLERANCE = 1e-3
# Of operators that take 16-bit numbers only.
HALF_TOLERANCE = 2e-2


def state(seed=9):
    return randn(BATCH, HEADS, WIDTH, WIDTH, seed=seed)


@pytest.mark.parametrize("name", ["chunk_gla", "fused_recurrent_gla"])
def test_gated_linear_attention(load, name):
    ops, naive = load("fla.ops.gla"), load("fla.ops.gla.naive")
    gate = "g" if name == "chunk_gla" else "gk"
    agree_with_gradients(
        lambda q, k, v, g, h: getattr(ops, name)(
            q, k, v, **{gate: g}, initial_state=h, output_final_state=True
        ),
        lambda q, k, v, g, h: naive.naive_recurrent_gla(q, k, v, g, h, True),
        *(vector(0), vector(1), vector(2), decay(3, WIDTH), state()),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("name", ["chunk", "fused_chunk", "fused_recurrent"])
def test_gated_linear_attention_with_a_gate_per_head(load, name):
    ops, naive = load("fla.ops.simple_gla"), load("fla.ops.simple_gla.naive")
    agree_with_gradients(
        lambda q, k, v, g, h: getattr(ops, f"{name}_simple_gla")(
            q, k, v, g=g, initial_state=h, output_final_state=True
        ),
        lambda q, k, v, g, h: naive.naive_recurrent_simple_gla(
            q, k, v, g, initial_state=h, output_final_state=True
        ),
        *(vector(0), vector(1), vector(2), decay(3), state()),
        tolerance=TOLERANCE,
    )


def test_gated_linear_attention_in_parallel(load):
    ops, naive = load("fla.ops.simple_gla"), load("fla.ops.simple_gla.naive")
    agree_with_gradients(
        lambda q, k, v, g: ops.parallel_simple_gla(q, k, v, g=g)[0],
        lambda q, k, v, g: naive.naive_recurrent_simple_gla(q, k, v, g)[0],
        *(vector(0), vector(1), vector(2), decay(3)),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("name", ["chunk", "fused_chunk", "fused_recurrent", "parallel"])
def test_retention(load, name):
    ops, naive = load("fla.ops.retention"), load("fla.ops.retention.naive")
    agree_with_gradients(
        lambda q, k, v: getattr(ops, f"{name}_retention")(q, k, v)[0],
        lambda q, k, v: naive.naive_retention(*heads_first(q, k, v)).transpose(1, 2),
        *(vector(0), vector(1), vector(2)),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("name", ["chunk", "fused_chunk", "fused_recurrent"])
def test_linear_attention(load, name):
    ops, naive = load("fla.ops.linear_attn"), load("fla.ops.linear_attn.naive")
    agree_with_gradients(
        lambda q, k, v, h: getattr(ops, f"{name}_linear_attn")(
            q, k, v, initial_state=h, output_final_state=True, normalize=False
        ),
        lambda q, k, v, h: naive.naive_recurrent_linear_attn(
            q, k, v, initial_state=h, output_final_state=True
        ),
        *(vector(0), vector(1), vector(2), state()),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("name", ["chunk", "fused_recurrent"])
def test_delta_rule(load, name):
    ops, naive = load("fla.ops.delta_rule"), load("fla.ops.delta_rule.naive")

    def reference(q, k, v, beta, h):
        out, last = naive.delta_rule_recurrence(*heads_first(q, k, v, beta), initial_state=h)
        return out.transpose(1, 2), last

    inputs = (vector(0), unit(1), vector(2), rate(3))
    inputs = halves(*inputs) if name == "chunk" else inputs
    agree_with_gradients(
        lambda q, k, v, beta, h: getattr(ops, f"{name}_delta_rule")(
            q, k, v, beta, initial_state=h, output_final_state=True
        ),
        reference,
        *(*inputs, state()),
        tolerance=HALF_TOLERANCE if name == "chunk" else TOLERANCE,
    )


@pytest.mark.parametrize("name", ["chunk", "fused_recurrent"])
def test_gated_delta_rule(load, name):
    ops, naive = load("fla.ops.gated_delta_rule"), load("fla.ops.gated_delta_rule.naive")
    inputs = (vector(0), unit(1), vector(2), decay(3), rate(4), state())

    def function(q, k, v, g, beta, h):
        call = getattr(ops, f"{name}_gated_delta_rule")
        return call(q, k, v, g=g, beta=beta, initial_state=h, output_final_state=True)

    def reference(q, k, v, g, beta, h):
        return naive.naive_recurrent_gated_delta_rule(
            q, k, v, beta, g, initial_state=h, output_final_state=True
        )

    if name == "chunk":
        agree_with_gradients(function, reference, *inputs, tolerance=TOLERANCE)
    else:
        with torch.no_grad():
            agree(function(*inputs), reference(*inputs), TOLERANCE)


def test_gated_delta_product(load):
    ops = load("fla.ops.gated_delta_product")
    naive = load("fla.ops.gated_delta_product.naive")

    def twice(tensor, seed):
        return torch.cat([tensor, tensor.roll(seed, 1)], 1)

    agree_with_gradients(
        lambda q, k, v, g, beta: ops.chunk_gated_delta_product(
            q, k, v, g, beta, num_householder=2, output_final_state=True
        ),
        lambda q, k, v, g, beta: naive.naive_recurrent_gated_delta_product(
            q, k, v, g, beta, WIDTH**-0.5, None, None, True, 2
        ),
        *halves(vector(0), twice(unit(1), 1), twice(vector(2), 3)),
        decay(3),
        *halves(twice(rate(4), 5)),
        tolerance=HALF_TOLERANCE,
    )


@pytest.mark.parametrize("name", ["chunk", "fused_recurrent"])
def test_delta_attention(load, name):
    ops, naive = load("fla.ops.kda"), load("fla.ops.kda.naive")
    inputs = (unit(0), unit(1), vector(2), decay(3, WIDTH), rate(4), state())

    def function(q, k, v, g, beta, h):
        call = getattr(ops, f"{name}_kda")
        return call(q, k, v, g, beta, initial_state=h, output_final_state=True)

    def reference(q, k, v, g, beta, h):
        return naive.naive_recurrent_kda(q, k, v, g, beta, initial_state=h, output_final_state=True)

    if name == "chunk":
        agree_with_gradients(function, reference, *inputs, tolerance=TOLERANCE)
    else:
        with torch.no_grad():
            agree(function(*inputs), reference(*inputs), TOLERANCE)


@pytest.mark.parametrize("name", ["chunk", "fused_recurrent"])
def test_gated_slot_attention(load, name):
    ops, naive = load("fla.ops.gsa"), load("fla.ops.gsa.naive")
    agree_with_gradients(
        lambda q, k, v, s, g: getattr(ops, f"{name}_gsa")(q, k, v, s, g)[0],
        lambda q, k, v, s, g: naive.naive_recurrent_gsa(q, k, v, s, g)[0],
        *(vector(0), vector(1), vector(2), vector(3), decay(4, WIDTH)),
        tolerance=TOLERANCE,
    )


def test_attention_with_bounded_memory(load):
    ops, naive = load("fla.ops.abc"), load("fla.ops.abc.naive")
    agree_with_gradients(
        lambda q, k, v, s: ops.chunk_abc(q, k, v, s)[0],
        lambda q, k, v, s: naive.naive_recurrent_abc(*heads_first(q, k, v, s))[0].transpose(1, 2),
        *(vector(0), vector(1), vector(2), vector(3)),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("name", ["chunk", "fused_recurrent"])
def test_gated_recurrence(load, name):
    ops, naive = load("fla.ops.hgrn"), load("fla.ops.hgrn.naive")
    agree_with_gradients(
        lambda x, g: getattr(ops, f"{name}_hgrn")(x, g)[0],
        lambda x, g: naive.naive_recurrent_hgrn(x, g)[0],
        *(vector(0).flatten(2), decay(1, WIDTH).flatten(2)),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("name", ["chunk", "fused_recurrent"])
def test_bilinear_recurrence(load, name):
    ops, naive = load("fla.ops.comba"), load("fla.ops.comba.naive")
    inputs = (unit(0), unit(1), vector(2), unit(3), decay(4), rate(5))

    def function(q, k, v, p, g, beta):
        call = getattr(ops, f"{name}_comba")
        return call(q=q, k=k, v=v, p=p, g=g, beta=beta, output_final_state=True)

    def reference(q, k, v, p, g, beta):
        # The kernels correct by the state before it decays, as the naive code by chunks does.
        return naive.naive_chunk_comba(q, k, v, p, g, beta, output_final_state=True)

    if name == "chunk":
        agree_with_gradients(function, reference, *inputs, tolerance=TOLERANCE)
    else:
        with torch.no_grad():
            agree(function(*inputs), reference(*inputs), TOLERANCE)


@pytest.mark.parametrize("name", ["chunk", "fused_recurrent"])
def test_diagonal_and_low_rank(load, name):
    ops = load("fla.ops.generalized_delta_rule.dplr")
    naive = load("fla.ops.generalized_delta_rule.dplr.naive")
    inputs = (vector(0), vector(1), vector(2), unit(3), -unit(3), decay(4, WIDTH))

    def reference(q, k, v, a, b, g):
        out, last = naive.dplr_recurrence(*heads_first(q, k, v, a, b, g))
        return out.transpose(1, 2), last

    def function(q, k, v, a, b, g):
        call = getattr(ops, f"{name}_dplr_delta_rule")
        return call(q, k, v, a, b, g, output_final_state=True)

    if name == "chunk":
        agree_with_gradients(function, reference, *inputs, tolerance=TOLERANCE)
    else:
        with torch.no_grad():
            agree(function(*inputs), reference(*inputs), TOLERANCE)


@pytest.mark.parametrize("name", ["chunk", "fused_recurrent"])
def test_identity_and_low_rank(load, name):
    ops = load("fla.ops.generalized_delta_rule.iplr")
    naive = load("fla.ops.generalized_delta_rule.iplr.naive")
    inputs = (vector(0), vector(1), vector(2), unit(3), -unit(3))

    def reference(q, k, v, a, b):
        out, last = naive.iplr_recurrence(*heads_first(q, k, v, a, b))
        return out.transpose(1, 2), last

    def function(q, k, v, a, b):
        call = getattr(ops, f"{name}_iplr_delta_rule")
        return call(q, k, v, a, b, output_final_state=True)

    if name == "fused_recurrent":
        agree_with_gradients(function, reference, *inputs, tolerance=TOLERANCE)
    else:
        with torch.no_grad():
            agree(function(*inputs), reference(*inputs), TOLERANCE)


@pytest.mark.parametrize("name", ["chunk", "fused_recurrent"])
def test_rwkv6(load, name):
    ops = load("fla.ops.rwkv6")
    inputs = (vector(0), vector(1), vector(2), decay(3, WIDTH), randn(HEADS, WIDTH, seed=4))

    def reference(r, k, v, w, u):
        memory, outputs = torch.zeros(BATCH, HEADS, WIDTH, WIDTH), []
        for at in range(TIME):
            new = k[:, at, :, :, None] * v[:, at, :, None]
            seen = memory + u[:, :, None] * new
            outputs.append((r[:, at, :, :, None] * WIDTH**-0.5 * seen).sum(2))
            memory = memory * w[:, at].exp()[..., None] + new
        return torch.stack(outputs, 1)

    agree_with_gradients(
        lambda *given: getattr(ops, f"{name}_rwkv6")(*given)[0],
        reference,
        *inputs,
        tolerance=TOLERANCE,
    )


def test_rwkv7(load):
    ops, naive = load("fla.ops.rwkv7"), load("fla.ops.generalized_delta_rule.dplr.naive")
    agree_with_gradients(
        lambda r, w, k, v, a, b: ops.chunk_rwkv7(r, w, k, v, a, b, scale=WIDTH**-0.5)[0],
        lambda r, w, k, v, a, b: naive.dplr_recurrence(*heads_first(r, k, v, a, b, w))[0].transpose(
            1, 2
        ),
        *(vector(0), decay(1, WIDTH), vector(2), vector(3), unit(4), -unit(4)),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("name", ["chunk", "fused_chunk"])
def test_test_time_training(load, name):
    ops, naive = load("fla.ops.ttt"), load("fla.ops.ttt.naive")
    eta, scale = randn(BATCH, TIME, HEADS, 1, seed=5) * 5e-3, WIDTH**-0.5
    call = getattr(ops, f"{name}_ttt_linear")
    agree_with_gradients(
        lambda *given: call(*given, eta, scale, chunk_size=16)[0],
        lambda *given: naive.chunk_ttt_linear_ref(*given, eta, scale, mini_batch_size=16)[0],
        *(vector(0), unit(1), vector(2)),
        *(randn(HEADS, WIDTH, seed=seed) for seed in (3, 4)),
        tolerance=TOLERANCE,
    )


def test_mesa_layer(load):
    ops, naive = load("fla.ops.mesa_net"), load("fla.ops.mesa_net.naive")
    lamb = randn(HEADS, WIDTH, seed=5).sigmoid() * 0.75 + 0.25
    zero = torch.zeros(BATCH, HEADS, WIDTH, WIDTH)
    agree_with_gradients(
        lambda q, k, v, g, beta: ops.chunk_mesa_net(q, k, v, g, beta, lamb, max_CG_iteration=WIDTH)[
            0
        ],
        lambda q, k, v, g, beta: naive.naive_mesa_net_exact(q, k, v, g, lamb, beta, zero, zero)[0],
        *(vector(0) / 10, unit(1), vector(2) / 10, decay(3), rate(4)),
        tolerance=5e-3,
    )


@pytest.mark.parametrize("name", ["chunk", "fused_recurrent"])
def test_lightning_attention(load, name):
    ops, naive = load("fla.ops.lightning_attn"), load("fla.ops.simple_gla.naive")
    slopes = -(8 / HEADS * (1 - 1 / 4)) * torch.arange(HEADS)
    gates = slopes.expand(BATCH, TIME, HEADS)
    agree_with_gradients(
        lambda *given: getattr(ops, f"{name}_lightning_attn")(*given, 1, 4)[0],
        lambda *given: naive.naive_recurrent_simple_gla(*given, gates)[0],
        *(vector(0), vector(1), vector(2)),
        tolerance=TOLERANCE,
    )


def test_logarithmic_linear_attention(load):
    ops, naive = load("fla.ops.log_linear_attn"), load("fla.ops.log_linear_attn.naive")
    time = 128
    q, k = (randn(1, time, 1, 64, seed=seed) for seed in range(2))
    v = randn(1, time, HEADS, 64, seed=2)
    g = F.logsigmoid(randn(1, time, HEADS, seed=3) + 2)
    scales = randn(1, time, HEADS, 8, seed=4)
    out, _ = ops.chunk_log_linear_attn(q, k, v, g, scales)
    agree(out, naive.naive_log_linear_attn(q, k, v, g, scales), TOLERANCE)
