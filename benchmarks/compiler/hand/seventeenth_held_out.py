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
