"""Three of the twelve kernels of the twelfth draw, that `twelfth_draw.c` has in intrinsics.

`random.Random(20261202).sample(names, 12)` drew twelve of these 72 names before any was written;
the first six were to be worked on: these and those of `twelfth_draw2.py`. Kernels are as users
write them.

    scale_shift_film weight_standardise layer_scale_residual stochastic_depth_rows
    grid_sample_bilinear unfold_patches conv1d_strided relative_position_bias rope_half_backward
    attention_row_backward kv_page_gather ring_cache_attention mla_latent_scores moe_topk_gates
    expert_token_scatter nesterov_step adafactor_rows clip_by_global_norm cosine_warmup_scales
    mixup_batch label_smoothing_nll info_nce_rows huber_backward hinge_embedding mxfp4_encode
    ternary_weights_dot gptq_column_update q5_block_dot smooth_quant_scales hadamard_int8_rotate
    fsk_demodulate pitch_autocorrelation spectral_flatness noise_gate_envelope allpass_chain
    resample_cubic yuv420_to_rgb unpack_mono10 hough_votes fast_corner_flags seam_cost_rows
    guided_filter_means histogram_equalise barrett_mod_mul poly_hash_rows varint_lengths
    rle_expand_runs lz_match_lengths bitplane_transpose json_string_mask csv_field_ends
    bitonic_merge_step counting_sort_offsets rank_select_words heston_paths var_quantile_rows
    macd_signal swaption_annuity american_put_lattice triangle_counts louvain_gain
    csc_spmv_scatter sell_c_sigma_spmv sssp_relax_edges spring_layout_forces ising_sweep
    wave_equation_2d lennard_jones_cells advect_semi_lagrangian cubic_spline_eval
    gram_schmidt_step lu_row_eliminate
"""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [
        triton.Config({"BLOCK_M": rows, "BLOCK_N": columns})
        for rows, columns in ((16, 16), (32, 32), (64, 16))
    ],
    key=[],
)
@triton.jit
def info_nce_rows(
    query_ptr,
    key_ptr,
    positive_ptr,
    loss_ptr,
    M,
    N,
    temperature,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """How well each query tells its own key from all others, by a softmax that no memory holds."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    query = tl.load(query_ptr + row[:, None] * D + d[None, :], mask=(row < M)[:, None], other=0.0)
    positive = tl.load(positive_ptr + row, mask=row < M, other=0)
    highest = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    own = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        column = start + tl.arange(0, BLOCK_N)
        exists = (column < N)[None, :]
        key = tl.load(key_ptr + column[None, :] * D + d[:, None], mask=exists, other=0.0)
        scores = tl.dot(query, key, input_precision="ieee") / temperature
        scores = tl.where(exists, scores, float("-inf"))
        own += tl.sum(tl.where(column[None, :] == positive[:, None], scores, 0.0), axis=1)
        higher = tl.maximum(highest, tl.max(scores, axis=1))
        shares = tl.exp(scores - higher[:, None])
        total = total * tl.exp(highest - higher) + tl.sum(shares, axis=1)
        highest = higher
    tl.store(loss_ptr + row, highest + tl.log(total) - own, mask=row < M)


def info_nce_rows_arguments(M=60, N=90, D=32):
    query = torch.nn.functional.normalize(torch.randn(M, D), dim=1)
    positive = torch.randperm(N)[:M]
    key = torch.randn(N, D)
    key[positive] = query + 0.1 * torch.randn(M, D)
    return {
        "query_ptr": query,
        "key_ptr": torch.nn.functional.normalize(key, dim=1),
        "positive_ptr": positive.int(),
        "loss_ptr": torch.empty(M),
        "M": M,
        "N": N,
        "temperature": 0.25,
        "D": D,
    }


def info_nce_rows_grid(meta):
    return (triton.cdiv(meta["M"], meta["BLOCK_M"]),)


def info_nce_rows_reference(query_ptr, key_ptr, positive_ptr, temperature):
    scores = query_ptr.double() @ key_ptr.double().T / temperature
    own = scores.gather(1, positive_ptr.long()[:, None])[:, 0]
    return {"loss_ptr": scores.logsumexp(1) - own}


_RING_X = tl.constexpr((0, 1, 2, 3, 3, 3, 2, 1, 0, -1, -2, -3, -3, -3, -2, -1))
_RING_Y = tl.constexpr((-3, -3, -2, -1, 0, 1, 2, 3, 3, 3, 2, 1, 0, -1, -2, -3))


@triton.jit
def _has_nine_in_a_row(bits):
    bits |= bits << 16
    run = bits
    for shift in tl.static_range(1, 9):
        run &= bits >> shift
    return (run & 0xFFFF) != 0


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 1024)], key=[])
@triton.jit
def fast_corner_flags(image_ptr, flag_ptr, H, W, limit, BLOCK: tl.constexpr):
    """FAST: nine pixels in a row, of sixteen around one, are brighter by a limit, or darker."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = at // W
    x = at % W
    inside = (x >= 3) & (x < W - 3) & (y >= 3) & (y < H - 3)
    centre = tl.load(image_ptr + at, mask=inside, other=0).to(tl.int32)
    brighter = tl.zeros((BLOCK,), dtype=tl.int32)
    darker = tl.zeros((BLOCK,), dtype=tl.int32)
    for i in tl.static_range(16):
        place = image_ptr + at + _RING_Y[i] * W + _RING_X[i]
        pixel = tl.load(place, mask=inside, other=0).to(tl.int32)
        brighter |= (pixel > centre + limit).to(tl.int32) << i
        darker |= (pixel < centre - limit).to(tl.int32) << i
    is_corner = inside & (_has_nine_in_a_row(brighter) | _has_nine_in_a_row(darker))
    tl.store(flag_ptr + at, is_corner.to(tl.uint8), mask=at < H * W)


def fast_corner_flags_arguments(H=90, W=170):
    image = torch.full((H, W), 96.0)
    for top, left, light in zip(
        torch.randint(0, H, (12,)), torch.randint(0, W, (12,)), 160 * torch.rand(12), strict=True
    ):
        image[top : top + 25, left : left + 40] = light + 40
    noisy = image + 6 * torch.randn(H, W)
    return {
        "image_ptr": noisy.clamp(0, 255).to(torch.uint8),
        "flag_ptr": torch.empty(H, W, dtype=torch.uint8),
        "H": H,
        "W": W,
        "limit": 20,
    }


# Most pixels of a picture are as light as some of those around them, and the intrinsics look at few
# others.
fast_corner_flags_kept_inputs = ["image_ptr"]


def fast_corner_flags_grid(meta):
    return (triton.cdiv(meta["H"] * meta["W"], meta["BLOCK"]),)


def fast_corner_flags_reference(image_ptr, H, W, limit):
    image = image_ptr.int()
    centre = image[3 : H - 3, 3 : W - 3]
    ring = [
        image[3 + y : H - 3 + y, 3 + x : W - 3 + x]
        for x, y in zip(_RING_X.value, _RING_Y.value, strict=True)
    ]
    around = torch.stack(ring + ring[:8])
    flags = torch.zeros(H, W, dtype=torch.uint8)
    for differs in (around > centre + limit, around < centre - limit):
        flags[3 : H - 3, 3 : W - 3] |= differs.unfold(0, 9, 1).all(-1).any(0).byte()
    return {"flag_ptr": flags}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 2, 4)], key=[])
@triton.jit
def weight_standardise(
    weight_ptr, gain_ptr, out_ptr, M, N, eps, BLOCK: tl.constexpr, ROWS: tl.constexpr
):
    """The filters of a convolution, each with mean 0 and a variance that their size sets."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    mask = (row < M) & (column < N)
    weight = tl.load(weight_ptr + row * N + column, mask=mask, other=0.0)
    mean = tl.sum(weight, axis=1, keep_dims=True) / N
    rest = tl.where(mask, weight - mean, 0.0)
    variance = tl.sum(rest * rest, axis=1, keep_dims=True) / N
    gain = tl.load(gain_ptr + row, mask=row < M, other=0.0)
    scale = gain * tl.rsqrt(tl.maximum(variance * N, eps))
    tl.store(out_ptr + row * N + column, rest * scale, mask=mask)


def weight_standardise_arguments(M=80, INPUTS=32, TAPS=9):
    n = INPUTS * TAPS
    return {
        "weight_ptr": 0.1 * torch.randn(M, n) + 0.02,
        "gain_ptr": 0.5 + torch.rand(M),
        "out_ptr": torch.empty(M, n),
        "M": M,
        "N": n,
        "eps": 1e-4,
        "BLOCK": triton.next_power_of_2(n),
    }


def weight_standardise_grid(meta):
    return (triton.cdiv(meta["M"], meta["ROWS"]),)


def weight_standardise_reference(weight_ptr, gain_ptr, N, eps):
    weight = weight_ptr.double()
    rest = weight - weight.mean(1, keepdim=True)
    variance = rest.square().mean(1, keepdim=True)
    return {"out_ptr": rest * gain_ptr.double()[:, None] * (variance * N).clamp_min(eps).rsqrt()}
