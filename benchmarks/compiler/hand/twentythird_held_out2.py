"""Four more kernels of the twenty-third draw, that `twentythird_held_out2.c` has in intrinsics.

The seed that drew them is in `twentythird_held_out.py`; the 318 names were these.

    scharr_magnitude_u8 prewitt_compass_max difference_of_gaussians_planes retinex_single_scale
    lens_tca_channel_shift pq_eotf_st2084_rows hlg_oetf_rows rec709_limited_to_full
    argb_premultiply_u8 blend_soft_light_u8 gradient_linear_fill_argb gradient_conic_fill
    glyph_sdf_smoothstep rounded_rect_coverage line_wu_coverage_rows lanczos3_downscale_rows_u8
    mitchell_resize_columns_u8 epx_scale2x_pixels hq2x_pattern_bits hadamard_satd_8x8_blocks
    ssd_block_variance_16 scene_cut_histogram_diff film_grain_add_u10 deblock_h263_rows
    h264_idct8_add_clip h264_dequant_flat_8x8 av1_palette_colour_index vp9_tm_predict_16
    jpeg_xl_gaborish_rows jpeg_ls_gradient_context jpeg2000_ict_forward webp_argb_subtract_green
    webp_colour_transform_rows exr_half_split_bytes exr_b44_block_max radiance_rgbe_decode
    dxt5_alpha_ramp etc2_planar_paint float_byte_shuffle4 blosc_bitshuffle_i16 zfp_lift_4x4_forward
    zfp_negabinary_order_bits sz_lorenzo_predict_quant fpc_predict_xor_leading snappy_tag_sizes
    lzss_flag_bits_expand huffman_table_lookup_12bit ans_state_renormalise_lanes
    arithmetic_model_halving rice_unary_decode_fixed golomb_parameter_scan mtf_positions_bytes
    delta_of_delta_timestamps pfor_exception_patch_rows bitpack_vertical_13
    chimp_trailing_zero_flags alp_decimal_encode_f64 fsst_symbol_expand_sizes hex_dump_encode_bytes
    base32_crockford_encode quoted_printable_sizes utf8_to_utf32_ascii_runs
    levenshtein_myers_bits_rows damerau_two_rows_step longest_common_subsequence_bits
    shift_or_multi_pattern text_histogram_bigrams tfidf_cosine_rows bm25f_field_weights
    simhash_accumulate_bits consistent_hash_jump swiss_table_tag_match perfect_hash_displace_lookup
    between_and_in_list_filter dictionary_filter_codes_lut sum_product_discount_filter
    group_by_hash16_avg grouped_min_max_dense_i64 case_when_price_bands run_boundaries_from_sorted
    date_diff_weekdays sessionize_gap_flags moving_sum_prefix_difference
    exponential_histogram_buckets tdigest_k_scale_rows reservoir_skip_lengths supertrend_bands_rows
    adx_wilder_rows on_balance_volume_scan black76_cap_strip bachelier_normal_price_rows
    heston_euler_full_truncation svi_total_variance_slice local_vol_dupire_rows
    monte_carlo_basket_cholesky credit_vasicek_loss_rows copula_student_pairs cashflow_xnpv_rows
    portfolio_turnover_cost_rows drawdown_duration_rows ledoit_wolf_shrink_tile newey_west_lags
    dickey_fuller_regress_rows hodrick_prescott_residual holt_winters_additive_rows
    croston_intermittent_rows arima_residual_scan cusum_change_alarm page_hinkley_rows
    fisher_exact_log_rows chi2_contingency_rows cochran_armitage_rows logrank_terms_rows
    roc_auc_sorted_rows cohen_kappa_tile gaussian_process_rbf_tile ard_matern52_tile
    em_bernoulli_mixture_rows nmf_multiplicative_update fastica_tanh_step kernel_pca_centre_tile
    sax_symbol_rows matrix_profile_stomp_row needleman_linear_row quality_binning_illumina
    error_correct_majority_column pileup_base_counts genotype_likelihood_rows
    phylo_felsenstein_prune upgma_nearest_pair isotope_averagine_score spectral_angle_match_rows
    codon_adaptation_index melting_temperature_nn_rows protein_backbone_torsion_rows
    solvent_accessible_sphere_points hydrogen_bond_dssp_energy rmsd_centre_covariance
    morgan_bits_fold dihedral_cosine_forces reaction_field_coulomb_pairs sw_three_body_pairs
    tersoff_cutoff_pairs rattle_bond_constraint cell_list_bin_counts sph_pressure_force_pairs
    mhd_hll_flux_rows ppm_limit_parabola_rows rusanov_flux_dg_rows burgers_spectral_dealias
    heat_variable_coefficient_3d gross_pitaevskii_rotate ginzburg_landau_complex_step
    swift_hohenberg_stencil brusselator_rk4_cells duffing_poincare_rows van_der_pol_adaptive_error
    robertson_newton_cells arrhenius_third_body_rates nasa7_polynomial_enthalpy
    mixture_viscosity_wilke peng_robinson_z_newton antoine_vapour_rows steam_if97_region1
    psychrometric_humidity_rows rrtm_planck_interpolate kessler_microphysics_column
    richardson_mixing_column semi_implicit_vertical_solve sea_ice_thermodynamic_column
    sediment_transport_rows seismic_kirchhoff_stack seismic_agc_window igrf_legendre_rows
    star_aberration_rows fits_bscale_i16_bigendian cosmic_ray_laplacian_flags
    psf_moffat_residual_rows pulsar_dedisperse_channels transit_limb_quadratic gaia_parallax_correct
    stokes_rotate_planes grid_kaiser_bessel_taps hogbom_clean_subtract digamma_asymptotic_rows
    incomplete_beta_cf_rows normal_quantile_acklam_rows sinc_chebyshev_eval clenshaw_series_rows
    barycentric_lagrange_eval durand_kerner_step brent_secant_rows nelder_mead_reflect_rows
    bfgs_rank_two_update levenberg_damped_3x3 trust_region_dogleg_rows simplex_pivot_row_update
    projection_simplex_sort_rows admm_dual_update_rows sinkhorn_scale_rows_kernel auction_bid_rows
    tropical_matrix_product random_walk_alias_step union_find_pointer_jump prim_min_update
    ldl_small_batched cholesky_rank_one_update bunch_2x2_pivot_solve toeplitz_levinson_step
    circulant_multiply_small vandermonde_bjorck_rows block_tridiagonal_2x2 arrowhead_solve_rows
    banded_matvec_rows symmetric_packed_matvec kronecker_vector_product strassen_combine_tiles
    hessenberg_reflect_row power_deflate_step lanczos_recur_rows gmres_arnoldi_dots
    chebyshev_smoother_row csr_diagonal_scale_both hyb_overflow_add matrix_i8_transposed_4x4_pack
    complex_gemv_conjugate double_double_dot_rows kahan_sum_rows superaccumulator_bins
    interval_multiply_rows posit16_decode_rows bfloat_round_odd_rows crc16_ccitt_rows
    crc8_table_free_rows pearson_hash_rows blake2s_mix_lanes chaskey_permute_rows
    ascon_permutation_lanes gimli_spbox_columns camellia_f_lanes sm4_round_words
    des_initial_permutation threefish256_mix siphash13_short_keys wyhash_mum_pairs
    mersenne_temper_words halton_radical_inverse_rows r2_sequence_jitter_points poisson_ptrs_rows
    gamma_marsaglia_accept truncated_normal_rows alias_table_draw_rows pulse_doppler_mti_cancel
    radar_micro_doppler_stft lidar_ground_line_fit stereo_rectify_remap_u8
    camera_brown_undistort_points fisheye_equidistant_project epipolar_sampson_distance
    pnp_reprojection_residuals bundle_jacobian_rows essential_trace_constraint freak_pattern_compare
    shi_tomasi_min_eigen canny_nonmax_quantised connected_run_labels skeleton_lut_pass
    minkowski_box_sat_pairs gjk_simplex_line_rows ray_heightfield_march ray_cylinder_capped_rows
    spherical_harmonics_l2_eval ibl_prefilter_sample_weights cubemap_direction_faces
    octahedral_normal_pack morph_target_blend_vertices skinning_four_bones_positions
    vertex_quantise_16 meshlet_cone_cull hiz_min_pyramid_level depth_linearise_fog
    motion_blur_tile_max lightmap_dilate_texels tile_map_palette_lookup verlet_rope_constraints
    spring_mass_grid_forces contact_impulse_rows gerstner_wave_vertices ocean_phillips_spectrum
    cellular_langton_ants kuramoto_oscillators_coupled lif_refractory_step adsr_envelope_rows
    fm_operator_stack_rows wavetable_linear_osc biquad_peaking_bank_rows crossover_linkwitz_rows
    allpass_dispersion_rows pcm24_unpack_float float_to_pcm16_clip_interleave alaw_compress_rows
    dtmf_pair_generate mfcc_dct_lifter_rows constant_q_sparse_rows harmonic_product_spectrum
    spectral_gate_subtract median_five_rows_i16 qpsk_gray_slice_bits qam64_llr_maxlog ofdm_clip_papr
    scrambler_additive_bits block_interleave_rows turbo_max_log_branch viterbi_k3_butterfly_i16
    crc_aided_syndrome_rows dqpsk_timing_ecd frequency_offset_derotate channel_tap_delay_line
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 128, 512)], key=[])
@triton.jit
def epipolar_sampson_distance(
    first_ptr, second_ptr, matrix_ptr, error_ptr, N, H, BLOCK: tl.constexpr
):
    """How far pairs of points are from each epipolar geometry that was guessed, to first order."""
    point = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = point < N
    x = tl.load(first_ptr + 2 * point, mask=mask, other=0.0)
    y = tl.load(first_ptr + 2 * point + 1, mask=mask, other=0.0)
    u = tl.load(second_ptr + 2 * point, mask=mask, other=0.0)
    v = tl.load(second_ptr + 2 * point + 1, mask=mask, other=0.0)
    for h in range(H):
        f = matrix_ptr + 9 * h
        f00 = tl.load(f)
        f01 = tl.load(f + 1)
        f02 = tl.load(f + 2)
        f10 = tl.load(f + 3)
        f11 = tl.load(f + 4)
        f12 = tl.load(f + 5)
        f20 = tl.load(f + 6)
        f21 = tl.load(f + 7)
        f22 = tl.load(f + 8)
        # Lines in the second picture, and in the first one.
        a = f00 * x + f01 * y + f02
        b = f10 * x + f11 * y + f12
        c = f20 * x + f21 * y + f22
        d = f00 * u + f10 * v + f20
        e = f01 * u + f11 * v + f21
        residual = u * a + v * b + c
        gradient = a * a + b * b + d * d + e * e
        tl.store(error_ptr + h * N + point, residual * residual / (gradient + 1e-12), mask=mask)


def epipolar_sampson_distance_arguments(N=1100, H=24):
    first = torch.randn(N, 2)
    turn = 0.2 * torch.randn(H, 3)
    shift = torch.nn.functional.normalize(torch.randn(H, 3), dim=1)

    def crossed(axis):
        x, y, z = axis.unbind(dim=1)
        zero = torch.zeros_like(x)
        return torch.stack((zero, -z, y, z, zero, -x, -y, x, zero), dim=1).reshape(-1, 3, 3)

    return {
        "first_ptr": first,
        "second_ptr": first + 0.1 * torch.randn(N, 2),
        "matrix_ptr": (crossed(shift) @ torch.matrix_exp(crossed(turn))).contiguous(),
        "error_ptr": torch.empty(H, N),
        "N": N,
        "H": H,
    }


def epipolar_sampson_distance_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def epipolar_sampson_distance_reference(first_ptr, second_ptr, matrix_ptr):
    first = torch.nn.functional.pad(first_ptr, (0, 1), value=1)
    second = torch.nn.functional.pad(second_ptr, (0, 1), value=1)
    lines = torch.einsum("hij,nj->hni", matrix_ptr, first)
    back = torch.einsum("hji,nj->hni", matrix_ptr, second)
    residual = (second * lines).sum(dim=2)
    gradient = lines[..., :2].square().sum(dim=2) + back[..., :2].square().sum(dim=2)
    return {"error_ptr": residual.square() / (gradient + 1e-12)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 32, 64, 256, 1024)], key=[])
@triton.jit
def psychrometric_humidity_rows(
    dry_ptr, wet_ptr, pressure_ptr, relative_ptr, ratio_ptr, dew_ptr, N, BLOCK: tl.constexpr
):
    """The humidity of air by two thermometers, of which one is wet, for stations at their heights.

    Gives per cent, grams of vapour per kilogram of dry air, and the dew point.
    """
    station = tl.program_id(1)
    hour = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = hour < N
    at = station * N + hour
    pressure = tl.load(pressure_ptr + station)
    dry = tl.load(dry_ptr + at, mask=mask, other=0.0)
    wet = tl.load(wet_ptr + at, mask=mask, other=0.0)
    constant = tl.where(wet < 0.0, 5.83e-4, 6.62e-4)  # over ice, and over water
    vapour = _saturation(wet) - constant * pressure * (dry - wet)
    vapour = tl.maximum(vapour, 0.01)
    relative = tl.minimum(100.0 * vapour / _saturation(dry), 100.0)
    ratio = 621.98 * vapour / (pressure - vapour)
    logarithm = tl.log(vapour / 6.112)
    dew = 243.5 * logarithm / (17.67 - logarithm)
    tl.store(relative_ptr + at, relative, mask=mask)
    tl.store(ratio_ptr + at, ratio, mask=mask)
    tl.store(dew_ptr + at, dew, mask=mask)


@triton.jit
def _saturation(celsius):
    """The pressure of saturated vapour over water, by Magnus' formula."""
    return 6.112 * tl.exp(17.67 * celsius / (celsius + 243.5))


def psychrometric_humidity_rows_arguments(STATIONS=12, N=744):
    dry = 8 + 9 * torch.randn(STATIONS, N)
    return {
        "dry_ptr": dry,
        "wet_ptr": dry - 0.2 * (dry + 25).clamp(min=1) * torch.rand(STATIONS, N),
        "pressure_ptr": 700 + 320 * torch.rand(STATIONS),
        "relative_ptr": torch.empty(STATIONS, N),
        "ratio_ptr": torch.empty(STATIONS, N),
        "dew_ptr": torch.empty(STATIONS, N),
        "N": N,
    }


psychrometric_humidity_rows_kept_inputs = ["dry_ptr", "wet_ptr", "pressure_ptr"]


def psychrometric_humidity_rows_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]), meta["STATIONS"])


def psychrometric_humidity_rows_reference(dry_ptr, wet_ptr, pressure_ptr):
    def saturation(celsius):
        return 6.112 * torch.exp(17.67 * celsius / (celsius + 243.5))

    pressure = pressure_ptr[:, None]
    constant = torch.where(wet_ptr < 0, 5.83e-4, 6.62e-4)
    vapour = saturation(wet_ptr) - constant * pressure * (dry_ptr - wet_ptr)
    vapour = vapour.clamp(min=0.01)
    logarithm = torch.log(vapour / 6.112)
    return {
        "relative_ptr": (100 * vapour / saturation(dry_ptr)).clamp(max=100),
        "ratio_ptr": 621.98 * vapour / (pressure - vapour),
        "dew_ptr": 243.5 * logarithm / (17.67 - logarithm),
    }


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 128, 256, 512)], key=[])
@triton.jit
def exr_half_split_bytes(half_ptr, bytes_ptr, N, BLOCK: tl.constexpr):
    """What OpenEXR compresses of a chunk of lines: differences of low bytes, then of high ones."""
    chunk = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    half_ptr += chunk * N
    bytes_ptr += chunk * 2 * N
    x = tl.load(half_ptr + at, mask=mask).to(tl.uint16, bitcast=True)
    before = tl.load(half_ptr + at - 1, mask=mask & (at > 0), other=0.0)
    before = before.to(tl.uint16, bitcast=True)
    last = tl.load(half_ptr + N - 1).to(tl.uint16, bitcast=True)
    low = x & 255
    high = x >> 8
    low_change = tl.where(at == 0, low, low - (before & 255) + 128)
    high_change = high - tl.where(at == 0, last & 255, before >> 8) + 128
    tl.store(bytes_ptr + at, low_change.to(tl.uint8), mask=mask)
    tl.store(bytes_ptr + N + at, high_change.to(tl.uint8), mask=mask)


def exr_half_split_bytes_arguments(CHUNKS=10, LINES=16, WIDTH=237):
    n = LINES * WIDTH
    # Light varies slowly along a line, and has grain.
    light = torch.cumsum(0.05 * torch.randn(CHUNKS, n), dim=1).exp()
    return {
        "half_ptr": (light * (1 + 0.02 * torch.randn(CHUNKS, n))).half(),
        "bytes_ptr": torch.empty(CHUNKS, 2 * n, dtype=torch.uint8),
        "N": n,
    }


def exr_half_split_bytes_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]), meta["CHUNKS"])


def exr_half_split_bytes_reference(half_ptr, N):
    split = half_ptr.view(torch.uint8).reshape(-1, N, 2).transpose(1, 2).reshape(-1, 2 * N)
    change = split.int().diff(dim=1) + 128
    return {"bytes_ptr": torch.cat((split[:, :1], change.to(torch.uint8)), dim=1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512, 128, 256, 1024)], key=[])
@triton.jit
def adsr_envelope_rows(
    x_ptr,
    attack_ptr,
    decay_ptr,
    sustain_ptr,
    release_ptr,
    off_ptr,
    out_ptr,
    N,
    rate,
    BLOCK: tl.constexpr,
):
    """Shapes notes: a line up, a curve down to what is held, and silence after the key goes up."""
    voice = tl.program_id(1)
    sample = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = sample < N
    attack = tl.load(attack_ptr + voice)
    decay = tl.load(decay_ptr + voice)
    sustain = tl.load(sustain_ptr + voice)
    release = tl.load(release_ptr + voice)
    off = tl.load(off_ptr + voice)
    time = sample.to(tl.float32) / rate
    held = tl.minimum(time, off)
    fall = sustain + (1.0 - sustain) * tl.exp(-5.0 * (held - attack) / decay)
    level = tl.where(held < attack, held / attack, fall)
    level *= tl.exp(-5.0 * tl.maximum(time - off, 0.0) / release)
    x = tl.load(x_ptr + voice * N + sample, mask=mask)
    tl.store(out_ptr + voice * N + sample, x * level, mask=mask)


def adsr_envelope_rows_arguments(VOICES=16, N=3000):
    def seconds(low, high):
        return low + (high - low) * torch.rand(VOICES)

    return {
        "x_ptr": torch.randn(VOICES, N),
        "attack_ptr": seconds(0.002, 0.01),
        "decay_ptr": seconds(0.01, 0.03),
        "sustain_ptr": seconds(0.3, 0.9),
        "release_ptr": seconds(0.01, 0.03),
        "off_ptr": seconds(0.03, 0.05),
        "out_ptr": torch.empty(VOICES, N),
        "N": N,
        "rate": 48000.0,
    }


adsr_envelope_rows_kept_inputs = [
    "attack_ptr",
    "decay_ptr",
    "sustain_ptr",
    "release_ptr",
    "off_ptr",
    "rate",
]


def adsr_envelope_rows_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]), meta["VOICES"])


def adsr_envelope_rows_reference(
    x_ptr, attack_ptr, decay_ptr, sustain_ptr, release_ptr, off_ptr, N, rate
):
    attack, decay, sustain, release, off = (
        each[:, None] for each in (attack_ptr, decay_ptr, sustain_ptr, release_ptr, off_ptr)
    )
    time = torch.arange(N).to(x_ptr.dtype) / rate
    held = torch.minimum(time, off)
    fall = sustain + (1 - sustain) * torch.exp(-5 * (held - attack) / decay)
    level = torch.where(held < attack, held / attack, fall)
    return {"out_ptr": x_ptr * level * torch.exp(-5 * (time - off).clamp(min=0) / release)}
