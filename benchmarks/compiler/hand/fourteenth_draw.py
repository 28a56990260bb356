"""Three kernels of the fourteenth draw to work on, that `fourteenth_draw.c` has in intrinsics.

`random.Random(20261204)` drew six of the first 36 names, which are of deep learning and language
models, and six of the other 36, before any was written. The first three of each were to be worked
on: these and those of `fourteenth_draw2.py`. Kernels are as users write them.

    relu_squared_gate geglu_tanh_backward quick_gelu_rows softplus_backward glu_backward
    bce_logits_backward jsd_rows_backward tvd_loss_rows cross_entropy_z_loss cpo_pair_margins
    rms_norm_gated dyt_tanh_norm group_norm_backward qk_norm_rope mrope_sections
    silu_mul_fp8_groups token_int8_zero_point awq_unpack_rows q6k_dequantise moe_align_counts
    grouped_topk_experts sinkhorn_router_step target_logprobs top_n_sigma_mask
    frequency_penalty_counts inverse_cdf_sample kv_cache_scatter_int8 gla_chunk_decay
    delta_rule_step hgrn_gate_scan conv_state_update schedule_free_adamw max_unpool2d_rows
    replicate_pad_volume index_add_rows embedding_backward_sorted

    nlm_patch_weights lanczos_resize_rows marching_squares_cases thinning_pass malvar_demosaic
    gabor_energy retinex_log_ratio gcc_phat_bins mdct_window_fold lms_filter_bank hilbert_envelope
    dtw_antidiagonal golomb_rice_lengths lorenzo_residuals simple8b_unpack dictionary_decode
    hash_join_probe group_by_sums timestamp_buckets like_prefix_match kendall_tau_pairs
    ks_statistic_gaps logistic_gradient lasso_coordinate_step hmm_forward_step charge_deposit
    gray_scott_step multigrid_restrict weno5_fluxes jaccard_neighbours floyd_warshall_tile
    barrier_option_paths sabr_volatility smith_waterman_diagonal codon_translate chacha20_blocks
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def schedule_free_adamw(
    y_ptr,
    z_ptr,
    square_ptr,
    grad_ptr,
    N,
    lr,
    share,
    beta1,
    beta2,
    correction,
    eps,
    decay,
    BLOCK: tl.constexpr,
):
    """A step of AdamW without a schedule, in place: y is where gradients are taken."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    grad = tl.load(grad_ptr + at, mask=mask, other=0.0)
    square = tl.load(square_ptr + at, mask=mask, other=0.0)
    y = tl.load(y_ptr + at, mask=mask, other=0.0)
    z = tl.load(z_ptr + at, mask=mask, other=0.0)
    square = beta2 * square + (1.0 - beta2) * grad * grad
    step = grad / (tl.sqrt(square / correction) + eps) + decay * y
    y += share * (z - y)
    y += lr * (beta1 * (1.0 - share) - 1.0) * step
    tl.store(square_ptr + at, square, mask=mask)
    tl.store(y_ptr + at, y, mask=mask)
    tl.store(z_ptr + at, z - lr * step, mask=mask)


def schedule_free_adamw_arguments(N=13000):
    y = torch.randn(N)
    return {
        "y_ptr": y,
        "z_ptr": y + 0.1 * torch.randn(N),
        "square_ptr": 0.01 * torch.rand(N),
        "grad_ptr": 0.1 * torch.randn(N),
        "N": N,
        "lr": 0.0025,
        "share": 0.04,
        "beta1": 0.9,
        "beta2": 0.99,
        "correction": 0.4,
        "eps": 1e-8,
        "decay": 0.01,
    }


def schedule_free_adamw_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def schedule_free_adamw_reference(
    y_ptr, z_ptr, square_ptr, grad_ptr, lr, share, beta1, beta2, correction, eps, decay
):
    y, z, square, grad = (each.double() for each in (y_ptr, z_ptr, square_ptr, grad_ptr))
    square = beta2 * square + (1 - beta2) * grad.square()
    step = grad / ((square / correction).sqrt() + eps) + decay * y
    y = y.lerp(z, share) + lr * (beta1 * (1 - share) - 1) * step
    return {"square_ptr": square, "y_ptr": y, "z_ptr": z - lr * step}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 512)], key=[])
@triton.jit
def relu_squared_gate(x_ptr, out_ptr, D, BLOCK: tl.constexpr):
    """relu(gate)^2 * up, of rows that hold the gate and behind it what goes through it."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < D
    x = x_ptr + row * 2 * D + at
    gate = tl.load(x, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(x + D, mask=mask, other=0.0).to(tl.float32)
    gate = tl.maximum(gate, 0.0)
    tl.store(out_ptr + row * D + at, (gate * gate * up).to(out_ptr.dtype.element_ty), mask=mask)


def relu_squared_gate_arguments(M=60, D=688):
    return {
        "x_ptr": torch.randn(M, 2 * D).bfloat16(),
        "out_ptr": torch.empty(M, D, dtype=torch.bfloat16),
        "D": D,
    }


def relu_squared_gate_grid(meta):
    return (meta["M"], triton.cdiv(meta["D"], meta["BLOCK"]))


def relu_squared_gate_reference(x_ptr):
    gate, up = x_ptr.double().chunk(2, 1)
    return {"out_ptr": gate.relu().square() * up}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def target_logprobs(
    logits_ptr, token_ptr, temperature_ptr, logprob_ptr, rank_ptr, V, BLOCK: tl.constexpr
):
    """How likely each row's token is, and how many are as likely or more."""
    row = tl.program_id(0).to(tl.int64)
    logits = logits_ptr + row * V
    inverse = 1.0 / tl.load(temperature_ptr + row)
    target = tl.load(logits + tl.load(token_ptr + row))
    largest = -float("inf")
    for start in range(0, V, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(logits + at, mask=at < V, other=-float("inf"))
        largest = tl.maximum(largest, tl.max(x, axis=0))
    total = 0.0
    rank = 0
    for start in range(0, V, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(logits + at, mask=at < V, other=-float("inf"))
        total += tl.sum(tl.exp((x - largest) * inverse), axis=0)
        rank += tl.sum((x >= target).to(tl.int32), axis=0)
    tl.store(logprob_ptr + row, (target - largest) * inverse - tl.log(total))
    tl.store(rank_ptr + row, rank)


def target_logprobs_arguments(M=16, V=2500):
    return {
        "logits_ptr": 3 * torch.randn(M, V),
        "token_ptr": torch.randint(0, V, (M,)),
        "temperature_ptr": 0.5 + torch.rand(M),
        "logprob_ptr": torch.empty(M),
        "rank_ptr": torch.empty(M, dtype=torch.int32),
        "V": V,
    }


def target_logprobs_grid(meta):
    return (meta["M"],)


def target_logprobs_reference(logits_ptr, token_ptr, temperature_ptr):
    target = logits_ptr.gather(1, token_ptr[:, None])
    scaled = torch.log_softmax(logits_ptr.double() / temperature_ptr.double()[:, None], 1)
    return {
        "logprob_ptr": scaled.gather(1, token_ptr[:, None])[:, 0],
        "rank_ptr": (logits_ptr >= target).sum(1),
    }
