"""Three of the twelve kernels of the thirteenth draw, that `hand_thirteenth_draw.c` has in intrinsics.

`random.Random(20261203).sample(names, 12)` drew twelve of these 72 names before any was written;
the first six were to be worked on: these and those of `hand_thirteenth_draw2.py`. Kernels are as
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
