"""Three kernels of the thirteenth draw to work on, that `thirteenth_draw.c` has in intrinsics.

`random.Random(20261203).sample(names, 12)` drew twelve of these 72 names before any was written;
the first six were to be worked on: these and those of `thirteenth_draw2.py`. Kernels are as
users write them.

    fractional_delay_sinc savitzky_golay_rows hampel_outliers wiener_gain_bands phase_unwrap_rows
    beamform_delay_sum partitioned_convolution anisotropic_diffusion clahe_blend_tiles
    area_downscale_bytes lens_shading_raw16 canny_suppress ncc_template_scores
    distance_transform_rows lut3d_trilinear dct8_blocks deblock_vertical_edges binary_erode_words
    maxout_pairs hard_swish_uint8 lrn_across_channels spatial_softmax_points rotary_2d_patches
    swin_window_partition cosine_attention_logits linear_attention_state retention_chunk
    rwkv_wkv_step gru_cell_gates mamba2_segment_decay attention_sink_decode block_sparse_scores
    tree_attention_mask min_p_filter beam_search_reorder tversky_loss wing_loss_landmarks
    giou_loss_pairs pinball_quantile_loss arcface_margin_logits dpo_pair_loss ppo_clip_objective
    gae_advantages adamax_step sophia_clipped_step newton_schulz_product adam8bit_blockwise
    fp6_unpack_dot q4k_superblock_dot int4_pack_groups fp8_blockwise_gemv kv_int4_scores
    log2_quantise_weights block_floating_point crc32_slices murmur3_fixed_keys adler32_blocks
    gorilla_xor_lengths frame_of_reference_unpack utf8_validate_bytes csr_spmm_rows sddmm_edges
    block_jacobi_solve4 graph_sage_mean fdtd_yee_step shallow_water_step hyperloglog_registers
    minhash_signatures poisson_irls_weights moller_trumbore_hits chamfer_nearest radix_digit_scatter
"""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [
        triton.Config({"BLOCK_Y": rows, "BLOCK_E": edges})
        for rows, edges in ((4, 64), (1, 64), (16, 16))
    ],
    key=[],
)
@triton.jit
def deblock_vertical_edges(
    image_ptr,
    strength_ptr,
    H,
    W,
    EDGES,
    alpha,
    beta,
    BLOCK_Y: tl.constexpr,
    BLOCK_E: tl.constexpr,
):
    """H.264's filter between blocks of 8 pixels, in place, of a strength for 4 rows."""
    y = tl.program_id(0) * BLOCK_Y + tl.arange(0, BLOCK_Y)[:, None]
    edge = tl.program_id(1) * BLOCK_E + tl.arange(0, BLOCK_E)[None, :]
    mask = (y < H) & (edge < EDGES)
    limit = tl.load(strength_ptr + y // 4 * EDGES + edge, mask=mask, other=-1).to(tl.int32)
    at = image_ptr + y * W + 8 * (edge + 1)
    p2 = tl.load(at - 3, mask=mask, other=0).to(tl.int32)
    p1 = tl.load(at - 2, mask=mask, other=0).to(tl.int32)
    p0 = tl.load(at - 1, mask=mask, other=0).to(tl.int32)
    q0 = tl.load(at, mask=mask, other=0).to(tl.int32)
    q1 = tl.load(at + 1, mask=mask, other=0).to(tl.int32)
    q2 = tl.load(at + 2, mask=mask, other=0).to(tl.int32)
    is_flat = (tl.abs(p1 - p0) < beta) & (tl.abs(q1 - q0) < beta)
    filtered = mask & (limit >= 0) & (tl.abs(p0 - q0) < alpha) & is_flat
    p_is_flat = tl.abs(p2 - p0) < beta
    q_is_flat = tl.abs(q2 - q0) < beta
    bound = limit + p_is_flat.to(tl.int32) + q_is_flat.to(tl.int32)
    step = ((q0 - p0) * 4 + p1 - q1 + 4) >> 3
    step = tl.minimum(tl.maximum(step, -bound), bound)
    between = (p0 + q0 + 1) >> 1
    p_step = tl.minimum(tl.maximum((p2 + between - 2 * p1) >> 1, -limit), limit)
    q_step = tl.minimum(tl.maximum((q2 + between - 2 * q1) >> 1, -limit), limit)
    tl.store(at - 2, (p1 + p_step).to(tl.uint8), mask=filtered & p_is_flat)
    tl.store(at - 1, tl.minimum(tl.maximum(p0 + step, 0), 255).to(tl.uint8), mask=filtered)
    tl.store(at, tl.minimum(tl.maximum(q0 - step, 0), 255).to(tl.uint8), mask=filtered)
    tl.store(at + 1, (q1 + q_step).to(tl.uint8), mask=filtered & q_is_flat)


def deblock_vertical_edges_arguments(H=240, W=320):
    edges = (W - 3) // 8
    blocks = torch.randint(40, 200, (H // 8 + 1, W // 8 + 1)) // 6 * 6
    image = blocks.repeat_interleave(8, 0).repeat_interleave(8, 1)[:H, :W]
    return {
        "image_ptr": (image // 4 + 90 + 3 * torch.randn(H, W)).to(torch.uint8),
        "strength_ptr": torch.randint(-1, 5, ((H + 3) // 4, edges), dtype=torch.int8),
        "H": H,
        "W": W,
        "EDGES": edges,
        "alpha": 28,
        "beta": 9,
    }


def deblock_vertical_edges_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_Y"]), triton.cdiv(meta["EDGES"], meta["BLOCK_E"]))


def deblock_vertical_edges_reference(image_ptr, strength_ptr, H, EDGES, alpha, beta):
    image, limit = image_ptr.int(), strength_ptr.int().repeat_interleave(4, 0)[:H]
    p2, p1, p0, q0, q1, q2 = (image[:, 8 + i :: 8][:, :EDGES] for i in range(-3, 3))
    is_flat = ((p1 - p0).abs() < beta) & ((q1 - q0).abs() < beta)
    filtered = (limit >= 0) & ((p0 - q0).abs() < alpha) & is_flat
    p_is_flat, q_is_flat = (p2 - p0).abs() < beta, (q2 - q0).abs() < beta
    bound = limit + p_is_flat + q_is_flat
    step = torch.clamp(((q0 - p0) * 4 + p1 - q1 + 4) >> 3, -bound, bound)
    between = (p0 + q0 + 1) >> 1
    p_step = torch.clamp((p2 + between - 2 * p1) >> 1, -limit, limit)
    q_step = torch.clamp((q2 + between - 2 * q1) >> 1, -limit, limit)
    after = image.clone()
    for i, new, changed in (
        (-2, p1 + p_step, filtered & p_is_flat),
        (-1, (p0 + step).clamp(0, 255), filtered),
        (0, (q0 - step).clamp(0, 255), filtered),
        (1, q1 + q_step, filtered & q_is_flat),
    ):
        place = after[:, 8 + i :: 8][:, :EDGES]
        place[changed] = new[changed]
    return {"image_ptr": after.byte()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 128)], key=[])
@triton.jit
def beamform_delay_sum(
    x_ptr, delay_ptr, fraction_ptr, weight_ptr, out_ptr, CHANNELS, T, BLOCK: tl.constexpr
):
    """Sound from some directions: all microphones, each late by so many samples and a fraction."""
    beam = tl.program_id(0)
    time = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for channel in range(CHANNELS):
        at = time - tl.load(delay_ptr + beam * CHANNELS + channel)
        fraction = tl.load(fraction_ptr + beam * CHANNELS + channel)
        weight = tl.load(weight_ptr + beam * CHANNELS + channel)
        x = x_ptr + channel * T + at
        near = tl.load(x, mask=(at >= 0) & (at < T), other=0).to(tl.float32)
        far = tl.load(x - 1, mask=(at >= 1) & (at <= T), other=0).to(tl.float32)
        total += weight * (near + fraction * (far - near))
    tl.store(out_ptr + beam * T + time, total, mask=time < T)


def beamform_delay_sum_arguments(BEAMS=7, CHANNELS=16, T=1000):
    place = 8.0 * torch.randn(2, CHANNELS)
    angle = torch.arange(BEAMS) * (2 * torch.pi / BEAMS)
    late = torch.stack([angle.cos(), angle.sin()], 1) @ place
    return {
        "x_ptr": (3000 * torch.randn(CHANNELS, T)).to(torch.int16),
        "delay_ptr": late.floor().int(),
        "fraction_ptr": late - late.floor(),
        "weight_ptr": (0.5 + torch.rand(BEAMS, CHANNELS)) / CHANNELS,
        "out_ptr": torch.empty(BEAMS, T),
        "CHANNELS": CHANNELS,
        "T": T,
    }


def beamform_delay_sum_grid(meta):
    return (meta["BEAMS"], triton.cdiv(meta["T"], meta["BLOCK"]))


def beamform_delay_sum_reference(x_ptr, delay_ptr, fraction_ptr, weight_ptr, T):
    x = torch.nn.functional.pad(x_ptr.double(), (T + 1, T + 1))
    late = delay_ptr.long().clamp(-T - 1, T)
    at = torch.arange(T) + T + 1 - late[:, :, None]
    wide = x.expand(len(late), -1, -1)
    near, far = wide.gather(2, at), wide.gather(2, at - 1)
    mixed = near + fraction_ptr.double()[:, :, None] * (far - near)
    return {"out_ptr": (weight_ptr.double()[:, :, None] * mixed).sum(1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (4, 1, 16)], key=[])
@triton.jit
def rotary_2d_patches(
    q_ptr,
    cos_ptr,
    sin_ptr,
    out_ptr,
    N,
    WIDTH,
    HEADS,
    QUARTER: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Positions of a picture's patches: rows turn half of a head's numbers, columns others."""
    patch = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    d = tl.arange(0, QUARTER)[None, :]
    mask = patch < N
    y_at = patch // WIDTH * QUARTER + d
    x_at = patch % WIDTH * QUARTER + d
    y_cos = tl.load(cos_ptr + y_at, mask=mask, other=1.0)
    y_sin = tl.load(sin_ptr + y_at, mask=mask, other=0.0)
    x_cos = tl.load(cos_ptr + x_at, mask=mask, other=1.0)
    x_sin = tl.load(sin_ptr + x_at, mask=mask, other=0.0)
    for head in range(HEADS):
        at = (patch * HEADS + head) * (4 * QUARTER) + d
        first = tl.load(q_ptr + at, mask=mask, other=0.0).to(tl.float32)
        second = tl.load(q_ptr + at + QUARTER, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + at, first * y_cos - second * y_sin, mask=mask)
        tl.store(out_ptr + at + QUARTER, second * y_cos + first * y_sin, mask=mask)
        first = tl.load(q_ptr + at + 2 * QUARTER, mask=mask, other=0.0).to(tl.float32)
        second = tl.load(q_ptr + at + 3 * QUARTER, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + at + 2 * QUARTER, first * x_cos - second * x_sin, mask=mask)
        tl.store(out_ptr + at + 3 * QUARTER, second * x_cos + first * x_sin, mask=mask)


def rotary_2d_patches_arguments(HEIGHT=12, WIDTH=15, HEADS=6, QUARTER=16):
    position = torch.arange(max(HEIGHT, WIDTH))
    angles = position[:, None] * 100.0 ** -(torch.arange(QUARTER) / QUARTER)
    q = torch.randn(HEIGHT * WIDTH, HEADS, 4 * QUARTER).bfloat16()
    return {
        "q_ptr": q,
        "cos_ptr": angles.cos(),
        "sin_ptr": angles.sin(),
        "out_ptr": torch.empty_like(q),
        "N": HEIGHT * WIDTH,
        "WIDTH": WIDTH,
        "HEADS": HEADS,
        "QUARTER": QUARTER,
    }


def rotary_2d_patches_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def rotary_2d_patches_reference(q_ptr, cos_ptr, sin_ptr, N, WIDTH, QUARTER):
    patch = torch.arange(N)
    axes = torch.stack([patch // WIDTH, patch % WIDTH], 1)
    cos, sin = (table.double()[axes][:, None] for table in (cos_ptr, sin_ptr))
    first, second = q_ptr.double().unflatten(2, (2, 2, QUARTER)).unbind(3)
    turned = torch.stack([first * cos - second * sin, second * cos + first * sin], 3)
    return {"out_ptr": turned.flatten(2)}
