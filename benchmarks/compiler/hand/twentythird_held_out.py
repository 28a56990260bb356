"""Four held-out kernels of the twenty-third draw; `twentythird_held_out.c` has their intrinsics.

`random.Random(20261901)` drew four of these 129 names, which are of deep learning, and four of
the 318 in `twentythird_held_out2.py`, before any was written. All eight are held out. Kernels are
as users write them.

    dino_centre_sharpen_loss swav_sinkhorn_column_step mae_patch_mse_masked moco_key_ema_fp16
    sphereface_angle_power gradient_reversal_scale online_hard_example_top_losses
    quantile_crossing_penalty evidential_nig_loss energy_distance_crps_members lion_cautious_update
    adan_three_moments soap_rotate_moments shampoo_block_statistics adafactor_relative_rms
    rprop_sign_steps onebit_adam_pack attention_paged_block_table_decode attention_alibi_backward_dv
    attention_dropout_mask_rows attention_chunked_local_global mlstm_exponential_gate_step
    slstm_stabilised_cell mega_ema_damped_rows hgrn_lower_bound_gate contrastive_search_penalty_max
    logit_bias_scatter_rows medusa_tree_gather_logits prefix_sum_position_ids
    padding_mask_to_seqlens unpad_tokens_gather packed_sequence_segment_ids deit_distil_token_blend
    ghost_module_cheap_rows dynamic_relu_coefficients gct_channel_gate lambda_layer_position
    aspp_branch_merge bifpn_fast_fusion retina_anchor_decode_clip yolo_v8_dfl_decode
    detr_box_giou_matrix mask_rcnn_paste_sigmoid nms_soft_gaussian_decay keypoint_softargmax_2d
    pose_paf_line_score crowd_density_gauss_count depth_scale_invariant_sums
    stereo_soft_argmin_disparity raft_correlation_lookup superpoint_cell_to_heatmap
    netvlad_residual_assign delf_attention_weighted colbert_max_sim_rows splade_log_saturate_max
    bm_prefix_embed_add deberta_c2p_gather longformer_band_scores synthesizer_dense_rows
    fnet_real_mix_small gmlp_spatial_gate hyper_connection_streams value_residual_lambda_mix
    layer_scale_drop_path rezero_alpha_add fixup_bias_scale prenorm_double_residual_sum
    embedding_positional_type_sum char_cnn_max_over_time highway_carry_gate crf_log_partition_step
    pointer_generator_mix coverage_attention_penalty scheduled_sampling_pick
    sequence_unlikelihood_rows distil_kl_temperature_top hint_layer_mse_project
    attention_transfer_maps dkd_target_nontarget factorisation_bi_interaction
    deepfm_linear_plus_pairs xdeepfm_cin_layer sasrec_bpr_loss_rows gru4rec_top1_loss
    lightgcn_layer_mean ngcf_message_leaky appnp_teleport_step simple_gcn_power_rows
    painn_vector_mix tgn_time_encode_cosine graph_readout_set2set point_transformer_vector_attention
    pointpillar_decorate_points sparse_conv_gather_rulebook bev_lift_splat_sum
    occupancy_focal_planes neus_alpha_from_sdf vq_vae_codebook_ema fsq_round_levels lfq_sign_entropy
    gan_spectral_mel_feature_match parallel_wavegan_stft_loss squeezeformer_swoosh
    diffwave_step_embedding ddpm_posterior_mean_clip min_snr_loss_weights lcm_step_blend
    heun_churn_noise_step adaln_zero_modulate_gate controlnet_zero_add_scale lora_dora_column_norm
    ia3_scale_rows prefix_tuning_concat_heads adapter_bottleneck_rows ewc_fisher_penalty
    maml_inner_step_rows proto_distance_softmax evolution_strategy_rank_step dueling_head_combine
    td3_smoothed_target rnd_bonus_normalise hindsight_goal_reward decision_transformer_returns_to_go
    smoothquant_migrate_scale zeroquant_token_int8_pairs q2_k_dequant_rows sparse_24_prune_pack
    wanda_score_rows movement_prune_mask_update
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 128)], key=[])
@triton.jit
def bm_prefix_embed_add(
    prefix_ptr, task_ptr, ids_ptr, table_ptr, positions_ptr, out_ptr, P, T, D, BLOCK: tl.constexpr
):
    """What a tuned prompt's model begins with, batches first: a task's prefix, then tokens."""
    slot = tl.program_id(0)
    batch = tl.program_id(1)
    if slot < P:
        task = tl.load(task_ptr + batch)
        row_ptr = prefix_ptr + (task * P + slot) * D
    else:
        token = tl.load(ids_ptr + batch * T + slot - P)
        row_ptr = table_ptr + token * D
    out_ptr += (batch * (P + T) + slot) * D
    for start in range(0, D, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < D
        x = tl.load(row_ptr + column, mask=mask)
        position = tl.load(positions_ptr + slot * D + column, mask=mask)
        tl.store(out_ptr + column, x + position, mask=mask)


def bm_prefix_embed_add_arguments(B=4, P=10, T=54, D=200, TASKS=5, VOCABULARY=400):
    return {
        "prefix_ptr": torch.randn(TASKS, P, D),
        "task_ptr": torch.randint(0, TASKS, (B,)),
        "ids_ptr": torch.randint(0, VOCABULARY, (B, T)),
        "table_ptr": torch.randn(VOCABULARY, D),
        "positions_ptr": 0.1 * torch.randn(P + T, D),
        "out_ptr": torch.empty(B, P + T, D),
        "P": P,
        "T": T,
        "D": D,
    }


bm_prefix_embed_add_kept_inputs = ["task_ptr", "ids_ptr"]


def bm_prefix_embed_add_grid(meta):
    return (meta["P"] + meta["T"], meta["B"])


def bm_prefix_embed_add_reference(prefix_ptr, task_ptr, ids_ptr, table_ptr, positions_ptr):
    return {"out_ptr": torch.cat((prefix_ptr[task_ptr], table_ptr[ids_ptr]), 1) + positions_ptr}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (16, 32, 64)], key=[])
@triton.jit
def colbert_max_sim_rows(
    query_ptr,
    document_ptr,
    length_ptr,
    score_ptr,
    T,
    QUERY: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """How well documents match: each token of the query counts with the token most like it."""
    document = tl.program_id(0)
    length = tl.load(length_ptr + document)
    feature = tl.arange(0, DIM)
    token = tl.arange(0, QUERY)
    query = tl.load(query_ptr + token[:, None] * DIM + feature[None, :])
    best = tl.full((QUERY,), float("-inf"), dtype=tl.float32)
    for start in range(0, length, BLOCK):
        row = start + tl.arange(0, BLOCK)
        in_document = row < length
        at = (document * T + row[None, :]) * DIM + feature[:, None]
        keys = tl.load(document_ptr + at, mask=in_document[None, :], other=0.0)
        alike = tl.dot(query, keys, input_precision="ieee")
        alike = tl.where(in_document[None, :], alike, float("-inf"))
        best = tl.maximum(best, tl.max(alike, axis=1))
    tl.store(score_ptr + document, tl.sum(best, axis=0))


def colbert_max_sim_rows_arguments(DOCUMENTS=24, T=48, QUERY=32, DIM=64):
    unit = torch.nn.functional.normalize
    return {
        "query_ptr": unit(torch.randn(QUERY, DIM), dim=1),
        "document_ptr": unit(torch.randn(DOCUMENTS, T, DIM), dim=2),
        "length_ptr": torch.randint(T // 4, T + 1, (DOCUMENTS,), dtype=torch.int32),
        "score_ptr": torch.empty(DOCUMENTS),
        "T": T,
        "QUERY": QUERY,
        "DIM": DIM,
    }


colbert_max_sim_rows_kept_inputs = ["length_ptr"]


def colbert_max_sim_rows_grid(meta):
    return (meta["DOCUMENTS"],)


def colbert_max_sim_rows_reference(query_ptr, document_ptr, length_ptr, T):
    alike = torch.einsum("qd,ntd->nqt", query_ptr, document_ptr)
    is_behind = torch.arange(T) >= length_ptr[:, None]
    alike = alike.masked_fill(is_behind[:, None, :], float("-inf"))
    return {"score_ptr": alike.amax(dim=2).sum(dim=1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 128, 256, 512)], key=[])
@triton.jit
def sphereface_angle_power(
    cosine_ptr, norm_ptr, label_ptr, logits_ptr, C, weight, BLOCK: tl.constexpr
):
    """Logits of SphereFace: of the label's class, the angle counts four times, by Chebyshev."""
    row = tl.program_id(1)
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = column < C
    label = tl.load(label_ptr + row)
    norm = tl.load(norm_ptr + row)
    x = tl.load(cosine_ptr + row * C + column, mask=mask, other=0.0)
    x = tl.minimum(tl.maximum(x, -1.0), 1.0)
    square = x * x
    cosine_of_4 = 8.0 * square * square - 8.0 * square + 1.0
    # How many quarters of a half turn the angle has passed, so that it goes on falling.
    k = (x < 0.70710678).to(tl.int32) + (x < 0.0).to(tl.int32) + (x < -0.70710678).to(tl.int32)
    sign = (1 - 2 * (k & 1)).to(tl.float32)
    phi = sign * cosine_of_4 - 2.0 * k.to(tl.float32)
    x = tl.where(column == label, (weight * x + phi) / (1.0 + weight), x)
    tl.store(logits_ptr + row * C + column, x * norm, mask=mask)


def sphereface_angle_power_arguments(B=48, C=1000):
    return {
        "cosine_ptr": torch.tanh(0.5 * torch.randn(B, C)),
        "norm_ptr": 10 + 5 * torch.rand(B),
        "label_ptr": torch.randint(0, C, (B,)),
        "logits_ptr": torch.empty(B, C),
        "C": C,
        "weight": 5.0,
    }


sphereface_angle_power_kept_inputs = ["label_ptr", "weight"]


def sphereface_angle_power_grid(meta):
    return (triton.cdiv(meta["C"], meta["BLOCK"]), meta["B"])


def sphereface_angle_power_reference(cosine_ptr, norm_ptr, label_ptr, C, weight):
    x = cosine_ptr.clamp(-1, 1)
    k = sum((x < edge).to(x.dtype) for edge in (0.70710678, 0, -0.70710678))
    phi = (1 - 2 * (k % 2)) * (8 * x**4 - 8 * x**2 + 1) - 2 * k
    is_label = torch.arange(C) == label_ptr[:, None]
    x = torch.where(is_label, (weight * x + phi) / (1 + weight), x)
    return {"logits_ptr": x * norm_ptr[:, None]}


@triton.autotune([triton.Config({})], key=[])
@triton.jit
def nms_soft_gaussian_decay(
    boxes_ptr,
    scores_ptr,
    index_ptr,
    kept_ptr,
    N,
    KEPT,
    sigma,
    least,
    BLOCK: tl.constexpr,
):
    """Picks the best boxes of each class in turn; others' scores fall by how much they overlap."""
    group = tl.program_id(0)
    box = tl.arange(0, BLOCK)
    mask = box < N
    at = boxes_ptr + (group * N + box) * 4
    left = tl.load(at, mask=mask, other=0.0)
    top = tl.load(at + 1, mask=mask, other=0.0)
    right = tl.load(at + 2, mask=mask, other=0.0)
    bottom = tl.load(at + 3, mask=mask, other=0.0)
    area = (right - left) * (bottom - top)
    score = tl.load(scores_ptr + group * N + box, mask=mask, other=-1.0)
    for k in range(KEPT):
        best = tl.max(score, axis=0)
        place = tl.argmax(score, axis=0)
        is_kept = best >= least
        tl.store(index_ptr + group * KEPT + k, tl.where(is_kept, place, -1))
        tl.store(kept_ptr + group * KEPT + k, tl.where(is_kept, best, 0.0))
        chosen = boxes_ptr + (group * N + place) * 4
        x0 = tl.load(chosen)
        y0 = tl.load(chosen + 1)
        x1 = tl.load(chosen + 2)
        y1 = tl.load(chosen + 3)
        width = tl.maximum(tl.minimum(right, x1) - tl.maximum(left, x0), 0.0)
        height = tl.maximum(tl.minimum(bottom, y1) - tl.maximum(top, y0), 0.0)
        both = width * height
        iou = both / (area + (x1 - x0) * (y1 - y0) - both + 1e-9)
        score = tl.where(box == place, -1.0, score * tl.exp(-iou * iou / sigma))


def nms_soft_gaussian_decay_arguments(CLASSES=12, N=100, KEPT=24):
    # Some objects in a picture of unit size, and boxes around each.
    centre = torch.rand(CLASSES, 6, 2).repeat_interleave(17, dim=1)[:, :N]
    centre = centre + 0.04 * torch.randn(CLASSES, N, 2)
    size = 0.1 + 0.15 * torch.rand(CLASSES, N, 2)
    boxes = torch.cat((centre - size / 2, centre + size / 2), dim=2)
    return {
        "boxes_ptr": boxes[:, torch.randperm(N)].contiguous(),
        "scores_ptr": torch.rand(CLASSES, N),
        "index_ptr": torch.empty(CLASSES, KEPT, dtype=torch.int32),
        "kept_ptr": torch.empty(CLASSES, KEPT),
        "N": N,
        "KEPT": KEPT,
        "sigma": 0.5,
        "least": 0.05,
        "BLOCK": triton.next_power_of_2(N),
    }


nms_soft_gaussian_decay_kept_inputs = ["boxes_ptr", "scores_ptr", "sigma", "least"]


def nms_soft_gaussian_decay_grid(meta):
    return (meta["CLASSES"],)


def nms_soft_gaussian_decay_reference(boxes_ptr, scores_ptr, KEPT, sigma, least):
    classes = torch.arange(len(boxes_ptr))
    left, top, right, bottom = boxes_ptr.unbind(dim=2)
    area = (right - left) * (bottom - top)
    score, places, kept = scores_ptr.clone(), [], []
    for _ in range(KEPT):
        best, place = score.max(dim=1)
        places.append(torch.where(best >= least, place, -1))
        kept.append(torch.where(best >= least, best, 0))
        x0, y0, x1, y1 = boxes_ptr[classes, place].T[:, :, None]
        width = (right.minimum(x1) - left.maximum(x0)).clamp(min=0)
        height = (bottom.minimum(y1) - top.maximum(y0)).clamp(min=0)
        iou = width * height / (area + area[classes, place][:, None] - width * height + 1e-9)
        score = score * torch.exp(-(iou**2) / sigma)
        score[classes, place] = -1
    return {"index_ptr": torch.stack(places, 1).int(), "kept_ptr": torch.stack(kept, 1)}
