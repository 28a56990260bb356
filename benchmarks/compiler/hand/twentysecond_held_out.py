"""Four held-out kernels of the twenty-second draw; `twentysecond_held_out.c` has their intrinsics.

`random.Random(20261801)` drew four of these 303 names, which are of deep learning, and four of
the 722 in `twentysecond_held_out2.py`, before any was written. All eight are held out. Kernels are
as users write them.

    rms_norm_zero_centred_gamma rms_norm_backward_partial_rows layer_norm_no_bias_bf16
    layer_norm_input_grad_residual group_norm_swish_nhwc instance_norm_style_adain
    local_response_norm_channels batch_norm_backward_reduce_planes filter_response_norm_tlu
    weight_standardise_filters spectral_norm_power_step dynamic_tanh_rows evo_norm_s0_planes
    cosine_norm_linear_rows token_mean_subtract_rows peri_norm_dual_rows qk_clip_max_logit
    softmax_off_by_one_fp16 sparsemax_sorted_rows alpha_entmax_grad_rows gumbel_softmax_hard_rows
    softmax_top_p_cutoff min_p_filter_logits typical_sampling_mask_rows dry_repetition_scan
    mirostat_surprise_rows eta_cutoff_logits token_bigram_block_mask
    classifier_temperature_scaling_grad gelu_tanh_backward_bias silu_mul_backward_pair
    geglu_backward_halves reglu_quant_rows squareplus_rows elu_plus_one_feature hard_mish_rows
    prelu_backward_channels maxout_groups_of_four crelu_concat_planes smelu_rows
    logit_tanh_cap_backward softsign_gate_mix stochastic_depth_scale_rows spatial_dropout_planes
    dropblock_mask_apply dropout_philox_bitmask attention_softcap_tile attention_sink_bias_decode
    attention_varlen_cu_seqlens attention_sliding_ring_decode attention_lse_merge_parts
    attention_int8_scores_rows attention_talking_heads_mix attention_2d_relative_bias
    mqa_decode_bf16_cache attention_tree_mask_scores differential_attention_combine
    forgetting_gate_bias_scores attention_head_gate_sigmoid cross_kv_cache_project
    landmark_block_topk native_sparse_compress_keys quest_page_minmax_scores
    streaming_llm_sink_evict h2o_heavy_hitter_sums snapkv_pool_votes kivi_residual_append
    xpos_scale_rotate rope_yarn_ntk_blend rope_mrope_three_sections rope_backward_inplace
    rope_dynamic_base_table learned_position_interp sinusoid_timestep_embed alibi_slopes_window
    performer_positive_features rff_attention_numerator gla_chunk_inter_state retention_chunk_cross
    rwkv6_token_shift_lora mamba2_dt_softplus_bias gated_rmsnorm_ssd_out hyena_short_filter
    s4d_kernel_vandermonde lru_complex_scan gru_cell_fused_gates lstm_peephole_cell sru_highway_scan
    indrnn_recurrent_relu min_gru_log_scan linear_int4_awq_dequant_tile gptq_column_error_update
    hqq_zero_shrink_step q6_k_superblock_gemv q8_k_dot_q4_k bitnet_ternary_gemv fp6_e3m2_unpack
    fp4_e2m1_pairs_dequant mxint8_block_quantise lsq_step_size_grad pact_clip_backward
    fake_quant_per_channel_grad dorefa_weight_bits xnor_popcount_gemv vector_quantise_nearest_code
    residual_vq_accumulate product_quantise_adc_scan gemm_transposed_b_small_k gemm_symmetric_rank_k
    gemm_block_diagonal_rows gemm_lora_batched_adapters gemv_fp16_weights_bias gemm_bias_mean_pool
    outer_product_mean_msa triangle_multiply_outgoing triangle_attention_bias_rows
    pair_transition_gate conv2d_stride2_stem_3x3 conv2d_dilated_3x3_rows conv1d_k5_relu_pool
    conv2d_im2col_pack_nchw conv_transpose2d_k2s2 depthwise_7x7_layer_scale
    depthwise_conv_backward_taps octave_conv_downsum carafe_reassemble_rows
    deformable_conv_sample_offsets pixel_unshuffle_nhwc blur_pool_antialias_rows max_unpool_scatter
    soft_pool_windows stochastic_pool_pick region_roi_pool_bins squeeze_excite_scale_nhwc
    eca_channel_conv cbam_spatial_pool simam_energy_gate non_local_affinity_rows
    triplet_attention_zpool efficient_channel_shuffle_add patch_embed_16x16_rows
    window_partition_cyclic_mask token_pruning_keep_scores rotary_mask_token_fill
    focal_modulation_aggregate mobile_vit_unfold perceiver_latent_mix iou_aware_focal_loss
    varifocal_loss_rows distribution_focal_integral generalised_dice_planes lovasz_hinge_sorted
    boundary_distance_loss soft_skeleton_erode_dilate centernet_heatmap_focal fcos_ltrb_centerness
    anchor_free_assign_simota wasserstein_gauss_box_loss poly1_cross_entropy label_relax_loss
    symmetric_cross_entropy_rows generalised_ce_q_rows multi_similarity_rows proxy_anchor_sums
    angular_prototype_logits supcon_masked_rows barlow_cross_correlation_loss
    vicreg_covariance_penalty clip_symmetric_logit_loss siglip_pairwise_sigmoid info_nce_queue_grad
    triplet_semihard_mine npair_logsumexp_rows ranking_approx_ndcg lambda_loss_ndcg2
    plackett_luce_rows ctc_forward_alpha_step rnnt_joint_log_probs seq_mixup_blend cutmix_box_paste
    kto_value_loss ipo_squared_margin simpo_length_margin cpo_nll_mix grpo_advantage_normalise
    gae_lambda_scan vtrace_rho_clip retrace_targets_rows c51_project_atoms iqn_cosine_embed
    munchausen_log_policy awr_exp_weights sac_tanh_log_prob cql_logsumexp_gap dreamer_lambda_returns
    muzero_support_encode adamw_amsgrad_fused nadam_momentum_schedule radam_rectify_step
    adamax_inf_norm lars_local_rate tiger_sign_accumulate adalomo_factored_update
    ademamix_two_momenta lookahead_slow_blend sam_perturb_ascent grad_accum_bf16_stochastic
    agc_unitwise_clip swalp_block_float_average dp_sgd_per_sample_clip fedavg_weighted_delta
    terngrad_ternarise qsgd_stochastic_levels signum_majority_vote dgc_momentum_correct
    gat_leaky_softmax_edges graphsage_mean_concat gin_sum_mlp_edge gine_edge_relu_sum
    rgcn_relation_basis chebnet_recurrence_rows schnet_cfconv_filter nequip_tensor_product_l1
    pna_scaler_aggregate diffpool_assign_product sage_pool_max_gather metapath_attention_mix
    distmult_scores_rows rotate_complex_distance complex_tri_linear_scores poincare_distance_rows
    hyperbolic_exp_map lorentz_inner_rows deepwalk_negative_update node2vec_bias_weights
    wide_deep_cross_terms dcn_v2_low_rank_cross autoint_field_attention din_target_attention
    bst_position_bucket two_tower_inbatch_softmax mmoe_gate_mix ple_expert_select
    embedding_adagrad_rowwise embedding_bag_int4_rows ffm_field_aware_pairs
    moe_capacity_drop_positions moe_router_z_loss moe_expert_choice_topk moe_token_permute_pad
    moe_aux_load_balance moe_hash_route_tokens soft_moe_dispatch_slots ddim_step_eta
    dpm_solver_2m_step unipc_corrector_blend flow_matching_velocity_loss rectified_flow_euler
    edm_precondition_scale v_prediction_target latent_scale_shift_clamp lpips_unit_normalise_diff
    r1_gradient_penalty_sums hinge_gan_loss_planes style_modulate_demodulate upfirdn2d_rows
    noise_inject_planes nerf_alpha_composite_rays plenoxel_trilinear_sh triplane_bilinear_sum
    hash_encode_multires siren_sine_layer mip_nerf_cone_cast tensorf_plane_line_product
    gaussian_tile_alpha_blend sdf_eikonal_penalty pointnet_max_feature ball_query_group
    three_nn_interpolate kpconv_kernel_weights voxelnet_pillar_scatter hifigan_mel_loss_rows
    encodec_rvq_lookup conformer_glu_dwconv mel_specaugment_mask whisper_log_mel_clamp
    tacotron_location_attention fastspeech_length_regulate wav2vec_quantise_gumbel
    neural_ctrl_affine_coupling real_nvp_coupling_inverse glow_actnorm_invconv
    spline_flow_rational_quad nice_additive_coupling maf_gaussian_logprob beta_tc_vae_density
    iwae_log_weights liquid_time_constant_step deep_equilibrium_anderson hypernet_chunk_generate
    fourier_operator_modes deeponet_branch_trunk pinn_burgers_residual
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 512, 2048)], key=[])
@triton.jit
def v_prediction_target(
    sample_ptr, noise_ptr, step_ptr, alphas_ptr, target_ptr, N, BLOCK: tl.constexpr
):
    """What a diffusion model that predicts velocities is trained on, each sample at a step."""
    sample = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    step = tl.load(step_ptr + sample)
    alpha = tl.load(alphas_ptr + step)
    signal = tl.sqrt(alpha)
    sigma = tl.sqrt(1.0 - alpha)
    x = tl.load(sample_ptr + sample * N + at, mask=mask)
    noise = tl.load(noise_ptr + sample * N + at, mask=mask)
    tl.store(target_ptr + sample * N + at, signal * noise - sigma * x, mask=mask)


def v_prediction_target_arguments(B=6, C=4, H=30, W=30, T=1000):
    betas = torch.linspace(0.00085**0.5, 0.012**0.5, T) ** 2
    return {
        "sample_ptr": torch.randn(B, C, H, W),
        "noise_ptr": torch.randn(B, C, H, W),
        "step_ptr": torch.randint(0, T, (B,)),
        "alphas_ptr": torch.cumprod(1 - betas, dim=0),
        "target_ptr": torch.empty(B, C, H, W),
        "N": C * H * W,
    }


v_prediction_target_kept_inputs = ["step_ptr", "alphas_ptr"]


def v_prediction_target_grid(meta):
    return (meta["B"], triton.cdiv(meta["N"], meta["BLOCK"]))


def v_prediction_target_reference(sample_ptr, noise_ptr, step_ptr, alphas_ptr):
    alpha = alphas_ptr[step_ptr][:, None, None, None]
    return {"target_ptr": alpha.sqrt() * noise_ptr - (1 - alpha).sqrt() * sample_ptr}


@triton.autotune([triton.Config({"QUERIES": queries}) for queries in (1, 2, 4)], key=[])
@triton.jit
def attention_talking_heads_mix(
    scores_ptr,
    before_ptr,
    before_bias_ptr,
    after_ptr,
    after_bias_ptr,
    out_ptr,
    Q,
    K,
    HEADS: tl.constexpr,
    QUERIES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Mixes the scores of heads before the softmax, and its results after it, as CaiT does."""
    head = tl.arange(0, HEADS)
    key = tl.arange(0, BLOCK)
    first = tl.program_id(0) * QUERIES
    batch = tl.program_id(1)
    bias = tl.load(after_bias_ptr + head)
    for query in range(first, min(first + QUERIES, Q)):
        at = ((batch * HEADS + head[:, None]) * Q + query) * K + key[None, :]
        mask = (key < K)[None, :]
        scores = tl.load(scores_ptr + at, mask=mask, other=0.0)
        out = tl.zeros((HEADS, BLOCK), dtype=tl.float32) + bias[:, None]
        for mixed in range(HEADS):
            weight = tl.load(before_ptr + mixed * HEADS + head)
            x = tl.sum(weight[:, None] * scores, axis=0) + tl.load(before_bias_ptr + mixed)
            x = tl.where(key < K, x, float("-inf"))
            x = tl.exp(x - tl.max(x, axis=0))
            x /= tl.sum(x, axis=0)
            out += tl.load(after_ptr + head * HEADS + mixed)[:, None] * x[None, :]
        tl.store(out_ptr + at, out, mask=mask)


def attention_talking_heads_mix_arguments(B=1, HEADS=8, Q=100, K=100):
    return {
        "scores_ptr": torch.randn(B, HEADS, Q, K),
        "before_ptr": torch.eye(HEADS) + 0.3 * torch.randn(HEADS, HEADS),
        "before_bias_ptr": 0.1 * torch.randn(HEADS),
        "after_ptr": torch.eye(HEADS) + 0.3 * torch.randn(HEADS, HEADS),
        "after_bias_ptr": 0.01 * torch.randn(HEADS),
        "out_ptr": torch.empty(B, HEADS, Q, K),
        "Q": Q,
        "K": K,
        "HEADS": HEADS,
        "BLOCK": triton.next_power_of_2(K),
    }


def attention_talking_heads_mix_grid(meta):
    return (triton.cdiv(meta["Q"], meta["QUERIES"]), meta["B"])


def attention_talking_heads_mix_reference(
    scores_ptr, before_ptr, before_bias_ptr, after_ptr, after_bias_ptr
):
    linear = torch.nn.functional.linear
    x = linear(scores_ptr.permute(0, 2, 3, 1), before_ptr, before_bias_ptr)
    x = linear(x.softmax(dim=2), after_ptr, after_bias_ptr)
    return {"out_ptr": x.permute(0, 3, 1, 2)}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 2, 4)], key=[])
@triton.jit
def gumbel_softmax_hard_rows(
    logits_ptr,
    uniform_ptr,
    hard_ptr,
    soft_ptr,
    M,
    N,
    temperature,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Samples of categories, one-hot, and the softmax by which gradients go back."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    mask = (row < M)[:, None] & (column < N)[None, :]
    at = row[:, None] * N + column[None, :]
    logits = tl.load(logits_ptr + at, mask=mask, other=0.0)
    uniform = tl.load(uniform_ptr + at, mask=mask, other=0.5)
    gumbel = -tl.log(1e-20 - tl.log(uniform + 1e-20))
    x = tl.where((column < N)[None, :], (logits + gumbel) / temperature, float("-inf"))
    power = tl.exp(x - tl.max(x, axis=1)[:, None])
    soft = power / tl.sum(power, axis=1)[:, None]
    choice = tl.argmax(x, axis=1)
    hard = tl.where(column[None, :] == choice[:, None], 1.0, 0.0)
    tl.store(soft_ptr + at, soft, mask=mask)
    tl.store(hard_ptr + at, hard, mask=mask)


def gumbel_softmax_hard_rows_arguments(M=40, N=500):
    return {
        "logits_ptr": 2 * torch.randn(M, N),
        "uniform_ptr": torch.rand(M, N),
        "hard_ptr": torch.empty(M, N),
        "soft_ptr": torch.empty(M, N),
        "M": M,
        "N": N,
        "temperature": 0.8,
        "BLOCK": triton.next_power_of_2(N),
    }


gumbel_softmax_hard_rows_kept_inputs = ["uniform_ptr", "temperature"]


def gumbel_softmax_hard_rows_grid(meta):
    return (triton.cdiv(meta["M"], meta["ROWS"]),)


def gumbel_softmax_hard_rows_reference(logits_ptr, uniform_ptr, temperature):
    gumbel = -(1e-20 - (uniform_ptr + 1e-20).log()).log()
    soft = ((logits_ptr + gumbel) / temperature).softmax(dim=1)
    hard = torch.zeros_like(soft).scatter_(1, soft.argmax(dim=1, keepdim=True), 1)
    return {"hard_ptr": hard, "soft_ptr": soft}


@triton.autotune(
    [
        triton.Config({"CHANNELS": channels, "PIXELS": pixels})
        for channels, pixels in ((4, 128), (1, 128), (1, 512), (8, 32), (16, 32))
    ],
    key=[],
)
@triton.jit
def local_response_norm_channels(
    x_ptr,
    y_ptr,
    C,
    HW,
    alpha,
    beta,
    k,
    SIZE: tl.constexpr,
    CHANNELS: tl.constexpr,
    PIXELS: tl.constexpr,
):
    """Divides by a power of the mean square of channels beside one, as in AlexNet."""
    pixel = tl.program_id(0) * PIXELS + tl.arange(0, PIXELS)
    channel = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    image = tl.program_id(2) * C * HW
    in_image = (pixel < HW)[None, :]
    squares = tl.zeros((CHANNELS, PIXELS), dtype=tl.float32)
    for tap in range(SIZE):
        near = channel + tap - SIZE // 2
        mask = ((near >= 0) & (near < C))[:, None] & in_image
        x = tl.load(x_ptr + image + near[:, None] * HW + pixel[None, :], mask=mask, other=0.0)
        squares += x * x
    at = image + channel[:, None] * HW + pixel[None, :]
    mask = (channel < C)[:, None] & in_image
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    scale = k + alpha / SIZE * squares
    tl.store(y_ptr + at, x * tl.exp2(-beta * tl.log2(scale)), mask=mask)


def local_response_norm_channels_arguments(N=2, C=48, H=19, W=19):
    return {
        "x_ptr": 8 * torch.randn(N, C, H, W),
        "y_ptr": torch.empty(N, C, H, W),
        "C": C,
        "HW": H * W,
        "alpha": 0.02,
        "beta": 0.75,
        "k": 2.0,
        "SIZE": 5,
    }


local_response_norm_channels_kept_inputs = ["alpha", "beta", "k"]


def local_response_norm_channels_grid(meta):
    return (
        triton.cdiv(meta["HW"], meta["PIXELS"]),
        triton.cdiv(meta["C"], meta["CHANNELS"]),
        meta["N"],
    )


def local_response_norm_channels_reference(x_ptr, alpha, beta, k, SIZE):
    y = torch.nn.functional.local_response_norm(x_ptr, SIZE, alpha, beta, k)
    return {"y_ptr": y}
