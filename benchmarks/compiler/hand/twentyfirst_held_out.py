"""Four held-out kernels of the twenty-first draw, that `twentyfirst_held_out.c` has in intrinsics.

`random.Random(20261701)` drew four of these 141 names, which are of deep learning, and four of
the 436 in `twentyfirst_held_out2.py`, before any was written. All eight are held out. Kernels are
as users write them.

    rms_norm_partial_rotary_fuse group_norm_backward_nhwc layer_norm_fp8_out
    power_norm_running_rows sandwich_norm_residual scale_norm_rows batch_norm_train_channels_last
    conditional_batch_norm_classes hardsigmoid_gate_planes softmax_one_rows entmax15_bisect_rows
    sigmoid_attention_rows log_sum_exp_pool_planes glu_split_bias_halves swiglu_clamped_oss
    xielu_activation_rows srelu_channels rrelu_train_noise gelu_poly_int8
    logit_softcap_cross_entropy flash_attention_causal_tile flash_decode_splitkv_part
    paged_decode_gqa_int8 attention_alibi_causal_row attention_relative_key_shift
    attention_bias_gradient_sum linformer_key_project nystrom_landmark_means reformer_lsh_buckets
    bigbird_random_block_gather hyper_attention_sort_hash cosformer_reweight rope_longfactor_scaled
    rope_fused_kv_fp8_store rope_2d_vision_halves kv_beam_reorder_copy kv_window_ring_append
    kv_int2_per_channel_dequant prefix_cache_block_hash spec_tree_verify_paths
    medusa_candidate_gather mamba_conv_state_shift ssd_intra_chunk_diag s5_diagonal_scan
    hawk_rglru_gate_scan xlstm_slstm_step ttt_linear_inner_step gated_slot_attention_step
    lightning_attention_block gemm_dual_silu_gate gemm_bias_dropout_residual
    gemm_int4_zero_points_groups gemm_fp8_rowwise_scales gemm_residual_layer_stats
    gemv_batched_few_tokens gemv_sparse_activation_skip matmul_hadamard_mask_backward
    bmm_softmax_weighted_values marlin_weight_permute spqr_outlier_csr_add aqlm_codebook_gemv
    quip_e8p_decode_rows iq1_s_grid_dequant q4_1_block_gemv mxfp6_pack_rows int8_gelu_lookup_table
    nearest_codebook_gradient_step moe_expert_bias_update moe_token_unpermute_backward
    moe_topk_softmax_renorm moe_grouped_gemv_decode conv1d_depthwise_k31_glu conv2d_1x1_nhwc_relu6
    conv2d_3x3_winograd_input conv3x3_backward_weight conv2d_bias_hardswish_nchw4
    depthwise_5x5_nhwc_int8 transposed_conv1d_upsample4 max_pool3d_volume_rows avg_pool_global_nhwc
    adaptive_max_pool_bins upsample_nearest_backward bilinear_align_corners_rows
    pixel_attention_gate coordinate_attention_pool swin_patch_unmerge_rows vit_cls_token_concat_pos
    mae_random_mask_loss box_decode_yolo_anchors ctc_greedy_collapse nms_iou_bitmask_rows
    ciou_box_loss_rows giou_cost_matrix_tile dino_patch_koleo_distance moco_queue_logits
    simclr_nt_xent_rows hard_negative_margin_rows ranknet_pairwise_lambda listmle_rows_loss
    bradley_terry_reward_loss dpo_reference_free_grads kl_penalty_reward_shaping
    reinforce_baseline_rows impala_policy_gradient_rows dqn_double_target_rows
    soft_actor_twin_q_min cross_entropy_label_mask_mean unlikelihood_token_loss adamw_foreach_flat
    lion_8bit_blockwise sgd_nesterov_bf16_master muon_frobenius_scale adam_mini_block_second_moment
    grad_norm_squares_segments zero_shard_copy_cast top_k_gradient_sparsify
    powersgd_orthogonalise_columns one_bit_sign_error_feedback embedding_bag_mean_offsets
    embedding_hash_trick_sum rotary_patch_time_embed deepfm_field_pair_sums dien_attention_gru_gate
    sasrec_causal_item_scores gcn_symmetric_spmm_rows graph_transformer_edge_bias
    painn_vector_message dimenet_bessel_basis gatedgcn_edge_gate topk_pool_node_scores
    neural_ode_rk4_combine diffusion_ddpm_add_noise diffusion_karras_sigma_scale
    euler_ancestral_step classifier_free_dual_guidance gaussian_splat_project_covariance
    instant_ngp_density_grid_update vae_kl_free_bits wavenet_gated_residual_skip
    griffin_lim_phase_project ctc_blank_penalty_logits
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"PLANES": planes}) for planes in (1, 2, 4, 8)], key=[])
@triton.jit
def log_sum_exp_pool_planes(
    x_ptr, out_ptr, P, PIXELS, sharpness, PLANES: tl.constexpr, BLOCK: tl.constexpr
):
    """Pools planes by log(mean(exp(r x))) / r, which lies between their mean and their maximum."""
    plane = tl.program_id(0) * PLANES + tl.arange(0, PLANES)
    pixel = tl.arange(0, BLOCK)
    mask = (plane < P)[:, None] & (pixel < PIXELS)[None, :]
    at = plane[:, None] * PIXELS + pixel[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=0.0) * sharpness
    x = tl.where(mask, x, float("-inf"))
    most = tl.max(x, axis=1)
    most = tl.where(plane < P, most, 0.0)
    total = tl.sum(tl.exp(x - most[:, None]), axis=1)
    pooled = (most + tl.log(total / PIXELS)) / sharpness
    tl.store(out_ptr + plane, pooled, mask=plane < P)


def log_sum_exp_pool_planes_arguments(N=2, C=60, H=14, W=14):
    return {
        "x_ptr": 1.5 * torch.randn(N, C, H, W),
        "out_ptr": torch.empty(N, C),
        "P": N * C,
        "PIXELS": H * W,
        "sharpness": 4.0,
        "BLOCK": triton.next_power_of_2(H * W),
    }


def log_sum_exp_pool_planes_grid(meta):
    return (triton.cdiv(meta["P"], meta["PLANES"]),)


def log_sum_exp_pool_planes_reference(x_ptr, PIXELS, sharpness):
    total = torch.logsumexp(sharpness * x_ptr, dim=(2, 3))
    return {"out_ptr": (total - torch.tensor(PIXELS, dtype=x_ptr.dtype).log()) / sharpness}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (16, 1, 4, 64)], key=[])
@triton.jit
def nms_iou_bitmask_rows(boxes_ptr, mask_ptr, N, WORDS, threshold, ROWS: tl.constexpr):
    """Which later boxes each box would suppress, 64 in a word; boxes are sorted by score."""
    first = tl.program_id(0) * ROWS
    word = tl.program_id(1)
    row = first + tl.arange(0, ROWS)
    bits = tl.zeros((ROWS,), dtype=tl.int64)
    if word * 64 + 64 > first:  # else all of the word's boxes are before these
        lane = tl.arange(0, 64)
        column = word * 64 + lane
        in_rows = row < N
        in_columns = column < N
        left = tl.load(boxes_ptr + row * 4, mask=in_rows, other=0.0)[:, None]
        top = tl.load(boxes_ptr + row * 4 + 1, mask=in_rows, other=0.0)[:, None]
        right = tl.load(boxes_ptr + row * 4 + 2, mask=in_rows, other=0.0)[:, None]
        bottom = tl.load(boxes_ptr + row * 4 + 3, mask=in_rows, other=0.0)[:, None]
        other_left = tl.load(boxes_ptr + column * 4, mask=in_columns, other=0.0)[None, :]
        other_top = tl.load(boxes_ptr + column * 4 + 1, mask=in_columns, other=0.0)[None, :]
        other_right = tl.load(boxes_ptr + column * 4 + 2, mask=in_columns, other=0.0)[None, :]
        other_bottom = tl.load(boxes_ptr + column * 4 + 3, mask=in_columns, other=0.0)[None, :]
        area = (right - left) * (bottom - top)
        other_area = (other_right - other_left) * (other_bottom - other_top)
        width = tl.minimum(right, other_right) - tl.maximum(left, other_left)
        height = tl.minimum(bottom, other_bottom) - tl.maximum(top, other_top)
        common = tl.maximum(width, 0.0) * tl.maximum(height, 0.0)
        union = area + other_area - common
        suppresses = (common > threshold * union) & (column[None, :] > row[:, None])
        suppresses = suppresses & in_columns[None, :]
        bits = tl.sum(suppresses.to(tl.int64) << lane[None, :], axis=1)
    tl.store(mask_ptr + row * WORDS + word, bits, mask=row < N)


def nms_iou_bitmask_rows_arguments(N=300):
    # Boxes lie around some objects.
    objects = torch.cat([600 * torch.rand(24, 2), 40 + 120 * torch.rand(24, 2)], dim=1)
    box = objects[torch.randint(0, 24, (N,))] * (1 + 0.08 * torch.randn(N, 4))
    corner = box[:, :2] - box[:, 2:] / 2
    return {
        "boxes_ptr": torch.cat([corner, corner + box[:, 2:]], dim=1),
        "mask_ptr": torch.empty(N, triton.cdiv(N, 64), dtype=torch.int64),
        "N": N,
        "WORDS": triton.cdiv(N, 64),
        "threshold": 0.5,
    }


nms_iou_bitmask_rows_kept_inputs = ["boxes_ptr", "threshold"]


def nms_iou_bitmask_rows_grid(meta):
    return (triton.cdiv(meta["N"], meta["ROWS"]), meta["WORDS"])


def nms_iou_bitmask_rows_reference(boxes_ptr, N, WORDS, threshold):
    low = torch.maximum(boxes_ptr[:, None, :2], boxes_ptr[None, :, :2])
    high = torch.minimum(boxes_ptr[:, None, 2:], boxes_ptr[None, :, 2:])
    common = (high - low).clamp(min=0).prod(dim=2)
    area = (boxes_ptr[:, 2:] - boxes_ptr[:, :2]).prod(dim=1)
    union = area[:, None] + area - common
    suppresses = (common / union > threshold).triu(1).long()
    suppresses = torch.nn.functional.pad(suppresses, (0, 64 * WORDS - N)).reshape(N, WORDS, 64)
    return {"mask_ptr": (suppresses << torch.arange(64)).sum(dim=2)}


@triton.autotune(
    [
        triton.Config({"BLOCK_Q": q, "BLOCK_T": t})
        for q, t in ((16, 128), (1, 128), (4, 128), (16, 32), (32, 16))
    ],
    key=[],
)
@triton.jit
def giou_cost_matrix_tile(
    query_ptr, target_ptr, cost_ptr, Q, T, weight, BLOCK_Q: tl.constexpr, BLOCK_T: tl.constexpr
):
    """Adds to the costs of matching queries to targets the weight times their negative GIoU.

    Boxes are centres and sizes.
    """
    query = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    target = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    left, top, right, bottom = _corners(query_ptr, query, Q)
    left, top, right, bottom = left[:, None], top[:, None], right[:, None], bottom[:, None]
    t_left, t_top, t_right, t_bottom = _corners(target_ptr, target, T)
    t_left, t_top, t_right, t_bottom = (
        t_left[None, :],
        t_top[None, :],
        t_right[None, :],
        t_bottom[None, :],
    )
    area = (right - left) * (bottom - top)
    t_area = (t_right - t_left) * (t_bottom - t_top)
    width = tl.maximum(tl.minimum(right, t_right) - tl.maximum(left, t_left), 0.0)
    height = tl.maximum(tl.minimum(bottom, t_bottom) - tl.maximum(top, t_top), 0.0)
    common = width * height
    union = area + t_area - common
    hull_width = tl.maximum(right, t_right) - tl.minimum(left, t_left)
    hull_height = tl.maximum(bottom, t_bottom) - tl.minimum(top, t_top)
    hull = hull_width * hull_height
    giou = common / union - (hull - union) / hull

    at = cost_ptr + query[:, None] * T + target[None, :]
    mask = (query < Q)[:, None] & (target < T)[None, :]
    cost = tl.load(at, mask=mask, other=0.0)
    tl.store(at, cost - weight * giou, mask=mask)


@triton.jit
def _corners(boxes_ptr, box, N):
    """The corners of boxes; of those that there are not, corners of a box of its own."""
    x = tl.load(boxes_ptr + box * 4, mask=box < N, other=0.5)
    y = tl.load(boxes_ptr + box * 4 + 1, mask=box < N, other=0.5)
    width = tl.load(boxes_ptr + box * 4 + 2, mask=box < N, other=1.0)
    height = tl.load(boxes_ptr + box * 4 + 3, mask=box < N, other=1.0)
    return x - 0.5 * width, y - 0.5 * height, x + 0.5 * width, y + 0.5 * height


def giou_cost_matrix_tile_arguments(Q=300, T=70):
    def boxes(n):
        return torch.cat([torch.rand(n, 2), 0.05 + 0.4 * torch.rand(n, 2)], dim=1)

    return {
        "query_ptr": boxes(Q),
        "target_ptr": boxes(T),
        "cost_ptr": torch.randn(Q, T),
        "Q": Q,
        "T": T,
        "weight": 2.0,
    }


giou_cost_matrix_tile_kept_inputs = ["query_ptr", "target_ptr"]


def giou_cost_matrix_tile_grid(meta):
    return (triton.cdiv(meta["Q"], meta["BLOCK_Q"]), triton.cdiv(meta["T"], meta["BLOCK_T"]))


def giou_cost_matrix_tile_reference(query_ptr, target_ptr, cost_ptr, weight):
    def corners(boxes):
        return boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2

    def area(low, high):
        return (high - low).clamp(min=0).prod(dim=-1)

    low, high = (x[:, None] for x in corners(query_ptr))
    t_low, t_high = corners(target_ptr)
    common = area(torch.maximum(low, t_low), torch.minimum(high, t_high))
    union = area(low, high) + area(t_low, t_high) - common
    hull = area(torch.minimum(low, t_low), torch.maximum(high, t_high))
    return {"cost_ptr": cost_ptr - weight * (common / union - (hull - union) / hull)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512,)], key=[])
@triton.jit
def powersgd_orthogonalise_columns(matrix_ptr, N, eps, RANK: tl.constexpr, BLOCK: tl.constexpr):
    """Makes the columns of each matrix orthonormal, as PowerSGD does, by Gram-Schmidt."""
    row = tl.arange(0, BLOCK)[:, None]
    rank = tl.arange(0, RANK)[None, :]
    at = matrix_ptr + (tl.program_id(0) * N + row) * RANK + rank
    matrix = tl.load(at, mask=row < N, other=0.0)
    for k in tl.static_range(RANK):
        column = tl.sum(tl.where(rank == k, matrix, 0.0), axis=1)
        column /= tl.sqrt(tl.sum(column * column, axis=0)) + eps
        along = tl.sum(matrix * column[:, None], axis=0)
        rest = matrix - along[None, :] * column[:, None]
        matrix = tl.where(rank > k, rest, tl.where(rank == k, column[:, None], matrix))
    tl.store(at, matrix, mask=row < N)


def powersgd_orthogonalise_columns_arguments(MATRICES=20, N=480, RANK=4):
    return {
        "matrix_ptr": torch.randn(MATRICES, N, RANK) + 0.5 * torch.randn(MATRICES, N, 1),
        "N": N,
        "eps": 1e-8,
        "RANK": RANK,
    }


def powersgd_orthogonalise_columns_grid(meta):
    return (meta["MATRICES"],)


def powersgd_orthogonalise_columns_reference(matrix_ptr, RANK, eps):
    columns = list(matrix_ptr.unbind(dim=2))
    for k in range(RANK):
        columns[k] = columns[k] / (columns[k].norm(dim=1, keepdim=True) + eps)
        for j in range(k + 1, RANK):
            along = (columns[k] * columns[j]).sum(dim=1, keepdim=True)
            columns[j] = columns[j] - along * columns[k]
    return {"matrix_ptr": torch.stack(columns, dim=2)}
