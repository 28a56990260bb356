"""Four held-out kernels of the seventeenth draw, that `seventeenth_held_out.c` has in intrinsics.

`random.Random(20261301)` drew four of the first 30 names, which are of deep learning, and four of
the other 30, before any was written. All eight are held out: these and those of
`seventeenth_held_out2.py`. Kernels are as users write them.

    snake_activation_channels softsign_backward mish_backward_rows gelu_erf_bias_rows
    star_relu_backward sparsemax_support_rows layer_norm_weight_grads batch_norm_backward_channels
    filter_response_norm pixel_norm_planes llama3_rope_scaled charbonnier_edge_loss
    barlow_offdiagonal_rows vicreg_variance_hinge kto_utility_rows grpo_group_advantages yogi_step
    tiger_sign_step adamw_bf16_kahan flow_match_euler_step dpm_solver_second_step
    dry_repeat_penalty mxint8_block_encode hqq_dequantise_groups chunked_prefill_scores
    dcn_cross_rows factorisation_machine_pairs mixture_density_nll window_unpartition_shift
    blur_pool_stride2

    exposure_fusion_weights gray_world_balance dead_pixel_repair vignette_correct_raw
    hit_or_miss_corners tpdf_dither_pcm16 phase_vocoder_advance costas_loop_bank
    zadoff_chu_correlate qam16_soft_bits substitution_matrix_scores spaced_seed_hashes
    base_quality_bins allele_pileup_counts elias_gamma_lengths move_to_front_rows
    png_average_filter siphash_fixed_keys xtea_encrypt_blocks crc16_frames merge_join_bounds
    zone_map_prune null_mask_sums great_circle_bearings bezier_cubic_points
    shoelace_polygon_areas cir_rate_paths verlet_cloth_step forest_fire_automaton
    title_case_ascii
"""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.autotune([triton.Config({"BLOCKS": blocks}) for blocks in (32, 8, 128)], key=[])
@triton.jit
def mxint8_block_encode(x_ptr, q_ptr, scale_ptr, N, BLOCKS: tl.constexpr):
    """Blocks of 32 as MXINT8: bytes of 6 fractional bits, and the power of two they share."""
    block = tl.program_id(0) * BLOCKS + tl.arange(0, BLOCKS)
    at = block[:, None] * 32 + tl.arange(0, 32)[None, :]
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    largest = tl.max(tl.abs(x), axis=1)
    exponent = largest.to(tl.int32, bitcast=True) >> 23
    inverse = ((254 - exponent) << 23).to(tl.float32, bitcast=True)
    q = libdevice.rint(x * inverse[:, None] * 64.0)
    q = tl.minimum(tl.maximum(q, -127.0), 127.0)
    tl.store(q_ptr + at, q.to(tl.int8), mask=mask)
    tl.store(scale_ptr + block, exponent.to(tl.uint8), mask=block * 32 < N)


def mxint8_block_encode_arguments(N=16000):
    x = torch.randn(N // 32, 32) * 2.0 ** torch.randint(-6, 7, (N // 32, 1))
    x[7] = 0
    return {
        "x_ptr": x,
        "q_ptr": torch.empty(N // 32, 32, dtype=torch.int8),
        "scale_ptr": torch.empty(N // 32, dtype=torch.uint8),
        "N": N,
    }


def mxint8_block_encode_grid(meta):
    return (triton.cdiv(meta["N"], 32 * meta["BLOCKS"]),)


def mxint8_block_encode_reference(x_ptr):
    x = x_ptr.double()
    largest = x.abs().amax(dim=1)
    exponent = torch.frexp(largest).exponent - 1
    q = torch.ldexp(x, 6 - exponent[:, None]).round().clamp(-127, 127)
    return {"q_ptr": q, "scale_ptr": torch.where(largest > 0, exponent + 127, 0)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def adamw_bf16_kahan(
    param_ptr,
    lost_ptr,
    mean_ptr,
    square_ptr,
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
    """A step of AdamW on parameters of bfloat16, which keeps what rounding them loses."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    param = tl.load(param_ptr + at, mask=mask, other=0.0).to(tl.float32)
    lost = tl.load(lost_ptr + at, mask=mask, other=0.0).to(tl.float32)
    grad = tl.load(grad_ptr + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.load(mean_ptr + at, mask=mask, other=0.0)
    square = tl.load(square_ptr + at, mask=mask, other=0.0)
    mean = beta1 * mean + (1.0 - beta1) * grad
    square = beta2 * square + (1.0 - beta2) * grad * grad
    update = (mean / correction1) / (tl.sqrt(square / correction2) + eps)
    change = lost - rate * (update + decay * param)
    rounded = (param + change).to(tl.bfloat16)
    lost = change - (rounded.to(tl.float32) - param)
    tl.store(param_ptr + at, rounded, mask=mask)
    tl.store(lost_ptr + at, lost.to(tl.bfloat16), mask=mask)
    tl.store(mean_ptr + at, mean, mask=mask)
    tl.store(square_ptr + at, square, mask=mask)


def adamw_bf16_kahan_arguments(N=16000):
    return {
        "param_ptr": torch.randn(N).bfloat16(),
        "lost_ptr": (1e-3 * torch.randn(N)).bfloat16(),
        "mean_ptr": 0.1 * torch.randn(N),
        "square_ptr": 0.01 * torch.rand(N),
        "grad_ptr": (0.2 * torch.randn(N)).bfloat16(),
        "N": N,
        "rate": 0.001,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "decay": 0.1,
        "correction1": 1 - 0.9**20,
        "correction2": 1 - 0.999**20,
    }


def adamw_bf16_kahan_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def adamw_bf16_kahan_reference(
    param_ptr,
    lost_ptr,
    mean_ptr,
    square_ptr,
    grad_ptr,
    rate,
    beta1,
    beta2,
    eps,
    decay,
    correction1,
    correction2,
):
    param, grad = param_ptr.double(), grad_ptr.double()
    mean = beta1 * mean_ptr.double() + (1 - beta1) * grad
    square = beta2 * square_ptr.double() + (1 - beta2) * grad.square()
    update = mean / correction1 / ((square / correction2).sqrt() + eps)
    change = lost_ptr.double() - rate * (update + decay * param)
    rounded = (param.float() + change.float()).bfloat16()
    return {
        "param_ptr": rounded,
        "lost_ptr": (change - (rounded.double() - param)).bfloat16(),
        "mean_ptr": mean,
        "square_ptr": square,
    }


@triton.autotune([triton.Config({"TOKENS": tokens}) for tokens in (1, 4, 16)], key=[])
@triton.jit
def window_unpartition_shift(
    window_ptr,
    out_ptr,
    N,
    H,
    W,
    C,
    shift,
    SIDE: tl.constexpr,
    TOKENS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Images from their windows, rolled back to where they were before a cyclic shift."""
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    image = token // (H * W)
    row = (token // W % H + H - shift) % H
    column = (token % W + W - shift) % W
    window = (image * (H // SIDE) + row // SIDE) * (W // SIDE) + column // SIDE
    source = window * (SIDE * SIDE) + row % SIDE * SIDE + column % SIDE
    channel = tl.arange(0, BLOCK)[None, :]
    mask = (token < N)[:, None] & (channel < C)
    x = tl.load(window_ptr + source[:, None] * C + channel, mask=mask)
    tl.store(out_ptr + token[:, None] * C + channel, x, mask=mask)


def window_unpartition_shift_arguments(B=2, H=14, W=14, C=192, SIDE=7):
    return {
        "window_ptr": torch.randn(B * (H // SIDE) * (W // SIDE), SIDE, SIDE, C),
        "out_ptr": torch.empty(B, H, W, C),
        "N": B * H * W,
        "H": H,
        "W": W,
        "C": C,
        "shift": SIDE // 2,
        "SIDE": SIDE,
        "BLOCK": triton.next_power_of_2(C),
    }


def window_unpartition_shift_grid(meta):
    return (triton.cdiv(meta["N"], meta["TOKENS"]),)


def window_unpartition_shift_reference(window_ptr, H, W, C, SIDE, shift):
    x = window_ptr.view(-1, H // SIDE, W // SIDE, SIDE, SIDE, C)
    x = x.permute(0, 1, 3, 2, 4, 5).reshape(-1, H, W, C)
    return {"out_ptr": torch.roll(x, (shift, shift), dims=(1, 2))}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512, 128, 1024)], key=[])
@triton.jit
def dry_repeat_penalty(
    token_ptr,
    penalty_ptr,
    T,
    V,
    most,
    allowed,
    multiplier,
    base,
    BLOCK: tl.constexpr,
):
    """What DRY takes from tokens that would go on with a repeat: more for each token repeated."""
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tokens = token_ptr + row * T
    same = at < T - 1
    length = tl.zeros((BLOCK,), dtype=tl.int32)
    for back in range(most):
        last = tl.load(tokens + T - 1 - back)
        here = tl.load(tokens + at - back, mask=same & (at >= back), other=-1)
        same = same & (here == last)
        length += same.to(tl.int32)
    repeats = length >= allowed
    following = tl.load(tokens + at + 1, mask=repeats, other=0)
    penalty = multiplier * tl.exp2((length - allowed).to(tl.float32) * tl.log2(base))
    tl.atomic_max(penalty_ptr + row * V + following, penalty, mask=repeats)


def dry_repeat_penalty_arguments(ROWS=6, T=700, V=3000):
    phrases = torch.randint(0, V, (12, 7), dtype=torch.int32)
    tokens = phrases[torch.randint(0, 12, (ROWS, T // 7))].reshape(ROWS, T)
    odd = torch.rand(ROWS, T) < 0.1
    odd[:, -10:] = False
    tokens[odd] = torch.randint(0, V, (int(odd.sum()),), dtype=torch.int32)
    return {
        "token_ptr": tokens[:, : T - 3].contiguous(),
        "penalty_ptr": torch.zeros(ROWS, V),
        "T": T - 3,
        "V": V,
        "most": 24,
        "allowed": 2,
        "multiplier": 0.8,
        "base": 1.75,
    }


def dry_repeat_penalty_grid(meta):
    return (meta["ROWS"], triton.cdiv(meta["T"], meta["BLOCK"]))


def dry_repeat_penalty_reference(token_ptr, T, V, most, allowed, multiplier, base):
    penalties = torch.zeros(len(token_ptr), V, dtype=torch.float64)
    for row, tokens in zip(penalties, token_ptr.tolist(), strict=True):
        for at in range(T - 1):
            length = 0
            while length < min(most, at + 1) and tokens[at - length] == tokens[T - 1 - length]:
                length += 1
            if length >= allowed:
                penalty = multiplier * base ** (length - allowed)
                row[tokens[at + 1]] = max(penalty, row[tokens[at + 1]].item())
    return {"penalty_ptr": penalties}
