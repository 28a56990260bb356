"""Four held-out kernels of the nineteenth draw, that `nineteenth_held_out.c` has in intrinsics.

`random.Random(20261501)` drew four of these 80 names, which are of deep learning, and four of
the 111 in `nineteenth_held_out2.py`, before any was written. All eight are held out. Kernels are
as users write them.

    qk_layernorm_heads rms_norm_residual_fp16 batch_renorm_apply cross_layer_norm_fuse
    softmax_temperature_rows rebased_linear_attention based_taylor_feature_map
    gated_delta_net_step kda_channel_decay_step mlstm_matrix_memory_step h3_shift_diag_ssm
    liger_fused_neftune_noise grouped_query_decode_bf16 prefix_lm_mask_scores
    document_mask_softmax mla_kv_rope_split_norm cross_attention_conditioning
    cache_slot_mapping_copy kv_fp8_quant_append w8a8_gemm_scaled sparse24_gemv_rows
    nvfp4_two_level_dequantise q2k_superblock_gemv q3k_hmask_dequantise iq2_grid_lookup_dot
    smoothquant_static_linear quarot_online_hadamard gemm_bias_gelu_tiles gemm_split_k_atomic
    gemm_batched_strided kronecker_linear_rows low_rank_gemv_pair grouped_gemm_experts
    moe_sigmoid_bias_topk moe_unpermute_weighted conv2d_winograd_output conv3d_direct_taps
    conv2d_grouped_3x3 deconv_col2im_fold pointwise_shuffle_conv gem_pool_planes lp_pool_rows
    fractional_max_pool_rows spatial_pyramid_bins coord_conv_append convnext_grn_scale
    spatial_gating_unit_rows axial_attention_columns swin_v2_cosine_bias
    multiscale_deform_aggregate farthest_point_update_distances edgeconv_max_neighbours
    gcn2_initial_residual appnp_power_step transe_margin_distances bilinear_feature_interaction
    fm_second_order_grads nce_sampled_logits hierarchical_softmax_paths adaptive_softmax_tail
    dist_reverse_kl_rows orpo_odds_loss dapo_token_clip gspo_sequence_ratio rloo_leave_one_out
    popart_rescale_rows ngu_episodic_similarity soap_rotated_update came_confidence_step
    prodigy_distance_sums ema_decay_ramp_update grad_centralise_rows stochastic_weight_average
    gradient_noise_scale_sums fp8_delayed_scaling_amax consistency_boundary_scale
    tome_bipartite_similarity masked_autoencoder_unshuffle byol_cosine_loss
    swav_prototype_scores
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 64)], key=[])
@triton.jit
def farthest_point_update_distances(
    points_ptr, last_ptr, distance_ptr, next_ptr, N, BLOCK: tl.constexpr
):
    """A step of farthest point sampling: how far points are from those chosen, and the farthest."""
    cloud = tl.program_id(0)
    points_ptr += cloud * N * 3
    distance_ptr += cloud * N
    last = tl.load(last_ptr + cloud)
    last_x = tl.load(points_ptr + 3 * last)
    last_y = tl.load(points_ptr + 3 * last + 1)
    last_z = tl.load(points_ptr + 3 * last + 2)
    most = -1.0
    farthest = 0
    for start in range(0, N, BLOCK):
        point = start + tl.arange(0, BLOCK)
        mask = point < N
        x = tl.load(points_ptr + 3 * point, mask=mask, other=0.0) - last_x
        y = tl.load(points_ptr + 3 * point + 1, mask=mask, other=0.0) - last_y
        z = tl.load(points_ptr + 3 * point + 2, mask=mask, other=0.0) - last_z
        before = tl.load(distance_ptr + point, mask=mask, other=-1.0)
        distance = tl.minimum(before, x * x + y * y + z * z)
        tl.store(distance_ptr + point, distance, mask=mask)
        most_here, at = tl.max(distance, axis=0, return_indices=True)
        farthest = tl.where(most_here > most, start + at, farthest)
        most = tl.maximum(most, most_here)
    tl.store(next_ptr + cloud, farthest)


def farthest_point_update_distances_arguments(B=16, N=2000):
    points = torch.randn(B, N, 3)
    return {
        "points_ptr": points,
        "last_ptr": torch.randint(0, N, (B,), dtype=torch.int32),
        # As some points left them that were chosen before.
        "distance_ptr": (points[:, :, None] - points[:, None, :6]).square().sum(3).amin(2),
        "next_ptr": torch.empty(B, dtype=torch.int32),
        "N": N,
    }


farthest_point_update_distances_kept_inputs = ["points_ptr", "last_ptr", "distance_ptr"]


def farthest_point_update_distances_grid(meta):
    return (meta["B"],)


def farthest_point_update_distances_reference(points_ptr, last_ptr, distance_ptr):
    last = points_ptr[torch.arange(len(last_ptr)), last_ptr.long()]
    distance = (points_ptr - last[:, None]).square().sum(dim=2).minimum(distance_ptr)
    return {"distance_ptr": distance, "next_ptr": distance.argmax(dim=1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 128)], key=[])
@triton.jit
def coord_conv_append(x_ptr, out_ptr, C, H, W, BLOCK: tl.constexpr):
    """Planes of x and three more: columns and rows from -1 to 1, and the distance from 0.5."""
    image = tl.program_id(0)
    channel = tl.program_id(1)
    pixel = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    mask = pixel < H * W
    to = out_ptr + (image * (C + 3) + channel) * H * W + pixel
    if channel < C:
        x = tl.load(x_ptr + (image * C + channel) * H * W + pixel, mask=mask)
        tl.store(to, x, mask=mask)
    else:
        across = (pixel % W).to(tl.float32) / (W - 1) * 2 - 1
        down = (pixel // W).to(tl.float32) / (H - 1) * 2 - 1
        if channel == C:
            tl.store(to, across, mask=mask)
        elif channel == C + 1:
            tl.store(to, down, mask=mask)
        else:
            across -= 0.5
            down -= 0.5
            tl.store(to, tl.sqrt(across * across + down * down), mask=mask)


def coord_conv_append_arguments(B=3, C=16, H=40, W=60):
    return {
        "x_ptr": torch.randn(B, C, H, W),
        "out_ptr": torch.empty(B, C + 3, H, W),
        "C": C,
        "H": H,
        "W": W,
    }


def coord_conv_append_grid(meta):
    return (meta["B"], meta["C"] + 3, triton.cdiv(meta["H"] * meta["W"], meta["BLOCK"]))


def coord_conv_append_reference(x_ptr, H, W):
    across = torch.linspace(-1, 1, W, dtype=x_ptr.dtype).expand(H, W)
    down = torch.linspace(-1, 1, H, dtype=x_ptr.dtype)[:, None].expand(H, W)
    radius = ((across - 0.5).square() + (down - 0.5).square()).sqrt()
    more = torch.stack([across, down, radius]).expand(len(x_ptr), 3, H, W)
    return {"out_ptr": torch.cat([x_ptr, more], dim=1)}


@triton.autotune(
    [triton.Config({"POINTS": p, "BLOCK_C": c}) for p, c in ((8, 64), (1, 64), (16, 32))], key=[]
)
@triton.jit
def edgeconv_max_neighbours(
    u_ptr,
    v_ptr,
    neighbour_ptr,
    scale_ptr,
    shift_ptr,
    out_ptr,
    N,
    C,
    K,
    slope,
    POINTS: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """The largest over neighbours j of leaky_relu(scale * (u[j] + v[i]) + shift), for point i.

    u and v are the two halves of an edge's linear layer; scale and shift are its batch norm's.
    """
    point = tl.program_id(0) * POINTS + tl.arange(0, POINTS)
    channel = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    inside = point < N
    mask = inside[:, None] & (channel < C)[None, :]
    at = point[:, None] * C + channel[None, :]
    v = tl.load(v_ptr + at, mask=mask, other=0.0)
    scale = tl.load(scale_ptr + channel, mask=channel < C, other=0.0)[None, :]
    shift = tl.load(shift_ptr + channel, mask=channel < C, other=0.0)[None, :]
    most = tl.full((POINTS, BLOCK_C), -float("inf"), dtype=tl.float32)
    for k in range(K):
        neighbour = tl.load(neighbour_ptr + point * K + k, mask=inside, other=0)
        u = tl.load(u_ptr + neighbour[:, None] * C + channel[None, :], mask=mask, other=0.0)
        y = (u + v) * scale + shift
        y = tl.where(y > 0, y, slope * y)
        most = tl.maximum(most, y)
    tl.store(out_ptr + at, most, mask=mask)


def edgeconv_max_neighbours_arguments(N=400, C=64, K=20):
    place = torch.randn(N, 3)
    return {
        "u_ptr": torch.randn(N, C),
        "v_ptr": torch.randn(N, C),
        "neighbour_ptr": torch.cdist(place, place).topk(K, largest=False).indices.int(),
        "scale_ptr": 0.5 + 0.5 * torch.randn(C),
        "shift_ptr": 0.3 * torch.randn(C),
        "out_ptr": torch.empty(N, C),
        "N": N,
        "C": C,
        "K": K,
        "slope": 0.2,
    }


edgeconv_max_neighbours_kept_inputs = ["neighbour_ptr"]


def edgeconv_max_neighbours_grid(meta):
    return (triton.cdiv(meta["N"], meta["POINTS"]), triton.cdiv(meta["C"], meta["BLOCK_C"]))


def edgeconv_max_neighbours_reference(u_ptr, v_ptr, neighbour_ptr, scale_ptr, shift_ptr, slope):
    edges = u_ptr[neighbour_ptr.long()] + v_ptr[:, None]
    edges = torch.nn.functional.leaky_relu(scale_ptr * edges + shift_ptr, slope)
    return {"out_ptr": edges.amax(dim=1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 128)], key=[])
@triton.jit
def consistency_boundary_scale(
    x_ptr, model_ptr, sigma_ptr, out_ptr, N, sigma_data, sigma_min, most, BLOCK: tl.constexpr
):
    """c_skip * x + c_out * the model's output, clipped; at sigma_min it is x."""
    sample = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = i < N
    sigma = tl.load(sigma_ptr + sample)
    above = sigma - sigma_min
    skip = sigma_data * sigma_data / (above * above + sigma_data * sigma_data)
    scale = sigma_data * above / tl.sqrt(sigma * sigma + sigma_data * sigma_data)
    x = tl.load(x_ptr + sample * N + i, mask=mask, other=0.0)
    model = tl.load(model_ptr + sample * N + i, mask=mask, other=0.0).to(tl.float32)
    y = skip * x + scale * model
    y = tl.minimum(tl.maximum(y, -most), most)
    tl.store(out_ptr + sample * N + i, y, mask=mask)


def consistency_boundary_scale_arguments(B=12, N=4096):
    sigma = (0.002**0.2 + torch.rand(B) * (3**0.2 - 0.002**0.2)) ** 5
    x = 0.5 * torch.randn(B, N) + sigma[:, None] * torch.randn(B, N)
    return {
        "x_ptr": x,
        "model_ptr": torch.randn(B, N).bfloat16(),
        "sigma_ptr": sigma,
        "out_ptr": torch.empty(B, N),
        "N": N,
        "sigma_data": 0.5,
        "sigma_min": 0.002,
        "most": 1.0,
    }


def consistency_boundary_scale_grid(meta):
    return (meta["B"], triton.cdiv(meta["N"], meta["BLOCK"]))


def consistency_boundary_scale_reference(x_ptr, model_ptr, sigma_ptr, sigma_data, sigma_min, most):
    sigma = sigma_ptr[:, None]
    skip = sigma_data**2 / ((sigma - sigma_min) ** 2 + sigma_data**2)
    scale = sigma_data * (sigma - sigma_min) / (sigma**2 + sigma_data**2).sqrt()
    return {"out_ptr": (skip * x_ptr + scale * model_ptr.to(x_ptr.dtype)).clamp(-most, most)}
