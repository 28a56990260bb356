"""Four more kernels of the twenty-second draw, that `twentysecond_held_out2.c` has in intrinsics.

The seed that drew them is in `twentysecond_held_out.py`; the 722 names were these.

    median_of_medians_image unsharp_mask_u8 otsu_between_class_scan clahe_tile_lut_blend
    emboss_directional_rows kuwahara_quadrants nagao_edge_preserve non_local_means_patch
    guided_filter_box_coeffs top_hat_morph_rows hit_or_miss_3x3 thinning_zhang_suen
    reconstruct_geodesic_step watershed_descent_pointer distance_transform_parabola_rows
    gray_world_gain_planes log_polar_remap anaglyph_dubois_mix sepia_matrix_u8 posterise_levels_u8
    pixelate_block_mean vignette_radial_gain halftone_dot_screen floyd_rows_wavefront
    blue_noise_threshold dead_pixel_interp_raw defog_dark_channel_min gamma_22_u16_lut_free
    rgb_to_hsv_u8 rgb_to_ycocg_lossless oklab_from_linear_rgb cie_delta_e94 cmyk_from_rgb_gcr
    nv12_to_rgb_rows uyvy_unpack_planes v210_unpack_words yuyv_deinterlace_bob weave_comb_metric
    telecine_pulldown_match histogram_match_cdf_lut hdr_debevec_merge panorama_feather_blend
    seam_carve_energy_row seam_cost_dp_row optical_flow_lk_window optical_flow_horn_schunck
    flow_warp_backward_bilinear fast9_corner_mask sift_orientation_bins hog_cell_histogram
    lbp_uniform_codes census_transform_5x5 hamming_cost_volume sgm_direction_update
    stereo_wta_subpixel brisk_pair_compare gabor_bank_rows steerable_filter_rotate
    laplacian_pyramid_collapse haar_lift_2d_rows cdf53_lift_int daubechies4_step
    box_sum_from_integral template_ncc_rows chamfer_match_score radon_line_sums
    hough_line_vote_theta zernike_moments_rows hu_moment_sums freeman_chain_decode
    contour_signed_area jpeg_fdct_aan_rows jpeg_quant_zigzag jpeg_huffman_bit_lengths
    jpeg_ycc_upsample_h2v1 h264_luma_qpel_diag h264_intra_plane_pred h264_chroma_deblock_bs
    h264_cavlc_level_codes hevc_dst4_inverse hevc_dct16_forward hevc_weighted_bipred
    vp8_loop_filter_simple vp9_iadst8_rows av1_smooth_pred av1_cfl_alpha_average av1_self_guided_box
    av1_obmc_blend theora_motion_halfpel mpeg2_dequant_mismatch mpeg4_gmc_warp prores_slice_unscan
    dirac_obmc_weights dnxhd_quant_matrix ffv1_median_predict huffyuv_left_predict
    png_average_unfilter png_paeth_refilter png_adam7_interleave bmp_rle4_expand pcx_run_flags
    dds_bc4_decode etc1_block_paint pvrtc_modulate eac_r11_decode astc_weight_unquantise
    bc7_mode6_decode flac_rice_param_cost flac_lpc_restore aac_tns_filter aac_mdct_window_kbd
    mp3_polyphase_synth mp3_alias_butterflies mp3_requantise_43 opus_celt_pvq_norm
    opus_silk_lsf_stabilise amr_acelp_pulse_search gsm_rpe_grid_select speex_cng_noise
    vorbis_floor1_curve vorbis_residue_decouple g711_ulaw_expand g726_adpcm_quant
    ima_adpcm_predict_rows dsd_to_pcm_fir sbc_analysis_window aptx_qmf_tree fir_polyphase_upsample3
    iir_direct_form2_rows lattice_all_pole_rows comb_filter_feedback notch_adaptive_rows
    lms_adaptive_filter_rows nlms_echo_cancel rls_gain_update cic_decimate_stage goertzel_dtmf_tones
    sliding_dft_bins chirp_z_premultiply istft_overlap_add mel_filterbank_sparse
    cepstrum_lifter_rows pitch_yin_difference pitch_amdf_rows autocorr_window_lag
    onset_spectral_flux zero_crossing_energy_frames vad_energy_hangover dynamic_range_compress_env
    limiter_lookahead_gain noise_gate_hysteresis reverb_fdn_householder chorus_modulated_delay
    flanger_allpass_rows waveshaper_tube_poly ring_mod_sine_table sinc_resample_kaiser
    dither_tpdf_noise_shape pan_law_equal_power ambisonic_encode_first hrtf_fir_blend
    beamformer_mvdr_weights doa_esprit_phase wigner_ville_lags cyclostationary_spectral
    cwt_morlet_scales emd_extrema_mask savgol_derivative_rows hampel_outlier_replace
    kalman_constant_velocity_tracks alpha_beta_tracker particle_filter_weights_resample
    unscented_sigma_points ekf_bearing_range_update madgwick_imu_step mahony_filter_rows
    complementary_tilt_blend pid_antiwindup_bank lqr_gain_apply mpc_projected_gradient_step
    smith_predictor_rows sliding_mode_control_rows clarke_park_transform_rows svpwm_duty_rows
    motor_observer_luenberger quadcopter_mixer_clamp dubins_path_lengths pure_pursuit_curvature
    stanley_steer_rows potential_field_step rrt_nearest_node occupancy_logodds_rays
    dwa_trajectory_score vfh_polar_histogram ndt_score_cells icp_nearest_rows
    imu_preintegration_rows forward_kinematics_dh_chain inverse_kinematics_ccd_step
    jacobian_transpose_arm rnea_link_forces qam16_soft_demap ofdm_channel_equalise ofdm_cp_correlate
    pilot_ls_interp zadoff_chu_generate gold_code_correlate costas_loop_rows gardner_timing_error
    agc_loop_rows mimo_zf_2x2_detect alamouti_combine_rows ldpc_min_sum_check_rows
    ldpc_variable_update convolutional_encode_k7 reed_solomon_chien_search hamming_secded_72
    golay_syndrome_weights crc24_lte_rows crc32c_slice_rows adler32_chunks fletcher16_blocks
    lfsr_galois_bank manchester_decode_bits hdlc_bit_stuff_count cobs_zero_offsets slip_escape_sizes
    gmsk_phase_accumulate lora_css_dechirp gps_ca_code_mix adsb_preamble_score radar_cfar_os_rows
    radar_pulse_compress_mul sar_range_migration_interp sonar_tvg_gain ultrasound_scan_delay_apodise
    mri_sense_unfold_2 mri_t2_fit_loglinear ct_fbp_ramp_fan ct_hounsfield_window dti_tensor_fit_rows
    dti_fractional_anisotropy ecg_pan_tompkins eeg_band_power_rows spike_threshold_align
    oximeter_ratio_rows glucose_minimal_model cardiac_fitzhugh_cable bidomain_stencil_step
    aes_mixcolumns_bytes aes_key_expand_rows cast5_round_type1 blowfish_feistel_rows idea_mul_round
    serpent_sbox_bitslice speck64_rounds simon_rounds_lanes xtea_blocks_decrypt rc4_key_drop
    salsa20_double_round chacha20_quarter_rows trivium_parallel_steps grain_keystream_words
    sha1_rounds_lanes md5_blocks_lanes sha512_schedule_words keccak_theta_rho_lanes
    ripemd160_round_left whirlpool_row_mix siphash24_keys xxhash64_stripes murmur3_128_finish
    cityhash_mix16 highway_hash_permute fnv1a_rows_bytes jenkins_lookup3_rows farm_hash32_rows
    metro_hash_tail t1ha_fold128 ghash_bit_multiply gf256_matrix_rows gf2_128_power
    poly_mul_ntt_butterfly dilithium_power2round dilithium_hint_bits kyber_cbd_eta2 falcon_fft_split
    ed25519_field_square curve25519_carry_reduce p256_montgomery_rows rsa_barrett_limbs
    shamir_share_eval paillier_crt_recombine secp256k1_endo_split bloom_blocked_insert_masks
    cuckoo_two_bucket_probe xor_filter_query_rows hyperloglog_rank_max count_min_sketch_rows
    kll_compact_rows lsh_hyperplane_bits bitmap_run_encode bit_sliced_sum wah_literal_fills
    delta_zigzag_decode_i64 frame_of_reference_unpack11 simple8b_selector_unpack gorilla_xor_windows
    varint_group_lengths dictionary_gather_strings parquet_def_level_expand orc_rle2_short_repeat
    arrow_validity_merge null_aware_sum_rows decimal128_scale_add utf8_length_codepoints
    utf16_surrogate_to_utf8_sizes base64_decode_groups base85_encode_words percent_encode_sizes
    html_escape_sizes json_structural_bits csv_field_boundaries ascii_int_parse_rows
    float_to_decimal_digits ipv4_parse_octets mac_address_format uuid_hex_nibbles
    time_zone_offset_rows day_of_week_histogram cron_next_match isbn13_check_rows luhn_check_rows
    radix_sort_histogram_8bit merge_path_partition bitonic_sort_pairs64 odd_even_transposition_rows
    counting_rank_rows quickselect_partition_flags stream_compact_scan_offsets group_by_dense_sums
    hash_join_probe_linear sort_merge_join_bounds window_lag_lead_rows rolling_median_small_rows
    rolling_rank_window topk_threshold_count ewma_groups_reset running_max_drawdown_rows
    funnel_step_match percent_rank_rows inverted_list_and_gallop bm25_block_scores
    skip_pointer_search wand_upper_bounds ngram_jaccard_rows levenshtein_band_rows jaro_winkler_rows
    hamming_text_windows kmp_failure_rows boyer_moore_shift rabin_fingerprint_rows bitap_fuzzy_rows
    suffix_lcp_kasai burrows_wheeler_last_column fm_index_occ_counts trie_child_bitmap_walk
    regex_nfa_step_masks soundex_digits_rows stemming_suffix_flags wordpiece_longest_match
    bpe_merge_rank_min unigram_viterbi_row caesar_frequency_chi2 rot13_letters_bytes
    case_fold_ascii_bytes whitespace_token_starts needleman_affine_antidiagonal
    smith_waterman_striped_u8 pairhmm_forward_row kmer_minimizer_windows dna_gc_content_windows
    codon_translate_table orf_stop_scan phred_mean_quality_trim adapter_overlap_score
    paired_read_merge_scores cigar_reference_spans methylation_beta_values vcf_genotype_dosage
    ld_r2_pairs fst_hudson_windows pca_grm_tile rna_nussinov_diagonal rna_stack_energy_windows
    blosum_profile_row pssm_scan_rows peptide_by_ions isoelectric_charge_rows hydropathy_window_rows
    contact_map_ca_pairs ramachandran_phi_psi lennard_jones_cutoff_pairs coulomb_pme_spread
    buckingham_morse_pairs verlet_velocity_half nose_hoover_scale berendsen_rescale
    angle_harmonic_forces urey_bradley_bonds gromos_switch_potential radial_distribution_bins
    gay_berne_pairs dissipative_particle_pairs metadynamics_hill_sums hartree_fock_jk_diagonal
    gaussian_overlap_shells boys_function_rows slater_koster_pairs dft_lda_exchange
    pbe_enhancement_rows mulliken_charge_rows nbody_softened_tiles barnes_hut_multipole_eval
    fmm_p2m_quadrupole kepler_newton_rows orbital_elements_state hohmann_delta_v_rows
    lambert_universal_step j2_perturb_accel precession_nutation_rows airmass_refraction_rows
    stellar_magnitude_photometry redshift_comoving_simpson galaxy_two_point_bins lensing_nfw_shear
    blackbody_colour_ratio voigt_humlicek_rows roe_flux_shallow_water muscl_van_leer_slopes
    weno5_reconstruct_rows godunov_burgers_step lattice_boltzmann_d2q9_collide lbm_d3q19_stream_pull
    multigrid_restrict_full gauss_seidel_red_black conjugate_gradient_stencil_dot
    jacobi_anisotropic_9pt fdtd_yee_tm_step pml_absorb_update maxwell_3d_curl_rows acoustic_fd8_step
    elastic_stress_update helmholtz_shifted_apply poisson_spectral_divide
    advection_upwind_flux_limited vorticity_arakawa_jacobian kuramoto_sivashinsky_etd
    cahn_hilliard_semi_step allen_cahn_curvature level_set_reinit_godunov fast_sweeping_eikonal
    mac_grid_divergence pressure_project_velocity flip_particle_to_grid mpm_stress_neohookean
    cloth_verlet_satisfy fem_tet_stiffness_apply fem_quad8_shape_grads truss_bar_forces
    beam_hermite_deflect plate_kirchhoff_stencil crack_sif_integral plasticity_return_map
    arrhenius_creep_rows cantor_pairing_rows collatz_step_counts sieve_wheel30_bits
    miller_rabin_u32_rows montgomery_pow_rows gcd_binary_rows jacobi_symbol_rows
    modular_inverse_rows continued_fraction_terms gray_code_convert_rows morton3d_encode
    hilbert2d_index_rows bit_permute_butterfly fibonacci_fast_double gamma_lanczos_rows erfcx_rows
    airy_ai_rows zeta_euler_maclaurin hermite_function_rows laguerre_quadrature_sums
    gauss_kronrod_panels simpson_irregular_rows romberg_extrapolate_rows richardson_table_rows
    spline_natural_eval pchip_slopes_rows akima_slopes_rows bspline_deboor_rows nurbs_curve_points
    catmull_centripetal_rows thomas_batched_tridiagonal pentadiagonal_solve_rows
    cholesky_small_batched lu_nopivot_4x4_batch qr_gram_schmidt_3x3 svd_jacobi_2x2_batch
    eigen_sym3x3_analytic expm_pade_small matrix_log_det_rows hankel_antidiagonal_mean
    householder_apply_panel givens_chase_rows csr_spmv_row_groups csc_transpose_counts bsr_spmv_4x4
    coo_segment_scatter ell_spmm_columns sparse_jacobi_sweep ilu0_row_eliminate spgemm_row_nnz_bound
    black_scholes_vega_rows implied_vol_newton_rows garch_filter_rows hull_white_tree_step
    cir_bond_price_rows vasicek_yield_rows libor_market_drift barrier_brownian_bridge
    lookback_path_extremes asian_geometric_control american_longstaff_basis quanto_option_rows
    margrabe_exchange_rows var_historical_rank cvar_tail_mean rolling_correlation_pairs
    markowitz_gradient_step risk_parity_weights_step pnl_explain_greeks bond_accrued_30_360
    irr_newton_rows annuity_schedule_rows loan_amortise_rows order_book_imbalance_depth
    vwap_buckets_rows twap_slices_clamp keltner_channel_rows parabolic_sar_rows
    money_flow_index_rows pivot_points_rows candlestick_pattern_flags kyle_lambda_regress
    hawkes_intensity_rows welch_t_rows mann_whitney_rank_sums ks_statistic_sorted_rows
    anderson_darling_rows shapiro_weights_rows bootstrap_mean_resample permutation_diff_means
    distance_correlation_tile mutual_information_bins huber_irls_rows logistic_newton_terms
    poisson_glm_irls ridge_normal_eq_rows isotonic_pava_merge kde_gaussian_grid
    mcmc_metropolis_chains hmc_leapfrog_gauss slice_sampler_rows gibbs_ising_field
    hmm_forward_scaled viterbi_log_states kmeans_assign_update mean_shift_step gmm_full_logpdf
    spectral_cluster_affinity tsne_student_gradient umap_attract_repel_edges som_best_match
    isolation_forest_paths xgboost_hist_split_gain adaboost_reweight_rows knn_vote_rows
    perceptron_margin_update latin_hypercube_rows sobol_gray_points xoshiro_uniform_rows
    box_muller_pairs ziggurat_accept_mask beta_binomial_logpmf dirichlet_multinomial_rows
    geodesic_direct_sphere ecef_to_lla_bowring lambert_conformal_rows mollweide_newton_rows
    web_mercator_forward geohash_encode_rows h3_face_project s2_cell_st_to_uv rhumb_bearing_rows
    cross_track_distance_rows point_in_polygon_even_odd hillshade_horn_rows slope_aspect_zevenbergen
    viewshed_horizon_row topographic_wetness_rows contour_marching_flags idw_interpolate_rows
    kriging_exponential_weights ndsi_snow_flags evi2_bands_i16 tasselled_cap_bands
    emissivity_split_window sar_speckle_lee solar_zenith_noaa dew_point_magnus_inverse
    cape_parcel_levels potential_temperature_levels wet_bulb_stull_rows beaufort_speed_classes
    ocean_sound_speed_mackenzie seawater_density_unesco wave_dispersion_newton tsunami_linear_step
    manning_channel_flow muskingum_route_rows curve_number_runoff snow_degree_day_rows
    quaternion_slerp_batch dual_quaternion_skin look_at_matrices frustum_sphere_cull
    ray_triangle_moller_tile ray_sphere_batch_nearest ray_torus_quartic bvh_sah_bucket_costs
    octree_morton_parent kd_split_plane_counts aabb_pair_overlap_bits convex_hull_support_rows
    triangle_area_normals mesh_laplacian_cotan mesh_vertex_normals_gather marching_squares_index
    bezier_quadratic_flatten ellipse_point_distance segment_intersect_pairs circle_fit_sums
    plane_ransac_inliers polygon_clip_halfplane delaunay_incircle_flags voronoi_jump_flood
    phong_lights_rows oren_nayar_rows disney_clearcoat_rows perlin_fbm_octaves worley_cellular_rows
    simplex2d_hash_rows mandelbrot_smooth_count newton_fractal_roots buddhabrot_orbit_bins
    voxel_ambient_corner shadow_pcss_blocker fxaa_luma_edges smaa_edge_bytes
    bilateral_upsample_depth dither_bayer4_rgb565 game_of_life_bitboard_rows brians_brain_bytes
    forest_fire_cells elementary_rule30_words schelling_happy_flags boids_steering_pairs
    traffic_nasch_step bishop_magic_attacks connect4_win_bits bridge_hcp_rows elo_expected_rows
    trueskill_update_rows dijkstra_relax_edges label_propagation_mode triangle_count_bitsets
    simrank_pair_step cc_hook_shortcut bellman_ford_rows pagerank_push_residual knapsack_bounded_row
    edit_alignment_traceback lis_patience_rows subset_sum_bitset_shift coin_change_rows egg_drop_row
    josephus_rows bin_pack_first_fit qap_swap_delta tabu_tenure_mask harmony_search_rows
    cuckoo_levy_flights cma_es_rank_mu firefly_attract_rows qubit_phase_shift_cz quantum_walk_step
    toffoli_state_apply density_matrix_depolarise bloch_vector_rows trotter_xy_pairs
    metropolis_potts_step villain_model_energy percolation_label_min gray_scott_f32_tiles
    cable_equation_hines izhikevich_population_step synapse_stp_depress rate_model_divisive_norm
    oja_rule_update
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 4, 8, 16)], key=[])
@triton.jit
def delta_zigzag_decode_i64(
    deltas_ptr, first_ptr, values_ptr, N, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """Values of a column, of which the differences are stored, those below zero as odd numbers.

    Each block of a page has the value before it in its header.
    """
    block = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = block[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = at < N
    code = tl.load(deltas_ptr + at, mask=mask, other=0).to(tl.uint64, bitcast=True)
    delta = (code >> 1).to(tl.int64) ^ -(code & 1).to(tl.int64)
    first = tl.load(first_ptr + block, mask=block * BLOCK < N, other=0)
    tl.store(values_ptr + at, first[:, None] + tl.cumsum(delta, axis=1), mask=mask)


def delta_zigzag_decode_i64_arguments(N=15000, BLOCK=128):
    # Microseconds, of events that are nearly in order.
    delta = (1e6 * torch.randn(N)).long() + 200000
    value = 1764000000000000 + torch.cumsum(delta, dim=0)
    return {
        "deltas_ptr": (delta << 1) ^ (delta >> 63),
        "first_ptr": (value - delta)[::BLOCK].contiguous(),
        "values_ptr": torch.empty(N, dtype=torch.int64),
        "N": N,
        "BLOCK": BLOCK,
    }


def delta_zigzag_decode_i64_grid(meta):
    return (triton.cdiv(meta["N"], meta["ROWS"] * meta["BLOCK"]),)


def delta_zigzag_decode_i64_reference(deltas_ptr, first_ptr, N, BLOCK):
    half = (deltas_ptr >> 1) & ((1 << 63) - 1)
    delta = torch.where(deltas_ptr & 1 == 1, -half - 1, half)
    delta = torch.nn.functional.pad(delta, (0, -N % BLOCK)).reshape(-1, BLOCK)
    return {"values_ptr": (first_ptr[:, None] + delta.cumsum(dim=1)).flatten()[:N]}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 128, 1024)], key=[])
@triton.jit
def istft_overlap_add(
    frames_ptr,
    window_ptr,
    signal_ptr,
    FRAMES,
    SAMPLES,
    SIZE: tl.constexpr,
    HOP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The signal of frames that overlap, after their inverse transforms; frames were centred."""
    sample = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.program_id(1)
    place = sample + SIZE // 2
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    envelope = tl.zeros((BLOCK,), dtype=tl.float32)
    for back in range((SIZE + HOP - 1) // HOP):
        frame = place // HOP - back
        at = place - frame * HOP
        mask = (frame >= 0) & (frame < FRAMES) & (at < SIZE) & (sample < SAMPLES)
        window = tl.load(window_ptr + at, mask=mask, other=0.0)
        x = tl.load(frames_ptr + (channel * FRAMES + frame) * SIZE + at, mask=mask, other=0.0)
        total += x * window
        envelope += window * window
    signal = total / tl.where(envelope > 1e-11, envelope, 1.0)
    tl.store(signal_ptr + channel * SAMPLES + sample, signal, mask=sample < SAMPLES)


def istft_overlap_add_arguments(CHANNELS=2, FRAMES=41, SIZE=512, HOP=128):
    samples = (FRAMES - 1) * HOP
    return {
        "frames_ptr": torch.randn(CHANNELS, FRAMES, SIZE),
        "window_ptr": torch.hann_window(SIZE),
        "signal_ptr": torch.empty(CHANNELS, samples),
        "FRAMES": FRAMES,
        "SAMPLES": samples,
        "SIZE": SIZE,
        "HOP": HOP,
    }


istft_overlap_add_kept_inputs = ["window_ptr"]


def istft_overlap_add_grid(meta):
    return (triton.cdiv(meta["SAMPLES"], meta["BLOCK"]), meta["CHANNELS"])


def istft_overlap_add_reference(frames_ptr, window_ptr, FRAMES, SAMPLES, SIZE, HOP):
    spread = (frames_ptr * window_ptr).transpose(1, 2)
    squares = window_ptr.square()[None, :, None].expand(1, SIZE, FRAMES)

    def added(x):
        length = (1, (FRAMES - 1) * HOP + SIZE)
        x = torch.nn.functional.fold(x, length, (1, SIZE), stride=(1, HOP))
        return x[:, 0, 0, SIZE // 2 : SIZE // 2 + SAMPLES]

    return {"signal_ptr": added(spread) / added(squares)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 16, 32, 256)], key=[])
@triton.jit
def simrank_pair_step(
    first_ptr,
    second_ptr,
    offsets_ptr,
    sources_ptr,
    before_ptr,
    after_ptr,
    PAIRS,
    N,
    decay,
    BLOCK: tl.constexpr,
):
    """How alike nodes are that pairs name: as those that lead to them were before, on average."""
    pair = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = pair < PAIRS
    a = tl.load(first_ptr + pair, mask=mask, other=0)
    b = tl.load(second_ptr + pair, mask=mask, other=0)
    a_start = tl.load(offsets_ptr + a, mask=mask, other=0)
    b_start = tl.load(offsets_ptr + b, mask=mask, other=0)
    a_count = tl.load(offsets_ptr + a + 1, mask=mask, other=0) - a_start
    b_count = tl.load(offsets_ptr + b + 1, mask=mask, other=0) - b_start
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(tl.max(a_count, axis=0)):
        x = tl.load(sources_ptr + a_start + i, mask=i < a_count, other=0)
        for j in range(tl.max(b_count, axis=0)):
            both = (i < a_count) & (j < b_count)
            y = tl.load(sources_ptr + b_start + j, mask=both, other=0)
            total += tl.load(before_ptr + x * N + y, mask=both, other=0.0)
    terms = tl.maximum(a_count * b_count, 1).to(tl.float32)
    tl.store(after_ptr + pair, tl.where(a == b, 1.0, decay * total / terms), mask=mask)


def simrank_pair_step_arguments(PAIRS=1200, N=120):
    counts = torch.randint(0, 7, (N,))
    before = torch.rand(N, N) ** 3
    before = (before + before.T) / 2
    return {
        "first_ptr": torch.randint(0, N, (PAIRS,), dtype=torch.int32),
        "second_ptr": torch.randint(0, N, (PAIRS,), dtype=torch.int32),
        "offsets_ptr": torch.nn.functional.pad(counts.cumsum(dim=0), (1, 0)).int(),
        "sources_ptr": torch.randint(0, N, (int(counts.sum()),), dtype=torch.int32),
        "before_ptr": before.fill_diagonal_(1),
        "after_ptr": torch.empty(PAIRS),
        "PAIRS": PAIRS,
        "N": N,
        "decay": 0.8,
    }


simrank_pair_step_kept_inputs = ["first_ptr", "second_ptr", "offsets_ptr", "sources_ptr"]


def simrank_pair_step_grid(meta):
    return (triton.cdiv(meta["PAIRS"], meta["BLOCK"]),)


def simrank_pair_step_reference(
    first_ptr, second_ptr, offsets_ptr, sources_ptr, before_ptr, N, decay
):
    counts = offsets_ptr.diff().long()
    leads = torch.zeros(N, N, dtype=before_ptr.dtype)
    node = torch.arange(N).repeat_interleave(counts)
    leads.index_put_((node, sources_ptr.long()), torch.ones_like(leads[0, 0]), accumulate=True)
    means = leads @ before_ptr @ leads.T / (counts[:, None] * counts).clamp(min=1)
    after = (decay * means).fill_diagonal_(1)
    return {"after_ptr": after[first_ptr.long(), second_ptr.long()]}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (8, 1, 2, 4, 16)], key=[])
@triton.jit
def bvh_sah_bucket_costs(
    low_ptr, high_ptr, count_ptr, cost_ptr, best_ptr, R, BUCKETS: tl.constexpr, ROWS: tl.constexpr
):
    """What it costs to split the primitives of a node between two buckets of an axis.

    By the heuristic of surface areas: a row is an axis of a node, and has x, y and z of the bounds
    of buckets, those of empty ones the wrong way round. The best split is given, too.
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    bucket = tl.arange(0, BUCKETS)
    mask = (row < R)[:, None] & (bucket < BUCKETS)[None, :]
    next_mask = (row < R)[:, None] & (bucket + 1 < BUCKETS)[None, :]
    at = row[:, None] * 3 * BUCKETS + bucket[None, :]

    x, next_x = _extents(low_ptr + at, high_ptr + at, mask, next_mask)
    y, next_y = _extents(low_ptr + at + BUCKETS, high_ptr + at + BUCKETS, mask, next_mask)
    z, next_z = _extents(low_ptr + at + 2 * BUCKETS, high_ptr + at + 2 * BUCKETS, mask, next_mask)
    area = x * y + y * z + z * x
    next_area = next_x * next_y + next_y * next_z + next_z * next_x

    count = tl.load(count_ptr + row[:, None] * BUCKETS + bucket[None, :], mask=mask, other=0)
    before = tl.cumsum(count, axis=1)
    after = tl.sum(count, axis=1)[:, None] - before
    whole = tl.max(area, axis=1)  # the areas do not get less from bucket to bucket
    cost = area * before.to(tl.float32) + next_area * after.to(tl.float32)
    cost = 0.125 + cost / whole[:, None]
    is_split = (before > 0) & (after > 0)
    cost = tl.where(is_split, cost, 1e30)
    tl.store(cost_ptr + row[:, None] * BUCKETS + bucket[None, :], cost, mask=mask)
    tl.store(best_ptr + row, tl.argmin(cost, axis=1), mask=row < R)


@triton.jit
def _extents(low_at, high_at, mask, next_mask):
    """How long the bounds are of buckets up to each, and of those after it."""
    low = tl.load(low_at, mask=mask, other=1e30)
    high = tl.load(high_at, mask=mask, other=-1e30)
    low = tl.associative_scan(low, 1, _least)
    high = tl.associative_scan(high, 1, _most)
    next_low = tl.load(low_at + 1, mask=next_mask, other=1e30)
    next_high = tl.load(high_at + 1, mask=next_mask, other=-1e30)
    next_low = tl.associative_scan(next_low, 1, _least, reverse=True)
    next_high = tl.associative_scan(next_high, 1, _most, reverse=True)
    return tl.maximum(high - low, 0.0), tl.maximum(next_high - next_low, 0.0)


@triton.jit
def _least(a, b):
    return tl.minimum(a, b)


@triton.jit
def _most(a, b):
    return tl.maximum(a, b)


def bvh_sah_bucket_costs_arguments(NODES=160, BUCKETS=16):
    rows = 3 * NODES
    count = torch.poisson(torch.full((rows, BUCKETS), 2.5)).int()
    # Rows are of the three axes in turn; buckets lie one after another along their row's axis.
    place = torch.rand(rows, 3, BUCKETS)
    along = torch.arange(rows) % 3
    place[torch.arange(rows), along] = (torch.arange(BUCKETS) + 0.5) / BUCKETS
    size = 0.02 + 0.2 * torch.rand(rows, 3, BUCKETS)
    is_empty = (count == 0)[:, None, :]
    return {
        "low_ptr": torch.where(is_empty, 1e30, place - size),
        "high_ptr": torch.where(is_empty, -1e30, place + size),
        "count_ptr": count,
        "cost_ptr": torch.empty(rows, BUCKETS),
        "best_ptr": torch.empty(rows, dtype=torch.int32),
        "R": rows,
        "BUCKETS": BUCKETS,
    }


bvh_sah_bucket_costs_kept_inputs = ["low_ptr", "high_ptr", "count_ptr"]


def bvh_sah_bucket_costs_grid(meta):
    return (triton.cdiv(meta["R"], meta["ROWS"]),)


def bvh_sah_bucket_costs_reference(low_ptr, high_ptr, count_ptr, BUCKETS):
    def area(low, high):
        x, y, z = (high - low).clamp(min=0).unbind(dim=1)
        return x * y + y * z + z * x

    before = area(low_ptr.cummin(dim=2).values, high_ptr.cummax(dim=2).values)
    low, high = low_ptr.flip(2).cummin(dim=2).values, high_ptr.flip(2).cummax(dim=2).values
    after = area(low, high).flip(1).roll(-1, dims=1)
    count = count_ptr.cumsum(dim=1)
    rest = count[:, -1:] - count
    cost = 0.125 + (before * count + after * rest) / before[:, -1:]
    cost = torch.where((count > 0) & (rest > 0), cost, 1e30)
    return {"cost_ptr": cost, "best_ptr": cost.argmin(dim=1).int()}
