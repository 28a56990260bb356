"""Kernels of Liger-Kernel: layers, losses and their gradients."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, agree_with_gradients, randint, randn

PACKAGE = "liger_kernel"


def on_two_cores(monkeypatch, ops):
    """For operators that read the number of cores of a GPU or an NPU only."""
    monkeypatch.setattr(ops, "infer_device", lambda: "npu")
    monkeypatch.setattr(ops, "get_npu_core_count", lambda *_: 2)


@pytest.mark.parametrize("row_mode", [True, False])
@pytest.mark.parametrize("casting", ["llama", "gemma", "none"])
def test_rms_norm(load, casting, row_mode):
    ops = load("liger_kernel.ops.rms_norm")
    offset = 1.0 if casting == "gemma" else 0.0
    agree_with_gradients(
        lambda x, w: ops.LigerRMSNormFunction.apply(x, w, 1e-6, offset, casting, True, row_mode),
        lambda x, w: F.rms_norm(x, (300,), w + offset, 1e-6),
        randn(37, 300),
        randn(300, seed=1),
    )


def test_fused_add_rms_norm(load, monkeypatch):
    ops = load("liger_kernel.ops.fused_add_rms_norm")
    monkeypatch.setattr(ops, "get_npu_core_count", lambda *_: 2, raising=False)

    def reference(x, residual, weight):
        total = x + residual
        return F.rms_norm(total, (200,), weight, 1e-6), total

    agree_with_gradients(
        lambda x, r, w: ops.LigerFusedAddRMSNormFunction.apply(x, r, w, 1e-6),
        reference,
        randn(6, 200),
        randn(6, 200, seed=1),
        randn(200, seed=2),
    )


def test_layer_norm(load):
    ops = load("liger_kernel.ops.layer_norm")
    agree_with_gradients(
        lambda x, w, b: ops.LigerLayerNormFunction.apply(x, w, b, 1e-6),
        lambda x, w, b: F.layer_norm(x, (300,), w, b, 1e-6),
        randn(7, 300),
        randn(300, seed=1),
        randn(300, seed=2),
    )


def test_group_norm(load):
    ops = load("liger_kernel.ops.group_norm")
    agree_with_gradients(
        lambda x, w, b: ops.LigerGroupNormFunction.apply(x, w, b, 12, 3, 1e-6),
        lambda x, w, b: F.group_norm(x, 3, w, b, 1e-6),
        randn(2, 12, 40),
        randn(12, seed=1),
        randn(12, seed=2),
        tolerance=1e-4,
    )


def test_poly_norm(load):
    ops = load("liger_kernel.ops.poly_norm")

    def reference(x, weight, bias):
        powers = [F.rms_norm(x**power, (100,), eps=1e-6) for power in (3, 2, 1)]
        return sum(w * power for w, power in zip(weight, powers, strict=True)) + bias

    agree_with_gradients(
        lambda x, w, b: ops.LigerPolyNormFunction.apply(x, w, b, 1e-6, False),
        reference,
        randn(5, 100),
        randn(3, seed=1),
        torch.tensor(0.3),
        tolerance=1e-4,
    )


def test_modulated_rms_norm(load):
    ops = load("liger_kernel.ops.modulated_rms_norm")
    agree_with_gradients(
        lambda x, w, scale, shift: ops.LigerModulatedRMSNormFunction.apply(
            x, w, scale, shift, 1e-6, 0.0, "llama", False
        ),
        lambda x, w, scale, shift: (
            F.rms_norm(x, (100,), w, 1e-6) * (1 + scale[:, None]) + shift[:, None]
        ),
        randn(2, 4, 100),
        randn(100, seed=1),
        randn(2, 100, seed=2),
        randn(2, 100, seed=3),
    )


@pytest.mark.parametrize("beta", [True, False])
def test_dynamic_tanh(load, monkeypatch, beta):
    ops = load("liger_kernel.ops.dyt")
    on_two_cores(monkeypatch, ops)
    inputs = [randn(6, 130), randn(1, seed=1), randn(130, seed=2)]
    inputs += [randn(130, seed=3)] if beta else []
    agree_with_gradients(
        lambda x, alpha, gamma, beta=None: ops.LigerDyTFunction.apply(x, alpha, gamma, beta),
        lambda x, alpha, gamma, beta=0.0: gamma * torch.tanh(alpha * x) + beta,
        *inputs,
    )


def test_geglu(load):
    ops = load("liger_kernel.ops.geglu")
    agree_with_gradients(
        ops.LigerGELUMulFunction.apply,
        lambda a, b: F.gelu(a, approximate="tanh") * b,
        randn(5, 300),
        randn(5, 300, seed=1),
    )


@pytest.mark.parametrize("tiled", [False, True])
def test_swiglu(load, monkeypatch, tiled):
    ops = load("liger_kernel.ops.swiglu")
    monkeypatch.setattr(ops, "_should_tile", lambda _: tiled)
    agree_with_gradients(
        ops.LigerSiLUMulFunction.apply,
        lambda a, b: F.silu(a) * b,
        randn(5, 300),
        randn(5, 300, seed=1),
    )
    agree_with_gradients(
        lambda y: ops.LigerFusedGateUpSiLUMulFunction.apply(y, False),
        lambda y: F.silu(y.chunk(2, -1)[0]) * y.chunk(2, -1)[1],
        randn(5, 256),
    )


def test_relu_squared(load):
    ops = load("liger_kernel.ops.relu_squared")
    apply = ops.LigerReLUSquaredFunction.apply
    agree_with_gradients(apply, lambda x: torch.relu(x) ** 2, randn(5, 300))


@pytest.mark.parametrize("columns", [100, 5000])
def test_softmax(load, columns):
    ops = load("liger_kernel.ops.softmax")
    apply = ops.LigerSoftmaxFunction.apply
    agree_with_gradients(apply, lambda x: torch.softmax(x, -1), randn(3, columns))


def test_sparsemax(load):
    ops = load("liger_kernel.ops.sparsemax")

    def reference(x):
        ordered = x.sort(-1, descending=True).values
        cumulated = ordered.cumsum(-1) - 1
        counts = torch.arange(1, x.shape[-1] + 1)
        support = (counts * ordered > cumulated).sum(-1, keepdim=True)
        threshold = cumulated.gather(-1, support - 1) / support
        return torch.relu(x - threshold)

    agree_with_gradients(lambda x: ops.LigerSparsemaxFunction.apply(x, -1), reference, randn(4, 60))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(load, monkeypatch, weighted, smoothing):
    ops = load("liger_kernel.ops.cross_entropy")
    target = randint(0, 300, [9], seed=1)
    target[3] = -100
    weight = randn(300, seed=2).abs() if weighted else None
    agree_with_gradients(
        lambda x: ops.LigerCrossEntropyFunction.apply(
            x, target, weight, -100, 0.0, smoothing, "mean"
        )[0],
        lambda x: F.cross_entropy(x, target, weight, label_smoothing=smoothing),
        randn(9, 300),
    )


def test_fused_linear_cross_entropy(load):
    ops = load("liger_kernel.ops.fused_linear_cross_entropy")
    target = randint(0, 90, [11], seed=1)
    agree_with_gradients(
        lambda x, w, b: ops.LigerFusedLinearCrossEntropyFunction.apply(x, w, target, b)[0],
        lambda x, w, b: F.cross_entropy(x @ w.T + b, target),
        randn(11, 32),
        randn(90, 32, seed=2),
        randn(90, seed=3),
    )


@pytest.mark.parametrize("log_target", [False, True])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean", "batchmean"])
def test_kl_divergence(load, reduction, log_target):
    ops = load("liger_kernel.ops.kl_div")
    truth = torch.log_softmax(randn(5, 300, seed=1), -1)
    truth = truth if log_target else truth.exp()
    agree_with_gradients(
        lambda x: ops.LigerKLDivLossFunction.apply(x, truth, reduction, log_target),
        lambda x: F.kl_div(x, truth, reduction=reduction, log_target=log_target),
        torch.log_softmax(randn(5, 300), -1),
    )


def jensen_shannon(x, y, beta):
    """Of two distributions as logarithms; with beta 0 and 1 a divergence of Kullback-Leibler."""
    if beta in (0.0, 1.0):
        p, q = (y, x) if beta == 0.0 else (x, y)
        return (p.exp() * (p - q)).sum() / x.shape[0]
    middle = torch.log((1 - beta) * x.exp() + beta * y.exp())
    per_element = beta * y.exp() * (y - middle) + (1 - beta) * x.exp() * (x - middle)
    return per_element.sum() / x.shape[0]


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_jensen_shannon_divergence(load, beta):
    ops = load("liger_kernel.ops.jsd")
    y = torch.log_softmax(randn(6, 200, seed=1), -1)
    agree_with_gradients(
        lambda x: ops.LigerJSDFunction.apply(x, y, None, beta),
        lambda x: jensen_shannon(x, y, beta),
        torch.log_softmax(randn(6, 200), -1),
    )


def test_fused_linear_jensen_shannon_divergence(load):
    ops = load("liger_kernel.ops.fused_linear_jsd")
    teacher, teacher_weight = randn(6, 24, seed=2), randn(70, 24, seed=3)
    truth = torch.log_softmax(teacher @ teacher_weight.T, -1)
    agree_with_gradients(
        lambda x, w: ops.LigerFusedLinearJSDFunction.apply(
            x, w, teacher, teacher_weight, None, 0.5
        ),
        lambda x, w: jensen_shannon(torch.log_softmax(x @ w.T, -1), truth, 0.5),
        randn(6, 24),
        randn(70, 24, seed=1),
    )


def test_fused_linear_kl_divergence(load):
    ops = load("liger_kernel.ops.fused_linear_kl_div")
    truth = torch.softmax(randn(6, 70, seed=2), -1)
    agree_with_gradients(
        lambda x, w: ops.LigerFusedLinearKLDivFunction.apply(x, w, truth),
        lambda x, w: F.kl_div(torch.log_softmax(x @ w.T, -1), truth, reduction="batchmean"),
        randn(6, 24),
        randn(70, 24, seed=1),
    )


def test_total_variation_distance(load):
    ops = load("liger_kernel.ops.tvd")
    q = torch.softmax(randn(6, 200, seed=1), -1)
    agree_with_gradients(
        lambda p: ops.LigerTVDLossFunction.apply(p, q),
        lambda p: (p - q).abs().sum() / 2 / 6,
        torch.softmax(randn(6, 200), -1),
    )


def test_cross_entropy_with_total_variation(load):
    ops = load("liger_kernel.ops.fused_ce_tvd")
    teacher, target = randn(6, 200, seed=1), randint(0, 200, [6])

    def reference(x):
        distance = (x.softmax(-1) - teacher.softmax(-1)).abs().sum(-1) / 2
        return F.cross_entropy(x, target, reduction="none"), distance

    def function(x):
        return ops.LigerFusedCETVDFunction.apply(x, teacher, target)[:2]

    agree_with_gradients(function, reference, randn(6, 200))


def rotated(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def test_rope(load):
    ops = load("liger_kernel.ops.rope")
    angles = torch.outer(torch.arange(9.0), torch.logspace(0, -2, 16)).repeat(1, 2)[None]
    cos, sin = angles.cos(), angles.sin()
    agree_with_gradients(
        lambda q, k: ops.LigerRopeFunction.apply(q, k, cos, sin),
        lambda q, k: (rotated(q, cos, sin), rotated(k, cos, sin)),
        randn(2, 4, 9, 32),
        randn(2, 2, 9, 32, seed=1),
    )


def test_rope_of_llama4(load):
    ops = load("liger_kernel.ops.llama4_rope")
    turns = torch.polar(torch.ones(9, 16), torch.outer(torch.arange(9.0), torch.rand(16)))

    def turned(x):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], 16, 2))
        return torch.view_as_real(pairs * turns[:, None]).flatten(-2)

    agree_with_gradients(
        lambda q, k: ops.LigerLlama4RopeFunction.apply(q, k, turns),
        lambda q, k: (turned(q), turned(k)),
        randn(2, 9, 4, 32),
        randn(2, 9, 2, 32, seed=1),
    )


def test_multimodal_rope(load):
    ops = load("liger_kernel.ops.qwen2vl_mrope")
    sections = [4, 6, 6]
    angles = randn(3, 2, 9, 16, seed=2).repeat(1, 1, 1, 2)
    cos, sin = angles.cos(), angles.sin()

    def picked(table):
        parts = table.split(sections * 2, -1)
        return torch.cat([part[i % 3] for i, part in enumerate(parts)], -1)[:, None]

    agree_with_gradients(
        lambda q, k: ops.LigerQwen2VLMRopeFunction.apply(q, k, cos, sin, sections),
        lambda q, k: (
            rotated(q, picked(cos), picked(sin)),
            rotated(k, picked(cos), picked(sin)),
        ),
        randn(2, 4, 9, 32),
        randn(2, 2, 9, 32, seed=1),
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_multi_token_attention(load, sparse):
    ops = load("liger_kernel.ops.multi_token_attention")
    causal = torch.ones(16, 16, dtype=torch.bool).tril()
    if sparse:
        pytest.importorskip("entmax")

    def reference(scores, weight, bias):
        chances = scores.masked_fill(~causal, -1e9).softmax(-1)
        return F.conv2d(chances, weight, bias, padding=1).masked_fill(~causal, 0.0)

    agree_with_gradients(
        lambda scores, weight, bias: ops.LigerMultiTokenAttentionFunction.apply(
            scores, weight, bias, 1, 1, 1, 1, sparse
        ),
        reference,
        randn(2, 4, 16, 16),
        randn(4, 4, 3, 3, seed=1),
        randn(4, seed=2),
    )


def test_embedding(load):
    ops = load("liger_kernel.ops.experimental.embedding")
    at = randint(0, 20, [3, 7])
    agree_with_gradients(
        lambda table: ops.LigerEmbeddingFunction.apply(table, at),
        lambda table: F.embedding(at, table),
        randn(20, 70),
    )


def test_int8_times_int2(load):
    ops = load("liger_kernel.ops.experimental.mm_int8int2")
    a = randint(-128, 128, [40, 512]).to(torch.int8)
    packed = randint(0, 255, [128, 48], seed=1).to(torch.uint8)
    agree(ops.matmul(a, packed), a.int() @ ops.unpack_weights(packed, bits=2).int())


def test_attention_residuals(load):
    ops = load("liger_kernel.ops.attn_res")

    def reference(values, query, norm):
        keys = F.rms_norm(values, (64,), norm, 1e-6)
        chances = torch.einsum("d,nbtd->nbt", query, keys).softmax(0)
        return torch.einsum("nbt,nbtd->btd", chances, values)

    agree_with_gradients(
        lambda values, query, norm: ops.LigerAttnResFunction.apply(values, query, norm, 1e-6),
        reference,
        randn(4, 2, 5, 64),
        randn(64, seed=1),
        randn(64, seed=2),
        tolerance=1e-4,
    )


@pytest.mark.parametrize("loss", ["grpo", "bnpo", "dr_grpo", "dapo"])
def test_policy_loss(load, loss):
    ops = load("liger_kernel.ops.grpo_loss")
    ids, mask = randint(0, 50, [3, 8]), torch.ones(3, 8)
    mask[1, 5:] = 0
    old, advantages = randn(3, 8, seed=1) - 4, randn(3, seed=2)

    def function(logits):
        return ops.GrpoLossFunction.apply(
            logits, old, old, ids, advantages, mask, 0.9, 0.04, 0.2, 0.2, False, loss
        )[0]

    def reference(logits):
        logp = torch.log_softmax(logits[:, :-1] / 0.9, -1)
        logp = logp.gather(-1, ids[..., None])[..., 0]
        ratio = (logp - old).exp()
        clipped = ratio.clamp(0.8, 1.2)
        gain = torch.minimum(ratio * advantages[:, None], clipped * advantages[:, None])
        change = old - logp
        lost = (-gain + 0.04 * (change.exp() - change - 1)) * mask
        if loss == "grpo":
            return (lost.sum(-1) / mask.sum(-1)).mean()
        return lost.sum() / (mask.numel() if loss == "dr_grpo" else mask.sum())

    agree_with_gradients(function, reference, randn(3, 9, 50), tolerance=1e-4)


def test_hyper_connections(load):
    ops = load("liger_kernel.ops.mhc")
    streams, width = 4, 64

    def reference(x, phi, bias, pre, post, residual):
        flat = x.flatten(-2)
        mixed = flat @ phi * torch.rsqrt(flat.square().mean(-1, keepdim=True) + 1e-6)
        first, second, third = mixed.split([streams, streams, streams * streams], -1)
        b_first, b_second, b_third = bias.split([streams, streams, streams * streams])
        matrix = (third * residual + b_third).unflatten(-1, (streams, streams))
        matrix = matrix.softmax(-1) + 1e-6
        matrix = matrix / (matrix.sum(-2, keepdim=True) + 1e-6)
        for _ in range(7):
            matrix = matrix / (matrix.sum(-1, keepdim=True) + 1e-6)
            matrix = matrix / (matrix.sum(-2, keepdim=True) + 1e-6)
        return (
            torch.sigmoid(first * pre + b_first) + 1e-4,
            torch.sigmoid(second * post + b_second) * 2,
            matrix,
        )

    agree_with_gradients(
        lambda *given: ops.LigerMHCCoeffsFunction.apply(*given, True, 8, 1e-6, 1e-4, 1e-6, 2.0),
        reference,
        randn(5, streams, width),
        randn(streams * width, streams * (streams + 2), seed=1) * 0.02,
        randn(streams * (streams + 2), seed=2),
        torch.tensor(0.9),
        torch.tensor(1.1),
        torch.tensor(0.8),
        tolerance=2e-4,
    )
    agree_with_gradients(
        ops.LigerMHCPreFunction.apply,
        lambda x, weight: torch.einsum("nhc,nh->nc", x, weight),
        randn(5, streams, width),
        randn(5, streams, seed=1),
    )
    agree_with_gradients(
        ops.LigerMHCPostResFunction.apply,
        lambda x, f, post, residual: (
            torch.einsum("noi,nic->noc", residual, x) + post[..., None] * f[:, None]
        ),
        randn(5, streams, width),
        randn(5, width, seed=1),
        randn(5, streams, seed=2),
        randn(5, streams, streams, seed=3),
        tolerance=1e-4,
    )


@pytest.mark.parametrize("dilation", [1, 2])
def test_neighborhood_attention(load, dilation):
    ops = load("liger_kernel.ops.fused_neighborhood_attention")
    distance = torch.arange(24)[:, None] - torch.arange(24)
    near = (distance.abs() <= 2 * dilation) & (distance % dilation == 0)
    agree_with_gradients(
        lambda q, k, v: ops.LigerFusedNeighborhoodAttentionFunction.apply(q, k, v, 5, dilation),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, near),
        *(randn(2, 3, 24, 32, seed=seed) for seed in range(3)),
        tolerance=1e-4,
    )


def test_mixture_of_experts(load):
    ops = load("liger_kernel.ops.fused_moe")
    experts, chosen = 4, 2
    index = randn(13, experts, seed=5).topk(chosen).indices

    def reference(x, gate_up, down, weights):
        outputs = []
        for token, at, weight in zip(x, index, weights, strict=True):
            halves = [(gate_up[expert] @ token).chunk(2) for expert in at]
            hidden = torch.stack([F.silu(gate) * up for gate, up in halves])
            outputs.append((torch.einsum("kho,ko->kh", down[at], hidden) * weight[:, None]).sum(0))
        return torch.stack(outputs)

    agree_with_gradients(
        lambda x, gate_up, down, weights: ops.LigerFusedMoEFunction.apply(
            x, gate_up, down, index, weights
        ),
        reference,
        randn(13, 32),
        randn(experts, 64, 32, seed=1) * 0.2,
        randn(experts, 32, 32, seed=2) * 0.2,
        randn(13, chosen, seed=3).softmax(-1),
        tolerance=1e-4,
    )


def test_cross_entropy_of_a_cut_vocabulary(load):
    ops = load("liger_kernel.ops.vocab_parallel_cross_entropy")
    target = randint(0, 200, [5, 2])
    agree_with_gradients(
        lambda x: ops.LigerVocabParallelCEFunction.apply(x, target, None, -100, 0.0, "hf", "eps"),
        lambda x: F.cross_entropy(x.flatten(0, 1), target.flatten(), reduction="none").view(5, 2),
        randn(5, 2, 200),
    )
