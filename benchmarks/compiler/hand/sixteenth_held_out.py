"""Four held-out kernels of the sixteenth draw, that `sixteenth_held_out.c` has in intrinsics.

`random.Random(20261211)` drew four of the first 30 names, which are of deep learning, and four of
the other 30, before any was written. All eight are held out: these and those of
`sixteenth_held_out2.py`. Kernels are as users write them.

    celu_backward log_sigmoid_rows reglu_bias_rows ada_layer_norm_modulate batch_norm_fold_relu
    l2_normalise_embeddings yarn_rope_pairs sinusoidal_timestep_embed gaussian_nll_rows
    poisson_nll_backward log_cosh_backward asymmetric_multilabel_loss simpo_margin_rows
    rprop_signed_step adan_step adabelief_step lars_trust_rows muon_momentum_mix
    unscale_check_overflow ddim_denoise_step cfg_rescale_rows xtc_token_filter router_z_loss_rows
    expert_capacity_slots attention_delta_rows mqa_decode_scores kv_evict_topk_scores
    requantise_int32_channels e5m2_block_dequantise codebook_nearest_codes

    unsharp_mask_bytes hsv_to_rgb_pixels otsu_between_variance sepia_tone_rgba bicubic_upscale_rows
    chirp_dechirp_mix farrow_resample teager_energy_rows window_power_db stereo_mid_side
    phred_error_sums minimizer_windows reverse_complement_bytes morse_pair_energy burgers_flux_step
    boris_push_particles vasicek_paths gamma_vega_greeks bollinger_band_rows bipower_variation
    xxhash32_stripes speck_encrypt_blocks fnv1a_fixed_strings hilbert_curve_index
    triangle_normals_areas k_core_peel_step winsorise_rows bitmap_and_counts decimal_scale_round
    delta_of_delta_bits
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def adabelief_step(
    param_ptr,
    mean_ptr,
    belief_ptr,
    grad_ptr,
    N,
    rate,
    beta1,
    beta2,
    eps,
    decay,
    correction1,
    correction2,
    BLOCK: tl.constexpr,
):
    """A step of AdaBelief with decoupled decay, in place: what gradients differ from their mean."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    param = tl.load(param_ptr + at, mask=mask, other=0.0)
    mean = tl.load(mean_ptr + at, mask=mask, other=0.0)
    belief = tl.load(belief_ptr + at, mask=mask, other=0.0)
    grad = tl.load(grad_ptr + at, mask=mask, other=0.0)
    param *= 1.0 - rate * decay
    mean = beta1 * mean + (1.0 - beta1) * grad
    surprise = grad - mean
    belief = beta2 * belief + (1.0 - beta2) * surprise * surprise + eps
    bottom = tl.sqrt(belief / correction2) + eps
    param -= (rate / correction1) * mean / bottom
    tl.store(param_ptr + at, param, mask=mask)
    tl.store(mean_ptr + at, mean, mask=mask)
    tl.store(belief_ptr + at, belief, mask=mask)


def adabelief_step_arguments(N=16000):
    return {
        "param_ptr": torch.randn(N),
        "mean_ptr": 0.1 * torch.randn(N),
        "belief_ptr": 0.01 * torch.rand(N),
        "grad_ptr": 0.2 * torch.randn(N),
        "N": N,
        "rate": 0.001,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "decay": 0.01,
        "correction1": 1 - 0.9**20,
        "correction2": 1 - 0.999**20,
    }


def adabelief_step_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def adabelief_step_reference(
    param_ptr,
    mean_ptr,
    belief_ptr,
    grad_ptr,
    rate,
    beta1,
    beta2,
    eps,
    decay,
    correction1,
    correction2,
):
    grad = grad_ptr.double()
    mean = beta1 * mean_ptr.double() + (1 - beta1) * grad
    belief = beta2 * belief_ptr.double() + (1 - beta2) * (grad - mean).square() + eps
    bottom = (belief / correction2).sqrt() + eps
    param = param_ptr.double() * (1 - rate * decay) - rate / correction1 * mean / bottom
    return {"param_ptr": param, "mean_ptr": mean, "belief_ptr": belief}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 512)], key=[])
@triton.jit
def batch_norm_fold_relu(
    x_ptr, mean_ptr, var_ptr, weight_ptr, bias_ptr, out_ptr, C, HW, eps, BLOCK: tl.constexpr
):
    """ReLU of images that are normalised by what training found: a program has one channel."""
    plane = tl.program_id(0)
    channel = plane % C
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < HW
    scale = tl.load(weight_ptr + channel) * tl.rsqrt(tl.load(var_ptr + channel) + eps)
    shift = tl.load(bias_ptr + channel) - tl.load(mean_ptr + channel) * scale
    x = tl.load(x_ptr + plane * HW + at, mask=mask, other=0.0)
    tl.store(out_ptr + plane * HW + at, tl.maximum(x * scale + shift, 0.0), mask=mask)


def batch_norm_fold_relu_arguments(B=2, C=20, HW=784):
    return {
        "x_ptr": torch.randn(B, C, HW) + torch.randn(C, 1),
        "mean_ptr": torch.randn(C),
        "var_ptr": 0.5 + torch.rand(C),
        "weight_ptr": 1 + 0.2 * torch.randn(C),
        "bias_ptr": 0.3 * torch.randn(C),
        "out_ptr": torch.empty(B, C, HW),
        "C": C,
        "HW": HW,
        "eps": 1e-5,
    }


def batch_norm_fold_relu_grid(meta):
    return (meta["B"] * meta["C"], triton.cdiv(meta["HW"], meta["BLOCK"]))


def batch_norm_fold_relu_reference(x_ptr, mean_ptr, var_ptr, weight_ptr, bias_ptr, eps):
    scale = weight_ptr.double() / (var_ptr.double() + eps).sqrt()
    shift = bias_ptr.double() - mean_ptr.double() * scale
    return {"out_ptr": (x_ptr.double() * scale[:, None] + shift[:, None]).clamp(min=0)}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 4, 8)], key=[])
@triton.jit
def ada_layer_norm_modulate(
    x_ptr,
    shift_ptr,
    scale_ptr,
    out_ptr,
    T,
    D,
    eps,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Tokens, normalised, then scaled and shifted by what their image's condition says."""
    image = tl.program_id(1)
    token = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = column < D
    mask = (token < T) & inside
    at = (image * T + token) * D + column
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    mean = tl.sum(x, axis=1)[:, None] / D
    x = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(x * x, axis=1)[:, None] / D
    x = x * tl.rsqrt(variance + eps)
    scale = tl.load(scale_ptr + image * D + column, mask=inside, other=0.0)
    shift = tl.load(shift_ptr + image * D + column, mask=inside, other=0.0)
    tl.store(out_ptr + at, x * (1.0 + scale) + shift, mask=mask)


def ada_layer_norm_modulate_arguments(B=2, T=36, D=384):
    return {
        "x_ptr": torch.randn(B, T, D) * 1.5 + 0.4,
        "shift_ptr": 0.3 * torch.randn(B, D),
        "scale_ptr": 0.3 * torch.randn(B, D),
        "out_ptr": torch.empty(B, T, D),
        "T": T,
        "D": D,
        "eps": 1e-6,
        "BLOCK": triton.next_power_of_2(D),
    }


def ada_layer_norm_modulate_grid(meta):
    return (triton.cdiv(meta["T"], meta["ROWS"]), meta["B"])


def ada_layer_norm_modulate_reference(x_ptr, shift_ptr, scale_ptr, D, eps):
    x = torch.nn.functional.layer_norm(x_ptr.double(), (D,), eps=eps)
    return {"out_ptr": x * (1 + scale_ptr.double()[:, None]) + shift_ptr.double()[:, None]}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def poisson_nll_backward(grad_ptr, x_ptr, target_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """Gradient of the mean of exp(x) - target * x, from that of the mean."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    grad = tl.load(grad_ptr) / N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    target = tl.load(target_ptr + at, mask=mask, other=0.0)
    tl.store(out_ptr + at, grad * (tl.exp(x) - target), mask=mask)


def poisson_nll_backward_arguments(N=20000):
    x = 1.2 * torch.randn(N)
    return {
        "grad_ptr": torch.full((1,), 512.0),
        "x_ptr": x,
        "target_ptr": torch.poisson(x.exp()),
        "out_ptr": torch.empty(N),
        "N": N,
    }


def poisson_nll_backward_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def poisson_nll_backward_reference(grad_ptr, x_ptr, target_ptr, N):
    return {"out_ptr": grad_ptr.double() / N * (x_ptr.double().exp() - target_ptr.double())}
