"""Four more kernels of the twenty-first draw, that `twentyfirst_held_out2.c` has in intrinsics.

The seed that drew them is in `twentyfirst_held_out.py`; the 436 names were these.

    gaussian_separable_rows_u8 sobel_direction_quantise morph_open_3x3_gray dilate_euclid_threshold
    median_filter_5tap_rows min_max_filter_window adaptive_mean_threshold_u8
    rolling_ball_background retinex_gamma_lut16 contrast_stretch_percentile vibrance_saturation_rgb
    hsl_to_rgb_planes lab_to_srgb_bytes yuv444_to_yuv420_average p010_to_rgb10
    bayer_bilinear_rggb16 raw10_csi_unpack raw14_black_level_gain chroma_denoise_guided
    cross_bilateral_depth temporal_denoise_blend frame_difference_motion_mask
    block_match_sad16_rows half_pixel_bilinear_predict dct4x4_h264_forward hadamard4x4_quant_h264
    cabac_context_rate_table av1_paeth_predict_rows av1_warp_filter_rows jpeg_idct_islow_columns
    jpeg2000_rct_forward png_sub_up_unfilter gif_lzw_pixel_map qoi_hash_index_pixels
    webp_predictor_select tga_rle_flag_rows astc_void_extent_fill bc1_endpoint_distance
    bc5_normal_reconstruct mipmap_box_srgb_linear alpha_test_coverage premultiplied_plus_blend
    overlay_hardlight_blend colour_dodge_burn_blend displacement_map_warp
    fisheye_undistort_bilinear polar_unwrap_iris hough_circle_votes corner_subpixel_gradient_sums
    orb_moments_orientation sift_gradient_orientation daisy_histogram_layers optical_flow_lk_sums
    stereo_sgm_path_costs stereo_census_hamming_cost depth_to_point_cloud tsdf_voxel_integrate
    raycast_tsdf_steps ct_parallel_backproject pet_osem_ratio mri_sense_unfold2 mri_grappa_apply
    ecg_pan_tompkins_energy eeg_bandpower_windows emg_rms_envelope ppg_spo2_ratio_rows
    ultrasound_log_compress ultrasound_doppler_kasai sonar_matched_filter_bank radar_mti_canceller
    radar_range_migration_shift sar_phase_multiply_rows lidar_range_projection
    window_blackman_harris_frames fft_real_split_radix2 fft_bluestein_chirp_mul
    ntt_butterfly_goldilocks ntt_kyber_layer dct2_rows_matrix32 mdct_fold_vorbis hilbert_fir_pairs
    cic_interpolate_stage farrow_cubic_delay_bank lattice_allpole_bank warped_fir_bank
    wah_biquad_modulate schroeder_diffuser_rows chorus_delay_lfo bitcrush_downsample
    pan_constant_power_mix loudness_k_weight_blocks spectral_gate_mask spectral_centroid_rolloff
    mfcc_delta_rows chroma_onset_novelty beat_comb_score linear_to_dbfs_meters
    adpcm_ima_encode_bank g711_ulaw_decode_mix opus_band_energy_log sbc_subband_analysis
    lpc_residual_rows dtmf_pair_decide qpsk_demap_soft_rows qam64_gray_map
    ofdm_cyclic_prefix_insert ofdm_pilot_channel_interp mimo_zero_forcing_2x2
    mmse_equaliser_taps_update lte_rate_match_interleave turbo_qpp_interleave
    ldpc_layered_offset_update polar_encode_butterfly golay24_syndrome_weight
    hamming_secded72_syndrome bch_syndrome_horner crc8_maxim_records crc64_xz_slices
    fletcher32_records jenkins_one_at_a_time_keys cityhash_len16_keys wyhash_u64_keys
    zobrist_board_keys philox4x32_rounds threefry2x64_streams mrg32k3a_streams lcg_skip_ahead_rows
    aes_sbox_affine_bitslice des_permute_words camellia_fl_layer simon64_rounds present_sbox_layer
    trivium_bitsliced_steps rc5_rounds_blocks sha1_message_expand md5_round_streams
    blake3_compress_columns montgomery_mul_u32_lanes karatsuba_limb_rows p25519_field_add_carry
    dilithium_decompose_rows bloom_count_min_merge cuckoo_filter_fingerprint_test
    robin_hood_probe_lengths radix_partition_histogram16 merge_path_diagonals
    bitonic_topk_merge_rows column_min_max_zonemap column_rle_sum_groups column_delta_prefix_decode
    column_null_compact_u32 string_prefix_hash_groups string_length_utf8_rows string_ends_with_mask
    like_contains_short_rows date_trunc_month_rows date_day_of_week_rows iso_week_number_rows
    decimal128_add_rows interval_overlap_join_counts hash_aggregate_min_max_slots
    window_rank_dense_sorted lead_lag_diff_partition sessionise_gap_flags ema_time_decay_irregular
    bitpacked_filter_13bit parquet_rle_def_levels json_number_classify csv_integer_columns
    ipv6_hex_group_format uuid_hex_parse mac_vendor_prefix_match url_path_depth_counts
    base32_encode_groups ascii85_decode_groups soundex_metaphone_map
    edit_distance_bitparallel_myers hirschberg_score_row affine_gap_profile_row kmer_canonical_2bit
    minimizer_hash_syncmers dna_pack_2bit dna_gc_skew_prefix codon_usage_counts
    protein_isoelectric_newton blosum_profile_pairs pssm_window_scores hmm_backward_log_rows
    baum_welch_expected_counts neighbour_joining_min_rows upgma_distance_update
    jukes_gamma_rate_likelihood wright_fisher_drift_rows ld_pruning_correlation_window
    genotype_dosage_score_prs expression_tpm_log_centre mass_spec_cosine_bins spectra_peak_centroid
    nmr_phase_correct retention_time_warp_rows crystal_structure_factor_sums debye_scattering_pairs
    rotamer_dihedral_atan2 angle_bend_forces_harmonic improper_torsion_energy tersoff_bond_order
    lj_cut_shift_virial verlet_skin_displacement_check langevin_baoab_step settle_water_constraint
    ewald_erfc_real_pairs pme_spline_charge_spread multipole_m2l_translate barnes_hut_opening_test
    leapfrog_kepler_bodies hermite4_predictor_bodies sph_cubic_kernel_gradient
    fluid_pressure_jacobi_3d vorticity_confinement_grid maccormack_advect_clamp
    lbm_d2q9_stream_bounce lbm_mrt_collide_rows shallow_water_hll_rows mhd_ct_field_update
    euler_muscl_reconstruct advect_diffuse_upwind_rows heat_adi_thomas_rows wave_absorb_sponge_step
    fdtd_cpml_update acoustic_staggered_velocity elastic_stress_update_2d
    multigrid_prolong_bilinear sor_colour_sweep_rows spmv_hyb_ell_part spmv_jagged_diagonal
    ilu0_level_solve_rows cg_fused_dot_axpy bicgstab_vector_update gmres_givens_apply
    lanczos_tridiagonal_step qr_givens_columns4 jacobi_svd_rotation_pairs
    cholesky_rank1_update_rows eigen3_symmetric_closed inverse4x4_adjugate_batch determinant3_batch
    kronecker_matvec_small toeplitz_matvec_rows vandermonde_eval_rows legendre_quadrature_rows
    chebyshev_barycentric_rows pade_expm_series_rows bessel_i0_ratio_rows lambert_w_halley_rows
    gamma_incomplete_series_rows beta_continued_fraction_rows zeta_dirichlet_rows
    erf_inverse_giles_rows elliptic_carlson_rf_rows fresnel_integral_rows student_t_cdf_rows
    poisson_cdf_rows binomial_pmf_log_rows weibull_hazard_rows cox_partial_likelihood_rows
    kaplan_meier_product_rows lasso_soft_threshold_rows elastic_net_gradient_rows
    svm_hinge_subgradient kernel_rbf_gram_tile nadaraya_watson_rows lowess_weighted_line_sums
    dbscan_border_assign kmedoids_swap_cost hdbscan_mutual_reachability gmm_diag_estep_rows
    lda_gibbs_topic_weights als_normal_equation_rows naive_bayes_bernoulli_bits
    random_forest_vote_rows gradient_boost_oblivious_trees shapley_permutation_gains
    black_litterman_blend_rows heston_characteristic_rows sabr_normal_vol_rows variance_gamma_paths
    jump_diffusion_paths_antithetic bermudan_lattice_rollback digital_option_smoothed_greeks
    convertible_bond_lattice_step swap_curve_annuities zero_curve_loglinear_interp
    duration_convexity_ladder mbs_prepayment_psa_rows cds_index_spread_legs
    credit_migration_matrix_step cva_exposure_profile portfolio_beta_rolling sharpe_sortino_rows
    kalman_beta_rows_finance bollinger_breakout_flags atr_supertrend_rows adx_directional_rows
    donchian_channel_rows obv_volume_accumulate heikin_ashi_candles renko_brick_counts
    order_flow_imbalance_levels tick_rule_trade_sign microstructure_roll_spread
    auction_uncross_volumes haversine_nearest_depot equirectangular_distance_rows
    mercator_inverse_rows gnomonic_cube_face_uv web_tile_quadkey_encode utm_zone_letter_rows
    plus_code_encode_rows polygon_winding_points douglas_peucker_max_distance hex_grid_axial_round
    geoid_bilinear_lookup sun_azimuth_shadow_rows tide_harmonic_sum seismic_sta_lta_rows
    seismic_nmo_correct seismic_semblance_rows gravity_prism_anomaly magnetic_dipole_field
    evapotranspiration_hargreaves_grid soil_richards_column_step snow_albedo_decay_rows
    wind_power_log_profile heat_index_rothfusz_grid lapse_rate_geopotential_rows
    precipitation_zr_relation cloud_mask_brightness_tests ndwi_burn_ratio_bands
    pansharpen_brovey_rows landsat_toa_reflectance fire_spread_rothermel_rows
    orbit_sgp4_secular_rows quaternion_nlerp_palette quaternion_to_matrix_batch
    matrix_decompose_trs_batch dual_contour_edge_hits marching_tetra_case_index
    bvh_aabb_slab_packets sphere_sdf_march_rows triangle_edge_function_tiles
    barycentric_attribute_interp clip_space_outcodes tangent_frame_mikkt_sums
    sh_project_cubemap_rows ggx_importance_sample cook_torrance_lights subsurface_burley_profile
    motion_vector_reproject taa_neighbourhood_clamp ssao_hemisphere_rows bloom_threshold_downsample
    dof_circle_of_confusion particle_emit_integrate spring_cloth_constraint_rows
    rigid_body_inertia_rotate gjk_support_points sat_obb_overlap_rows heightfield_normal_rows
    terrain_erosion_thermal_step curl_noise_field gabor_noise_cells reaction_diffusion_turing_bytes
    cyclic_cellular_automaton wireworld_step_bytes rule110_bit_rows sandpile_bitplanes
    reversi_mobility_counts gomoku_five_window_scores checkers_move_masks chess_pawn_attack_fill
    chess_piece_square_eval nnue_accumulator_update nnue_clipped_relu_affine go_liberty_bitmaps
    mcts_puct_child_select tetris_column_heights minesweeper_neighbour_counts
    nonogram_line_fit_masks poker_hand_rank_bits blackjack_dealer_convolve elo_glicko_update_rows
    wordle_feedback_codes bfs_bottom_up_bitmap pagerank_pull_csr sssp_delta_buckets
    betweenness_dependency_rows graph_jaccard_edges kcore_degree_peel max_flow_push_relabel_heights
    mst_boruvka_min_edges hungarian_row_reduce knapsack_dp_row lcs_bitparallel_rows
    matrix_chain_diagonal ant_colony_pheromone_step particle_swarm_update_rows
    differential_evolution_mutate genetic_uniform_crossover_bits simulated_anneal_qubo_deltas
    quantum_gate_apply_pairs quantum_phase_kickback pauli_string_expectation stabiliser_tableau_xor
    wigner_semiclassical_step ising_checkerboard_bits wolff_bond_probabilities
    heisenberg_spin_overrelax xxz_transfer_rows dislocation_peach_koehler phase_field_solidify_step
    neutron_multigroup_sweep photon_compton_klein_nishina bethe_bloch_stopping_rows
    radiative_two_stream_layers planck_mean_opacity_rows chemical_arrhenius_rates_rows
    stiff_rosenbrock_robertson epidemic_seir_regions predator_prey_grid_step morris_lecar_ensemble
    wilson_cowan_coupled_rows hopfield_recall_signs lif_spike_reset_bank stp_synapse_tsodyks
    reservoir_echo_state_rows kohonen_neighbourhood_update
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 128, 1024)], key=[])
@triton.jit
def des_permute_words(blocks_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """The initial permutation of DES, of blocks that are two words each, by exchanges of bits."""
    block = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = block < N
    left = tl.load(blocks_ptr + 2 * block, mask=mask, other=0).to(tl.uint32, bitcast=True)
    right = tl.load(blocks_ptr + 2 * block + 1, mask=mask, other=0).to(tl.uint32, bitcast=True)
    left, right = _exchange(left, right, 4, 0x0F0F0F0F)
    left, right = _exchange(left, right, 16, 0x0000FFFF)
    right, left = _exchange(right, left, 2, 0x33333333)
    right, left = _exchange(right, left, 8, 0x00FF00FF)
    left, right = _exchange(left, right, 1, 0x55555555)
    tl.store(out_ptr + 2 * block, left.to(tl.int32, bitcast=True), mask=mask)
    tl.store(out_ptr + 2 * block + 1, right.to(tl.int32, bitcast=True), mask=mask)


@triton.jit
def _exchange(a, b, shift: tl.constexpr, mask: tl.constexpr):
    """Exchanges the bits of b in the mask with those of a that are `shift` places higher."""
    different = ((a >> shift) ^ b) & mask
    return a ^ (different << shift), b ^ different


def des_permute_words_arguments(N=7000):
    return {
        "blocks_ptr": torch.randint(-(1 << 31), 1 << 31, (N, 2)).int(),
        "out_ptr": torch.empty(N, 2, dtype=torch.int32),
        "N": N,
    }


def des_permute_words_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def des_permute_words_reference(blocks_ptr):
    # Bits of blocks are numbered from 1, the highest, as in the standard: 58, 50, 42 ...
    first = torch.tensor([58, 60, 62, 64, 57, 59, 61, 63])
    table = (first[:, None] - 8 * torch.arange(8)).flatten() - 1
    bits = blocks_ptr.long()[:, :, None] >> torch.arange(31, -1, -1) & 1
    bits = bits.reshape(-1, 64)[:, table].reshape(-1, 2, 32)
    return {"out_ptr": (bits << torch.arange(31, -1, -1)).sum(dim=2).to(torch.int32)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 128, 1024)], key=[])
@triton.jit
def cloud_mask_brightness_tests(
    bt37_ptr,
    bt11_ptr,
    bt12_ptr,
    red_ptr,
    infrared_ptr,
    cos_sun_ptr,
    land_ptr,
    flags_ptr,
    N,
    BLOCK: tl.constexpr,
):
    """Which tests for clouds a pixel does not pass, a bit each, and in the two highest how many.

    Three bands are brightness temperatures in kelvin, and two are reflectances.
    """
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = pixel < N
    bt37 = tl.load(bt37_ptr + pixel, mask=mask, other=280.0)
    bt11 = tl.load(bt11_ptr + pixel, mask=mask, other=280.0)
    bt12 = tl.load(bt12_ptr + pixel, mask=mask, other=280.0)
    red = tl.load(red_ptr + pixel, mask=mask, other=0.1)
    infrared = tl.load(infrared_ptr + pixel, mask=mask, other=0.1)
    cos_sun = tl.load(cos_sun_ptr + pixel, mask=mask, other=1.0)
    is_land = tl.load(land_ptr + pixel, mask=mask, other=0) != 0
    is_day = cos_sun > 0.1

    cold = bt11 < tl.where(is_land, 258.0, 269.0)
    # Water vapour, of which warm air has more, splits the window, too.
    warmth = tl.maximum((bt11 - 260.0) * 0.05, 0.0)
    cirrus = bt11 - bt12 > 0.7 + warmth * (0.35 + warmth * 0.42)
    fog = (bt11 - bt37 > 1.1) & ~is_day
    low_cloud = (bt37 - bt11 > 12.5) & is_day
    bright = (red / cos_sun > tl.where(is_land, 0.42, 0.21)) & is_day
    ratio = infrared / red
    grey = (ratio > 0.88) & (ratio < 1.12) & is_day

    tests = cold.to(tl.int32) + cirrus.to(tl.int32) + fog.to(tl.int32)
    tests += low_cloud.to(tl.int32) + bright.to(tl.int32) + grey.to(tl.int32)
    flags = cold.to(tl.int32) | (cirrus.to(tl.int32) << 1) | (fog.to(tl.int32) << 2)
    flags |= (low_cloud.to(tl.int32) << 3) | (bright.to(tl.int32) << 4)
    flags |= (grey.to(tl.int32) << 5) | (tl.minimum(tests, 3) << 6)
    tl.store(flags_ptr + pixel, flags.to(tl.uint8), mask=mask)


def cloud_mask_brightness_tests_arguments(H=90, W=130):
    def field():
        coarse = torch.rand(1, 1, H // 10, W // 10)
        return torch.nn.functional.interpolate(coarse, size=(H, W), mode="bilinear")[0, 0]

    cloud = (2.5 * field() - 1).clamp(0, 1)
    land = field() > 0.5
    day = 1.6 * field() - 0.4
    bt11 = 295 - 6 * torch.rand(H, W) - 55 * cloud
    red = (0.05 + 0.12 * land + 0.5 * cloud) * day.clamp(min=0.02) + 0.02 * torch.rand(H, W)
    return {
        "bt37_ptr": bt11 + 22 * cloud * (day > 0.1) - 3 * cloud + 2 * torch.randn(H, W),
        "bt11_ptr": bt11,
        "bt12_ptr": bt11 - 1.5 - 3 * cloud * (1 - cloud) - 2 * torch.rand(H, W),
        "red_ptr": red,
        "infrared_ptr": red * (0.6 + 0.8 * field()),
        "cos_sun_ptr": day,
        "land_ptr": land.to(torch.uint8),
        "flags_ptr": torch.empty(H, W, dtype=torch.uint8),
        "N": H * W,
    }


cloud_mask_brightness_tests_kept_inputs = [
    "bt37_ptr",
    "bt11_ptr",
    "bt12_ptr",
    "red_ptr",
    "infrared_ptr",
    "cos_sun_ptr",
]


def cloud_mask_brightness_tests_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def cloud_mask_brightness_tests_reference(
    bt37_ptr, bt11_ptr, bt12_ptr, red_ptr, infrared_ptr, cos_sun_ptr, land_ptr
):
    land, day = land_ptr != 0, cos_sun_ptr > 0.1
    warmth = ((bt11_ptr - 260) * 0.05).clamp(min=0)
    ratio = infrared_ptr / red_ptr
    tests = [
        bt11_ptr < torch.where(land, 258, 269),
        bt11_ptr - bt12_ptr > 0.7 + 0.35 * warmth + 0.42 * warmth.square(),
        (bt11_ptr - bt37_ptr > 1.1) & ~day,
        (bt37_ptr - bt11_ptr > 12.5) & day,
        (red_ptr / cos_sun_ptr > torch.where(land, 0.42, 0.21)) & day,
        (ratio > 0.88) & (ratio < 1.12) & day,
    ]
    flags = sum(test.long() << bit for bit, test in enumerate(tests))
    return {"flags_ptr": flags + (sum(test.long() for test in tests).clamp(max=3) << 6)}


_SECRET0 = tl.constexpr(0x2D358DCCAA6C78A5)
_SECRET1 = tl.constexpr(0x8BB84B93962EACC9)


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 32, 64, 512)], key=[])
@triton.jit
def wyhash_u64_keys(keys_ptr, hash_ptr, N, seed, BLOCK: tl.constexpr):
    """The hash of keys of eight bytes, by wyhash, final version 4."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys_ptr + at, mask=at < N, other=0).to(tl.uint64, bitcast=True)
    start = seed.to(tl.uint64)
    start ^= _mix(start ^ _SECRET0, _SECRET1)
    a = ((key << 32) | (key >> 32)) ^ _SECRET1
    b = key ^ start
    low = a * b
    high = tl.umulhi(a, b)
    result = _mix(low ^ _SECRET0 ^ 8, high ^ _SECRET1)
    tl.store(hash_ptr + at, result.to(tl.int64, bitcast=True), mask=at < N)


@triton.jit
def _mix(a, b):
    """The lower half of a product of 128 bits, and the upper one, by exclusive or."""
    return (a * b) ^ tl.umulhi(a, b)


def wyhash_u64_keys_arguments(N=6000):
    return {
        "keys_ptr": torch.randint(-(1 << 63), (1 << 63) - 1, (N,)),
        "hash_ptr": torch.empty(N, dtype=torch.int64),
        "N": N,
        "seed": 20261701,
    }


def wyhash_u64_keys_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def wyhash_u64_keys_reference(keys_ptr, seed):
    secret0, secret1, full = 0x2D358DCCAA6C78A5, 0x8BB84B93962EACC9, (1 << 64) - 1

    def mix(a, b):
        return a * b & full ^ a * b >> 64

    def hash_of(key):
        product = ((key << 32 & full | key >> 32) ^ secret1) * (key ^ start)
        result = mix(product & full ^ secret0 ^ 8, product >> 64 ^ secret1)
        return result - (1 << 64 if result >> 63 else 0)

    start = seed ^ mix(seed ^ secret0, secret1)
    return {"hash_ptr": torch.tensor([hash_of(key & full) for key in keys_ptr.tolist()])}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (8, 1, 4, 16)], key=[])
@triton.jit
def karatsuba_limb_rows(a_ptr, b_ptr, out_ptr, N, HALF: tl.constexpr, ROWS: tl.constexpr):
    """Products of long numbers in limbs of 12 bits, by a step of Karatsuba.

    A row is a number, its lowest limb first. Carries are left to whoever needs them.
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < N
    k = tl.arange(0, HALF)
    a_at = a_ptr + row * 2 * HALF
    b_at = b_ptr + row[:, None] * 2 * HALF
    # Of three products of halves, each the lower and the upper limbs.
    lower0 = tl.zeros((ROWS, HALF), dtype=tl.int32)
    upper0 = tl.zeros((ROWS, HALF), dtype=tl.int32)
    lower1 = tl.zeros((ROWS, HALF), dtype=tl.int32)
    upper1 = tl.zeros((ROWS, HALF), dtype=tl.int32)
    lower2 = tl.zeros((ROWS, HALF), dtype=tl.int32)
    upper2 = tl.zeros((ROWS, HALF), dtype=tl.int32)
    for i in range(HALF):
        a0 = tl.load(a_at + i, mask=inside, other=0)[:, None]
        a1 = tl.load(a_at + HALF + i, mask=inside, other=0)[:, None]
        turned = (k[None, :] - i + HALF) % HALF
        b0 = tl.load(b_at + turned, mask=inside[:, None], other=0)
        b1 = tl.load(b_at + HALF + turned, mask=inside[:, None], other=0)
        product0 = a0 * b0
        product1 = (a0 + a1) * (b0 + b1)
        product2 = a1 * b1
        is_lower = k[None, :] >= i
        lower0 += tl.where(is_lower, product0, 0)
        upper0 += tl.where(is_lower, 0, product0)
        lower1 += tl.where(is_lower, product1, 0)
        upper1 += tl.where(is_lower, 0, product1)
        lower2 += tl.where(is_lower, product2, 0)
        upper2 += tl.where(is_lower, 0, product2)
    lower1 -= lower0 + lower2
    upper1 -= upper0 + upper2
    out_at = out_ptr + row[:, None] * 4 * HALF + k[None, :]
    tl.store(out_at, lower0, mask=inside[:, None])
    tl.store(out_at + HALF, upper0 + lower1, mask=inside[:, None])
    tl.store(out_at + 2 * HALF, upper1 + lower2, mask=inside[:, None])
    tl.store(out_at + 3 * HALF, upper2, mask=inside[:, None])


def karatsuba_limb_rows_arguments(N=300, HALF=16):
    return {
        "a_ptr": torch.randint(0, 1 << 12, (N, 2 * HALF), dtype=torch.int32),
        "b_ptr": torch.randint(0, 1 << 12, (N, 2 * HALF), dtype=torch.int32),
        "out_ptr": torch.empty(N, 4 * HALF, dtype=torch.int32),
        "N": N,
        "HALF": HALF,
    }


def karatsuba_limb_rows_grid(meta):
    return (triton.cdiv(meta["N"], meta["ROWS"]),)


def karatsuba_limb_rows_reference(a_ptr, b_ptr, HALF):
    a, b = a_ptr.long(), b_ptr.long()
    out = torch.zeros(len(a), 4 * HALF, dtype=torch.int64)
    for i in range(2 * HALF):
        out[:, i : i + 2 * HALF] += a[:, i : i + 1] * b
    return {"out_ptr": out.to(torch.int32)}
