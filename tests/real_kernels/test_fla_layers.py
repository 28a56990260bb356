"""Kernels of flash-linear-attention: norms, activations, losses and other parts of layers."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, agree_with_gradients, randint, randn
from fla_inputs import BATCH, TIME, WIDTH, vector

PACKAGE = "fla"
TOLERANCE = 2e-4


def test_unit_vectors(load):
    ops = load("fla.modules.norm.l2norm")
    agree_with_gradients(ops.l2norm, lambda x: F.normalize(x, dim=-1), vector(0), tolerance=1e-4)
    wide = randn(3, 3000)
    agree_with_gradients(ops.l2norm, lambda x: F.normalize(x, dim=-1), wide, tolerance=1e-4)


@pytest.mark.parametrize("width", [60, 1500])
def test_norms(load, width):
    ops = load("fla.modules.norm.layernorm")
    x, weight, bias = randn(40, width), randn(width, seed=1), randn(width, seed=2)
    agree_with_gradients(
        ops.layer_norm,
        lambda x, w, b: F.layer_norm(x, (width,), w, b),
        *(x, weight, bias),
        tolerance=TOLERANCE,
    )
    agree_with_gradients(
        lambda x, w: ops.rms_norm(x, w, None, eps=1e-5),
        lambda x, w: F.rms_norm(x, (width,), w, 1e-5),
        *(x, weight),
        tolerance=TOLERANCE,
    )
    agree_with_gradients(
        lambda x, w, b: ops.group_norm(x, w, b, num_groups=4),
        lambda x, w, b: F.group_norm(x, 4, w, b),
        *(x, weight, bias),
        tolerance=TOLERANCE,
    )


def test_norm_before_a_linear_layer(load):
    ops = load("fla.modules.norm.layernorm")
    agree_with_gradients(
        lambda x, w, matrix: ops.rms_norm_linear(x, w, None, matrix, None, eps=1e-5),
        lambda x, w, matrix: F.linear(F.rms_norm(x, (60,), w, 1e-5), matrix),
        *(randn(40, 60), randn(60, seed=1), randn(30, 60, seed=2)),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("width", [64, 1500])
@pytest.mark.parametrize("activation", ["swish", "sigmoid"])
def test_gated_norms(load, activation, width):
    ops = load("fla.modules.norm.fused_norm_gate")
    gate = F.silu if activation == "swish" else torch.sigmoid
    inputs = (randn(20, width), randn(20, width, seed=1), randn(width, seed=2))
    agree_with_gradients(
        lambda x, g, w: ops.rms_norm_gated(x, g, w, None, activation, eps=1e-5),
        lambda x, g, w: F.rms_norm(x, (width,), w, 1e-5) * gate(g),
        *inputs,
        tolerance=TOLERANCE,
    )
    agree_with_gradients(
        lambda x, g, w, b: ops.layer_norm_gated(x, g, w, b, activation),
        lambda x, g, w, b: F.layer_norm(x, (width,), w, b) * gate(g),
        *(*inputs, randn(width, seed=3)),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("before", [True, False])
def test_norm_of_groups_with_a_gate(load, before):
    ops = load("fla.modules.norm.layernorm_gated")
    agree_with_gradients(
        lambda x, w, z: ops.rmsnorm_fn(
            x, w, None, z, eps=1e-5, group_size=64, norm_before_gate=before
        ),
        lambda x, w, z: ops.rms_norm_ref(
            x, w, None, z, eps=1e-5, group_size=64, norm_before_gate=before
        ),
        *(randn(20, 128), randn(128, seed=1), randn(20, 128, seed=2)),
        tolerance=TOLERANCE,
    )


def test_activations(load):
    ops = load("fla.modules.activations.ops")
    x, y = randn(30, 70), randn(30, 70, seed=1)
    one = {
        "sigmoid": torch.sigmoid,
        "elu_p1": lambda x: F.elu(x) + 1,
        "logsigmoid": F.logsigmoid,
        "swish": F.silu,
    }
    for name, reference in one.items():
        agree_with_gradients(getattr(ops, name), reference, x, tolerance=TOLERANCE)
    two = {
        "swiglu": lambda x, y: F.silu(x) * y,
        "sigmoidglu": lambda x, y: torch.sigmoid(x) * y,
    }
    for name, reference in two.items():
        agree_with_gradients(getattr(ops, name), reference, x, y, tolerance=TOLERANCE)
    agree_with_gradients(
        lambda x, y, w: ops.swiglu_linear(x, y, w, None),
        lambda x, y, w: F.linear(F.silu(x) * y, w),
        *(x, y, randn(20, 70, seed=2)),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_embedding(load, interleaved):
    ops = load("fla.modules.rotary.ops")
    angles = torch.outer(torch.arange(float(TIME)), torch.logspace(0, -2, WIDTH // 2))
    cos, sin = angles.cos(), angles.sin()
    agree_with_gradients(
        lambda x: ops.rotary_embedding(x, cos, sin, interleaved=interleaved),
        lambda x: ops.rotary_embedding_ref(x, cos, sin, interleaved),
        vector(0),
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize("activation", [None, "swish"])
def test_causal_convolution(load, activation):
    ops = load("fla.modules.causal_conv1d.ops")
    channels, taps = 70, 4

    def reference(x, weight, bias, residual):
        padded = F.pad(x.transpose(1, 2), (taps - 1, 0))
        out = F.conv1d(padded, weight[:, None], bias, groups=channels).transpose(1, 2)
        return (F.silu(out) if activation else out) + residual

    agree_with_gradients(
        lambda x, weight, bias, residual: ops.causal_conv1d(
            x, weight, bias, residual, activation=activation
        )[0],
        reference,
        randn(BATCH, TIME, channels),
        randn(channels, taps, seed=1),
        randn(channels, seed=2),
        randn(BATCH, TIME, channels, seed=3),
        tolerance=TOLERANCE,
    )


def test_token_shift(load):
    ops = load("fla.modules.token_shift")
    x = randn(BATCH, TIME, 96)
    agree_with_gradients(ops.token_shift, lambda x: F.pad(x, (0, 0, 1, -1)) - x, x)
    bounds = torch.tensor([0, 3, 40, TIME])

    def reference(x):
        parts = x.split([3, 37, TIME - 40], 1)
        return torch.cat([F.pad(part, (0, 0, 1, -1)) - part for part in parts], 1)

    agree_with_gradients(lambda x: ops.token_shift(x, bounds), reference, x[:1])


def test_divergence_of_two_linear_layers(load):
    ops = load("fla.modules.fused_kl_div.ops")
    target, teacher = randn(40, 24, seed=2), randn(70, 24, seed=3)
    truth = torch.softmax(target @ teacher.T, -1)
    agree_with_gradients(
        lambda x, w: ops.fused_kl_div_loss(x, target, w, teacher),
        lambda x, w: F.kl_div(torch.log_softmax(x @ w.T, -1), truth, reduction="batchmean"),
        *(randn(40, 24), randn(70, 24, seed=1)),
        tolerance=TOLERANCE,
    )


def test_cross_entropy_of_a_linear_layer(load):
    ops = load("fla.modules.fused_linear_cross_entropy.ops")
    target = randint(0, 90, [40])
    target[3] = -100
    agree_with_gradients(
        lambda x, w, b: ops.fused_linear_cross_entropy_loss(x, target, w, b, num_chunks=2),
        lambda x, w, b: F.cross_entropy(x @ w.T + b, target),
        *(randn(40, 24), randn(90, 24, seed=1), randn(90, seed=2)),
        tolerance=TOLERANCE,
    )


def test_policy_loss(load):
    ops = load("fla.modules.grpo.ops")
    ids, mask = randint(0, 50, [3, 8]), torch.ones(3, 8, dtype=torch.int32)
    mask[1, 5:] = 0
    old, advantages = randn(3, 8, seed=1) - 4, randn(3, seed=2)
    agree_with_gradients(
        lambda logits: ops.fused_grpo_loss(logits, old, ids, advantages, 0.1, mask),
        lambda logits: ops.grpo_loss_torch(logits, old, ids, advantages, 0.1, mask),
        randn(3, 9, 50),
        tolerance=TOLERANCE,
    )


def test_parts_of_rwkv7(load):
    mixing, update = load("fla.ops.rwkv7.fused_addcmul"), load("fla.ops.rwkv7.fused_k_update")
    x, delta = randn(BATCH, TIME, 64), randn(BATCH, TIME, 64, seed=1)
    weights = [randn(1, 1, 64, seed=seed) for seed in range(2, 8)]
    agree_with_gradients(
        mixing.fused_addcmul_rwkv7,
        mixing.torch_addcmul_rwkv7,
        *(x, delta, *weights),
        tolerance=TOLERANCE,
    )
    agree_with_gradients(
        update.fused_k_rwkv7,
        update.k_update_ref,
        *(x, delta.sigmoid(), randn(64, seed=8)),
        tolerance=TOLERANCE,
    )


def test_quantised_linear_layer(load):
    ops, quant = load("fla.modules.fused_bitlinear"), load("fla.modules.norm.layernorm_quant")
    x, weight, norm = randn(40, 64), randn(30, 64, seed=1), randn(64, seed=2)
    normed = F.rms_norm(x, (64,), norm, 1e-6)
    scale = 127 / normed.abs().amax(-1, keepdim=True).clamp(min=1e-5)
    rounded = (normed * scale).round().clamp(-128, 127) / scale
    expected = F.linear(rounded, quant.weight_quant(weight))
    out = ops.layer_norm_linear_quant_fn(x, norm, None, weight, None, eps=1e-6, is_rms_norm=True)
    agree(out, expected, 2e-2)
