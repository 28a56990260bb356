"""Four held-out kernels of the fifteenth draw, that `fifteenth_held_out.c` has in intrinsics.

`random.Random(20261205)` drew four of the first 30 names, which are of deep learning, and four of
the other 30, before any was written. All eight are held out: these and those of
`fifteenth_held_out2.py`. Kernels are as users write them.

    hardswish_backward selu_rows logsumexp_backward sigmoid_focal_loss smooth_l1_backward
    kl_div_log_target poly_loss_rows cosine_embedding_backward instance_norm_rows
    layer_norm_gated_silu rms_norm_backward_rows lion_step rmsprop_centered adagrad_step
    nadam_step novograd_rows clip_by_global_norm spectral_norm_step min_p_filter
    typical_sampling_entropy eta_cutoff_rows top_p_threshold alibi_softmax_rows
    sliding_window_softmax softcap_scores attention_sink_softmax paged_kv_copy mxfp4_dequantise
    int8_zero_point_residual hadamard_rotate_rows

    sobel_non_maximum census_transform integral_image_rows local_binary_patterns
    optical_flow_update biquad_cascade spectral_flux_frames adpcm_nibble_decode cordic_rotate
    fm_discriminator lattice_boltzmann_collide lennard_jones_forces coulomb_potential_grid
    shallow_water_step kepler_newton_steps asian_option_paths binomial_tree_step
    bond_price_convexity mahalanobis_rows spearman_rank_gaps needleman_affine_row
    kmer_hash_rolling sequence_quality_trim page_rank_push label_propagation_step
    ray_triangle_hits quaternion_rotate_points morton_encode_3d varint_lengths leb_delta_decode
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def hardswish_backward(grad_ptr, x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """Gradient of x * min(max(x + 3, 0), 6) / 6."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    grad = tl.load(grad_ptr + at, mask=mask, other=0.0)
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    slope = tl.where(x < -3.0, 0.0, tl.where(x <= 3.0, x * (1.0 / 3.0) + 0.5, 1.0))
    tl.store(out_ptr + at, grad * slope, mask=mask)


def hardswish_backward_arguments(N=30000):
    return {
        "grad_ptr": torch.randn(N),
        "x_ptr": 3 * torch.randn(N),
        "out_ptr": torch.empty(N),
        "N": N,
    }


def hardswish_backward_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def hardswish_backward_reference(grad_ptr, x_ptr):
    x = x_ptr.double()
    inside = torch.where(x_ptr <= 3, x / 3 + 0.5, 1.0)
    return {"out_ptr": grad_ptr.double() * torch.where(x_ptr < -3, 0.0, inside)}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 4, 16)], key=[])
@triton.jit
def sliding_window_softmax(
    scores_ptr,
    valid_ptr,
    out_ptr,
    T,
    SIDE,
    scale,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Softmax of scores that queries have for keys up to SIDE before and behind their place."""
    head = tl.program_id(1)
    query = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    width = 2 * SIDE + 1
    inside = (query < T) & (column < width)
    key = query + column - SIDE
    there = inside & (key >= 0) & (key < T)
    keep = tl.load(valid_ptr + key, mask=there, other=0) != 0
    at = (head * T + query) * width + column
    x = tl.load(scores_ptr + at, mask=inside, other=0.0) * scale
    x = tl.where(keep, x, -1e30)
    x = tl.exp(x - tl.max(x, axis=1)[:, None])
    x = tl.where(keep, x, 0.0)
    total = tl.sum(x, axis=1)[:, None]
    tl.store(out_ptr + at, x / tl.where(total > 0.0, total, 1.0), mask=inside)


def sliding_window_softmax_arguments(HEADS=2, T=120, SIDE=48):
    return {
        "scores_ptr": 8 * torch.randn(HEADS, T, 2 * SIDE + 1),
        "valid_ptr": (torch.arange(T) < T - 9).to(torch.int8),
        "out_ptr": torch.empty(HEADS, T, 2 * SIDE + 1),
        "T": T,
        "SIDE": SIDE,
        "scale": 0.125,
        "BLOCK": triton.next_power_of_2(2 * SIDE + 1),
    }


def sliding_window_softmax_grid(meta):
    return (triton.cdiv(meta["T"], meta["ROWS"]), meta["HEADS"])


def sliding_window_softmax_reference(scores_ptr, valid_ptr, T, SIDE, scale):
    key = torch.arange(T)[:, None] + torch.arange(2 * SIDE + 1) - SIDE
    keep = (key >= 0) & (key < T) & (valid_ptr[key.clamp(0, T - 1)] != 0)
    x = (scores_ptr.double() * scale).masked_fill(~keep, -float("inf"))
    return {"out_ptr": x.softmax(2).nan_to_num(0.0)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def adagrad_step(param_ptr, sum_ptr, grad_ptr, N, rate, decay, eps, BLOCK: tl.constexpr):
    """A step of Adagrad with a decay of weights, in place."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    param = tl.load(param_ptr + at, mask=mask, other=0.0)
    total = tl.load(sum_ptr + at, mask=mask, other=0.0)
    grad = tl.load(grad_ptr + at, mask=mask, other=0.0) + decay * param
    total += grad * grad
    param -= rate * grad / (tl.sqrt(total) + eps)
    tl.store(param_ptr + at, param, mask=mask)
    tl.store(sum_ptr + at, total, mask=mask)


def adagrad_step_arguments(N=15000):
    return {
        "param_ptr": torch.randn(N),
        "sum_ptr": 0.1 * torch.rand(N),
        "grad_ptr": 0.1 * torch.randn(N),
        "N": N,
        "rate": 0.01,
        "decay": 0.001,
        "eps": 1e-10,
    }


def adagrad_step_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def adagrad_step_reference(param_ptr, sum_ptr, grad_ptr, rate, decay, eps):
    param = param_ptr.double()
    grad = grad_ptr.double() + decay * param
    total = sum_ptr.double() + grad.square()
    return {"param_ptr": param - rate * grad / (total.sqrt() + eps), "sum_ptr": total}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def typical_sampling_entropy(logits_ptr, gap_ptr, entropy_ptr, V, BLOCK: tl.constexpr):
    """A row's entropy, and how far each word's surprise is from it."""
    row = tl.program_id(0).to(tl.int64)
    logits = logits_ptr + row * V
    largest = -float("inf")
    for start in range(0, V, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(logits + at, mask=at < V, other=-float("inf"))
        largest = tl.maximum(largest, tl.max(x, axis=0))
    total = 0.0
    weighted = 0.0
    for start in range(0, V, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < V
        x = tl.load(logits + at, mask=mask, other=0.0) - largest
        power = tl.where(mask, tl.exp(x), 0.0)
        total += tl.sum(power, axis=0)
        weighted += tl.sum(power * x, axis=0)
    log_total = tl.log(total)
    entropy = log_total - weighted / total
    tl.store(entropy_ptr + row, entropy)
    for start in range(0, V, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(logits + at, mask=at < V, other=0.0)
        surprise = largest + log_total - x
        tl.store(gap_ptr + row * V + at, tl.abs(surprise - entropy), mask=at < V)


def typical_sampling_entropy_arguments(M=10, V=3000):
    return {
        "logits_ptr": 2.5 * torch.randn(M, V),
        "gap_ptr": torch.empty(M, V),
        "entropy_ptr": torch.empty(M),
        "V": V,
    }


def typical_sampling_entropy_grid(meta):
    return (meta["M"],)


def typical_sampling_entropy_reference(logits_ptr):
    logprob = torch.log_softmax(logits_ptr.double(), 1)
    entropy = -(logprob.exp() * logprob).sum(1)
    return {"gap_ptr": (-logprob - entropy[:, None]).abs(), "entropy_ptr": entropy}
